#include "core/job/simulated_link.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>

#include "core/base/text.h"

namespace tutti::simulated {
namespace {

std::int64_t processor_time() noexcept {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// FD:RANK
bool read(std::string_view text, int& fd, rank_t& rank) noexcept {
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, fd);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != ':') return false;
  const auto second = std::from_chars(first.ptr + 1, end, rank);
  return second.ec == std::errc{} && second.ptr == end && fd >= 0;
}

line* made = nullptr;

status not_a_line(const std::string& text) {
  return {errc::unavailable, worded(std::string_view(variable), "=", std::string_view(text), " names no simulated world: `tutti sim ./program` sets it for the processes that it "
                                    "starts, and nobody else does")};
}

// False: not yet.
bool wait_a_while(sem_t& what) noexcept {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  ++until.tv_sec;
  return sem_timedwait(&what, &until) == 0;
}

}  // namespace

line::line(header* h, rank_t rank) noexcept : header_(h), slot_(&slot_of(*h, rank)), rank_(rank), worked_until_(processor_time()) {
  slot_->pid = getpid();
}

line* line::of_process() noexcept { return made; }

result<line*> line::open(const std::string& text) {
  if (made) return made;
  int fd = -1;
  rank_t rank = 0;
  struct stat there {};
  if (!read(text, fd, rank) || fstat(fd, &there) != 0 || static_cast<std::size_t>(there.st_size) < bytes_for(1)) return not_a_line(text);
  const auto bytes = static_cast<std::size_t>(there.st_size);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return not_a_line(text);
  auto* const h = static_cast<header*>(memory);
  if (h->magic != magic || h->version != version || h->slot_bytes != sizeof(slot) || h->ranks_per_node == 0 ||
      bytes != bytes_for(h->ranks) || rank >= h->ranks ||
      std::memchr(h->job, 0, sizeof h->job) == nullptr) {
    munmap(memory, bytes);
    return not_a_line(text);
  }
  if (const std::int32_t taken = slot_of(*h, rank).pid; taken != 0 && taken != getpid() && kill(taken, 0) == 0) {
    munmap(memory, bytes);
    return status(errc::unavailable, worded("process ", taken, " is rank ", rank, " of this simulated world already; a program that it starts is none: unset ",
                                            std::string_view(variable), " for that"));
  }
  made = new line(h, rank);
  return made;
}

std::int64_t line::worked() const noexcept { return processor_time() - worked_until_; }

status line::exchange(call what) noexcept {
  ++asked_;
  slot_->what = what;
  slot_->worked_ns = worked();
  if (!gone_) sem_post(&slot_->asked);
  while (!gone_ && !wait_a_while(slot_->answered)) gone_ = kill(header_->world, 0) != 0 && errno == ESRCH;
  if (gone_) {  // time goes on, so that all waits end
    slot_->clock_ns += 1'000'000'000;
    return {errc::peer_dead, "the simulated world of this rank has ended"};
  }
  worked_until_ = processor_time();
  if (slot_->code == 0) return {};
  return {static_cast<errc>(slot_->code), worded(static_cast<const char*>(slot_->text)), slot_->peer, slot_->native};
}

}  // namespace tutti::simulated

#include "tests/harness/meeting.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>

namespace tutti::test {

struct meeting::slot {
  alignas(64) std::atomic<std::uint64_t> round{0};  // rounds contributed to
  std::atomic<std::uint32_t> state{0};
  std::atomic<std::uint32_t> gone{0};
  std::atomic<std::uint32_t> excused{0};
  std::uint32_t bytes[2] = {0, 0};
  char waiting[waiting_bytes] = {};
  char text[3072] = {};
  alignas(64) std::byte blob[2][max_blob];
};

namespace {

std::atomic<std::uint32_t>& bell_of(std::byte* base) noexcept {
  return *std::launder(reinterpret_cast<std::atomic<std::uint32_t>*>(base));
}

void copy_text(char* to, std::size_t room, std::string_view text) noexcept {
  to[text.copy(to, room - 1)] = 0;
}

}  // namespace

meeting::meeting(std::uint32_t ranks) : ranks_(ranks), bytes_(64 + ranks * sizeof(slot)) {
  static std::atomic<unsigned> count{0};
  name_ = "tutti-test-" + std::to_string(getpid()) + "-" + std::to_string(++count);
  void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc{};
  base_ = static_cast<std::byte*>(p);
  new (base_) std::atomic<std::uint32_t>{0};  // slots: fresh pages are zero, which is their first state
}

meeting::~meeting() { munmap(base_, bytes_); }

meeting::slot& meeting::at(rank_t r) const noexcept { return reinterpret_cast<slot*>(base_ + 64)[r]; }

bool meeting::contribute(rank_t r, std::span<const std::byte> blob) noexcept {
  if (blob.size() > max_blob) return false;
  slot& s = at(r);
  const auto next = s.round.load(std::memory_order_relaxed) + 1;
  if (!blob.empty()) std::memcpy(s.blob[next % 2], blob.data(), blob.size());
  s.bytes[next % 2] = static_cast<std::uint32_t>(blob.size());
  s.round.store(next, std::memory_order_release);
  ring();
  return true;
}

bool meeting::complete(rank_t mine, rank_t& absent) const noexcept {
  absent = no_rank;
  const auto round = at(mine).round.load(std::memory_order_relaxed);
  bool all = true;
  for (rank_t r = 0; r < ranks_; ++r) {
    const slot& s = at(r);
    const bool left = s.gone.load(std::memory_order_acquire);  // read first: what it said before it left still counts
    if (s.round.load(std::memory_order_acquire) >= round) continue;
    if (left && s.excused.load(std::memory_order_relaxed)) continue;
    if (left) absent = r;
    all = false;
  }
  return all;
}

shared_blobs meeting::collect(rank_t mine) {
  const auto round = at(mine).round.load(std::memory_order_relaxed);
  auto table = std::make_shared<blob_table>();
  for (rank_t r = 0; r < ranks_; ++r) {
    const slot& s = at(r);
    const bool there = s.round.load(std::memory_order_acquire) >= round;
    table->push_back(there ? std::span<const std::byte>{s.blob[round % 2], s.bytes[round % 2]}
                           : std::span<const std::byte>{});
  }
  return table;
}

std::uint32_t meeting::bell() const noexcept { return bell_of(base_).load(std::memory_order_acquire); }

void meeting::nap(std::uint32_t seen, std::chrono::nanoseconds at_most) const noexcept {
  timespec t{};
  t.tv_sec = at_most.count() / 1'000'000'000;
  t.tv_nsec = at_most.count() % 1'000'000'000;
  syscall(SYS_futex, base_, FUTEX_WAIT, seen, &t, nullptr, 0);
}

void meeting::ring() const noexcept {
  bell_of(base_).fetch_add(1, std::memory_order_acq_rel);
  syscall(SYS_futex, base_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void meeting::excuse(rank_t r) noexcept { at(r).excused.store(1, std::memory_order_relaxed); }

void meeting::gone(rank_t r) noexcept {
  at(r).gone.store(1, std::memory_order_release);
  ring();
}

bool meeting::is_gone(rank_t r) const noexcept { return at(r).gone.load(std::memory_order_acquire) != 0; }

void meeting::finish(rank_t r, rank_state how, std::string_view text) noexcept {
  copy_text(at(r).text, sizeof at(r).text, text);
  at(r).state.store(static_cast<std::uint32_t>(how), std::memory_order_release);
  ring();
}

rank_state meeting::state(rank_t r) const noexcept {
  return static_cast<rank_state>(at(r).state.load(std::memory_order_acquire));
}
const char* meeting::text(rank_t r) const noexcept { return at(r).text; }
char* meeting::waiting(rank_t r) noexcept { return at(r).waiting; }

waiting_for::waiting_for(meeting& m, rank_t r, std::string_view what) noexcept : at_(m.waiting(r)) {
  std::memcpy(before_, at_, sizeof before_);
  copy_text(at_, sizeof before_, what);
}

waiting_for::~waiting_for() { std::memcpy(at_, before_, sizeof before_); }

}  // namespace tutti::test

// A job over a transport that the harness has opened and connected, and memory that all ranks of a test share, in which
// they keep the books that a correct barrier must agree with.
#pragma once
#include <sys/mman.h>

#include <atomic>
#include <cstdio>
#include <memory>

#include "collectives/communicator.h"
#include "tests/harness/fabrics.h"

namespace tutti::test {

// The job whose waits the watchdog is told of: the last that this process opened. Read in a signal handler.
inline std::atomic<const job*> watched_job{nullptr};

inline void describe_watched_job(char* out, std::size_t room) noexcept {
  const job* const j = watched_job.load(std::memory_order_relaxed);
  const wait_note* const note = j ? j->waiting_for() : nullptr;
  if (!note) return;
  const int n = std::snprintf(out, room, "%s: ", note->what);
  if (n < 0 || static_cast<std::size_t>(n) >= room) return;
  if (note->from == no_rank) std::snprintf(out + n, room - n, "a word at %llu of %llu", 1ull * note->have, 1ull * note->want);
  else std::snprintf(out + n, room - n, "rank %u, whose word is at %llu of %llu", note->from, 1ull * note->have, 1ull * note->want);
}

struct unwatch {
  void operator()(job* j) const noexcept {
    const job* mine = j;
    watched_job.compare_exchange_strong(mine, nullptr);
    delete j;
  }
};
using job_ptr = std::unique_ptr<job, unwatch>;

// `host`: which ranks the job takes for a node.
inline job_ptr open_job(rank_env& env, job_options options, const host_id& host) {
  options.world_lines = communicator::world_lines;
  const auto hosts = env.exchange(host);
  std::vector<std::byte> blob;
  job_ptr j(take(job::offer(env.boot, env.net(), options, blob), "offer").release());
  auto in = take(job::digest(*env.exchange(blob), std::make_shared<layout>(make_layout(*hosts))), "digest");
  in.addresses = nullptr;
  require(j->accept(in), "accept");
  if (env.own_process) {
    watched_job = j.get();
    describe_waits_by(describe_watched_job);
  }
  env.barrier();  // nobody signals a team that a peer has not attached yet
  return j;
}

inline job_ptr open_job(rank_env& env, job_options options = {}) {
  return open_job(env, std::move(options), env.boot.host());
}

// Zeroed words, the same memory in every rank however ranks are run.
class shared_words {
 public:
  explicit shared_words(std::size_t count) : count_(count) {
    words_ = static_cast<std::atomic<std::uint64_t>*>(mmap(nullptr, count * sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
                                                           MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  }
  ~shared_words() { munmap(static_cast<void*>(words_), count_ * sizeof(std::uint64_t)); }
  shared_words(const shared_words&) = delete;
  shared_words& operator=(const shared_words&) = delete;
  std::atomic<std::uint64_t>& operator[](std::size_t i) const noexcept { return words_[i]; }

 private:
  std::atomic<std::uint64_t>* words_;
  std::size_t count_;
};

// Who has entered which epoch: written before entering, read after leaving.
class attendance {
 public:
  explicit attendance(std::uint32_t ranks) : words_(ranks), ranks_(ranks) {}
  void enter(std::uint32_t rank, std::uint64_t epoch) const noexcept { words_[rank].store(epoch); }
  void left(std::uint64_t epoch, where at = where::current()) const {
    for (std::uint32_t r = 0; r < ranks_; ++r)
      if (words_[r].load() < epoch)
        fail("left epoch " + std::to_string(epoch) + " while rank " + std::to_string(r) + " is in " +
                 std::to_string(words_[r].load()), at);
  }

 private:
  shared_words words_;
  std::uint32_t ranks_;
};

}  // namespace tutti::test

// The thread that makes a rank's progress while the rank computes (TUTTI_PROGRESS=thread, clause 8). While the rank calls its
// transports often enough, the thread only checks once in a millisecond that it still does. When the rank does not, the thread
// drives the transports in its place, and sleeps in their descriptors while there is nothing to do.
//
// Why nothing is touched by both. Each call of the rank holds the lock (a `visit`), and the thread holds it while it
// drives; completions begin and finish within calls of the transport, so under the lock as well, and completion::idle()
// may be asked without it. The rank's next visit first disarms what the thread has armed, so the transport is handed over as the
// rank left it. The thread must not end a sleep that the rank has armed: until that sleep is closed the rank counts as present.
//
// Why the rank does not wait for long. The thread gives the lock back after each round of progress, and leaves as soon as
// the rank has asked for it: a visit says so before it waits for the lock.
//
// Why no absence goes unseen. The thread counts visits: two looks with the same count mean that the rank was away between
// them, or inside one long call, which the lock tells apart. While the thread sleeps in the descriptors it has armed
// them, and a visit that disarms them rings the bell, which ends that sleep.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/unique_fd.h"
#include "core/transport/transport.h"

namespace tutti {

class progress_thread {
 public:
  // `driven` outlive this.
  explicit progress_thread(std::vector<transport*> driven) noexcept : driven_{std::move(driven)} {}
  ~progress_thread();
  progress_thread(const progress_thread&) = delete;
  progress_thread& operator=(const progress_thread&) = delete;

  status start();  // once

  // One call of the rank.
  class visit {
   public:
    explicit visit(progress_thread& t) noexcept : thread_{t} { t.enter(); }
    ~visit() { thread_.mutex_.unlock(); }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

   private:
    progress_thread& thread_;
  };
  // Within a visit: whether the rank has a sleep armed.
  void set_armed(bool armed) noexcept { armed_.store(armed, std::memory_order_relaxed); }

 private:
  friend class visit;
  void enter() noexcept;
  void run() noexcept;
  bool stay_away() noexcept;                // until the rank is away; false: it is over
  bool stand_in() noexcept;                 // until it is back; the same
  bool arm() noexcept;
  enum class woke : std::uint8_t { by_time, by_work, by_bell };
  woke wait(int timeout_ms, bool also_for_work) noexcept;

  std::vector<transport*> driven_;
  std::mutex mutex_;
  std::atomic<std::uint64_t> visits_{0};
  std::atomic<bool> wanted_{false};         // the rank waits for the lock
  std::atomic<bool> armed_{false};          // by the rank
  std::atomic<bool> over_{false};
  bool standing_in_ = false;                // the thread has armed `driven_`; guarded by the lock
  unique_fd bell_;                          // an eventfd
  std::thread thread_;
};

}  // namespace tutti

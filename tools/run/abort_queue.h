// Calls of PMIx_Abort, from libpmix's thread to the launcher's loop.
#pragma once
#include <sys/eventfd.h>

#include <deque>
#include <functional>
#include <mutex>
#include <string>

#include "core/base/status.h"
#include "core/base/unique_fd.h"

namespace tutti::launching {

class abort_queue {
 public:
  struct call {
    rank_t rank;
    int status;
    std::string text;
    std::function<void()> answer;  // lets the caller of PMIx_Abort go on; once, by any thread
  };
  int fd() const noexcept { return wake_.get(); }  // readable when take() has something
  void push(call c) {
    {
      const std::lock_guard lock{mutex_};
      calls_.push_back(std::move(c));
    }
    eventfd_write(wake_.get(), 1);
  }
  std::deque<call> take() {
    eventfd_t count;
    eventfd_read(wake_.get(), &count);
    const std::lock_guard lock{mutex_};
    return std::exchange(calls_, {});
  }

 private:
  unique_fd wake_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex_;
  std::deque<call> calls_;
};

}  // namespace tutti::launching

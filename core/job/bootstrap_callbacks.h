// The bootstrap of a runtime that embeds tutti and has its own way for ranks to meet.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/job/bootstrap.h"

namespace tutti {

// Plain C, so that the C API can pass it through. Callbacks return 0, ETIMEDOUT when `timeout_s` passed, EOWNERDEAD
// when a rank died, or another number that is reported as it is. They are called on the thread that set tutti up, by
// all ranks in the same order.
struct bootstrap_callbacks {
  void* context = nullptr;
  rank_t rank = 0;
  std::uint32_t size = 1;
  const char* job_id = nullptr;  // as bootstrap::job_id(); copied
  // Gathers `bytes` bytes from every rank, the same number from each, into `all` in rank order.
  int (*allgather)(void* context, const void* mine, std::size_t bytes, void* all, double timeout_s) = nullptr;
  // Null if a rank that returned from allgather may enter the next one while others are still in the first. Otherwise
  // called after every allgather.
  int (*fence)(void* context, double timeout_s) = nullptr;
};

// `invalid`, with nothing called, when rank, size, job_id or allgather make no sense.
result<std::unique_ptr<bootstrap>> make_callback_bootstrap(const bootstrap_callbacks&);

}  // namespace tutti

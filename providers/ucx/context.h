// UCX's context and worker of one transport, and the words of its errors.
#pragma once
#include <ucp/api/ucp.h>

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace tutti::ucx {

status vendor_error(ucs_status_t, const text_parts& what, rank_t peer = no_rank) noexcept;

struct worker_handles {
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
};

// Whether every transport of the list is one of RDMA adapters; false for UCX's own choice, which has others as well.
bool only_adapters(std::string_view device) noexcept;

// `device` is a list of UCX's transports ("tcp", "shm", "rc"), or empty for UCX's own choice. On failure the status
// carries what UCX would have printed. `two_threads`: both will use the worker, one at a time.
result<worker_handles> open_worker(std::string_view device, bool two_threads = false);
// Whether a put arrives with nobody's help. Connects the worker to itself for that, which takes milliseconds. Only where
// only_adapters(). Where it does not connect the error says so, and the handles are gone: they cannot be closed.
result<bool> works_alone(worker_handles&);
void close_worker(worker_handles&) noexcept;

}  // namespace tutti::ucx

// UCX's context and worker of one transport, and the words of its errors.
#pragma once
#include <ucp/api/ucp.h>

#include <string>
#include <string_view>

#include "core/status.h"

namespace tutti::ucx {

status vendor_error(ucs_status_t, std::string what, rank_t peer = no_rank);

struct worker_handles {
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
};

// `device` is a list of UCX's transports ("tcp", "shm", "rc"), or empty for UCX's own choice. On failure the status
// carries what UCX would have printed.
result<worker_handles> open_worker(std::string_view device);
void close_worker(worker_handles&) noexcept;

}  // namespace tutti::ucx

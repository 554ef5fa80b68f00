// Whether a put arrives with nobody's help at the target. No list of transports tells that: UCX emulates put and get by
// messages wherever an endpoint's transports cannot do them, and says so nowhere in its interface. So it is tried: this
// worker connects to itself, by the adapter, since nothing else was allowed to it; puts a word into its own memory, and
// looks at that without driving UCX. An emulated put waits in the worker, whose progress() would apply it.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>

#include "providers/ucx/context.h"

namespace tutti::ucx {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto longest_connecting = 5s;  // milliseconds on an adapter; emulated ones on an oversubscribed machine need more
constexpr auto longest_flight = 200ms;

bool finish(ucp_worker_h worker, void* request, clock::time_point deadline) noexcept {
  if (!UCS_PTR_IS_PTR(request)) return UCS_PTR_STATUS(request) == UCS_OK;
  ucs_status_t s;
  while ((s = ucp_request_check_status(request)) == UCS_INPROGRESS && clock::now() < deadline)
    if (!ucp_worker_progress(worker)) ::usleep(50);
  ucp_request_free(request);
  return s == UCS_OK;
}

ucp_ep_h connect_to_itself(ucp_worker_h worker) noexcept {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  if (ucp_worker_get_address(worker, &address, &bytes) != UCS_OK) return nullptr;
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = address;
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = [](void*, ucp_ep_h, ucs_status_t) {};
  ucp_ep_h ep = nullptr;
  if (ucp_ep_create(worker, &params, &ep) != UCS_OK) ep = nullptr;
  ucp_worker_release_address(worker, address);
  return ep;
}

struct target {
  alignas(4096) std::uint64_t words[512] = {};
  const std::uint64_t first = 1, second = 2;
};

status connected(ucp_worker_h worker, ucp_ep_h ep, ucp_rkey_h key, target& t) {
  ucp_request_param_t plain{};
  const auto at = reinterpret_cast<std::uint64_t>(&t.words);
  void* put = ucp_put_nbx(ep, &t.first, sizeof t.first, at, key, &plain);  // connects, however long that takes
  const auto patience = clock::now() + longest_connecting;
  if (finish(worker, put, patience) && finish(worker, ucp_ep_flush_nbx(ep, &plain), patience)) return {};
  return {errc::unavailable, "the adapter does not connect to itself by UCX within 5 s; over RoCE UCX_IB_GID_INDEX may "
                             "have to name another address"};
}

bool arrives(ucp_worker_h worker, ucp_ep_h ep, ucp_rkey_h key, target& t) noexcept {
  ucp_request_param_t plain{};
  void* put = ucp_put_nbx(ep, &t.second, sizeof t.second, reinterpret_cast<std::uint64_t>(&t.words), key, &plain);
  bool seen = false;
  for (const auto end = clock::now() + longest_flight; !seen && clock::now() < end; ::usleep(20))
    seen = std::atomic_ref<std::uint64_t>{t.words[0]}.load(std::memory_order_acquire) == t.second;
  return finish(worker, put, clock::now() + longest_connecting) && seen;
}

}  // namespace

result<bool> works_alone(worker_handles& ucx) {
  std::unique_ptr<target> memory{new (std::nothrow) target};
  ucp_ep_h ep = memory ? connect_to_itself(ucx.worker) : nullptr;
  if (!ep) return false;
  bool alone = false;
  status unconnected;
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
  params.address = memory->words, params.length = sizeof memory->words;
  ucp_mem_h mapped = nullptr;
  void* packed = nullptr;
  std::size_t bytes = 0;
  ucp_rkey_h key = nullptr;
  if (ucp_mem_map(ucx.context, &params, &mapped) == UCS_OK) {
    if (ucp_rkey_pack(ucx.context, mapped, &packed, &bytes) == UCS_OK) {
      if (ucp_ep_rkey_unpack(ep, packed, &key) == UCS_OK) {
        unconnected = connected(ucx.worker, ep, key, *memory);
        if (unconnected.ok()) {
          alone = arrives(ucx.worker, ep, key, *memory);
          ucp_rkey_destroy(key);
        }
      }
      ucp_rkey_buffer_release(packed);
    }
  }
  if (unconnected.failed()) {
    ucx = {};  // an endpoint in the middle of connecting may not be closed, nor its worker (quirks.h, answers that wait)
    (void)memory.release();  // the put may still be made
    return unconnected;
  }
  ucp_request_param_t force{};
  force.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  force.flags = UCP_EP_CLOSE_FLAG_FORCE;
  finish(ucx.worker, ucp_ep_close_nbx(ep, &force), clock::now() + longest_connecting);
  if (mapped) ucp_mem_unmap(ucx.context, mapped);
  return alone;
}

}  // namespace tutti::ucx

// Memory reached by UCX's remote keys. Only where every transport is an adapter's (quirks::keys_are_safe()), and a put was seen
// to arrive by itself (works_alone()).
#include "providers/ucx/callbacks.h"
#include "providers/ucx/link.h"

namespace tutti::ucx {
namespace {

struct registered_memory {
  ucp_mem_h handle;
};

struct unlocked_key {
  ucp_rkey_h key;
  std::uint64_t base;
};

using messages::reaching;

ucp_request_param_t calling_back(frame& f) noexcept {
  ucp_request_param_t how;
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  how.cb.send = callbacks::on_reached;
  how.user_data = &f;
  return how;
}

// An endpoint that has failed says so; anything else is wrong with the operation.
bool connection_failed(ucs_status_t s) noexcept {
  return s == UCS_ERR_ENDPOINT_TIMEOUT || s == UCS_ERR_CONNECTION_RESET || s == UCS_ERR_CANCELED ||
         s == UCS_ERR_UNREACHABLE || s == UCS_ERR_NOT_CONNECTED;
}

reaching outcome(messenger& net, const frame& f, void* request, const char* what, status& why) noexcept {
  if (!request) return reaching::done;
  if (!UCS_PTR_IS_ERR(request)) return reaching::under_way;
  const ucs_status_t s = UCS_PTR_STATUS(request);
  const rank_t rank = f.to->rank;
  if (!connection_failed(s)) {
    why = vendor_error(s, what, rank);
    return reaching::refused;
  }
  net.suspect(*f.to, vendor_error(s, what, rank));
  return reaching::lost;
}

}  // namespace

result<void*> ucx_link::register_region(std::span<std::byte> memory, std::vector<std::byte>& key) {
  auto made = std::make_unique<registered_memory>();
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
  params.address = memory.data(), params.length = memory.size();
  if (const auto e = ucp_mem_map(ucx_.context, &params, &made->handle); e != UCS_OK)
    return messages::not_registered(memory.size(), ucs_status_string(e), e);
  void* packed = nullptr;
  std::size_t bytes = 0;
  if (const auto e = ucp_rkey_pack(ucx_.context, made->handle, &packed, &bytes); e != UCS_OK) {
    ucp_mem_unmap(ucx_.context, made->handle);
    return vendor_error(e, "ucp_rkey_pack");
  }
  const auto base = reinterpret_cast<std::uint64_t>(memory.data());
  messages::append(key, &base);
  messages::append(key, static_cast<const std::byte*>(packed), bytes);
  ucp_rkey_buffer_release(packed);
  return static_cast<void*>(made.release());
}

void ucx_link::deregister_region(void* registered) noexcept {
  const std::unique_ptr<registered_memory> gone{static_cast<registered_memory*>(registered)};
  if (ucx_.context) ucp_mem_unmap(ucx_.context, gone->handle);
}

void* ucx_link::unlock(peer& p, std::span<const std::byte> key) noexcept {
  const auto base = messages::head_of<std::uint64_t>(key);
  if (!base || !p.line) return nullptr;
  auto* made = new (std::nothrow) unlocked_key{nullptr, *base};
  if (made && ucp_ep_rkey_unpack(endpoint_of(p), key.data() + sizeof *base, &made->key) == UCS_OK) return made;
  delete made;
  return nullptr;
}

void ucx_link::forget(void* unlocked) noexcept {
  const std::unique_ptr<unlocked_key> gone{static_cast<unlocked_key*>(unlocked)};
  ucp_rkey_destroy(gone->key);
}

reaching ucx_link::put(frame& f, void* unlocked, std::uint64_t offset, const std::byte* from, std::uint32_t bytes,
                       status& why) noexcept {
  const auto& there = *static_cast<const unlocked_key*>(unlocked);
  const auto how = calling_back(f);
  return outcome(*net_, f, ucp_put_nbx(endpoint_of(*f.to), from, bytes, there.base + offset, there.key, &how), "putting", why);
}

reaching ucx_link::get(frame& f, void* unlocked, std::uint64_t offset, std::byte* to, std::uint32_t bytes,
                       status& why) noexcept {
  const auto& there = *static_cast<const unlocked_key*>(unlocked);
  const auto how = calling_back(f);
  return outcome(*net_, f, ucp_get_nbx(endpoint_of(*f.to), to, bytes, there.base + offset, there.key, &how), "getting", why);
}

void ucx_link::fence(peer&) noexcept { ucp_worker_fence(ucx_.worker); }

reaching ucx_link::flush(frame& f, void*) noexcept {
  const auto how = calling_back(f);
  status why;
  const reaching r = outcome(*net_, f, ucp_ep_flush_nbx(endpoint_of(*f.to), &how), "flushing", why);
  if (r != reaching::refused) return r;
  net_->suspect(*f.to, why);
  return reaching::lost;
}

}  // namespace tutti::ucx

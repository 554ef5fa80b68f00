#include "providers/ucx/context.h"

#include <algorithm>
#include <mutex>

#include "core/base/file_limit.h"
#include "providers/ucx/quirks.h"

namespace tutti::ucx {
namespace {

status create(worker_handles& h, std::string_view device, bool two_threads) {
  // UCX makes files in /dev/shm without asking whether they may be so long.
  constexpr std::uint64_t longest_file = 16 << 20;
  if ((device.empty() || device == "shm" || device == "posix") && !file_may_have(longest_file))
    return {errc::no_resource, worded("UCX's shared memory takes files of some MiB", remedy_of_long_files)};
  ucp_config_t* config = nullptr;
  if (const auto e = ucp_config_read(nullptr, nullptr, &config); e != UCS_OK)
    return vendor_error(e, "reading UCX's configuration");
  status outcome = quirks::apply_settings(config, device);
  if (outcome.ok() && !device.empty())
    if (const auto e = ucp_config_modify(config, "TLS", std::string{device}.c_str()); e != UCS_OK)
      outcome = vendor_error(e, "choosing transports \"" + std::string{device} + '"');
  if (outcome.ok()) {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    if (quirks::keys_are_safe(device)) params.features |= UCP_FEATURE_RMA;
    params.name = "tutti";
    if (const auto e = ucp_init(&params, config, &h.context); e != UCS_OK) outcome = vendor_error(e, "ucp_init");
  }
  ucp_config_release(config);
  if (outcome.failed()) return outcome;

  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = two_threads ? UCS_THREAD_MODE_SERIALIZED : UCS_THREAD_MODE_SINGLE;
  if (const auto e = ucp_worker_create(h.context, &params, &h.worker); e != UCS_OK)
    return vendor_error(e, "ucp_worker_create");
  return {};
}

}  // namespace

status vendor_error(ucs_status_t s, const text_parts& what, rank_t peer) noexcept {
  errc code = errc::fabric;
  if (s == UCS_ERR_NO_MEMORY || s == UCS_ERR_NO_RESOURCE || s == UCS_ERR_EXCEEDS_LIMIT) code = errc::no_resource;
  if (s == UCS_ERR_NO_DEVICE || s == UCS_ERR_NO_ELEM) code = errc::unavailable;
  return status(code, ucs_status_string(s), peer, s).during(what);
}

bool only_adapters(std::string_view device) noexcept {
  if (device.empty()) return false;
  while (!device.empty()) {
    const std::string_view name = device.substr(0, device.find(','));
    if (!name.starts_with("rc") && !name.starts_with("dc") && !name.starts_with("ud") && name != "ib") return false;
    device.remove_prefix(std::min(device.size(), name.size() + 1));
  }
  return true;
}

result<worker_handles> open_worker(std::string_view device, bool two_threads) {
  static std::mutex one_at_a_time;  // log level, log handlers and the mode of memory hooks are UCX's globals
  const std::lock_guard lock{one_at_a_time};
  if (status s = quirks::room_to_open(); s.failed()) return s;
  quirks::leave_signals_alone();
  if (quirks::needs_memory_hooks(device)) quirks::allow_memory_hooks();
  const quirks::printed_reasons reasons;
  worker_handles h;
  const status outcome = create(h, device, two_threads);
  if (outcome.ok()) return h;
  close_worker(h);
  return reasons.explain(outcome);
}

void close_worker(worker_handles& h) noexcept {
  if (h.worker) ucp_worker_destroy(h.worker);
  if (h.context) ucp_cleanup(h.context);
  h = {};
}

}  // namespace tutti::ucx

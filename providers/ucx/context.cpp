#include "providers/ucx/context.h"

#include <ucs/config/global_opts.h>
#include <ucs/debug/debug.h>
#include <ucs/debug/log_def.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <span>

#include "core/base/adapters.h"
#include "core/base/dev_shm.h"
#include "core/base/headroom.h"

namespace tutti::ucx {
namespace {

// What UCX says while a context is being opened: it returns a bare code and prints the reason. A library must not
// print, so its words are caught here and become part of the status.
thread_local std::string* said = nullptr;

ucs_log_func_rc_t listen(const char*, unsigned, const char*, ucs_log_level_t level, const ucs_log_component_config_t*,
                         const char* format, va_list arguments) {
  if (!said) return UCS_LOG_FUNC_RC_CONTINUE;
  char line[512];
  if (level <= UCS_LOG_LEVEL_WARN && std::vsnprintf(line, sizeof line, format, arguments) > 0 && said->size() < 1024) {
    try {
      if (!said->empty()) *said += "; ";
      *said += line;
    } catch (...) {  // a shorter text, then
    }
  }
  return UCS_LOG_FUNC_RC_STOP;
}

// Once opened, errors come as codes and callbacks; messages would only be noise. UCX also takes over the signals of
// crashes when it is loaded, which is the application's business. Whoever sets UCX's own variables keeps what they ask.
void quieten(const char* level) {
  if (!std::getenv("UCX_LOG_LEVEL")) ucs_global_opts_set_value("LOG_LEVEL", level);
}

void leave_signals_alone() {
  if (std::getenv("UCX_HANDLE_ERRORS")) return;
  for (const int signal : {SIGILL, SIGSEGV, SIGBUS, SIGFPE}) ucs_debug_disable_signal(signal);
}

struct listening {
  std::string words;
  listening() {
    quieten("WARN");
    said = &words;
    ucs_log_push_handler(listen);
  }
  ~listening() {
    ucs_log_pop_handler();
    said = nullptr;
    quieten("FATAL");
  }
  listening(const listening&) = delete;
  listening& operator=(const listening&) = delete;
};

struct setting {
  const char* name;
  const char* value;
};

// Peers that die must be noticed within a second, and connecting must not block; the defaults do neither. Settings of a
// transport are known here by the name in the table that it inherits them from (MM_ for all of shared memory), or by
// their bare name (tcp's CONN_NB), while the environment has them for each transport. Adaptive progress leaves an interface without endpoints to a thread, and
// progress() then does not see that a peer's connection to here was reset: see ucx_link::open().
constexpr std::array<setting, 5> settings{{
    {"KEEPALIVE_INTERVAL", "200ms"},
    {"MM_ERROR_HANDLING", "y"},
    {"ADAPTIVE_PROGRESS", "n"},
    {"CONN_NB", "y"},
    {"WARN_UNUSED_ENV_VARS", "n"},
}};

// What tcp sends straight from the caller's memory UCX 1.13 completes twice where the peer dies meanwhile, and then aborts the
// process ("comp->count > 0"). So it copies, into segments that take a whole piece. Adapters are spared that.
constexpr std::array<setting, 2> settings_of_tcp{{
    {"ZCOPY_THRESH", "inf"},
    {"TX_SEG_SIZE", "64K"},
}};

status set_all(ucp_config_t* config, std::span<const setting> all) {
  for (const setting& s : all)
    if (!std::getenv((std::string{"UCX_"} + s.name).c_str()))
      if (const auto e = ucp_config_modify(config, s.name, s.value); e != UCS_OK)
        return vendor_error(e, std::string{"setting "} + s.name);
  return {};
}

status configure(ucp_config_t* config, std::string_view device) {
  if (status s = set_all(config, settings); s.failed()) return s;
  if (device == "tcp" || (device.empty() && !has_adapters()))
    if (status s = set_all(config, settings_of_tcp); s.failed()) return s;
  if (device.empty()) return {};
  const auto e = ucp_config_modify(config, "TLS", std::string{device}.c_str());
  return e == UCS_OK ? status{} : vendor_error(e, "choosing transports \"" + std::string{device} + '"');
}

// A context and a worker over tcp take 13, each connection one at either end. UCX 1.13 aborts the process where it gets none.
constexpr unsigned descriptors_of_a_worker = 32;
constexpr std::size_t mapped_by_a_worker = 64 << 20;  // its buffers, and the stack of its thread

// A worker's buffers for shared memory did not fit: UCX's own words end_peer that, and do not say what there is.
status too_small(std::string_view words) {
  constexpr std::string_view before_bytes = "write total of ";
  if (words.find("/dev/shm") == words.npos) return {};
  std::uint64_t needed = 4 << 20;  // as UCX 1.13 takes
  if (const auto at = words.find(before_bytes); at != words.npos)
    std::from_chars(words.data() + at + before_bytes.size(), words.data() + words.size(), needed);
  return dev_shm_too_small("UCX, for each rank,", needed, room_in_dev_shm());
}

status create(worker_handles& h, std::string_view device, bool two_threads) {
  ucp_config_t* config = nullptr;
  if (const auto e = ucp_config_read(nullptr, nullptr, &config); e != UCS_OK)
    return vendor_error(e, "reading UCX's configuration");
  status outcome = configure(config, device);
  if (outcome.ok()) {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    if (only_adapters(device)) params.features |= UCP_FEATURE_RMA;
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

status vendor_error(ucs_status_t s, std::string what, rank_t peer) {
  errc code = errc::fabric;
  if (s == UCS_ERR_NO_MEMORY || s == UCS_ERR_NO_RESOURCE || s == UCS_ERR_EXCEEDS_LIMIT) code = errc::no_resource;
  if (s == UCS_ERR_NO_DEVICE || s == UCS_ERR_NO_ELEM) code = errc::unavailable;
  return {code, std::move(what) + ": " + ucs_status_string(s), peer, s};
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
  static std::mutex one_at_a_time;  // log level and log handlers are UCX's globals
  const std::lock_guard lock{one_at_a_time};
  if (status s = headroom("UCX", descriptors_of_a_worker, mapped_by_a_worker); s.failed()) return s;
  leave_signals_alone();
  listening ear;
  worker_handles h;
  const status outcome = create(h, device, two_threads);
  if (outcome.ok()) return h;
  close_worker(h);
  if (status small = too_small(ear.words); small.failed()) return small;
  return ear.words.empty() ? outcome
                           : status{outcome.code(), std::string{outcome.text()} + " (" + ear.words + ")", no_rank,
                                    outcome.native()};
}

void close_worker(worker_handles& h) noexcept {
  if (h.worker) ucp_worker_destroy(h.worker);
  if (h.context) ucp_cleanup(h.context);
  h = {};
}

}  // namespace tutti::ucx

#include "providers/ucx/quirks.h"

#include <ucm/api/ucm.h>
#include <ucs/config/global_opts.h>
#include <ucs/debug/debug.h>
#include <ucs/debug/log_def.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "core/base/adapters.h"
#include "core/base/dev_shm.h"
#include "core/base/headroom.h"
#include "providers/messages/transport.h"
#include "providers/ucx/context.h"

namespace tutti::ucx::quirks {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr unsigned descriptors_of_a_worker = 32;  // a context and a worker over tcp take 13, each connection one at either end
constexpr mapped_bytes mapped_by_a_worker{.address_space = 64 << 20, .data = 16 << 20};  // its buffers, and the stack of its thread
constexpr unsigned am_ids = 1u << 16;                 // that UCX can carry
constexpr auto quiet = 2ms, longest_settling = 50ms;

thread_local std::string* listener = nullptr;

ucs_log_func_rc_t listen(const char*, unsigned, const char*, ucs_log_level_t level, const ucs_log_component_config_t*,
                         const char* format, va_list arguments) {
  if (!listener) return UCS_LOG_FUNC_RC_CONTINUE;
  char line[512];
  if (level <= UCS_LOG_LEVEL_WARN && std::vsnprintf(line, sizeof line, format, arguments) > 0 && listener->size() < 1024) {
    try {
      if (!listener->empty()) *listener += "; ";
      *listener += line;
    } catch (...) {  // a shorter text, then
    }
  }
  return UCS_LOG_FUNC_RC_STOP;
}

void set_log_level(const char* level) {
  if (!std::getenv("UCX_LOG_LEVEL")) ucs_global_opts_set_value("LOG_LEVEL", level);
}

struct setting {
  const char* name;
  const char* value;
};

// A setting of a transport is known here by the name in the table that the transport inherits it from (MM_ for all of shared
// memory), or by its bare name (tcp's CONN_NB), while the environment has it for each transport.
constexpr setting settings[] = {
    {"KEEPALIVE_INTERVAL", "200ms"}, {"MM_ERROR_HANDLING", "y"},    {"ADAPTIVE_PROGRESS", "n"},
    {"CONN_NB", "y"},                {"WARN_UNUSED_ENV_VARS", "n"},
};
constexpr setting settings_of_tcp[] = {{"ZCOPY_THRESH", "inf"}, {"TX_SEG_SIZE", "64K"}};

status set_all(ucp_config_t* config, std::span<const setting> all) {
  for (const setting& s : all)
    if (!std::getenv((std::string{"UCX_"} + s.name).c_str()))
      if (const auto e = ucp_config_modify(config, s.name, s.value); e != UCS_OK)
        return vendor_error(e, std::string{"setting "} + s.name);
  return {};
}

// Whether UCX has a connection that it reads from or writes to. In doubt: yes.
bool has_connections(int worker_fd) noexcept {
  bool any = false;
  const bool known = messages::for_each_connection(
      worker_fd, [](int, void* found) { *static_cast<bool*>(found) = true; }, &any);
  return any || !known;
}

}  // namespace

status room_to_open() { return headroom("UCX", descriptors_of_a_worker, mapped_by_a_worker); }

void leave_signals_alone() {
  if (std::getenv("UCX_HANDLE_ERRORS")) return;
  for (const int signal : {SIGILL, SIGSEGV, SIGBUS, SIGFPE}) ucs_debug_disable_signal(signal);
}

bool needs_memory_hooks(std::string_view device) noexcept { return device != "tcp" && device != "shm" && has_adapters(); }

void allow_memory_hooks() noexcept {
  if (ucm_global_opts.mmap_hook_mode == UCM_MMAP_HOOK_NONE && !std::getenv("UCX_MEM_MMAP_HOOK_MODE"))
    ucm_global_opts.mmap_hook_mode = UCM_MMAP_HOOK_BISTRO;
}

printed_reasons::printed_reasons() {
  set_log_level("WARN");
  listener = &words_;
  ucs_log_push_handler(listen);
}

printed_reasons::~printed_reasons() {
  ucs_log_pop_handler();
  listener = nullptr;
  set_log_level("FATAL");
}

status printed_reasons::explain(const status& outcome) const {
  if (words_.empty()) return outcome;
  if (words_.find("/dev/shm") == words_.npos)
    return {outcome.code(), std::string{outcome.text()} + " (" + words_ + ")", no_rank, outcome.native()};
  constexpr std::string_view before_bytes = "write total of ";
  std::uint64_t needed = 4 << 20;  // as it is where UCX does not say
  if (const auto at = words_.find(before_bytes); at != words_.npos)
    std::from_chars(words_.data() + at + before_bytes.size(), words_.data() + words_.size(), needed);
  return dev_shm_too_small("UCX, for each rank,", needed, room_in_dev_shm());
}

status apply_settings(ucp_config_t* config, std::string_view device) {
  const status s = set_all(config, settings);
  const bool by_tcp = device == "tcp" || (device.empty() && !has_adapters());
  return s.failed() || !by_tcp ? s : set_all(config, settings_of_tcp);
}

ucs_status_t install_for_every_id(ucp_worker_h worker, ucp_am_handler_param_t handler) {
  handler.field_mask |= UCP_AM_HANDLER_PARAM_FIELD_ID;
  for (unsigned id = am_ids; id-- > 0;) {  // from the last id downwards the array grows once
    handler.id = id;
    if (const auto e = ucp_worker_set_am_recv_handler(worker, &handler); e != UCS_OK) return e;
  }
  return UCS_OK;
}

bool keys_are_safe(std::string_view device) noexcept { return only_adapters(device); }

bool come_to_rest(ucp_worker_h worker, int fd, own_time longest, messages::messenger& net) noexcept {
  own_time settling{longest_settling, clock::now()};
  for (own_time rest{quiet, clock::now()}; !settling.over(clock::now()) && !rest.over(clock::now());)
    if (ucp_worker_progress(worker)) rest = {quiet, clock::now()};
    else ::usleep(50);
  ucp_request_param_t params{};
  for (;;) {
    net.close_suspects();
    void* request = ucp_worker_flush_nbx(worker, &params);
    if (!UCS_PTR_IS_PTR(request)) return true;
    bool busy;
    own_time rest{longest_settling, clock::now()};
    while ((busy = ucp_request_check_status(request) == UCS_INPROGRESS) && !longest.over(clock::now())) {
      if (ucp_worker_progress(worker)) rest = {longest_settling, clock::now()};
      else if (rest.over(clock::now()) && !has_connections(fd)) break;
      ::usleep(50);
      net.close_suspects();
    }
    ucp_request_free(request);
    if (busy) return !has_connections(fd);
  }
}

}  // namespace tutti::ucx::quirks

// Errors: their codes, where they are kept, and how the texts of wrong calls are made.
#include <cstdarg>
#include <cstdio>

#include "api/use.h"

namespace tutti {
namespace {

constexpr bool same(errc ours, tutti_status_t theirs) { return static_cast<int>(ours) == static_cast<int>(theirs); }
static_assert(same(errc::ok, TUTTI_OK) && same(errc::invalid, TUTTI_INVALID) &&
              same(errc::no_resource, TUTTI_NO_RESOURCE) && same(errc::unsupported, TUTTI_UNSUPPORTED) &&
              same(errc::unavailable, TUTTI_UNAVAILABLE) && same(errc::timed_out, TUTTI_TIMED_OUT) &&
              same(errc::peer_dead, TUTTI_PEER_DEAD) && same(errc::fabric, TUTTI_FABRIC) &&
              same(errc::protocol, TUTTI_PROTOCOL) && same(errc::truncated, TUTTI_TRUNCATED) &&
              same(errc::cancelled, TUTTI_CANCELLED));

// A call without a context cannot say so there: its thread keeps the error, and its number among those of the process. A context's
// error remembers how many of them there were before it, so the newer of the two is known. A thread has the text only once it is
// wanted: what is to be destroyed with a thread costs memory in each.
std::atomic<std::uint64_t> errors_of_threads = 0;
thread_local std::uint64_t newest_of_thread = 0;

status& of_thread() noexcept {
  thread_local status last;
  return last;
}

const status& last_of(tutti_context* handle) noexcept {
  const tutti_context* ctx = api::find(handle);
  return ctx && newest_of_thread <= ctx->thread_errors_before ? ctx->last : of_thread();
}

}  // namespace

namespace api {

std::uint64_t thread_errors() noexcept { return errors_of_threads.load(std::memory_order_relaxed); }

tutti_status_t report(tutti_context* ctx, status s) noexcept {
  const auto code = static_cast<tutti_status_t>(s.code());
  if (ctx) {
    ctx->last = std::move(s);
    ctx->thread_errors_before = thread_errors();
  } else {
    of_thread() = std::move(s);
    newest_of_thread = errors_of_threads.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  return code;
}

tutti_status_t refuse(tutti_context* ctx, const char* format, ...) noexcept {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return report(ctx, status(errc::invalid, text));
}

tutti_status_t refuse_null(tutti_context* ctx, const char* call, const char* what) noexcept {
  return refuse(ctx, "%s: %s is NULL", call, what);
}

tutti_status_t refuse_handle(const void* handle, const char* call, const char* what, const char* kind) noexcept {
  if (!handle) return refuse_null(nullptr, call, what);
  const auto h = reinterpret_cast<std::uintptr_t>(handle);
  if (is_of_parent(reinterpret_cast<const handle_slot*>(h & handle_slot::address_bits)))
    return refuse(nullptr, "%s: the %s belongs to the process that forked this one; only that one may use it", call, kind);
  return refuse(nullptr, "%s: this %s was freed before, or is none; keep no copies of a handle beyond its end", call, kind);
}

tutti_status_t refuse_overlap(const char* call, const char* other) noexcept {
  return refuse(nullptr, "%s: another thread is in %s on this context; calls upon one context must not overlap", call, other);
}

tutti_status_t refuse_in_handler(tutti_context* ctx, const char* call) noexcept {
  return refuse(ctx, "%s: a handler of an active message may not make this call; make it once the handler has returned", call);
}

tutti_status_t out_of_memory(tutti_context* ctx, const char* call) noexcept {
  return report(ctx, status(errc::no_resource, "out of memory").during(call));  // short enough to need none itself
}

bool deadline_in(job& j, double seconds, time_point& out) noexcept {
  constexpr double longest = 1e9;  // 30 years
  out = time_point::max();
  if (seconds != seconds) return false;
  if (seconds >= 0 && seconds < longest)
    out = j.net().now() + std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  return true;
}

}  // namespace api
}  // namespace tutti

int tutti_version(void) { return TUTTI_VERSION; }

const char* tutti_strstatus(int code) {
  return tutti::errc_name(static_cast<tutti::errc>(code)).data();  // views of literals, so they end in a zero
}

const char* tutti_error_text(tutti_t ctx) { return tutti::last_of(ctx).text(); }
uint32_t tutti_error_peer(tutti_t ctx) { return tutti::last_of(ctx).peer(); }
int64_t tutti_error_native(tutti_t ctx) { return tutti::last_of(ctx).native(); }

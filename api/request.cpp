// Testing and waiting for requests: of one-sided operations and of collectives.
#include "api/use.h"

using namespace tutti;
using namespace tutti::api;

namespace {

bool complete(const request_slot& s) noexcept {
  if (s.again && !s.again->active) return true;
  return s.of ? s.of->test(s.number) : s.done.idle();
}

tutti_status_t retire(tutti_request_t* request, const char* call) noexcept {
  auto* slot = static_cast<request_slot*>(request->slot);
  tutti_context* ctx = slot->owner;
  const status s = slot->of ? slot->of->outcome() : slot->done.outcome();
  if (slot->again) {
    if (!std::exchange(slot->again->active, false)) return TUTTI_OK;
  } else {
    ctx->requests.give(slot);
    *request = {};
  }
  if (s.ok()) [[likely]] return TUTTI_OK;
  return report(ctx, s.during(call));
}

// The handle of the request's context; null where it ended.
tutti_t owner_of(const tutti_request_t& r) noexcept {
  tutti_context* owner = r.slot ? static_cast<request_slot*>(r.slot)->owner : nullptr;
  return owner ? handle_of(owner) : nullptr;
}

bool stale(const tutti_request_t& r) noexcept { return static_cast<request_slot*>(r.slot)->ticket != r.ticket; }

tutti_status_t refuse_stale(const tutti_request_t& r, const char* call) noexcept {
  return refuse(static_cast<request_slot*>(r.slot)->owner,  // null where its context ended
                "%s: request %llu is complete already, and this is a stale copy of it; keep one copy of each request",
                call, static_cast<unsigned long long>(r.ticket));
}

}  // namespace

tutti_status_t tutti_test(tutti_request_t* request, int* done) {
  if (!request) return refuse_null(nullptr, "tutti_test", "request");
  if (!done) return refuse_null(find(owner_of(*request)), "tutti_test", "done");
  if (!request->slot) return *done = 1, TUTTI_OK;
  if (stale(*request)) return refuse_stale(*request, "tutti_test");
  const use held(owner_of(*request), "tutti_test");
  if (!held) return held.refuse("the request's context");
  auto* slot = static_cast<request_slot*>(request->slot);
  if (!complete(*slot)) {
    slot->owner->job->progress();
    if (!complete(*slot)) {
      *done = 0;
      return TUTTI_OK;
    }
  }
  *done = 1;
  return retire(request, "tutti_test");
}

tutti_status_t tutti_wait(tutti_request_t* request, double timeout_s) {
  if (!request) return refuse_null(nullptr, "tutti_wait", "request");
  if (!request->slot) return TUTTI_OK;
  if (stale(*request)) return refuse_stale(*request, "tutti_wait");
  const use held(owner_of(*request), "tutti_wait");
  if (!held) return held.refuse("the request's context");
  auto* slot = static_cast<request_slot*>(request->slot);
  tutti_context* ctx = slot->owner;
  time_point deadline;
  if (!deadline_in(*ctx->job, timeout_s, deadline)) return refuse(ctx, "tutti_wait: timeout_s is not a number");
  return guarded(ctx, "tutti_wait", [&] {
    if (!complete(*slot)) {
      const status s = slot->of ? slot->of->wait(slot->number, deadline)
                                : ctx->job->wait(slot->done, "one-sided operation", deadline);
      if (!complete(*slot)) return report(ctx, s.during("tutti_wait"));
    }
    return retire(request, "tutti_wait");
  });
}

tutti_status_t tutti_start(tutti_request_t* request) {
  if (!request || !request->slot) return refuse_null(nullptr, "tutti_start", "request, which tutti_barrier_init() or its like gives,");
  if (stale(*request)) return refuse_stale(*request, "tutti_start");
  const use held(owner_of(*request), "tutti_start");
  if (!held) return held.refuse("the request's context");
  auto* slot = static_cast<request_slot*>(request->slot);
  tutti_context* ctx = slot->owner;
  if (!slot->again) return refuse(ctx, "tutti_start: the request is of one operation only; use one that tutti_barrier_init() or its like gave");
  if (slot->again->active) return refuse(ctx, "tutti_start: the operation is under way; find it complete first, by tutti_wait() or tutti_test()");
  if (!slot->again->comm) return refuse(ctx, "tutti_start: the operation's team was freed");
  return guarded(ctx, "tutti_start", [&] {
    const status s = begin(*slot->again->comm, slot->again->call, *slot);
    if (s.failed()) return report(ctx, s.during("tutti_start"));
    slot->again->active = true;
    return TUTTI_OK;
  });
}

tutti_status_t tutti_request_free(tutti_request_t* request) {
  if (!request) return refuse_null(nullptr, "tutti_request_free", "request");
  if (!request->slot) return TUTTI_OK;
  if (stale(*request)) return refuse_stale(*request, "tutti_request_free");
  const use held(owner_of(*request), "tutti_request_free");
  if (!held) return held.refuse("the request's context");
  auto* slot = static_cast<request_slot*>(request->slot);
  tutti_context* ctx = slot->owner;
  if (!slot->again) return refuse(ctx, "tutti_request_free: the request is of one operation only, and ends with it; wait for it instead");
  if (slot->again->active) return refuse(ctx, "tutti_request_free: the operation is under way; find it complete first, by tutti_wait() or tutti_test()");
  ctx->requests.give(slot);
  *request = {};
  return TUTTI_OK;
}

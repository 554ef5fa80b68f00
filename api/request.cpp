// Testing and waiting for requests: of one-sided operations and of collectives.
#include "api/use.h"

using namespace tutti;
using namespace tutti::api;

namespace {

bool complete(const request_slot& s) noexcept {
  return s.of ? s.of->test(s.number) : s.done.idle();
}

tutti_status_t retire(tutti_request_t* request, const char* call) noexcept {
  auto* slot = static_cast<request_slot*>(request->slot);
  tutti_context* ctx = slot->owner;
  const status s = slot->of ? slot->of->outcome() : slot->done.outcome();
  ctx->requests.give(slot);
  *request = {};
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

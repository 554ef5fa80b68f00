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
  const status s = slot->of ? slot->of->outcome_in_full() : slot->done.outcome();
  if (slot->again) {
    if (!std::exchange(slot->again->active, false)) return TUTTI_OK;
    if (!slot->of) slot->done.clear();  // it has its outcome; the next one begins without
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

// What a wait does at each look, besides looking.
void take_messages(tutti_context* ctx) noexcept {
  if (ctx->messages) ctx->messages->by_tag().poll();
}

// The words of what keeps it. A collective tells by itself of a long wait.
std::string in_words(tutti_context* ctx, const request_slot& slot, wait_note& note) {
  note.from = no_rank, note.told = !slot.of;
  if (slot.of) return "a request of a collective";
  if (!slot.message) return "a one-sided operation that it began";
  note.from = slot.message->with ? slot.message->with->rank : slot.message->source;
  return ctx->messages->by_tag().in_words(*slot.message);
}

// For one that is no collective.
status wait_for_one(tutti_context* ctx, request_slot& slot, time_point deadline) {
  wait_note note{slot.message ? "a message" : "one-sided operation", no_rank, 0, 1};
  const auto tell = [&] { return slot.done.idle() ? note.what : in_words(ctx, slot, note); };
  const function_ref<std::string> words(tell);
  note.words = &words;
  if (!slot.message) {
    const status s = ctx->job->wait([&] { return slot.done.idle(); }, [] { return status{}; }, note, deadline);
    return s.ok() ? slot.done.outcome() : s;
  }
  const auto ready = [&] { return take_messages(ctx), slot.done.idle(); };
  const auto look = [&] { return ctx->messages->end().look(), status{}; };
  return ctx->job->wait(ready, look, note, deadline);
}

// Several requests of one context.
class request_list {
 public:
  request_list(tutti_request_t* requests, std::size_t count, const char* call) noexcept
      : all_(requests, requests ? count : 0), call_(call), refused_(check(count)), held_(ctx_ ? handle_of(ctx_) : nullptr, call) {
    if (refused_ == TUTTI_OK && ctx_ && !held_) refused_ = held_.refuse("the requests' context");
  }
  tutti_status_t refused() const noexcept { return refused_; }
  tutti_context* context() const noexcept { return ctx_; }
  std::size_t size() const noexcept { return all_.size(); }

  // Complete, and this call's to report; what is zeroed or was not started is neither complete nor under way.
  bool done(std::size_t i) const noexcept { return under_way(i) && complete(slot(i)); }
  std::size_t first_done() const noexcept {
    std::size_t i = 0;
    while (i < all_.size() && !done(i)) ++i;
    return i;
  }
  bool any_under_way() const noexcept {
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (under_way(i)) return true;
    return false;
  }
  // Goes on at the first that was not complete when it was last asked: what is complete stays so.
  bool all_done() const noexcept {
    for (; complete_ < all_.size(); ++complete_)
      if (under_way(complete_) && !complete(slot(complete_))) return false;
    return true;
  }
  // Retires this one, or all that are complete: the first error. `each` is told which.
  tutti_status_t retire_one(std::size_t i) noexcept { return retire(&all_[i], call_); }
  template <class Each>
  tutti_status_t retire_done(Each each) noexcept {
    tutti_status_t first = TUTTI_OK;
    status text;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!done(i)) continue;
      const tutti_status_t s = retire_one(i);
      if (first == TUTTI_OK && s != TUTTI_OK) first = s, text = ctx_->last;
      each(i);
    }
    if (first != TUTTI_OK) ctx_->last = text;
    return first;
  }
  tutti_status_t retire_some(std::size_t* indices, std::size_t& done) noexcept {
    done = 0;
    return retire_done([&](std::size_t i) { indices[done++] = i; });
  }
  // Blocks until ready(): success, or what is to be returned.
  template <class Ready>
  tutti_status_t wait(Ready ready, double timeout_s) {
    if (!ctx_ || ready()) return TUTTI_OK;
    time_point deadline;
    if (!deadline_in(*ctx_->job, timeout_s, deadline)) return refuse(ctx_, "%s: timeout_s is not a number", call_);
    return guarded(ctx_, call_, [&] {
      const auto look = [&] {
        for (std::size_t i = 0; i < all_.size(); ++i)
          if (under_way(i) && slot(i).of) slot(i).of->look_after();
        if (ctx_->messages) ctx_->messages->end().look();
        return status{};
      };
      wait_note note{"requests"};
      const auto tell = [&] {  // of the first that is incomplete
        for (std::size_t i = 0; i < all_.size(); ++i)
          if (under_way(i) && !complete(slot(i))) return note.exact = all_.size() == 1, in_words(ctx_, slot(i), note);
        return std::string(note.what);
      };
      const function_ref<std::string> words(tell);
      note.words = &words;
      return finish(ctx_, ctx_->job->wait([&] { return take_messages(ctx_), ready(); }, look, note, deadline).during(call_));
    });
  }
  template <class Ready>
  void progress_unless(Ready ready) {
    if (!ctx_ || ready()) return;
    ctx_->job->progress();
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (under_way(i) && slot(i).of) slot(i).of->polled();
    if (ctx_->messages) ctx_->messages->end().polled();
  }

 private:
  request_slot& slot(std::size_t i) const noexcept { return *static_cast<request_slot*>(all_[i].slot); }
  bool under_way(std::size_t i) const noexcept { return all_[i].slot && !(slot(i).again && !slot(i).again->active); }
  // Each is listed once, or what one entry retires another would retire again.
  tutti_status_t check(std::size_t count) noexcept {
    if (all_.size() < count) return refuse_null(nullptr, call_, "requests");
    std::size_t known = 0;
    const tutti_status_t refused = check_each(known);
    for (std::size_t i = 0; i < known; ++i)
      if (all_[i].slot) slot(i).listed = false;
    return refused;
  }
  tutti_status_t check_each(std::size_t& known) noexcept {
    for (; known < all_.size(); ++known) {
      const tutti_request_t& r = all_[known];
      if (!r.slot) continue;
      if (stale(r)) return refuse_stale(r, call_);
      tutti_context* const owner = static_cast<request_slot*>(r.slot)->owner;
      if (ctx_ && owner != ctx_) return refuse(nullptr, "%s: the requests belong to different contexts; wait for those of each apart", call_);
      ctx_ = owner;
      if (std::exchange(slot(known).listed, true))
        return refuse(owner, "%s: the request at %zu stands in the list twice; list each once", call_, known);
    }
    return TUTTI_OK;
  }

  std::span<tutti_request_t> all_;
  mutable std::size_t complete_ = 0;  // of the first so many all are
  const char* call_;
  tutti_context* ctx_ = nullptr;
  tutti_status_t refused_;
  use<tutti_context> held_;
};

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
    if (slot->of) slot->of->polled();
    else if (slot->owner->messages) slot->owner->messages->end().polled();
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
                                : wait_for_one(ctx, *slot, deadline);
      if (!complete(*slot)) return report(ctx, s.during("tutti_wait"));
    }
    return retire(request, "tutti_wait");
  });
}

tutti_status_t tutti_start(tutti_request_t* request) {
  if (!request || !request->slot) return refuse_null(nullptr, "tutti_start", "request, which tutti_barrier_init() or its like gives,");
  if (stale(*request)) return refuse_stale(*request, "tutti_start");
  const use held(owner_of(*request), "tutti_start", by_handlers_too);
  if (!held) return held.refuse("the request's context");
  auto* slot = static_cast<request_slot*>(request->slot);
  tutti_context* ctx = slot->owner;
  if (!slot->again) return refuse(ctx, "tutti_start: the request is of one operation only; use one that tutti_barrier_init() or its like gave");
  if (slot->again->active) return refuse(ctx, "tutti_start: the operation is under way; find it complete first, by tutti_wait() or tutti_test()");
  if (!slot->again->comm) return refuse(ctx, "tutti_start: the operation's team was freed");
  return guarded(ctx, "tutti_start", [&] {
    const auto* const collective = std::get_if<collective_call>(&slot->again->call);
    const status s = collective ? begin(*slot->again->comm, *collective, *slot) : begin_message(ctx, *slot->again, *slot);
    if (s.failed()) return report(ctx, s.during("tutti_start"));
    slot->again->active = true;
    return TUTTI_OK;
  });
}

tutti_status_t tutti_request_free(tutti_request_t* request) {
  if (!request) return refuse_null(nullptr, "tutti_request_free", "request");
  if (!request->slot) return TUTTI_OK;
  if (stale(*request)) return refuse_stale(*request, "tutti_request_free");
  const use held(owner_of(*request), "tutti_request_free", by_handlers_too);
  if (!held) return held.refuse("the request's context");
  auto* slot = static_cast<request_slot*>(request->slot);
  tutti_context* ctx = slot->owner;
  if (!slot->again) return refuse(ctx, "tutti_request_free: the request is of one operation only, and ends with it; wait for it instead");
  if (slot->again->active) return refuse(ctx, "tutti_request_free: the operation is under way; find it complete first, by tutti_wait() or tutti_test()");
  ctx->requests.give(slot);
  *request = {};
  return TUTTI_OK;
}

tutti_status_t tutti_wait_all(tutti_request_t* requests, size_t count, double timeout_s) {
  request_list all(requests, count, "tutti_wait_all");
  if (all.refused() != TUTTI_OK) return all.refused();
  const auto s = all.wait([&] { return all.all_done(); }, timeout_s);
  return s != TUTTI_OK ? s : all.retire_done([](std::size_t) {});
}

tutti_status_t tutti_test_all(tutti_request_t* requests, size_t count, int* done) {
  if (!done) return refuse_null(nullptr, "tutti_test_all", "done");
  request_list all(requests, count, "tutti_test_all");
  if (all.refused() != TUTTI_OK) return all.refused();
  all.progress_unless([&] { return all.all_done(); });
  *done = all.all_done();
  return *done ? all.retire_done([](std::size_t) {}) : TUTTI_OK;
}

tutti_status_t tutti_wait_any(tutti_request_t* requests, size_t count, size_t* index, double timeout_s) {
  if (!index) return refuse_null(nullptr, "tutti_wait_any", "index");
  request_list all(requests, count, "tutti_wait_any");
  if (all.refused() != TUTTI_OK) return all.refused();
  std::size_t found = count;
  const auto s = all.wait([&] { return (found = all.first_done()) < count || !all.any_under_way(); }, timeout_s);
  if (s != TUTTI_OK) return s;
  *index = found = all.first_done();
  return found < count ? all.retire_one(found) : TUTTI_OK;
}

tutti_status_t tutti_test_any(tutti_request_t* requests, size_t count, size_t* index, int* done) {
  if (!index) return refuse_null(nullptr, "tutti_test_any", "index");
  if (!done) return refuse_null(nullptr, "tutti_test_any", "done");
  request_list all(requests, count, "tutti_test_any");
  if (all.refused() != TUTTI_OK) return all.refused();
  all.progress_unless([&] { return all.first_done() < count; });
  *index = all.first_done();
  *done = *index < count || !all.any_under_way();
  return *index < count ? all.retire_one(*index) : TUTTI_OK;
}

tutti_status_t tutti_wait_some(tutti_request_t* requests, size_t count, size_t* indices, size_t* done, double timeout_s) {
  if (!done || (!indices && count > 0)) return refuse_null(nullptr, "tutti_wait_some", done ? "indices" : "done");
  request_list all(requests, count, "tutti_wait_some");
  if (all.refused() != TUTTI_OK) return all.refused();
  const auto s = all.wait([&] { return all.first_done() < count || !all.any_under_way(); }, timeout_s);
  return s != TUTTI_OK ? s : all.retire_some(indices, *done);
}

tutti_status_t tutti_test_some(tutti_request_t* requests, size_t count, size_t* indices, size_t* done) {
  if (!done || (!indices && count > 0)) return refuse_null(nullptr, "tutti_test_some", done ? "indices" : "done");
  request_list all(requests, count, "tutti_test_some");
  if (all.refused() != TUTTI_OK) return all.refused();
  all.progress_unless([&] { return all.first_done() < count; });
  return all.retire_some(indices, *done);
}

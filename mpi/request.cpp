#include "mpi/request.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "mpi/world.h"

namespace tutti::mpi {

// --- handles -----------------------------------------------------------------------------------------------------------------------

namespace {

// Both have space for all requests there are, so that no request ends, nor goes on alone, by an allocation.
std::vector<std::uint32_t> unused;
std::vector<MPI_Request> detached;

void make_more() {
  const std::size_t from = request_chunks.size() * requests_in_chunk;
  unused.reserve(from + requests_in_chunk);
  detached.reserve(from + requests_in_chunk);
  request_chunks.push_back(std::make_unique<request[]>(requests_in_chunk));
  for (std::size_t i = requests_in_chunk; i-- > 0;) {
    request_chunks.back()[i].has_handle = true;
    if (from + i > 0) unused.push_back(static_cast<std::uint32_t>(from + i));
  }
  request_chunks[0][0].pending = true;
}

}  // namespace

std::vector<std::unique_ptr<request[]>> request_chunks;

MPI_Request request_of(fresh_request& r, const tutti_request_t& handle, const char* call) noexcept {
  communicator* const world = taken(MPI_COMM_WORLD);
  if (!handle.slot || !world) return completed_send();
  r->handle = handle;
  begun(*r, *world, request::kind::collective, call);
  return r.give();
}

void make_first_requests() {
  if (request_chunks.empty()) make_more();
}

fresh_request::fresh_request() {
  if (unused.empty()) make_more();
  handle_ = handle_with<MPI_Request>(unused.back());
  unused.pop_back();
}

// Its communicator is gone with MPI_Finalize, before which the program need not have freed a persistent one.
void drop(MPI_Request handle) noexcept {
  const std::size_t index = index_of(handle);
  if (index == 0) return;
  request& r = at(handle);
  if (r.on && the_world().ctx) --r.on->under_way;
  r.on = nullptr;
  r.active = r.pending = r.cancelled = r.buffered = false;
  if (r.staged) r.staged.reset();
  if (r.again) r.again = nullptr;
  unused.push_back(static_cast<std::uint32_t>(index));
}

// --- begin and end -----------------------------------------------------------------------------------------------------------------

void begun(request& r, communicator& on, request::kind what, const char* call) noexcept {
  if (r.has_handle && !r.on) ++on.under_way;
  if (what == request::kind::collective) ++on.begun_collectives;
  r.on = &on, r.what = what, r.call = call;
  r.active = r.pending = true, r.cancelled = false, r.end = TUTTI_OK;
}

void end_now(request& r, tutti_status_t end) {
  r.handle = {};
  r.active = false, r.end = end;
  if (r.what == request::kind::collective) {
    --r.on->begun_collectives;
    if (end != TUTTI_OK) r.on->failed(end);
  }
  if (r.staged && !r.cancelled && (end == TUTTI_OK || end == TUTTI_TRUNCATED))
    r.staged->finish(r.what == request::kind::receive ? r.envelope.bytes : SIZE_MAX);
}

bool test(request& r) {
  if (!r.active) return true;
  int done = 0;
  const tutti_status_t end = tutti_test(&r.handle, &done);
  if (end == TUTTI_OK && !done) return false;
  end_now(r, end);
  return true;
}

tutti_status_t wait(tutti_request_t* handle) {
  if (!handle->slot) return TUTTI_OK;
  return patiently([&](double seconds) {
    const tutti_status_t s = tutti_wait(handle, seconds);
    return s == TUTTI_TIMED_OUT && !handle->slot ? TUTTI_FABRIC : s;  // the operation's own end, not the slice's
  });
}

void wait(request& r) {
  if (!r.active) return;
  const tutti_status_t end = wait(&r.handle);
  const held h;
  end_now(r, end);
}

void set_status(MPI_Status* s, int source, int tag, std::size_t bytes, bool cancelled) {
  if (s == MPI_STATUS_IGNORE) return;
  s->MPI_SOURCE = source, s->MPI_TAG = tag;
  real.Status_set_elements_x(s, MPI_BYTE, static_cast<MPI_Count>(bytes));
  real.Status_set_cancelled(s, cancelled);
}

void empty_status(MPI_Status* s) { set_status(s, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false); }

int outcome(const request& r, MPI_Status* s) {
  if (r.what == request::kind::receive && !r.cancelled) {
    set_status(s, static_cast<int>(r.envelope.source), static_cast<int>(r.envelope.tag), r.envelope.bytes, false);
  } else if (s != MPI_STATUS_IGNORE) {
    set_status(s, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, r.cancelled);
  }
  return r.end == TUTTI_OK ? MPI_SUCCESS : class_of(r.end);
}

int finish(const request& r, MPI_Status* s) {
  const int code = outcome(r, s);
  return code == MPI_SUCCESS ? code : raise(r.on->errors(), r.call, r.end);
}

void back_off(unsigned turn) noexcept {
  if (turn < 200) return (void)sched_yield();
  advance_mpi();
  if (turn < 2000) sched_yield();
  else usleep(100);
}

void give_up(request& r) {
  int cancelled = 0;
  {
    const held h;
    if (tutti_cancel(&r.handle, &cancelled) == TUTTI_OK && cancelled) r.cancelled = true, end_now(r, TUTTI_OK);
  }
  wait(r);
}

void detach(MPI_Request r) noexcept {
  detached.push_back(r);
  if (detached.size() % 64 == 0) drop_finished();
}
void drop_finished() {
  std::erase_if(detached, [](MPI_Request d) { return test(at(d)) ? drop(d), true : false; });
}

namespace {

void finish_of_detached(bool (*wanted)(const request&)) {
  for (;;) {
    MPI_Request d;
    request* r;
    {
      const held h;
      const auto found = std::ranges::find_if(detached, [&](MPI_Request one) { return wanted(at(one)); });
      if (found == detached.end()) return;
      d = *found;
      detached.erase(found);  // no other thread ends it
      r = &at(d);
      int cancelled = 0;
      if (r->active && r->what == request::kind::receive && tutti_cancel(&r->handle, &cancelled) == TUTTI_OK && cancelled)
        r->cancelled = true, end_now(*r, TUTTI_OK);
    }
    wait(*r);
    const held h;
    drop(d);
  }
}

}  // namespace

void finish_buffered() {
  finish_of_detached([](const request& r) { return r.buffered; });
}
void finish_detached() {
  finish_of_detached([](const request&) { return true; });
}

}  // namespace tutti::mpi

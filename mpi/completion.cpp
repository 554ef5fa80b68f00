// The functions that wait for requests and test them. An array may hold requests of tutti's and of MPI's; MPI is handed its own alone.
//
// Where all are of one world, that world's own way of waiting serves. Where both are there, a wait for all waits for tutti's first and
// for MPI's then: each wait lets the other side advance. A wait for any looks at both in turn.
#include <algorithm>
#include <optional>
#include <vector>

#include "mpi/report.h"
#include "mpi/request.h"
#include "mpi/world.h"

using namespace tutti::mpi;

namespace {

// What an error of a request is raised with, by whoever holds no right to tutti: the handler may itself wait for other ranks.
struct raising {
  handler_of errors;
  const char* call = "";
  tutti_status_t end = TUTTI_OK;
};

// The end of a request of tutti's that is complete, as the program is told it: a persistent one stays, others become null. `error` is
// written where the result is one.
int retire(MPI_Request& handle, MPI_Status* status, raising& error) {
  const held h;
  request& r = at(handle);
  if (!r.pending) return empty_status(status), MPI_SUCCESS;
  const int code = outcome(r, status);
  if (code != MPI_SUCCESS) error = {r.on->errors(), r.call, r.end};
  if (r.again) return r.pending = r.cancelled = false, code;
  drop(handle);
  handle = MPI_REQUEST_NULL;
  return code;
}
int retire_and_raise(MPI_Request& handle, MPI_Status* status) {
  raising error;
  const int code = retire(handle, status, error);
  return code == MPI_SUCCESS ? code : raise(error.errors, error.call, error.end);
}

bool complete(MPI_Request handle) {
  const held h;
  return test(at(handle));
}

// Something the program is to hear of: not null, nor a persistent request that was not started.
bool counts(MPI_Request handle) {
  const held h;
  return at(handle).pending;
}

MPI_Status* place(MPI_Status* statuses, std::size_t i) noexcept { return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i; }

// The entries that are MPI's, as it wants them: alone in an array.
class of_mpi {
 public:
  of_mpi(MPI_Request* all, std::size_t count) : all_(all) {
    for (std::size_t i = 0; i < count; ++i)
      if (!is_ours(all[i])) places_.push_back(i), handles_.push_back(all[i]);
    statuses_.resize(handles_.size());
  }
  int count() const noexcept { return static_cast<int>(handles_.size()); }
  MPI_Request* handles() noexcept { return handles_.data(); }
  MPI_Status* statuses() noexcept { return statuses_.data(); }
  std::size_t place_of(int i) const noexcept { return places_[static_cast<std::size_t>(i)]; }
  void give_back() {
    for (std::size_t i = 0; i < handles_.size(); ++i) all_[places_[i]] = handles_[i];
  }

 private:
  MPI_Request* all_;
  std::vector<std::size_t> places_;
  std::vector<MPI_Request> handles_;
  std::vector<MPI_Status> statuses_;
};

// What several requests ended with: their statuses say each's, and the handler of errors is told of the first.
class ends {
 public:
  explicit ends(MPI_Status* statuses) noexcept : statuses_(statuses) {}
  void ours(MPI_Request& handle, std::size_t i) {
    raising error;
    const int code = retire(handle, place(statuses_, i), error);
    note(i, code);
    if (first_.end == TUTTI_OK) first_ = error;
  }
  void note(std::size_t i, int code) noexcept {
    failed_ = failed_ || code != MPI_SUCCESS;
    if (statuses_ != MPI_STATUSES_IGNORE) statuses_[i].MPI_ERROR = code;
  }
  int tell() const {
    if (first_.end != TUTTI_OK) (void)raise(first_.errors, first_.call, first_.end);
    return failed_ ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
  }

 private:
  MPI_Status* statuses_;
  bool failed_ = false;
  raising first_;  // error
};

// All are complete; MPI has said so of its own, with `code`.
int retire_all(std::size_t count, MPI_Request* r, MPI_Status* statuses, of_mpi& theirs, int code) {
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) return code;
  ends of(statuses);
  for (int i = 0; i < theirs.count(); ++i) {
    if (statuses != MPI_STATUSES_IGNORE) statuses[theirs.place_of(i)] = theirs.statuses()[i];
    if (code == MPI_ERR_IN_STATUS) of.note(theirs.place_of(i), theirs.statuses()[i].MPI_ERROR);
  }
  for (std::size_t i = 0; i < count; ++i)
    if (is_ours(r[i])) of.ours(r[i], i);
  theirs.give_back();
  return of.tell();
}

bool any_ours(const MPI_Request* r, int count) noexcept {
  return r && count > 0 && std::any_of(r, r + count, [](MPI_Request x) { return is_ours(x); });
}

// Why MPI has a wait, or a test, of which no request is tutti's.
reason why_mpi(const MPI_Request* r, int count) noexcept {
  if (!call::reports()) return reason::request;
  return r && std::any_of(r, r + std::max(count, 0), [](MPI_Request x) { return x != MPI_REQUEST_NULL; }) ? reason::request : reason::nothing;
}

// What MPI's own functions found, which do not block.
int looked(int code, const int* found) noexcept {
  if (code == MPI_SUCCESS && found && !*found) looked_at_mpi();
  return code;
}

std::size_t number(int count) noexcept { return static_cast<std::size_t>(count); }

// Blocks until one of tutti's is complete, where no other can be: in tutti's own way of waiting.
void wait_for_any_of_ours(std::size_t count, MPI_Request* r) {
  std::vector<tutti_request_t> under_way;
  std::vector<request*> of;
  const held h;
  for (std::size_t i = 0; i < count; ++i)
    if (is_ours(r[i]) && at(r[i]).active) of.push_back(&at(r[i])), under_way.push_back(of.back()->handle);
  std::size_t found = 0;
  const tutti_status_t s = tutti_wait_any(under_way.data(), under_way.size(), &found, -1);
  if (found < of.size()) end_now(*of[found], s);
}

// Looks at all, from the first: the place of one that is complete, or `count`. `left` says whether any is to be waited for.
// MPI's, where one is complete, is retired at once, with its status.
struct look {
  std::size_t found;
  bool left;
  bool by_mpi = false;
  int code = MPI_SUCCESS;
};
look look_for_any(std::size_t count, MPI_Request* r, of_mpi* theirs, MPI_Status* status) {
  look out{count, false};
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_ours(r[i]) || !counts(r[i])) continue;
    if (complete(r[i])) return out.found = i, out;
    out.left = true;
  }
  if (!theirs) return out;
  int index = MPI_UNDEFINED, done = 0;
  out.code = real.Testany(theirs->count(), theirs->handles(), &index, &done, status);
  theirs->give_back();
  out.left = out.left || !done;
  if (done && index != MPI_UNDEFINED) out.found = theirs->place_of(index), out.by_mpi = true;
  return out;
}

// The other functions for any and for some are made of this one. `blocks`: until one is complete, or none is left.
look find_any(std::size_t count, MPI_Request* r, of_mpi* theirs, MPI_Status* status, bool blocks) {
  for (unsigned turn = 0;; ++turn) {
    const look l = look_for_any(count, r, theirs, status);
    if (l.found < count || !l.left || l.code != MPI_SUCCESS) return l;
    if (theirs) looked_at_mpi();
    else if (!blocks) looked_at_tutti();
    if (!blocks) return l;
    if (theirs || the_world().threaded()) back_off(turn);
    else wait_for_any_of_ours(count, r);
  }
}

// Made once a call, before a request ends: memory may run out.
of_mpi* theirs_among(std::size_t count, MPI_Request* r, std::optional<of_mpi>& made) {
  const bool some = std::any_of(r, r + count, [](MPI_Request x) { return !is_ours(x) && x != MPI_REQUEST_NULL; });
  return some ? &made.emplace(r, count) : nullptr;
}

int any(int count, MPI_Request* r, int* index, int* done, MPI_Status* status, bool blocks) {
  std::optional<of_mpi> made;
  const look l = find_any(number(count), r, theirs_among(number(count), r, made), status, blocks);
  if (done) *done = l.found < number(count) || !l.left;
  *index = l.found < number(count) ? static_cast<int>(l.found) : MPI_UNDEFINED;
  if (l.code != MPI_SUCCESS || l.by_mpi) return l.code;
  if (l.found < number(count)) return retire_and_raise(r[l.found], status);
  if (!l.left) empty_status(status);
  return MPI_SUCCESS;
}

int complete_some(int count, MPI_Request* r, int* done, int* indices, MPI_Status* statuses, bool blocks) {
  MPI_Status status;
  ends of(statuses);
  std::optional<of_mpi> made;
  of_mpi* const theirs = theirs_among(number(count), r, made);
  int n = 0;
  for (;;) {
    const look l = find_any(number(count), r, theirs, &status, blocks && n == 0);
    if (l.found == number(count)) {
      *done = n == 0 && !l.left ? MPI_UNDEFINED : n;
      return of.tell();
    }
    indices[n] = static_cast<int>(l.found);
    const std::size_t to = number(n++);
    if (!l.by_mpi) {
      MPI_Request& handle = r[l.found];
      of.ours(handle, to);
    } else {
      if (statuses != MPI_STATUSES_IGNORE) statuses[to] = status;
      of.note(to, l.code);
    }
  }
}

}  // namespace

TUTTI_MPI_ENTRY(Wait, (MPI_Request* r, MPI_Status* status), MPI_COMM_WORLD, {
  call k(function::Wait);
  if (!r || !is_ours(*r)) {
    k.passed(why_mpi(r, 1));
    const passing by_mpi;
    return real.Wait(r, status);
  }
  request* of;
  {
    const held h;
    of = &at(*r);
  }
  wait(*of);
  return retire_and_raise(*r, status);
})

TUTTI_MPI_ENTRY(Test, (MPI_Request* r, int* done, MPI_Status* status), MPI_COMM_WORLD, {
  call k(function::Test);
  if (!r || !done || !is_ours(*r)) {
    k.passed(why_mpi(r, 1));
    return looked(real.Test(r, done, status), done);
  }
  *done = complete(*r);
  if (*done) return retire_and_raise(*r, status);
  looked_at_tutti();
  return MPI_SUCCESS;
})

TUTTI_MPI_ENTRY(Waitall, (int count, MPI_Request r[], MPI_Status statuses[]), MPI_COMM_WORLD, {
  call k(function::Waitall);
  if (!any_ours(r, count)) {
    k.passed(why_mpi(r, count));
    const passing by_mpi;
    return real.Waitall(count, r, statuses);
  }
  for (int i = 0; i < count; ++i) {
    if (!is_ours(r[i])) continue;
    request* of;
    {
      const held h;
      of = &at(r[i]);
    }
    wait(*of);
  }
  of_mpi theirs(r, number(count));
  int code = MPI_SUCCESS;
  if (theirs.count() > 0) {
    const passing by_mpi;
    code = real.Waitall(theirs.count(), theirs.handles(), theirs.statuses());
  }
  return retire_all(number(count), r, statuses, theirs, code);
})

TUTTI_MPI_ENTRY(Testall, (int count, MPI_Request r[], int* done, MPI_Status statuses[]), MPI_COMM_WORLD, {
  call k(function::Testall);
  if (!done || !any_ours(r, count)) {
    k.passed(why_mpi(r, count));
    return looked(real.Testall(count, r, done, statuses), done);
  }
  *done = 0;
  for (int i = 0; i < count; ++i)
    if (is_ours(r[i]) && !complete(r[i])) return looked_at_tutti(), MPI_SUCCESS;
  of_mpi theirs(r, number(count));
  int code = MPI_SUCCESS;
  if (theirs.count() > 0) {
    code = looked(real.Testall(theirs.count(), theirs.handles(), done, theirs.statuses()), done);
    if (!*done) return code;
  }
  *done = 1;
  return retire_all(number(count), r, statuses, theirs, code);
})

TUTTI_MPI_ENTRY(Waitany, (int count, MPI_Request r[], int* index, MPI_Status* status), MPI_COMM_WORLD, {
  call k(function::Waitany);
  if (index && any_ours(r, count)) return any(count, r, index, nullptr, status, true);
  k.passed(why_mpi(r, count));
  const passing by_mpi;
  return real.Waitany(count, r, index, status);
})

TUTTI_MPI_ENTRY(Testany, (int count, MPI_Request r[], int* index, int* done, MPI_Status* status), MPI_COMM_WORLD, {
  call k(function::Testany);
  if (index && done && any_ours(r, count)) return any(count, r, index, done, status, false);
  k.passed(why_mpi(r, count));
  return looked(real.Testany(count, r, index, done, status), done);
})

TUTTI_MPI_ENTRY(Waitsome, (int count, MPI_Request r[], int* done, int indices[], MPI_Status statuses[]), MPI_COMM_WORLD, {
  call k(function::Waitsome);
  if (done && indices && any_ours(r, count)) return complete_some(count, r, done, indices, statuses, true);
  k.passed(why_mpi(r, count));
  const passing by_mpi;
  return real.Waitsome(count, r, done, indices, statuses);
})

TUTTI_MPI_ENTRY(Testsome, (int count, MPI_Request r[], int* done, int indices[], MPI_Status statuses[]), MPI_COMM_WORLD, {
  call k(function::Testsome);
  if (done && indices && any_ours(r, count)) return complete_some(count, r, done, indices, statuses, false);
  k.passed(why_mpi(r, count));
  return looked(real.Testsome(count, r, done, indices, statuses), done);
})

// --- the other functions upon requests ------------------------------------------------------------------------------------------------

namespace {

int start(MPI_Request handle) {
  const held h;
  request& r = at(handle);
  call k(function::Start);
  if (!r.again || r.active) return raise_text(MPI_COMM_WORLD, "MPI_Start", MPI_ERR_REQUEST, "the request is not persistent, or under way");
  const tutti_status_t s = r.again(r);
  return s == TUTTI_OK ? MPI_SUCCESS : raise(r.on->errors(), "MPI_Start", s);
}

}  // namespace

TUTTI_MPI_ENTRY(Start, (MPI_Request* r), MPI_COMM_WORLD, { return r && is_ours(*r) ? start(*r) : real.Start(r); })

TUTTI_MPI_ENTRY(Startall, (int count, MPI_Request r[]), MPI_COMM_WORLD, {
  if (!any_ours(r, count)) return real.Startall(count, r);
  int code = MPI_SUCCESS;
  for (int i = 0; i < count && code == MPI_SUCCESS; ++i) code = PMPI_Start(&r[i]);
  return code;
})

TUTTI_MPI_ENTRY(Request_free, (MPI_Request* r), MPI_COMM_WORLD, {
  if (!r || !is_ours(*r)) return real.Request_free(r);
  const held h;
  if (at(*r).active) detach(*r);
  else drop(*r);
  *r = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
})

TUTTI_MPI_ENTRY(Request_get_status, (MPI_Request r, int* done, MPI_Status* status), MPI_COMM_WORLD, {
  if (!done || !is_ours(r)) return looked(real.Request_get_status(r, done, status), done);
  const held h;
  *done = test(at(r));
  if (!*done) return looked_at_tutti(), MPI_SUCCESS;
  if (!at(r).pending) return empty_status(status), MPI_SUCCESS;
  return outcome(at(r), status);
})

// A send is not taken back: it ends as it would have, which MPI allows.
TUTTI_MPI_ENTRY(Cancel, (MPI_Request* r), MPI_COMM_WORLD, {
  if (!r || !is_ours(*r)) return real.Cancel(r);
  const held h;
  request& of = at(*r);
  if (of.what != request::kind::receive || test(of)) return MPI_SUCCESS;
  int cancelled = 0;
  if (const tutti_status_t s = tutti_cancel(&of.handle, &cancelled); s != TUTTI_OK) return raise(of.on->errors(), "MPI_Cancel", s);
  if (cancelled) of.cancelled = true, end_now(of, TUTTI_OK);
  return MPI_SUCCESS;
})

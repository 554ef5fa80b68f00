// What all of MPI's collectives have in common. Each is prepared once, for its blocking and its nonblocking form: buffers become bytes or
// elements that lie without gaps (staging.h), counts become lists of bytes, and one of tutti's nonblocking functions is started.
//
// All members must decide alike whether tutti takes a call, so the decision rests on what MPI wants to be alike in all: the communicator,
// the operation, the type of a reduction, and the bytes where all members know them. A wrong argument goes to MPI, which raises its error
// before it communicates.
//
// Where members' calls differ all the same (in their bytes, say), each member that waits for another one finds it and gets an error, and tutti
// has no collectives on that team any more. The communicator is to stay of use, by MPI's collectives; but members that went through the call
// without an error, as a broadcast's root does, do not know yet. So it is left to the first later call that none completes before all have
// come to it (`meets`): an allreduce, a barrier and their like. Those who know (`differed`) do not begin it, but meet by MPI's allreduce;
// the others begin it, wait for those in vain, and find by the record of calls that an earlier one differed: they meet in the same call. So
// all members meet in one call, and nobody in another. From there on MPI has all collectives, that call among them, unless some member's
// data were changed meanwhile; then it is an error in all. Other calls before it are errors where they depend on a member that knows.
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "mpi/communicator.h"
#include "mpi/datatype.h"
#include "mpi/report.h"
#include "mpi/request.h"
#include "mpi/world.h"

namespace tutti::mpi {

// What a collective's function makes of its arguments: why MPI is to take the call, or how it began.
struct beginning {
  reason why = reason::none;
  tutti_status_t began = TUTTI_OK;
  std::size_t bytes = 0;  // of this member's data, for the report
  bool meets = false;     // no member completes it before all have come to it
  bool replaces = false;  // the result comes where the data were
  bool unlike = false;    // what this member sends to itself is not as long as what it receives: it takes no part
};
inline beginning passed(reason why) noexcept { return {why}; }
inline beginning unlike_itself() noexcept { return {.unlike = true}; }
inline beginning met_by_all(beginning b, bool replaces) noexcept { return b.meets = b.bytes > 0, b.replaces = replaces, b; }

// A blocking call's own handle, or that of a fresh request, which is made where an operation of tutti's begins: a call that goes to MPI
// takes no memory, so it goes there in all members.
struct handle_of_call {
  tutti_request_t* own = nullptr;
  std::optional<fresh_request>* fresh = nullptr;
  operator tutti_request_t*() const {
    if (own) return own;
    request& made = *fresh->emplace();
    made.staged = std::make_unique<staging>();
    return &made.handle;
  }
};

// Of a call: where it goes, and what it needs until it ends.
struct setting {
  communicator& on;
  staging& staged;
  handle_of_call handle;
  bool calls_operations;  // of the program (world.h)
  tutti_team_t team() const noexcept { return is_over(on) ? nullptr : on.team; }
  std::size_t members() const noexcept { return static_cast<std::size_t>(on.size); }
  bool root_is_wrong(int root) const noexcept { return root < 0 || root >= on.size; }
  bool is_root(int root) const noexcept { return root == on.rank; }
  // Of all members' blocks, which follow each other.
  void* own_block(void* all, std::size_t bytes) const noexcept { return static_cast<std::byte*>(all) + static_cast<std::size_t>(on.rank) * bytes; }
};

// MPI_IN_PLACE where MPI gives it no meaning. It is an address that nobody can read or write.
inline bool is_misplaced(const void* buffer, std::size_t bytes) noexcept { return buffer == MPI_IN_PLACE && bytes > 0; }

// One buffer to read from and to write to, which MPI forbids, and MPICH finds. Programs of Open MPI do so with success.
inline bool are_aliased([[maybe_unused]] const void* in, [[maybe_unused]] const void* out) noexcept {
#ifdef OPEN_MPI
  return false;
#else
  return in == out && in;
#endif
}

inline int raise_unlike(MPI_Comm comm, const char* name) {
  return raise_text(comm, name, MPI_ERR_TRUNCATE, "this rank's block for itself is not as long as the one that it receives");
}
inline int raise_differed(MPI_Comm comm, const char* name) {
  return raise_text(comm, name, MPI_ERR_OTHER, "an earlier collective call was not alike in all members; collectives go on here from the next "
                                               "one that waits for all of them, as a barrier");
}

// A member that has no memory for its part, or whose own arguments differ, takes part with nothing: the others find that their calls differ,
// and do not wait for ever.
template <class Begin>
beginning begin_part(communicator& on, Begin begin) {
  beginning b;
  try {
    b = begin();
  } catch (...) {
    on.takes_no_part();
    throw;
  }
  b.unlike = b.unlike && !is_over(on);
  if (b.began == TUTTI_NO_RESOURCE || b.unlike) on.takes_no_part();
  return b;
}

template <class Begin, class Pass>
int blocking(function f, MPI_Comm comm, Begin begin, Pass pass) {
  call k(f);
  staging staged;
  tutti_request_t handle{};
  world& w = the_world();
  std::optional<held> h(std::in_place);
  communicator* const c = taken(comm);
  beginning b = c ? begin_part(*c, [&] { return begin(setting{*c, staged, {&handle}, !w.threaded()}); }) : passed(reason::communicator);
  if (b.unlike) return h.reset(), raise_unlike(comm, k.name());
  if (b.why == reason::none && b.began != TUTTI_NO_RESOURCE && is_over(*c)) {
    h.reset();
    if (c->fate == communicator::fate::differed && !(b.meets && c->meet(true))) return raise_differed(comm, k.name());
    b.why = reason::communicator;
  }
  k.passed(b.why), k.moved(b.bytes);
  if (b.why != reason::none) {
    h.reset();
    const passing by_mpi;
    return pass();
  }
  if (w.threaded()) h.reset();  // other threads have their turns
  const tutti_status_t s = b.began == TUTTI_OK ? wait(&handle) : b.began;
  h.reset();
  if (s == TUTTI_OK) return staged.finish(), MPI_SUCCESS;
  c->failed(s);
  const newest_text text;
  if (s != TUTTI_PROTOCOL || !text.calls_since) return raise_text(comm, k.name(), class_of(s), text.line);
  if (!b.meets || !c->meet(!b.replaces && c->begun_collectives == 0)) return raise_differed(comm, k.name());
  const passing by_mpi;
  return pass();
}

template <class Begin, class Pass>
int nonblocking(function f, MPI_Comm comm, MPI_Request* out, Begin begin, Pass pass) {
  call k(f);
  const held h;
  communicator* const c = out ? taken(comm) : nullptr;
  std::optional<fresh_request> r;
  staging staged;
  beginning b = passed(reason::communicator);
  if (c) b = begin_part(*c, [&] { return begin(setting{*c, staged, {.fresh = &r}, false}); });
  if (b.unlike) return raise_unlike(comm, k.name());
  const bool over = b.why == reason::none && b.began != TUTTI_NO_RESOURCE && is_over(*c);
  if (over) b.why = reason::communicator;
  k.passed(b.why), k.moved(b.bytes);
  if (b.why != reason::none) {
    r.reset();
    const set_aside right;
    return over && c->fate == communicator::fate::differed ? raise_differed(comm, k.name()) : pass();
  }
  if (b.began != TUTTI_OK) return c->failed(b.began), raise(comm, k.name(), b.began);
  *(*r)->staged = std::move(staged);
  begun(**r, *c, request::kind::collective, k.name());
  *out = r->give();
  return MPI_SUCCESS;
}

inline bool takes(operation o, std::size_t bytes) noexcept { return the_world().takes(o, bytes); }

using blocks = staging::blocks;
using way = staging::way;

inline std::size_t sum(const blocks& b) noexcept {
  std::size_t all = 0;
  for (const std::size_t n : b.bytes) all += n;
  return all;
}

// Bytes from the base to the last block's end.
inline std::size_t reach_of(const blocks& b) noexcept {
  std::size_t reach = 0;
  for (std::size_t m = 0; m < b.bytes.size(); ++m)
    if (b.bytes[m] > 0) reach = std::max(reach, b.offsets[m] + b.bytes[m]);
  return reach;
}

// Blocks of one buffer may lie in the gaps of the other, which tutti does not allow: then what is read goes through a copy.
inline bool overlap(const void* a, std::size_t bytes, const blocks& b) noexcept {
  const auto* const from = static_cast<const std::byte*>(a);
  const std::size_t reach = reach_of(b);
  return bytes > 0 && reach > 0 && std::less{}(from, b.base + reach) && std::less{}(b.base, from + bytes);
}
inline bool overlap(const blocks& a, const blocks& b) noexcept { return overlap(a.base, reach_of(a), b); }

// An exchange of blocks, which `read(apart)` and `write()` lay out: nothing where arguments are wrong. What is read is copied first, where the
// program reads and writes the same memory.
template <class Read, class Write>
beginning exchange(const setting& s, operation o, const void* out, Read read, Write write) {
  if (!takes(o, 1)) return passed(reason::setting);
  const std::optional<blocks> to = write();
  if (!to || is_misplaced(out, sum(*to))) return passed(reason::arguments);
  const std::optional<blocks> from = read(false);
  if (!from) return passed(reason::arguments);
  if (const auto me = static_cast<std::size_t>(s.on.rank); from->bytes[me] != to->bytes[me]) return unlike_itself();
  const std::optional<blocks> copied = overlap(*from, *to) ? read(true) : std::nullopt;
  const blocks& given = copied ? *copied : *from;
  return {reason::none, tutti_ialltoallv(s.team(), some(given.base, sum(given)), given.bytes.data(), given.offsets.data(), some(to->base, sum(*to)),
                                         to->bytes.data(), to->offsets.data(), s.handle), sum(given)};
}

}  // namespace tutti::mpi

// Of a collective: its blocking and its nonblocking function, and those with counts of any size. `parameters` and `arguments` without the
// communicator, which comes last but for the request.
#define TUTTI_MPI_LIST(...) __VA_ARGS__
#define TUTTI_MPI_COLLECTIVE(Name, lower, parameters, arguments)                                                                   \
  TUTTI_MPI_SMALL(TUTTI_MPI_COLLECTIVE_AS(, Name, lower, parameters, arguments))                                                   \
  TUTTI_MPI_LARGE(TUTTI_MPI_COLLECTIVE_AS(_c, Name, lower, parameters, arguments))
#define TUTTI_MPI_COLLECTIVE_AS(c, Name, lower, parameters, arguments)                                                             \
  TUTTI_MPI_ENTRY(Name##c, (TUTTI_MPI_LIST parameters, MPI_Comm comm), comm, {                                                       \
    return blocking(function::Name, comm, [&](const setting& s) { return lower(s, TUTTI_MPI_LIST arguments); },                    \
                    [&] { return real.Name##c(TUTTI_MPI_LIST arguments, comm); });                                                 \
  })                                                                                                                                   \
  TUTTI_MPI_ENTRY(I##lower##c, (TUTTI_MPI_LIST parameters, MPI_Comm comm, MPI_Request* request), comm, {                             \
    return nonblocking(function::I##lower, comm, request, [&](const setting& s) { return lower(s, TUTTI_MPI_LIST arguments); },    \
                       [&] { return real.I##lower##c(TUTTI_MPI_LIST arguments, comm, request); });                                 \
  })

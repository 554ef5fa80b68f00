// MPI's point-to-point messages. A message of MPI's is one of tutti's in the communicator's team, with the same tag; tutti's rule of
// matching is MPI's. Derived types go as layouts. Calls that tutti cannot take (wrong arguments, MPI_PROC_NULL, communicators without a
// team) go to MPI, which says what is wrong with them.
#include "mpi/messages.h"

#include <memory>
#include <utility>

#include "mpi/datatype.h"
#include "mpi/request.h"
#include "mpi/world.h"

namespace tutti::mpi {

communicator* taker(call& k, MPI_Comm comm, int rank, int tag, const void* data, MPI_Count count, MPI_Datatype type, bool from) {
  communicator* const c = taken(comm);
  reason why = reason::none;
  if (!c) why = reason::communicator;
  else if (!the_world().takes(operation::messages, 1)) why = reason::setting;
  else if (rank == MPI_PROC_NULL) why = reason::nobody;
  else if (!(rank >= 0 && rank < c->size) && !(from && rank == MPI_ANY_SOURCE)) why = reason::arguments;
  else if ((tag < 0 || tag > the_world().largest_tag) && !(from && tag == MPI_ANY_TAG)) why = reason::arguments;
  else if (!elements(data, count, type)) why = reason::arguments;
  if (why == reason::none) [[likely]] return c;
  k.passed(why);
  return nullptr;
}

}  // namespace tutti::mpi

using namespace tutti::mpi;

namespace {

using start_send = decltype(&tutti_isend);

struct outgoing {
  const void* data;
  MPI_Count count;
  MPI_Datatype type;
  int to, tag;
  MPI_Comm comm;
};
struct incoming {
  void* data;
  MPI_Count count;
  MPI_Datatype type;
  int from, tag;
  MPI_Comm comm;
};

communicator* taker(call& k, const outgoing& m) { return taker(k, m.comm, m.to, m.tag, m.data, m.count, m.type, false); }
communicator* taker(call& k, const incoming& m) { return taker(k, m.comm, m.from, m.tag, m.data, m.count, m.type, true); }

const std::byte* in_one_piece(const void* data, const type_ref& t) noexcept { return static_cast<const std::byte*>(data) + t->first(); }
std::byte* in_one_piece(void* data, const type_ref& t) noexcept { return static_cast<std::byte*>(data) + t->first(); }

tutti_status_t begin_send(request& r, communicator& c, const outgoing& m, const type_ref& t, start_send start, const char* name) {
  const auto to = static_cast<std::uint32_t>(m.to);
  const auto tag = c.tag(m.tag);
  const std::size_t n = static_cast<std::size_t>(m.count), bytes = n * t->size;
  tutti_status_t s;
  if (t->contiguous) [[likely]] {
    s = start(c.team, to, tag, some(in_one_piece(m.data, t), bytes), bytes, &r.handle);
  } else if (start == &tutti_isend) {
    s = tutti_isend_layout(c.team, to, tag, m.data, layout(*t, n), &r.handle);
  } else {
    r.staged = std::make_unique<staging>();
    s = start(c.team, to, tag, r.staged->input(m.data, n, t), bytes, &r.handle);
  }
  if (s == TUTTI_OK) begun(r, c, request::kind::send, name);
  return s;
}

tutti_status_t begin_receive(request& r, communicator& c, const incoming& m, const type_ref& t, const char* name) {
  const selection of(c, m.from, m.tag);
  const std::size_t n = static_cast<std::size_t>(m.count), bytes = n * t->size;
  tutti_status_t s;
  if (t->contiguous) [[likely]] {
    s = tutti_irecv(c.team, of.from, of.tag, of.mask, some(in_one_piece(m.data, t), bytes), bytes, &r.envelope, &r.handle);
  } else {
    s = tutti_irecv_layout(c.team, of.from, of.tag, of.mask, m.data, layout(*t, n), &r.envelope, &r.handle);
  }
  if (s == TUTTI_OK) begun(r, c, request::kind::receive, name);
  return s;
}

// Most messages lie in one piece. Where nobody else is to be let in meanwhile, tutti's blocking functions carry those.
bool goes_straight(const type_ref& t) noexcept { return t->contiguous && !the_world().threaded(); }

template <class Pass>
int send_and_wait(function f, const outgoing& m, start_send start, Pass pass) {
  call k(f);
  request r;
  communicator* c;
  {
    const held h;
    if ((c = taker(k, m))) {
      const type_ref& t = type_of(m.type);
      const std::size_t bytes = bytes_of(m.count, *t);
      k.moved(bytes);
      tutti_status_t s;
      if (start == &tutti_isend && goes_straight(t)) {
        s = tutti_send(c->team, static_cast<std::uint32_t>(m.to), c->tag(m.tag), some(in_one_piece(m.data, t), bytes), bytes);
        if (s == TUTTI_OK) return MPI_SUCCESS;
      } else {
        s = begin_send(r, *c, m, t, start, k.name());
      }
      if (s != TUTTI_OK) return raise(m.comm, k.name(), s);
    }
  }
  if (!c) {
    const passing by_mpi;
    return pass();
  }
  wait(r);
  return finish(r, MPI_STATUS_IGNORE);
}

// Most sends are complete at once, and need no request of their own.
template <class Pass>
int send_only(function f, const outgoing& m, start_send start, MPI_Request* out, Pass pass) {
  call k(f);
  {
    const held h;
    communicator* const c = out ? taker(k, m) : nullptr;
    if (c) {
      const type_ref& t = type_of(m.type);
      const std::size_t bytes = bytes_of(m.count, *t);
      k.moved(bytes);
      int sent = 0;
      if (start == &tutti_isend && t->contiguous) {
        const auto s = tutti_try_send(c->team, static_cast<std::uint32_t>(m.to), c->tag(m.tag),
                                      some(in_one_piece(m.data, t), bytes), bytes, &sent);
        if (s != TUTTI_OK) return raise(m.comm, k.name(), s);
      }
      if (sent) return *out = completed_send(), MPI_SUCCESS;
      fresh_request r;
      if (const auto s = begin_send(*r, *c, m, t, start, k.name()); s != TUTTI_OK) return raise(m.comm, k.name(), s);
      *out = r.give();
      return MPI_SUCCESS;
    }
  }
  return pass();
}

// A buffered send is complete when it returns, whoever receives: its data are copied, and outlive the call here.
tutti_status_t send_copy(communicator& c, const outgoing& m, const type_ref& t, const char* name, bool buffered = true) {
  const std::size_t n = static_cast<std::size_t>(m.count), bytes = n * t->size;
  fresh_request r;
  r->staged = std::make_unique<staging>();
  const void* data = r->staged->input(m.data, n, t);
  if (t->contiguous) data = r->staged->copy_of(data, bytes);
  const auto s = tutti_isend(c.team, static_cast<std::uint32_t>(m.to), c.tag(m.tag), some(data, bytes), bytes, &r->handle);
  if (s != TUTTI_OK) return s;
  begun(*r, c, request::kind::send, name);
  r->buffered = buffered;
  detach(r.give());
  return s;
}

template <class Pass>
int send_buffered(function f, const outgoing& m, MPI_Request* out, Pass pass) {
  call k(f);
  {
    const held h;
    if (communicator* const c = taker(k, m)) {
      if (const auto s = send_copy(*c, m, type_of(m.type), k.name()); s != TUTTI_OK) return raise(m.comm, k.name(), s);
      k.moved(static_cast<std::size_t>(m.count) * type_of(m.type)->size);
      if (out) *out = completed_send();
      return MPI_SUCCESS;
    }
  }
  return pass();
}

// A request that is started again and again. `begin` is handed the communicator and the type that it was made with: the program may free
// both before it starts the request.
template <class Message, class Begin, class Pass>
int persistent(function f, const Message& m, request::kind what, MPI_Request* out, Begin begin, Pass pass) {
  call k(f);
  const held h;
  communicator* const c = out ? taker(k, m) : nullptr;
  if (!c) {
    const set_aside right;
    return pass();
  }
  fresh_request r;
  r->again = [m, c, t = type_of(m.type), begin](request& again) { return begin(again, *c, m, t); };
  r->on = c, r->what = what;
  ++c->under_way;
  *out = r.give();
  return MPI_SUCCESS;
}

// Of MPI_Bsend_init.
tutti_status_t begin_buffered(request& again, communicator& c, const outgoing& m, const type_ref& t) {
  const auto s = send_copy(c, m, t, "MPI_Bsend_init");
  if (s == TUTTI_OK) begun(again, c, request::kind::send, "MPI_Bsend_init"), end_now(again, s);
  return s;
}

template <class Pass>
int receive_and_wait(const incoming& m, MPI_Status* status, Pass pass) {
  call k(function::Recv);
  request r;
  communicator* c;
  {
    const held h;
    if ((c = taker(k, m))) {
      const type_ref& t = type_of(m.type);
      if (goes_straight(t)) {
        const selection of(*c, m.from, m.tag);
        const std::size_t bytes = bytes_of(m.count, *t);
        begun(r, *c, request::kind::receive, k.name());
        end_now(r, tutti_recv(c->team, of.from, of.tag, of.mask, some(in_one_piece(m.data, t), bytes), bytes, &r.envelope));
      } else if (const auto s = begin_receive(r, *c, m, t, k.name()); s != TUTTI_OK) {
        return raise(m.comm, k.name(), s);
      }
    }
  }
  if (!c) {
    const passing by_mpi;
    return pass();
  }
  wait(r);
  k.moved(r.envelope.bytes);
  return finish(r, status);
}

template <class Pass>
int receive_only(const incoming& m, MPI_Request* out, Pass pass) {
  call k(function::Irecv);
  const held h;
  communicator* const c = out ? taker(k, m) : nullptr;
  if (!c) {
    const set_aside right;
    return pass();
  }
  fresh_request r;
  if (const auto s = begin_receive(*r, *c, m, type_of(m.type), k.name()); s != TUTTI_OK) return raise(m.comm, k.name(), s);
  *out = r.give();
  return MPI_SUCCESS;
}

// By tutti, where the half with MPI_PROC_NULL, if there is one, is MPI's; or all by MPI.
template <class Pass>
int send_and_receive(call& k, const outgoing& out, const incoming& in, MPI_Status* status, Pass pass) {
  own_request sending, receiving;
  communicator *sends, *receives;
  std::size_t bytes = 0;
  {
    const held h;
    receives = taker(k, in);
    sends = taker(k, out);
    const type_ref &from = type_of(out.type), &to = type_of(in.type);
    if (sends) bytes = bytes_of(out.count, *from);
    if (sends && receives && goes_straight(from) && goes_straight(to)) {
      const selection of(*receives, in.from, in.tag);
      const std::size_t room = bytes_of(in.count, *to);
      begun(receiving, *receives, request::kind::receive, k.name());
      end_now(receiving, tutti_sendrecv(sends->team, static_cast<std::uint32_t>(out.to), sends->tag(out.tag), some(in_one_piece(out.data, from), bytes),
                                        bytes, of.from, of.tag, of.mask, some(in_one_piece(in.data, to), room), room, &receiving.envelope));
      k.moved(bytes + receiving.envelope.bytes);
      return finish(receiving, status);
    }
  }
  if (!(receives || sends) || !(receives || in.from == MPI_PROC_NULL) || !(sends || out.to == MPI_PROC_NULL)) {
    const passing by_mpi;
    return pass();
  }
  int s = MPI_SUCCESS;
  if (!receives) s = real.Recv(in.data, 0, in.type, in.from, in.tag, in.comm, status);
  if (!sends) s = real.Send(out.data, 0, out.type, out.to, out.tag, out.comm);
  if (s != MPI_SUCCESS) return s;
  tutti_status_t began = TUTTI_OK;
  {
    const held h;
    if (receives) began = begin_receive(receiving, *receives, in, type_of(in.type), k.name());
    if (sends && began == TUTTI_OK) began = begin_send(sending, *sends, out, type_of(out.type), &tutti_isend, k.name());
  }
  if (began != TUTTI_OK) {
    if (receiving.active) give_up(receiving);
    return raise(in.comm, k.name(), began);
  }
  if (sends) {
    wait(sending);
    s = finish(sending, MPI_STATUS_IGNORE);
    k.moved(bytes);
  }
  if (receives) {
    wait(receiving);
    const int received = finish(receiving, status);
    if (s == MPI_SUCCESS) s = received;
    k.moved(receiving.envelope.bytes);
  }
  return s;
}

// What a call sends from where it receives, in one piece. Null: tutti has no such communicator, or the arguments are wrong.
std::unique_ptr<std::byte[]> sent_from(const incoming& room, MPI_Count& bytes) {
  const held h;
  const type_ref& t = type_of(room.type);
  if (!t || room.count < 0 || !taken(room.comm)) return nullptr;
  bytes = room.count * static_cast<MPI_Count>(t->size);
  auto copy = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes) + 1);
  t->pack(room.data, static_cast<std::size_t>(room.count), copy.get());
  return copy;
}

template <class Pass>
int exchange_in_place(const incoming& in, int to, int tag, MPI_Status* status, Pass pass) {
  call k(function::Sendrecv_replace);
  MPI_Count bytes = 0;
  const auto copy = sent_from(in, bytes);
  if (copy) return send_and_receive(k, {copy.get(), bytes, MPI_BYTE, to, tag, in.comm}, in, status, pass);
  const passing by_mpi;
  return pass();
}

}  // namespace

// --- MPI's functions -----------------------------------------------------------------------------------------------------------------

// Those that send, and those with _c. A ready send is a send, whose receive happens to be there.
#define TUTTI_MPI_SEND(c, name, started)                                                                                               \
  TUTTI_MPI_ENTRY(name##c, (const void* data, count_t count, MPI_Datatype type, int to, int tag, MPI_Comm comm), comm, {             \
    return send_and_wait(function::name, {data, count, type, to, tag, comm}, started, [&] { return real.name##c(data, count, type, to, tag, comm); }); \
  })                                                                                                                                   \
  TUTTI_MPI_ENTRY(name##_init##c, (const void* data, count_t count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* r), comm, { \
    return persistent(                                                                                                                 \
        function::Start, outgoing{data, count, type, to, tag, comm}, request::kind::send, r,                                           \
        [](request& q, communicator& on, const outgoing& m, const type_ref& t) { return begin_send(q, on, m, t, started, "MPI_" #name "_init"); }, \
        [&] { return real.name##_init##c(data, count, type, to, tag, comm, r); });                                                     \
  })
#define TUTTI_MPI_ISEND(c, name, started)                                                                                              \
  TUTTI_MPI_ENTRY(name##c, (const void* data, count_t count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* r), comm, {  \
    return send_only(function::name, {data, count, type, to, tag, comm}, started, r, [&] { return real.name##c(data, count, type, to, tag, comm, r); }); \
  })
#define TUTTI_MPI_MESSAGES(c)                                                                                                          \
  TUTTI_MPI_SEND(c, Send, &tutti_isend)                                                                                                \
  TUTTI_MPI_SEND(c, Ssend, &tutti_issend)                                                                                              \
  TUTTI_MPI_SEND(c, Rsend, &tutti_isend)                                                                                               \
  TUTTI_MPI_ISEND(c, Isend, &tutti_isend)                                                                                              \
  TUTTI_MPI_ISEND(c, Issend, &tutti_issend)                                                                                            \
  TUTTI_MPI_ISEND(c, Irsend, &tutti_isend)                                                                                             \
  TUTTI_MPI_ENTRY(Bsend##c, (const void* data, count_t count, MPI_Datatype type, int to, int tag, MPI_Comm comm), comm, {            \
    return send_buffered(function::Bsend, {data, count, type, to, tag, comm}, nullptr, [&] { return real.Bsend##c(data, count, type, to, tag, comm); }); \
  })                                                                                                                                   \
  TUTTI_MPI_ENTRY(Ibsend##c, (const void* data, count_t count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* r), comm, {  \
    return send_buffered(function::Ibsend, {data, count, type, to, tag, comm}, r, [&] { return real.Ibsend##c(data, count, type, to, tag, comm, r); }); \
  })                                                                                                                                   \
  TUTTI_MPI_ENTRY(Bsend_init##c, (const void* data, count_t count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* r), comm, { \
    return persistent(function::Start, outgoing{data, count, type, to, tag, comm}, request::kind::send, r, begin_buffered,             \
                      [&] { return real.Bsend_init##c(data, count, type, to, tag, comm, r); });                                        \
  })                                                                                                                                   \
  /* The program's buffer was not used, but what was sent from it must be gone. */                                                     \
  TUTTI_MPI_ENTRY(Buffer_detach##c, (void* buffer, count_t* size), MPI_COMM_WORLD, {                                                 \
    finish_buffered();                                                                                                                 \
    const passing by_mpi;                                                                                                              \
    return real.Buffer_detach##c(buffer, size);                                                                                        \
  })                                                                                                                                   \
  TUTTI_MPI_ENTRY(Recv##c, (void* data, count_t count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status), comm, { \
    return receive_and_wait({data, count, type, from, tag, comm}, status, [&] { return real.Recv##c(data, count, type, from, tag, comm, status); }); \
  })                                                                                                                                   \
  TUTTI_MPI_ENTRY(Irecv##c, (void* data, count_t count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* r), comm, { \
    return receive_only({data, count, type, from, tag, comm}, r, [&] { return real.Irecv##c(data, count, type, from, tag, comm, r); }); \
  })                                                                                                                                   \
  TUTTI_MPI_ENTRY(Recv_init##c, (void* data, count_t count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* r), comm, { \
    return persistent(                                                                                                                 \
        function::Irecv, incoming{data, count, type, from, tag, comm}, request::kind::receive, r,                                      \
        [](request& q, communicator& on, const incoming& m, const type_ref& t) { return begin_receive(q, on, m, t, "MPI_Recv_init"); }, \
        [&] { return real.Recv_init##c(data, count, type, from, tag, comm, r); });                                                     \
  })                                                                                                                                   \
  TUTTI_MPI_ENTRY(Sendrecv##c, (const void* data, count_t count, MPI_Datatype type, int to, int tag, void* room, count_t room_count, \
                                 MPI_Datatype room_type, int from, int room_tag, MPI_Comm comm, MPI_Status* status), comm, {                  \
    call k(function::Sendrecv);                                                                                                        \
    return send_and_receive(k, {data, count, type, to, tag, comm}, {room, room_count, room_type, from, room_tag, comm}, status, [&] {          \
      return real.Sendrecv##c(data, count, type, to, tag, room, room_count, room_type, from, room_tag, comm, status);                  \
    });                                                                                                                                \
  })                                                                                                                                   \
  TUTTI_MPI_ENTRY(Sendrecv_replace##c, (void* data, count_t count, MPI_Datatype type, int to, int tag, int from, int from_tag,       \
                                         MPI_Comm comm, MPI_Status* status), comm, {                                                          \
    return exchange_in_place({data, count, type, from, from_tag, comm}, to, tag, status,                                               \
                             [&] { return real.Sendrecv_replace##c(data, count, type, to, tag, from, from_tag, comm, status); });      \
  })

TUTTI_MPI_SMALL(TUTTI_MPI_MESSAGES())
TUTTI_MPI_LARGE(TUTTI_MPI_MESSAGES(_c))

#if MPI_VERSION >= 4
namespace {

// One request for both: that of the receive. What is sent is copied, so that its end need not be waited for. (MPICH 4.0.2 does not bear
// MPI_PROC_NULL here.)
template <class Pass>
int begin_exchange(const outgoing& out, const incoming& in, MPI_Request* r, Pass pass) {
  call k(function::Sendrecv);
  const held h;
  communicator* const receives = r ? taker(k, in) : nullptr;
  communicator* const sends = r ? taker(k, out) : nullptr;
  if (!r || !(receives || in.from == MPI_PROC_NULL) || !(sends || out.to == MPI_PROC_NULL)) {
    const set_aside right;
    return pass();
  }
  fresh_request q;  // before anything is sent
  if (sends) {
    const type_ref& t = type_of(out.type);
    if (const auto s = send_copy(*sends, out, t, k.name(), false); s != TUTTI_OK) return raise(out.comm, k.name(), s);
    k.moved(bytes_of(out.count, *t));
  }
  if (!receives) return real.Irecv(in.data, 0, in.type, in.from, in.tag, in.comm, r);
  if (const auto s = begin_receive(*q, *receives, in, type_of(in.type), k.name()); s != TUTTI_OK) return raise(in.comm, k.name(), s);
  *r = q.give();
  return MPI_SUCCESS;
}

}  // namespace

#define TUTTI_MPI_EXCHANGES(c)                                                                                                         \
  TUTTI_MPI_ENTRY(Isendrecv##c, (const void* data, count_t count, MPI_Datatype type, int to, int tag, void* room, count_t room_count, \
                                  MPI_Datatype room_type, int from, int room_tag, MPI_Comm comm, MPI_Request* r), comm, {                     \
    return begin_exchange({data, count, type, to, tag, comm}, {room, room_count, room_type, from, room_tag, comm}, r, [&] {            \
      return real.Isendrecv##c(data, count, type, to, tag, room, room_count, room_type, from, room_tag, comm, r);                      \
    });                                                                                                                                \
  })                                                                                                                                   \
  TUTTI_MPI_ENTRY(Isendrecv_replace##c, (void* data, count_t count, MPI_Datatype type, int to, int tag, int from, int from_tag,      \
                                          MPI_Comm comm, MPI_Request* r), comm, {                                                             \
    return begin_exchange({data, count, type, to, tag, comm}, {data, count, type, from, from_tag, comm}, r,                            \
                          [&] { return real.Isendrecv_replace##c(data, count, type, to, tag, from, from_tag, comm, r); });             \
  })
TUTTI_MPI_SMALL(TUTTI_MPI_EXCHANGES())
TUTTI_MPI_LARGE(TUTTI_MPI_EXCHANGES(_c))
#endif

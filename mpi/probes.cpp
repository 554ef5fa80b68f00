// MPI's probes, and receives of the messages that a probe has matched.
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "mpi/datatype.h"
#include "mpi/messages.h"
#include "mpi/request.h"
#include "mpi/world.h"

using namespace tutti::mpi;

namespace {

// Matched by MPI_Mprobe and its like; a handle names one as a request's does.
struct matched {
  tutti_message_t message{};
  communicator* on = nullptr;
};
std::deque<matched> messages;
std::vector<std::uint32_t> unused;  // has space for all of them

// A place for a message that is yet to be matched: no memory runs out when it is.
class place_of_message {
 public:
  place_of_message() {
    if (unused.empty()) {
      unused.reserve(2 * (messages.size() + 1));
      messages.emplace_back();
      unused.push_back(static_cast<std::uint32_t>(messages.size() - 1));
    }
    index_ = unused.back();
    unused.pop_back();
  }
  ~place_of_message() {
    const held h;
    if (!kept_) unused.push_back(index_);
  }
  place_of_message(const place_of_message&) = delete;
  place_of_message& operator=(const place_of_message&) = delete;
  MPI_Message keep(const matched& m) noexcept {
    kept_ = true;
    ++m.on->under_way;
    messages[index_] = m;
    return handle_with<MPI_Message>(index_);
  }

 private:
  std::uint32_t index_ = 0;
  bool kept_ = false;
};

// Looks until something is found. The blocking functions of tutti's would keep other threads out.
template <class Look, class Block>
tutti_status_t until_found(Look look, Block block) {
  if (!the_world().threaded()) {
    const held h;
    return block();
  }
  for (unsigned turn = 0;; ++turn) {
    int found = 0;
    {
      const held h;
      if (const tutti_status_t s = look(&found); s != TUTTI_OK) return s;
    }
    if (found) return TUTTI_OK;
    back_off(turn);
  }
}

void tell(const tutti_envelope_t& e, MPI_Status* status) {
  set_status(status, static_cast<int>(e.source), static_cast<int>(e.tag), e.bytes, false);
}

}  // namespace

TUTTI_MPI_ENTRY(Probe, (int from, int tag, MPI_Comm comm, MPI_Status* status), comm, {
  call k(function::Probe);
  communicator* c;
  {
    const held h;
    c = taker(k, comm, from, tag, nullptr, 0, MPI_BYTE, true);
  }
  if (!c) {
    const passing by_mpi;
    return real.Probe(from, tag, comm, status);
  }
  const selection of(*c, from, tag);
  tutti_envelope_t e{};
  const auto s = until_found([&](int* found) { return tutti_iprobe(c->team, of.from, of.tag, of.mask, found, &e); },
                             [&] { return tutti_probe(c->team, of.from, of.tag, of.mask, &e); });
  if (s != TUTTI_OK) return raise(comm, k.name(), s);
  tell(e, status);
  return MPI_SUCCESS;
})

TUTTI_MPI_ENTRY(Iprobe, (int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status), comm, {
  call k(function::Iprobe);
  const held h;
  communicator* const c = flag ? taker(k, comm, from, tag, nullptr, 0, MPI_BYTE, true) : nullptr;
  if (!c) {
    const set_aside right;
    const int code = real.Iprobe(from, tag, comm, flag, status);
    if (code == MPI_SUCCESS && !*flag) looked_at_mpi();
    return code;
  }
  const selection of(*c, from, tag);
  tutti_envelope_t e{};
  if (const auto s = tutti_iprobe(c->team, of.from, of.tag, of.mask, flag, &e); s != TUTTI_OK) return raise(comm, k.name(), s);
  if (*flag) tell(e, status);
  else looked_at_tutti();
  return MPI_SUCCESS;
})

TUTTI_MPI_ENTRY(Mprobe, (int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status), comm, {
  call k(function::Mprobe);
  communicator* c;
  std::optional<place_of_message> place;
  {
    const held h;
    c = message ? taker(k, comm, from, tag, nullptr, 0, MPI_BYTE, true) : nullptr;
    if (c) place.emplace();
  }
  if (!c) {
    const passing by_mpi;
    return real.Mprobe(from, tag, comm, message, status);
  }
  const selection of(*c, from, tag);
  tutti_envelope_t e{};
  matched m{{}, c};
  const auto s = until_found([&](int* found) { return tutti_improbe(c->team, of.from, of.tag, of.mask, found, &m.message, &e); },
                             [&] { return tutti_mprobe(c->team, of.from, of.tag, of.mask, &m.message, &e); });
  if (s != TUTTI_OK) return raise(comm, k.name(), s);
  const held h;
  *message = place->keep(m);
  tell(e, status);
  return MPI_SUCCESS;
})

TUTTI_MPI_ENTRY(Improbe, (int from, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status), comm, {
  call k(function::Improbe);
  const held h;
  communicator* const c = flag && message ? taker(k, comm, from, tag, nullptr, 0, MPI_BYTE, true) : nullptr;
  if (!c) {
    const set_aside right;
    const int code = real.Improbe(from, tag, comm, flag, message, status);
    if (code == MPI_SUCCESS && !*flag) looked_at_mpi();
    return code;
  }
  const selection of(*c, from, tag);
  tutti_envelope_t e{};
  matched m{{}, c};
  place_of_message place;
  if (const auto s = tutti_improbe(c->team, of.from, of.tag, of.mask, flag, &m.message, &e); s != TUTTI_OK) return raise(comm, k.name(), s);
  if (*flag) *message = place.keep(m), tell(e, status);
  else looked_at_tutti();
  return MPI_SUCCESS;
})

namespace {

// tutti takes no layout here, so what is not contiguous is staged.
tutti_status_t begin_matched(request& r, matched& m, void* data, std::size_t count, const type_ref& t, const char* name) {
  std::byte* room = static_cast<std::byte*>(data) + t->first();
  if (!t->contiguous) {
    r.staged = std::make_unique<staging>();
    room = static_cast<std::byte*>(r.staged->output(data, count, t));
  }
  const std::size_t bytes = count * t->size;
  const auto s = tutti_imrecv(&m.message, some(room, bytes), bytes, &r.envelope, &r.handle);
  if (s == TUTTI_OK) begun(r, *m.on, request::kind::receive, name);
  return s;
}

// Which of tutti's the handle names, with good arguments beside it.
matched* taker(call& k, const MPI_Message* message, const void* data, MPI_Count count, MPI_Datatype type) {
  reason why = reason::none;
  if (!message || !is_ours(*message)) why = reason::request;
  else if (!elements(data, count, type)) why = reason::arguments;
  k.passed(why);
  return why == reason::none ? &messages[index_of(*message)] : nullptr;
}

void received(MPI_Message* message) {
  const std::size_t index = index_of(*message);
  --messages[index].on->under_way;
  unused.push_back(static_cast<std::uint32_t>(index));
  *message = MPI_MESSAGE_NULL;
}

template <class Pass>
int receive_matched(void* data, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status, Pass pass) {
  call k(function::Mrecv);
  request r;
  matched* m;
  {
    const held h;
    if ((m = taker(k, message, data, count, type))) {
      const auto s = begin_matched(r, *m, data, static_cast<std::size_t>(count), type_of(type), k.name());
      if (s != TUTTI_OK) return raise(m->on->errors(), k.name(), s);
      received(message);
    }
  }
  if (!m) {
    const passing by_mpi;
    return pass();
  }
  wait(r);
  k.moved(r.envelope.bytes);
  return finish(r, status);
}

template <class Pass>
int receive_matched_later(void* data, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Request* out, Pass pass) {
  call k(function::Imrecv);
  const held h;
  matched* const m = out ? taker(k, message, data, count, type) : nullptr;
  if (!m) {
    const set_aside right;
    return pass();
  }
  fresh_request r;
  const auto s = begin_matched(*r, *m, data, static_cast<std::size_t>(count), type_of(type), k.name());
  if (s != TUTTI_OK) return raise(m->on->errors(), k.name(), s);
  received(message);
  *out = r.give();
  return MPI_SUCCESS;
}

}  // namespace

#define TUTTI_MPI_MATCHED(c)                                                                                                           \
  TUTTI_MPI_ENTRY(Mrecv##c, (void* data, count_t count, MPI_Datatype type, MPI_Message* message, MPI_Status* status), MPI_COMM_WORLD, { \
    return receive_matched(data, count, type, message, status, [&] { return real.Mrecv##c(data, count, type, message, status); });     \
  })                                                                                                                                   \
  TUTTI_MPI_ENTRY(Imrecv##c, (void* data, count_t count, MPI_Datatype type, MPI_Message* message, MPI_Request* r), MPI_COMM_WORLD, { \
    return receive_matched_later(data, count, type, message, r, [&] { return real.Imrecv##c(data, count, type, message, r); });        \
  })
TUTTI_MPI_SMALL(TUTTI_MPI_MATCHED())
TUTTI_MPI_LARGE(TUTTI_MPI_MATCHED(_c))

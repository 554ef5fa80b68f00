// The talk between connection managers: UD datagrams of one `note` each.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "providers/verbs/connection_manager.h"
#include "providers/verbs/error.h"

namespace tutti::verbs {
namespace {

constexpr std::uint32_t receives = 256, sends = 64;
constexpr std::size_t header = 40;   // the GRH's place, used or not
constexpr std::size_t room = 128;    // of one receive
constexpr std::uint64_t is_send = ~std::uint64_t{0};

}  // namespace

status connection_manager::open_notes() {
  const adapter& a = *at_.device;
  channel_ = ibv_create_comp_channel(a.context.get());
  if (channel_) cq_ = ibv_create_cq(a.context.get(), receives + sends, nullptr, channel_, 0);
  if (!cq_) return os_error("a completion queue for connecting", errno);
  buffers_ = std::make_unique<std::byte[]>(receives * room);
  mr_ = ibv_reg_mr(at_.pd, buffers_.get(), receives * room, IBV_ACCESS_LOCAL_WRITE);
  if (!mr_) return os_error(worded("registering ", receives * room, " bytes"), errno);

  ibv_qp_init_attr init{};
  init.qp_type = IBV_QPT_UD;
  init.send_cq = init.recv_cq = cq_;
  init.cap.max_send_wr = sends, init.cap.max_recv_wr = receives;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  init.cap.max_inline_data = sizeof(note);
  notes_qp_ = ibv_create_qp(at_.pd, &init);
  if (!notes_qp_) return os_error("a UD queue pair for connecting", errno);
  ibv_qp_attr q{};
  q.qp_state = IBV_QPS_INIT, q.port_num = static_cast<std::uint8_t>(a.where.port), q.qkey = qkey_;
  int e = ibv_modify_qp(notes_qp_, &q, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  q.qp_state = IBV_QPS_RTR;
  if (!e) e = ibv_modify_qp(notes_qp_, &q, IBV_QP_STATE);
  q.qp_state = IBV_QPS_RTS;
  if (!e) e = ibv_modify_qp(notes_qp_, &q, IBV_QP_STATE | IBV_QP_SQ_PSN);
  if (e) return os_error("readying a UD queue pair", e);
  for (std::uint64_t slot = 0; slot < receives; ++slot) refill_notes(slot);
  ibv_req_notify_cq(cq_, 0);
  return {};
}

void connection_manager::close_notes() noexcept {
  if (notes_qp_) ibv_destroy_qp(notes_qp_);
  if (cq_) ibv_destroy_cq(cq_);
  if (channel_) ibv_destroy_comp_channel(channel_);
  if (mr_) ibv_dereg_mr(mr_);
  notes_qp_ = nullptr, cq_ = nullptr, channel_ = nullptr, mr_ = nullptr;
}

void connection_manager::refill_notes(std::uint64_t slot) noexcept {
  ibv_sge sge{reinterpret_cast<std::uint64_t>(buffers_.get() + slot * room), room, mr_->lkey};
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.wr_id = slot, wr.sg_list = &sge, wr.num_sge = 1;
  ibv_post_recv(notes_qp_, &wr, &bad);
}

void connection_manager::poll_notes() noexcept {
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  unsigned events = 0;
  while (ibv_get_cq_event(channel_, &cq, &context) == 0) ++events;
  if (events) ibv_ack_cq_events(cq_, events);
  ibv_req_notify_cq(cq_, 0);
  std::array<ibv_wc, 16> entries;
  for (int n; (n = ibv_poll_cq(cq_, static_cast<int>(entries.size()), entries.data())) > 0;)
    for (int i = 0; i < n; ++i) {
      const ibv_wc& wc = entries[static_cast<std::size_t>(i)];
      if (wc.wr_id == is_send) {
        --sending_;
        continue;
      }
      if (wc.status == IBV_WC_SUCCESS && wc.byte_len >= header + sizeof(note)) {
        note heard;
        std::memcpy(&heard, buffers_.get() + wc.wr_id * room + header, sizeof heard);
        hear(heard);
      }
      refill_notes(wc.wr_id);
    }
}

// A full queue, or a note that gets lost, is no harm: whoever needs an answer asks again.
void connection_manager::send(link& l, note_kind kind) noexcept {
  if (!l.ah || sending_ >= sends) return;
  address_blob to;
  if (!address_of(l.rank, to)) return;
  note n;
  n.origin = at_.rank, n.kind = kind;
  if (kind == note_kind::hello) {
    n.wants_answer = !l.confirmed, n.sleeps = l.told, n.lost = l.lost;
    n.life = l.life, n.sees_life = l.connected ? l.their_life : 0;
    n.qpn = l.qp->qp_num, n.psn = l.psn;
  } else {
    n.wants_answer = kind == note_kind::ping;
  }
  n.check = check_for(l.rank, n, at_.key);
  ibv_sge sge{reinterpret_cast<std::uint64_t>(&n), sizeof n, 0};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.wr_id = is_send, wr.sg_list = &sge, wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND, wr.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
  wr.wr.ud.ah = l.ah, wr.wr.ud.remote_qpn = to.manager_qpn, wr.wr.ud.remote_qkey = qkey_;
  if (ibv_post_send(notes_qp_, &wr, &bad) == 0) ++sending_;
}

void connection_manager::hear(const note& n) noexcept {
  if (n.check != check_for(at_.rank, n, at_.key)) {
    rejected_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (n.version != wire_version || n.origin >= at_.size || n.origin == at_.rank || !addresses_) return;
  link* l = link_to(n.origin);
  if (!l || l->gone) return;
  l->since = clock::now();
  hang_up(*l);
  switch (n.kind) {
    case note_kind::hello: return hear_hello(*l, n);
    case note_kind::ping: return send(*l, note_kind::pong);
    case note_kind::pong: l->watched = false; return;
    case note_kind::refuse: return end(*l, event::kind::refused);
    case note_kind::bye: return end(*l, event::kind::left);
  }
}

// Whether to connect to the queue pair that a hello tells of, or only to tell of mine. One of the peer's that is connected to
// one of mine that is gone will never hear me: were mine connected to it, either end would learn by the other's next hello
// that its partner has gone on to a later life, drop its own, and so be one life ahead in turn, without an end. So:
// - It says that it sees the one of mine that stands: both are then connected to each other.
// - It says that it sees none, and I was connected to none of its life or later. It may come to see an older one of mine
//   after this, by a hello of mine that was late; then the peer hears that mine has a later life, drops its own, and tells of
//   another. Nobody says hello for a queue pair that is gone, so each such turn uses up a note that was under way then, and
//   when those are gone both meet.
// - Else (it sees an older one; or it saw none, but I was connected to it by one that I have dropped, as a note that is late or
//   comes twice would have it) my own hello answers. A peer whose queue pair is connected finds a later life than it sees,
//   drops it and tells of the next; one whose queue pair is not connected connects that to mine, and says so.
// Both ends cannot refuse each other so: of two that were last connected to the queue pair that the other still has, each
// would have to be older than the other's former one. And lost notes are asked for again by whoever wants the connection.
bool connection_manager::may_meet(const link& l, const note& n) noexcept {
  return n.sees_life == l.life || (n.sees_life == 0 && n.life > l.their_life);
}

void connection_manager::hear_hello(link& l, const note& n) noexcept {
  l.watched = false;
  if (n.lost && !std::exchange(l.lost_here, true)) tell(l, event::kind::lost);
  if (n.life < l.their_life) return;
  if (n.life > l.their_life && l.connected) {
    l.waiting = n, l.has_waiting = true;
    if (!std::exchange(l.stale, true)) tell(l, event::kind::stale);
    return send(l, note_kind::pong);
  }
  if (!l.qp && make_qp(l).failed()) return send(l, note_kind::refuse);
  if (!l.connected && !may_meet(l, n)) return send(l, note_kind::hello);
  accept(l, n);
}

void connection_manager::accept(link& l, const note& n) noexcept {
  const bool was_connected = l.connected, was_confirmed = l.confirmed;
  if (n.sleeps && !std::exchange(l.sleeps, true) && l.connected) tell(l, event::kind::sleeps);
  if (!l.connected) {
    address_blob theirs;
    if (!address_of(l.rank, theirs)) return;
    if (connect_qp(l, n.qpn, n.psn, theirs).failed()) {
      drop_qp(l);
      return send(l, note_kind::refuse);
    }
    l.their_life = n.life;
    l.connected = true;
  }
  if (n.sees_life == l.life) l.confirmed = true;
  if (l.connected != was_connected || l.confirmed != was_confirmed) tell(l, event::kind::connected);
  if (n.wants_answer) send(l, note_kind::hello);
}

}  // namespace tutti::verbs

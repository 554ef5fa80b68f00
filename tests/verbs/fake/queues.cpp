// The functions of libibverbs: queue pairs, what is posted to them, and where it is told that it was done.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "tests/verbs/fake/world.h"

namespace fake {
namespace {

int poll_cq(ibv_cq* queue, int most, ibv_wc* out) {
  const guard lock{all().mutex};
  auto& entries = static_cast<cq*>(queue)->entries;
  int n = 0;
  for (; n < most && !entries.empty(); ++n) {
    out[n] = entries.front().wc;
    if (qp* q = entries.front().sender) q->reclaimed = std::max(q->reclaimed, entries.front().reclaims);
    entries.pop_front();
  }
  return n;
}

// What is in the queue already raises no event: the next entry does.
int req_notify_cq(ibv_cq* queue, int solicited_only) {
  const guard lock{all().mutex};
  cq& c = *static_cast<cq*>(queue);
  c.only_solicited = solicited_only && (!c.armed || c.only_solicited);
  c.armed = true;
  return 0;
}

int post_send(ibv_qp* queue_pair, ibv_send_wr* wr, ibv_send_wr** bad) {
  const guard lock{all().mutex};
  qp& q = *static_cast<qp*>(queue_pair);
  if (!all().qps.contains(q.qp_num)) return breach("something was posted to a queue pair that was destroyed"), EINVAL;
  for (; wr; wr = wr->next) {
    *bad = wr;
    if (q.state != IBV_QPS_RTS && q.state != IBV_QPS_ERR) return EINVAL;
    if (q.posted - q.reclaimed >= q.cap.max_send_wr) return ENOMEM;
    if (wr->num_sge < 0 || static_cast<unsigned>(wr->num_sge) > q.cap.max_send_sge) return EINVAL;
    request r;
    r.wr = *wr, r.number = q.posted;
    r.sges.assign(wr->sg_list, wr->sg_list + wr->num_sge);
    if (wr->send_flags & IBV_SEND_INLINE) {
      for (const ibv_sge& s : r.sges)
        r.inlined.insert(r.inlined.end(), reinterpret_cast<std::byte*>(s.addr), reinterpret_cast<std::byte*>(s.addr) + s.length);
      if (r.inlined.size() > q.cap.max_inline_data) return EINVAL;
    }
    q.waiting.push_back(std::move(r));
    ++q.posted;
    run(q);
  }
  return 0;
}

int post_recv(ibv_qp* queue_pair, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  const guard lock{all().mutex};
  qp& q = *static_cast<qp*>(queue_pair);
  for (; wr; wr = wr->next) {
    *bad = wr;
    if (q.receives.size() >= q.cap.max_recv_wr) return ENOMEM;
    q.receives.push_back({wr->wr_id, wr->num_sge ? wr->sg_list[0] : ibv_sge{}});
  }
  return 0;
}

int post_srq_recv(ibv_srq* queue, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  const guard lock{all().mutex};
  srq& s = *static_cast<srq*>(queue);
  for (; wr; wr = wr->next) {
    *bad = wr;
    if (s.posted.size() >= s.depth) return ENOMEM;
    if (wr->num_sge > 1) return EINVAL;
    s.posted.push_back({wr->wr_id, wr->num_sge ? wr->sg_list[0] : ibv_sge{}});
  }
  run_all();  // somebody may have waited for a receive
  return 0;
}

}  // namespace

void serve_queues(ibv_context& c) {
  c.ops.poll_cq = poll_cq, c.ops.req_notify_cq = req_notify_cq;
  c.ops.post_send = post_send, c.ops.post_recv = post_recv, c.ops.post_srq_recv = post_srq_recv;
}

}  // namespace fake

using namespace fake;

extern "C" {

ibv_comp_channel* ibv_create_comp_channel(ibv_context* c) {
  const guard lock{all().mutex};
  auto* made = new channel{};
  made->context = c, made->fd = new_bell();
  ++of(c).others;
  return made;
}

int ibv_destroy_comp_channel(ibv_comp_channel* c) {
  const guard lock{all().mutex};
  --of(c->context).others;
  ::close(c->fd);
  delete static_cast<channel*>(c);
  return 0;
}

ibv_cq* ibv_create_cq(ibv_context* c, int entries, void* own, ibv_comp_channel* channel, int) {
  const guard lock{all().mutex};
  auto* made = new cq{};
  made->context = c, made->channel = channel, made->cq_context = own, made->cqe = entries;
  of(c).cqs.insert(made);
  return made;
}

int ibv_destroy_cq(ibv_cq* gone) {
  const guard lock{all().mutex};
  cq& c = *static_cast<cq*>(gone);
  if (c.users) return breach("a completion queue was destroyed that queue pairs use"), EBUSY;
  if (c.channel) {  // events that nobody took go with it
    auto& events = static_cast<channel*>(c.channel)->events;
    c.told -= static_cast<unsigned>(std::erase(events, gone));
  }
  if (c.told != c.acknowledged) breach("a completion queue was destroyed before its events were acknowledged");
  of(c.context).cqs.erase(&c);
  delete &c;
  return 0;
}

int ibv_get_cq_event(ibv_comp_channel* from, ibv_cq** out, void** own) {
  if (!answered(from->fd)) return -1;
  std::unique_lock lock{all().mutex};
  all().went_on.wait(lock, [&] { return !of(from->context).of->stopped; });
  auto& events = static_cast<channel*>(from)->events;
  if (events.empty()) return errno = EAGAIN, -1;
  *out = events.front(), *own = events.front()->cq_context;
  events.pop_front();
  return 0;
}

void ibv_ack_cq_events(ibv_cq* c, unsigned n) {
  const guard lock{all().mutex};
  static_cast<cq*>(c)->acknowledged += n;
}

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* a) {
  const guard lock{all().mutex};
  auto* made = new srq{};
  made->context = pd->context, made->depth = a->attr.max_wr;
  of(pd->context).srqs.insert(made);
  return made;
}

int ibv_modify_srq(ibv_srq* s, ibv_srq_attr* a, int mask) {
  const guard lock{all().mutex};
  if (mask & IBV_SRQ_LIMIT) static_cast<srq*>(s)->limit = a->srq_limit;
  return 0;
}

int ibv_destroy_srq(ibv_srq* s) {
  const guard lock{all().mutex};
  of(s->context).srqs.erase(static_cast<srq*>(s));
  delete static_cast<srq*>(s);
  return 0;
}

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* a) {
  const guard lock{all().mutex};
  if (a->cap.max_inline_data > 220 || a->cap.max_send_sge > 32) return failed<ibv_qp>(EINVAL);  // as adapters have odd limits
  adapter& at = *of(pd->context).of;
  if (at.refuses) return failed<ibv_qp>(ENOMEM);
  ++at.made;
  auto* q = new qp{};
  q->ibv_qp::context = pd->context, q->pd = pd, q->send_cq = a->send_cq, q->recv_cq = a->recv_cq, q->srq = a->srq;
  q->qp_num = all().next_qpn++, q->state = IBV_QPS_RESET, q->qp_type = a->qp_type, q->cap = a->cap;
  ++static_cast<cq*>(a->send_cq)->users, ++static_cast<cq*>(a->recv_cq)->users;
  all().qps[q->qp_num] = q;
  of(pd->context).qps.insert(q);
  return q;
}

int ibv_modify_qp(ibv_qp* queue_pair, ibv_qp_attr* a, int mask) {
  if (a->qp_state == IBV_QPS_ERR) {
    std::unique_lock lock{all().mutex};
    const auto call = std::exchange(of(queue_pair->context).of->before_error, {});
    lock.unlock();
    if (call) call();
  }
  const guard lock{all().mutex};
  qp& q = *static_cast<qp*>(queue_pair);
  const bool rc = q.qp_type == IBV_QPT_RC;
  if (a->qp_state == IBV_QPS_ERR) {
    q.state = IBV_QPS_ERR;
    fail_all(q);
    return 0;
  }
  int needs = 0;
  ibv_qp_state before = IBV_QPS_RESET;
  if (a->qp_state == IBV_QPS_INIT) {
    needs = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (rc ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY);
    q.attr.port_num = a->port_num, q.attr.qkey = a->qkey;
  } else if (a->qp_state == IBV_QPS_RTR) {
    before = IBV_QPS_INIT, needs = IBV_QP_STATE;
    if (rc) {
      needs |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
      q.attr.ah_attr = a->ah_attr, q.attr.dest_qp_num = a->dest_qp_num, q.attr.rq_psn = a->rq_psn, q.attr.path_mtu = a->path_mtu;
    }
  } else {
    before = IBV_QPS_RTR, needs = IBV_QP_STATE | IBV_QP_SQ_PSN;
    q.attr.sq_psn = a->sq_psn;
    if (rc) {
      needs |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
      q.attr.timeout = a->timeout, q.attr.retry_cnt = a->retry_cnt, q.attr.rnr_retry = a->rnr_retry;
      if (a->retry_cnt > 6) breach("a retry count of 7 has no end on some adapters");
    }
  }
  if (q.state != before || mask != needs) return EINVAL;
  q.state = a->qp_state;
  return 0;
}

// Waits until its events are acknowledged, and takes those that nobody has read with it.
int ibv_destroy_qp(ibv_qp* gone) {
  std::unique_lock lock{all().mutex};
  for (; of(gone->context).unacknowledged == gone; lock.lock()) {
    lock.unlock();
    std::this_thread::yield();
  }
  std::erase_if(of(gone->context).events,
                [&](const ibv_async_event& e) { return about_a_pair(e) && e.element.qp == gone; });
  qp& q = *static_cast<qp*>(gone);
  if (!q.groups.empty()) return breach("a queue pair was destroyed that is attached to a group"), EBUSY;
  --static_cast<cq*>(q.send_cq)->users, --static_cast<cq*>(q.recv_cq)->users;
  for (entry& e : static_cast<cq*>(q.send_cq)->entries)  // entries stay, as soft-RoCE's do
    if (e.sender == &q) e.sender = nullptr;
  if (of(gone->context).of->plan.forgets)
    std::erase_if(static_cast<cq*>(q.recv_cq)->entries, [&](const entry& e) { return !e.sender && e.wc.qp_num == q.qp_num; });
  all().qps.erase(q.qp_num);
  q.at().qps.erase(&q);
  all().destroyed.emplace_back(&q);
  return 0;
}

int ibv_attach_mcast(ibv_qp* q, const ibv_gid* gid, std::uint16_t lid) {
  const guard lock{all().mutex};
  std::array<std::uint8_t, 16> group;
  std::memcpy(group.data(), gid->raw, 16);
  qp& mine = *static_cast<qp*>(q);
  const auto known = all().group_lids.find(group);
  if (mine.at().of->plan.infiniband && (known == all().group_lids.end() || known->second != lid)) return EINVAL;
  mine.groups.insert(group);
  return 0;
}

int ibv_detach_mcast(ibv_qp* q, const ibv_gid* gid, std::uint16_t) {
  const guard lock{all().mutex};
  std::array<std::uint8_t, 16> group;
  std::memcpy(group.data(), gid->raw, 16);
  return static_cast<qp*>(q)->groups.erase(group) ? 0 : EINVAL;
}

}  // extern "C"

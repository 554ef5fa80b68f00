// The functions of libibverbs.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "tests/verbs/fake/world.h"

// Some are macros in front of the functions.
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr

namespace fake {
namespace {

using guard = std::lock_guard<std::mutex>;

template <class T>
T* failed(int error) {
  errno = error;
  return nullptr;
}

int new_bell() { return ::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE); }

bool answered(int fd) noexcept {
  eventfd_t one;
  return ::eventfd_read(fd, &one) == 0;
}

bool about_a_pair(const ibv_async_event& e) noexcept {
  return e.event_type == IBV_EVENT_QP_FATAL || e.event_type == IBV_EVENT_QP_REQ_ERR || e.event_type == IBV_EVENT_QP_ACCESS_ERR;
}

opened& of(ibv_context* c) { return *static_cast<opened*>(c); }

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
    s.posted.push_back(wr->wr_id);
  }
  run_all();  // somebody may have waited for a receive
  return 0;
}

}  // namespace

}  // namespace fake

// --- libibverbs --------------------------------------------------------------------------------------------------------------
using namespace fake;

extern "C" {

int ibv_fork_init() { return 0; }

ibv_device** ibv_get_device_list(int* count) {
  const guard lock{all().mutex};
  auto& devices = all().devices;
  *count = static_cast<int>(devices.size());
  auto** list = static_cast<ibv_device**>(std::calloc(devices.size() + 1, sizeof(ibv_device*)));
  std::transform(devices.begin(), devices.end(), list, [](adapter& d) { return &d; });
  return list;
}

void ibv_free_device_list(ibv_device** list) { std::free(list); }
const char* ibv_get_device_name(ibv_device* d) { return d->name; }

ibv_context* ibv_open_device(ibv_device* d) {
  const guard lock{all().mutex};
  auto* c = new opened;
  c->device = d, c->of = static_cast<adapter*>(d);
  c->async_fd = new_bell(), c->cmd_fd = -1;
  c->ops.poll_cq = poll_cq, c->ops.req_notify_cq = req_notify_cq;
  c->ops.post_send = post_send, c->ops.post_recv = post_recv, c->ops.post_srq_recv = post_srq_recv;
  c->of->open.insert(c);
  return c;
}

int ibv_close_device(ibv_context* closed) {
  const guard lock{all().mutex};
  opened& c = of(closed);
  if (!c.qps.empty() || !c.cqs.empty() || !c.srqs.empty() || c.others) breach(c.of->plan.name + " was closed with things open");
  c.of->open.erase(&c);
  ::close(c.async_fd);
  delete &c;
  return 0;
}

int ibv_query_device(ibv_context* c, ibv_device_attr* a) {
  const adapter_plan& p = of(c).of->plan;
  *a = {};
  a->phys_port_cnt = 1, a->max_qp = 4096, a->max_qp_wr = 4096, a->max_sge = 32, a->max_sge_rd = 32, a->max_cqe = 1 << 16;
  a->max_srq_wr = p.srq_depth, a->max_srq = 64, a->max_qp_rd_atom = a->max_qp_init_rd_atom = 16;
  a->max_mcast_grp = 64, a->atomic_cap = p.atomics;
  return 0;
}

int ibv_query_port(ibv_context* c, std::uint8_t, _compat_ibv_port_attr* out) {
  const adapter_plan& p = of(c).of->plan;
  auto* a = reinterpret_cast<ibv_port_attr*>(out);
  a->state = p.state, a->max_mtu = a->active_mtu = IBV_MTU_4096, a->gid_tbl_len = 1, a->max_msg_sz = 1u << 30;
  a->lid = p.lid, a->lmc = p.lmc, a->sm_lid = 1, a->active_width = p.width, a->active_speed = 32;
  a->link_layer = p.infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
  return 0;
}

int ibv_query_gid(ibv_context* c, std::uint8_t, int index, ibv_gid* out) {
  if (index != 0) return EINVAL;
  *out = of(c).of->gid;
  return 0;
}

int _ibv_query_gid_ex(ibv_context* c, std::uint32_t port, std::uint32_t index, ibv_gid_entry* e, std::uint32_t, std::size_t) {
  if (index != 0) return ENODATA;
  *e = {};
  e->gid = of(c).of->gid, e->port_num = port, e->ndev_ifindex = 1;
  e->gid_type = of(c).of->plan.infiniband ? IBV_GID_TYPE_IB : IBV_GID_TYPE_ROCE_V2;
  return 0;
}

const char* ibv_port_state_str(ibv_port_state s) { return s == IBV_PORT_ACTIVE ? "PORT_ACTIVE" : "PORT_DOWN"; }

const char* ibv_wc_status_str(ibv_wc_status s) {
  switch (s) {
    case IBV_WC_SUCCESS: return "success";
    case IBV_WC_LOC_PROT_ERR: return "local protection error";
    case IBV_WC_WR_FLUSH_ERR: return "Work Request Flushed Error";
    case IBV_WC_REM_ACCESS_ERR: return "remote access error";
    case IBV_WC_RETRY_EXC_ERR: return "transport retry counter exceeded";
    case IBV_WC_RNR_RETRY_EXC_ERR: return "RNR retry counter exceeded";
    default: return "some other error";
  }
}

int ibv_get_async_event(ibv_context* c, ibv_async_event* out) {
  if (!answered(c->async_fd)) return -1;
  const guard lock{all().mutex};
  auto& events = of(c).events;
  if (events.empty()) return errno = EAGAIN, -1;
  *out = events.front();
  events.pop_front();
  if (about_a_pair(*out)) of(c).unacknowledged = out->element.qp;
  return 0;
}
void ibv_ack_async_event(ibv_async_event* e) {
  if (!about_a_pair(*e)) return;
  const guard lock{all().mutex};
  of(e->element.qp->context).unacknowledged = nullptr;
}

ibv_pd* ibv_alloc_pd(ibv_context* c) {
  const guard lock{all().mutex};
  ++of(c).others;
  auto* p = new ibv_pd{};
  p->context = c;
  return p;
}

int ibv_dealloc_pd(ibv_pd* p) {
  const guard lock{all().mutex};
  --of(p->context).others;
  delete p;
  return 0;
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t bytes, std::uint64_t, unsigned access) {
  const guard lock{all().mutex};
  adapter& d = *of(pd->context).of;
  if (d.registered + bytes > d.plan.lockable) return failed<ibv_mr>(ENOMEM);
  if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) && !(access & IBV_ACCESS_LOCAL_WRITE))
    return failed<ibv_mr>(EINVAL);
  auto* r = new mr{};
  r->context = pd->context, r->pd = pd, r->addr = address, r->length = bytes, r->access = access;
  r->lkey = r->rkey = all().next_key++ << 8;
  all().regions[r->rkey] = r;
  d.registered += bytes;
  ++of(pd->context).others;
  return r;
}

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t bytes, int access) {
  return ibv_reg_mr_iova2(pd, address, bytes, 0, static_cast<unsigned>(access));
}

int ibv_dereg_mr(ibv_mr* r) {
  const guard lock{all().mutex};
  all().regions.erase(r->rkey);
  of(r->context).of->registered -= r->length;
  --of(r->context).others;
  delete static_cast<mr*>(r);
  return 0;
}

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
  const guard lock{all().mutex};
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
  auto* q = new qp{};
  q->ibv_qp::context = pd->context, q->pd = pd, q->send_cq = a->send_cq, q->recv_cq = a->recv_cq, q->srq = a->srq;
  q->qp_num = all().next_qpn++, q->state = IBV_QPS_RESET, q->qp_type = a->qp_type, q->cap = a->cap;
  ++static_cast<cq*>(a->send_cq)->users, ++static_cast<cq*>(a->recv_cq)->users;
  all().qps[q->qp_num] = q;
  of(pd->context).qps.insert(q);
  return q;
}

int ibv_modify_qp(ibv_qp* queue_pair, ibv_qp_attr* a, int mask) {
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
  all().qps.erase(q.qp_num);
  q.at().qps.erase(&q);
  delete &q;
  return 0;
}

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* a) {
  const guard lock{all().mutex};
  ++of(pd->context).others;
  auto* made = new ah{};
  made->context = pd->context, made->pd = pd, made->attr = *a;
  return made;
}

int ibv_destroy_ah(ibv_ah* a) {
  const guard lock{all().mutex};
  --of(a->context).others;
  delete static_cast<ah*>(a);
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

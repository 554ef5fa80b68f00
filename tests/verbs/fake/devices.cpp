// The functions of libibverbs: devices, their ports and events, memory and addresses.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tests/verbs/fake/world.h"

// Some are macros in front of the functions.
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr

using namespace fake;

extern "C" {

int ibv_fork_init() { return 0; }
ibv_fork_status ibv_is_fork_initialized() { return IBV_FORK_UNNEEDED; }

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
  serve_queues(*c);
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
  const guard lock{all().mutex};
  const adapter_plan& p = of(c).of->plan;
  auto* a = reinterpret_cast<ibv_port_attr*>(out);
  a->state = p.state, a->max_mtu = a->active_mtu = IBV_MTU_4096, a->gid_tbl_len = 1, a->max_msg_sz = 1u << 30;
  a->lid = p.lid, a->lmc = p.lmc, a->sm_lid = 1, a->active_width = p.width, a->active_speed = 32;
  a->link_layer = p.infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
  return 0;
}

int ibv_query_gid(ibv_context* c, std::uint8_t, int index, ibv_gid* out) {
  if (index != 0) return EINVAL;
  const guard lock{all().mutex};
  *out = of(c).of->gid;
  return 0;
}

int _ibv_query_gid_ex(ibv_context* c, std::uint32_t port, std::uint32_t index, ibv_gid_entry* e, std::uint32_t, std::size_t) {
  if (index != 0) return ENODATA;
  const guard lock{all().mutex};
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

}  // extern "C"

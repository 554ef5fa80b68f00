// How requests execute.
#include <sched.h>
#include <sys/eventfd.h>

#include <atomic>
#include <cstring>
#include <optional>

#include "tests/verbs/fake/world.h"

namespace fake {
namespace {

constexpr std::size_t grh = 40;

bool answers(const adapter& d) { return !d.silent && d.plan.state == IBV_PORT_ACTIVE; }

mr* region_of(std::uint32_t key, std::uint64_t address, std::uint64_t bytes, unsigned needs) {
  const auto it = all().regions.find(key);
  if (it == all().regions.end()) return nullptr;
  mr* r = it->second;
  const auto begin = reinterpret_cast<std::uint64_t>(r->addr);
  const bool inside = address >= begin && bytes <= r->length && address - begin <= r->length - bytes;
  return inside && (r->access & needs) == needs ? r : nullptr;
}

std::byte* at(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

// Aligned words are written and read whole, and in order with what was before them, as an adapter does.
void carry(std::byte* to, const std::byte* from, std::size_t bytes) {
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uint64_t>(p) % 8 == 0; };
  for (; bytes >= 8 && aligned(to); to += 8, from += 8, bytes -= 8) {
    std::uint64_t value;
    if (aligned(from)) value = std::atomic_ref{*reinterpret_cast<const std::uint64_t*>(from)}.load(std::memory_order_acquire);
    else std::memcpy(&value, from, 8);
    std::atomic_ref{*reinterpret_cast<std::uint64_t*>(to)}.store(value, std::memory_order_release);
  }
  std::memmove(to, from, bytes);
}

std::vector<std::byte> gathered(const request& r) {
  if (r.wr.send_flags & IBV_SEND_INLINE) return r.inlined;
  std::vector<std::byte> bytes;
  for (const ibv_sge& s : r.sges) bytes.insert(bytes.end(), at(s.addr), at(s.addr) + s.length);
  return bytes;
}

bool locals_hold(const request& r, unsigned needs) {
  if (r.wr.send_flags & IBV_SEND_INLINE) return true;
  for (const ibv_sge& s : r.sges)
    if (s.length && !region_of(s.lkey, s.addr, s.length, needs)) return false;
  return true;
}

std::uint32_t length_of(const request& r) {
  if (r.wr.send_flags & IBV_SEND_INLINE) return static_cast<std::uint32_t>(r.inlined.size());
  std::uint32_t n = 0;
  for (const ibv_sge& s : r.sges) n += s.length;
  return n;
}

// --- RC ----------------------------------------------------------------------------------------------------------------
qp* partner(const qp& q, adapter* there) {
  const auto it = all().qps.find(q.attr.dest_qp_num);
  if (!there || it == all().qps.end()) return nullptr;
  qp* p = it->second;
  const bool ready = p->state == IBV_QPS_RTR || p->state == IBV_QPS_RTS;
  const bool mine = p->at().of == there && p->attr.dest_qp_num == q.qp_num && p->attr.rq_psn == q.attr.sq_psn;
  return ready && mine && answers(*there) && answers(*q.at().of) ? p : nullptr;
}

enum class outcome { done, waits };

void complete(qp& q, const request& r, ibv_wc_status status, std::uint32_t vendor = 0) {
  if (status == IBV_WC_SUCCESS && !(r.wr.send_flags & IBV_SEND_SIGNALED)) return;
  entry e{};
  e.wc.wr_id = r.wr.wr_id, e.wc.status = status, e.wc.vendor_err = vendor, e.wc.qp_num = q.qp_num;
  e.sender = &q, e.reclaims = r.number + 1;
  push(*static_cast<cq*>(q.send_cq), e, false);
}

ibv_wc_status act(const request& r, qp& to, unsigned& access, unsigned& answers_kept) {
  const bool reads = r.wr.opcode == IBV_WR_RDMA_READ;
  const bool atomic = r.wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || r.wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
  if (!locals_hold(r, reads || atomic ? IBV_ACCESS_LOCAL_WRITE : 0)) return IBV_WC_LOC_PROT_ERR;
  const std::uint32_t bytes = length_of(r);
  const std::uint64_t remote = atomic ? r.wr.wr.atomic.remote_addr : r.wr.wr.rdma.remote_addr;
  const std::uint32_t key = atomic ? r.wr.wr.atomic.rkey : r.wr.wr.rdma.rkey;
  if (atomic && (bytes != 8 || remote % 8 != 0)) return IBV_WC_REM_INV_REQ_ERR;
  if (bytes) {
    const unsigned needs = reads ? IBV_ACCESS_REMOTE_READ : atomic ? IBV_ACCESS_REMOTE_ATOMIC : IBV_ACCESS_REMOTE_WRITE;
    const mr* region = region_of(key, remote, bytes, needs);
    if (!region || region->context != to.ibv_qp::context) {
      to.state = IBV_QPS_ERR;  // a responder that refuses an access is in error too
      fail_all(to);
      raise_event(to.at(), IBV_EVENT_QP_ACCESS_ERR, &to);
      return IBV_WC_REM_ACCESS_ERR;
    }
    access = region->access;
  }
  if (reads) {
    std::uint64_t from = remote;
    for (const ibv_sge& s : r.sges) carry(at(s.addr), at(from), s.length), from += s.length;
  } else if (atomic) {
    // Atomic towards other adapters' requests, by the mutex, and not towards the CPU: as IBV_ATOMIC_HCA says.
    std::atomic_ref word{*reinterpret_cast<std::uint64_t*>(remote)};
    const std::uint64_t old = word.load();
    if (old % 4 == 0) ::sched_yield();
    if (r.wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) word.store(old + r.wr.wr.atomic.compare_add);
    else if (old == r.wr.wr.atomic.compare_add) word.store(r.wr.wr.atomic.swap);
    if (answers_kept) --answers_kept;
    else carry(at(r.sges[0].addr), reinterpret_cast<const std::byte*>(&old), 8);
  } else if (bytes) {
    const auto what = gathered(r);
    carry(at(remote), what.data(), what.size());
  }
  return IBV_WC_SUCCESS;
}

// A SEND lands in the first receive, which stays there if it does not fit.
ibv_wc_status land(const request& r, qp& to) {
  if (!locals_hold(r, 0)) return IBV_WC_LOC_PROT_ERR;
  const receive& first = static_cast<srq*>(to.srq)->posted.front();
  const auto what = gathered(r);
  const mr* region = what.empty() ? nullptr : region_of(first.where.lkey, first.where.addr, what.size(), IBV_ACCESS_LOCAL_WRITE);
  if (what.size() > first.where.length || (!what.empty() && (!region || region->context != to.ibv_qp::context))) {
    breach("a receive has no room for what was sent");
    to.state = IBV_QPS_ERR;
    fail_all(to);
    return IBV_WC_REM_INV_REQ_ERR;
  }
  carry(at(first.where.addr), what.data(), what.size());
  return IBV_WC_SUCCESS;
}

// The receive that a write with an immediate, or a SEND, takes.
void take_receive(qp& to, const request& r) {
  srq& s = *static_cast<srq*>(to.srq);
  entry e{};
  e.wc.wr_id = s.posted.front().id, e.wc.status = IBV_WC_SUCCESS, e.wc.qp_num = to.qp_num;
  if (r.wr.opcode == IBV_WR_SEND) {
    e.wc.opcode = IBV_WC_RECV, e.wc.byte_len = length_of(r);
  } else {
    e.wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM, e.wc.imm_data = r.wr.imm_data, e.wc.wc_flags = IBV_WC_WITH_IMM;
  }
  s.posted.pop_front();
  push(*static_cast<cq*>(to.recv_cq), e, r.wr.send_flags & IBV_SEND_SOLICITED);
  if (s.limit && s.posted.size() < s.limit) {
    s.limit = 0;  // told once
    ibv_async_event event{};
    event.event_type = IBV_EVENT_SRQ_LIMIT_REACHED, event.element.srq = &s;
    static_cast<opened*>(s.context)->events.push_back(event);
    bell(s.context->async_fd);
  }
}

// Whether its retries for the request in front have run out. They take four times what its attributes say, as they may.
bool gave_up(qp& q) {
  if (!q.at().of->plan.patient) return true;
  const auto now = std::chrono::steady_clock::now();
  if (q.gives_up == std::chrono::steady_clock::time_point{}) {
    q.gives_up = now + std::chrono::nanoseconds{4096ll << q.attr.timeout} * (1 + q.attr.retry_cnt) * 4;
    all().clocks.emplace_back([at = q.gives_up] {
      std::this_thread::sleep_until(at);
      const guard lock{all().mutex};
      run_all();
    });
  }
  return now >= q.gives_up;
}

outcome execute(qp& q, const request& r) {
  adapter* const there = device_at(*q.at().of, q.attr.ah_attr);
  pair_state& pair = all().pairs[{q.at().of, there}];
  if (pair.held && pair.credit == 0) return outcome::waits;
  ibv_wc_status status = IBV_WC_SUCCESS;
  std::uint32_t vendor = 0;
  unsigned access = 0;
  qp* const to = partner(q, there);
  std::optional<failure> fails;
  if (!pair.failures.empty()) {
    fails = pair.failures.front();
    pair.failures.pop_front();
  }
  if (!to && !fails) {
    if (!gave_up(q)) return outcome::waits;
    status = IBV_WC_RETRY_EXC_ERR, vendor = 0x81;
  } else if (to && (!fails || fails->executes)) {
    const bool sends = r.wr.opcode == IBV_WR_SEND, takes = sends || r.wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    if (takes && static_cast<srq*>(to->srq)->posted.empty()) {
      ++there->dry;
      if (q.attr.rnr_retry == 7) {
        if (fails) pair.failures.push_front(*fails);
        return outcome::waits;
      }
      status = IBV_WC_RNR_RETRY_EXC_ERR;
    } else {
      status = sends ? land(r, *to) : act(r, *to, access, pair.answers_kept);
      if (takes && status == IBV_WC_SUCCESS) take_receive(*to, r);
    }
  }
  if (fails) status = fails->status, vendor = fails->vendor;
  if (pair.held) --pair.credit;
  if (status == IBV_WC_SUCCESS)
    pair.log.push_back({r.wr.opcode, length_of(r), r.wr.send_flags, access, q.attr.ah_attr.is_global, q.attr.ah_attr.dlid});
  else q.state = IBV_QPS_ERR;
  complete(q, r, status, vendor);
  return outcome::done;
}

// --- UD ----------------------------------------------------------------------------------------------------------------
void deliver(qp& to, const request& r, const std::vector<std::byte>& bytes) {
  if (to.state < IBV_QPS_RTR || to.state == IBV_QPS_ERR || to.attr.qkey != r.wr.wr.ud.remote_qkey || to.receives.empty() ||
      to.receives.front().where.length < grh + bytes.size())
    return void(++all().lost);
  const receive into = to.receives.front();
  to.receives.pop_front();
  std::memcpy(at(into.where.addr) + grh, bytes.data(), bytes.size());
  entry e{};
  e.wc.wr_id = into.id, e.wc.status = IBV_WC_SUCCESS, e.wc.opcode = IBV_WC_RECV, e.wc.qp_num = to.qp_num;
  e.wc.byte_len = static_cast<std::uint32_t>(grh + bytes.size());
  push(*static_cast<cq*>(to.recv_cq), e, r.wr.send_flags & IBV_SEND_SOLICITED);
}

void send_datagram(qp& q, const request& r) {
  const auto bytes = gathered(r);
  const ibv_ah_attr& way = static_cast<ah*>(r.wr.wr.ud.ah)->attr;
  complete(q, r, IBV_WC_SUCCESS);
  if (!answers(*q.at().of)) return void(++all().lost);
  if (r.wr.wr.ud.remote_qpn != 0xff'ffff) {
    adapter* const there = device_at(*q.at().of, way);
    if (!there) return void(++all().lost);
    pair_state& pair = all().pairs[{q.at().of, there}];
    datagram d{there, r.wr.wr.ud.remote_qpn, r, bytes};
    if (pair.datagrams_held && pair.datagrams_let == 0) return void(pair.datagrams.push_back(std::move(d)));
    if (pair.datagrams_held) --pair.datagrams_let;
    pair.last.assign(1, d);
    return arrive(d);
  }
  std::array<std::uint8_t, 16> group;
  std::memcpy(group.data(), way.grh.dgid.raw, 16);
  if (!way.is_global) breach("a datagram to a group without a GRH");
  if (q.at().of->plan.infiniband && (!all().group_lids.contains(group) || all().group_lids[group] != way.dlid))
    return void(++all().lost);
  for (auto& [number, to] : all().qps)  // its sender's own, too
    if (to->groups.contains(group) && answers(*to->at().of) && all().joined.contains({to->at().of, group})) deliver(*to, r, bytes);
}

}  // namespace

int new_bell() { return ::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE); }
bool bell(int fd) noexcept { return ::eventfd_write(fd, 1) == 0; }
bool answered(int fd) noexcept {
  eventfd_t one;
  return ::eventfd_read(fd, &one) == 0;
}

void arrive(const datagram& d) {
  const auto it = all().qps.find(d.to);
  if (it == all().qps.end() || it->second->at().of != d.at || !answers(*d.at)) return void(++all().lost);
  deliver(*it->second, d.what, d.bytes);
}

void push(cq& queue, const entry& e, bool solicited) {
  if (static_cast<int>(queue.entries.size()) >= queue.cqe) return breach("a completion queue has overrun");
  queue.entries.push_back(e);
  if (!queue.armed || (queue.only_solicited && !solicited && e.wc.status == IBV_WC_SUCCESS)) return;
  queue.armed = false;
  if (!queue.channel) return;
  ++queue.told;
  static_cast<channel*>(queue.channel)->events.push_back(&queue);
  bell(queue.channel->fd);
}

void fail_all(qp& q) {
  while (!q.waiting.empty()) {
    complete(q, q.waiting.front(), IBV_WC_WR_FLUSH_ERR, 0xf9);
    q.waiting.pop_front();
  }
}

void run(qp& q) {
  while (!q.waiting.empty() && q.state == IBV_QPS_RTS) {
    request r = std::move(q.waiting.front());
    q.waiting.pop_front();  // first: if its peer is itself, its failure flushes the rest
    if (q.qp_type == IBV_QPT_UD) {
      send_datagram(q, r);
    } else if (execute(q, r) == outcome::waits) {
      q.waiting.push_front(std::move(r));
      return;
    }
  }
  if (q.state == IBV_QPS_ERR) fail_all(q);
}

void run_all() {
  for (auto& [number, q] : all().qps) run(*q);
}

}  // namespace fake

// Queue pairs between two ranks: made, connected, dropped.
#include <algorithm>
#include <cerrno>

#include "providers/verbs/death.h"
#include "providers/verbs/connection_manager.h"
#include "providers/verbs/error.h"

namespace tutti::verbs {
namespace {

constexpr std::uint8_t retry_for_ever = 7;    // for a receiver that is not ready: see receiver.h
constexpr std::uint8_t not_ready_timer = 12;  // 0.64 ms
constexpr int most_reads = 16;
constexpr int may_do = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

}  // namespace

ibv_qp* create_rc(ibv_pd* pd, ibv_cq* sends, receiver& in, const link_limits& limits) noexcept {
  ibv_qp_init_attr init{};
  init.qp_type = IBV_QPT_RC;
  init.send_cq = sends, init.recv_cq = in.cq(), init.srq = in.srq();
  init.cap.max_send_wr = limits.depth;
  init.cap.max_send_sge = limits.slices;
  init.cap.max_inline_data = limits.inline_bytes;
  return ibv_create_qp(pd, &init);
}

std::uint8_t connection_manager::reads() const noexcept {
  return static_cast<std::uint8_t>(std::clamp(at_.device->limits.max_qp_rd_atom, 0, most_reads));
}

const address_blob* connection_manager::address_of(rank_t rank, address_blob& out) const noexcept {
  if (!addresses_) return nullptr;
  std::memcpy(&out, (*addresses_)[rank].data(), sizeof out);  // lengths were checked when they came
  return &out;
}

// Within an InfiniBand subnet the LID suffices; everywhere else the GID says where.
ibv_ah_attr connection_manager::way_to(const address_blob& to) const noexcept {
  const found_port& mine = at_.device->where;
  ibv_ah_attr way{};
  way.port_num = static_cast<std::uint8_t>(mine.port);
  way.dlid = to.lid;
  way.is_global = mine.ethernet || std::memcmp(to.gid.data(), mine.gid.raw, 8) != 0;
  std::memcpy(way.grh.dgid.raw, to.gid.data(), sizeof way.grh.dgid.raw);
  way.grh.sgid_index = static_cast<std::uint8_t>(mine.gid_index);
  way.grh.hop_limit = 64;
  return way;
}

connection_manager::link* connection_manager::link_to(rank_t rank) noexcept {
  if (rank >= at_.size) return nullptr;
  if (!links_[rank]) {
    try {
      asking_.reserve(++met_);
      links_[rank] = std::make_unique<link>();
    } catch (...) {
      return nullptr;
    }
    links_[rank]->rank = rank;
  }
  link& l = *links_[rank];
  address_blob to;
  if (!l.ah && rank != at_.rank && address_of(rank, to)) {
    ibv_ah_attr way = way_to(to);
    l.ah = ibv_create_ah(at_.pd, &way);
    watch_process(l, to);
  }
  return &l;
}

status connection_manager::make_qp(link& l) noexcept {
  l.qp = create_rc(at_.pd, at_.sends, *at_.in, at_.limits);
  if (!l.qp) return os_error(worded("a queue pair for rank ", l.rank), errno, l.rank);
  ibv_qp_attr q{};
  q.qp_state = IBV_QPS_INIT;
  q.port_num = static_cast<std::uint8_t>(at_.device->where.port);
  q.qp_access_flags = may_do;
  if (const int e = ibv_modify_qp(l.qp, &q, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)) {
    ibv_destroy_qp(std::exchange(l.qp, nullptr));
    return os_error(worded("readying a queue pair for rank ", l.rank), e, l.rank);
  }
  if (!at_.in->admit(l.qp->qp_num, l.rank)) {
    ibv_destroy_qp(std::exchange(l.qp, nullptr));
    return {errc::no_resource, "out of memory", l.rank};
  }
  ++l.life;
  l.psn = (l.qp->qp_num * 2654435761u + l.life) & 0xff'ffff;
  l.told = owner_sleeps_;
  return {};
}

status connection_manager::connect_qp(link& l, std::uint32_t qpn, std::uint32_t psn, const address_blob& to) noexcept {
  ibv_qp_attr q{};
  q.qp_state = IBV_QPS_RTR;
  q.ah_attr = way_to(to);
  q.path_mtu = std::min(at_.device->port.active_mtu, static_cast<ibv_mtu>(to.mtu));
  q.dest_qp_num = qpn;
  q.rq_psn = psn;
  q.max_dest_rd_atomic = reads();
  q.min_rnr_timer = not_ready_timer;
  int e = ibv_modify_qp(l.qp, &q, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (!e) {
    q.qp_state = IBV_QPS_RTS;
    const repeating& how = at_.device->where.software ? by_software : by_adapter;
    q.timeout = how.timeout;
    q.retry_cnt = how.retries;
    q.rnr_retry = retry_for_ever;
    q.sq_psn = l.psn;
    q.max_rd_atomic = static_cast<std::uint8_t>(
        std::clamp<int>(at_.device->limits.max_qp_init_rd_atom, 0, std::min<int>(to.reads, most_reads)));
    e = ibv_modify_qp(l.qp, &q, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                    IBV_QP_MAX_QP_RD_ATOMIC);
  }
  return e ? os_error(worded("connecting a queue pair to rank ", l.rank), e, l.rank) : status{};
}

// In error it takes nothing more in; what it took in and acknowledged has its entries by then.
void connection_manager::drop_qp(link& l) noexcept {
  if (l.qp) {
    ibv_qp_attr q{};
    q.qp_state = IBV_QPS_ERR;
    ibv_modify_qp(l.qp, &q, IBV_QP_STATE);
    at_.in->dismiss(l.qp->qp_num);
    ibv_destroy_qp(std::exchange(l.qp, nullptr));
  }
  l.connected = l.confirmed = l.stale = l.wanted = l.told = false;
}

}  // namespace tutti::verbs

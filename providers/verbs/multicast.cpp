#include "providers/verbs/multicast.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/transport/first_death.h"
#include "core/base/random.h"
#include "core/transport/multicast.h"
#include "providers/verbs/error.h"
#include "providers/verbs/wire.h"

namespace tutti::verbs {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t max_groups = 16, receives = 128, sends = 16;
constexpr std::size_t grh = 40;                       // before every datagram, used or not
constexpr std::uint64_t send_mark = std::uint64_t{1} << 63;
constexpr auto between_questions = 10ms, between_health = 50ms, until_deaf = 3000ms;
constexpr std::uint32_t data = 0, question = 1, answer = 2;

}  // namespace

struct verbs_multicast::header {
  std::uint64_t group = 0;
  std::uint32_t from = 0;       // job rank
  std::uint32_t tag = 0;
  std::uint32_t number = 0;     // of this sender's datagrams of this kind
  std::uint16_t kind = data;
  std::uint16_t bytes = 0;      // of payload
};

struct verbs_multicast::token_blob {
  std::uint64_t name = 0;
  group_address address;
  rank_t creator = 0;
  std::uint32_t ethernet = 0;
};

struct verbs_multicast::group {
  std::uint32_t place = 0;                // in groups_
  rank_map members;
  std::uint64_t name = 0;
  membership joined;
  ibv_qp* qp = nullptr;
  ibv_ah* ah = nullptr;
  ibv_mr* mr = nullptr;
  std::unique_ptr<std::byte[]> buffers;   // receives, then sends
  bool attached = false;
  std::vector<std::uint32_t> next;        // by member: the number expected of it; 0: none came yet
  std::array<std::uint32_t, receives> ready{};  // slots that hold a datagram, a ring
  std::uint32_t first = 0, count = 0;
  std::uint32_t given = receives;         // the slot that receive() gave out
  std::uint32_t number = 0, sent = 0, sending = 0;
  std::uint64_t lost = 0;
  bool heard = false;                     // an answer
};

verbs_multicast::verbs_multicast(surroundings s) : at_{std::move(s)} {}

result<std::unique_ptr<verbs_multicast>> verbs_multicast::open(surroundings s) {
  std::unique_ptr<verbs_multicast> m{new verbs_multicast{std::move(s)}};
  const adapter& a = *m->at_.device;
  if (a.limits.max_mcast_grp <= 0) return status{errc::unsupported, worded(a.where.device, " has no multicast")};
  m->packet_ = std::min(128u << a.port.active_mtu, a.where.ethernet ? 4096u : 2048u);  // most subnet managers give groups 2048
  m->cq_ = ibv_create_cq(a.context.get(), static_cast<int>(max_groups * (receives + sends)), nullptr, m->at_.channel, 0);
  if (!m->cq_) return os_error("a completion queue for multicast", errno);
  m->groups_.resize(max_groups);
  return m;
}

verbs_multicast::~verbs_multicast() {
  for (auto& g : groups_)
    if (g) close(*g);
  groups_.clear();
  if (cq_) ibv_destroy_cq(cq_);
}

multicast::limits verbs_multicast::query() const noexcept {
  return {static_cast<std::uint32_t>(packet_ - sizeof(header)), max_groups, receives, at_.device->where.software ? 60.0 : 2.0, std::nullopt};
}

verbs_multicast::group* verbs_multicast::at(group_id id) const noexcept {
  const auto i = static_cast<std::uint32_t>(id);
  return i < groups_.size() ? groups_[i].get() : nullptr;
}

std::uint64_t verbs_multicast::lost(group_id id) const noexcept {
  const group* g = at(id);
  return g ? g->lost : 0;
}

// --- groups --------------------------------------------------------------------------------------------------------------
result<multicast::group_id> verbs_multicast::create(const rank_map& members, std::vector<std::byte>& token, time_point deadline) {
  token_blob t;
  // Datagrams are told by it from those of other groups and of outsiders, so nobody may guess it.
  if (!draw(t.name)) return status{errc::no_resource, "the kernel gives no random name for a multicast group", no_rank, errno};
  t.creator = at_.rank, t.ethernet = at_.device->where.ethernet;
  if (t.ethernet) t.address = roce_group(*at_.device, t.name);
  auto entered = enter(members, t.name, t.address, deadline);
  if (!entered) return entered;
  t.address = at(*entered)->joined.address();
  token = as_blob(t);
  return entered;
}

result<multicast::group_id> verbs_multicast::join(const rank_map& members, std::span<const std::byte> token, time_point deadline) {
  const auto t = blob_as<token_blob>(token);
  if (!t) return status{errc::invalid, "the token is not one of verbs' multicast"};
  if ((t->ethernet != 0) != at_.device->where.ethernet)
    return status{errc::unavailable, worded("the group's creator is on another kind of fabric than ", at_.device->text()),
                                            t->creator};
  auto entered = enter(members, t->name, t->address, deadline);
  if (!entered) return entered;
  group& g = *at(*entered);
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto begin = now();
  for (auto next = begin, look = begin + between_health; !g.heard;) {
    if (now() >= next) post(g, question, t->creator, {}), next = now() + between_questions;
    if (at_.drive()) continue;
    if (now() >= look) {
      look = now() + between_health;
      if (status dead = trouble_of(members, at_.rank, t->creator, at_.health); dead.failed()) {
        leave(*entered);
        return dead.during("joining a multicast group");
      }
    }
    if (now() >= deadline || now() - begin >= until_deaf) {
      leave(*entered);
      return status{errc::unavailable, worded("multicast of rank ", t->creator, " does not arrive at ", at_.device->text(),
                                              ": is it filtered by a switch?"), t->creator};
    }
    ::usleep(50);
  }
  return entered;
}

result<multicast::group_id> verbs_multicast::enter(const rank_map& members, std::uint64_t name, const group_address& address,
                                                   time_point deadline) {
  const auto place = std::find(groups_.begin(), groups_.end(), nullptr);
  if (place == groups_.end())
    return status{errc::no_resource, worded("at most ", max_groups, " multicast groups can be joined")};
  auto g = std::make_unique<group>();
  g->members = members, g->name = name;
  g->next.resize(members.size());
  auto joined = membership::join(*at_.device, address, deadline);
  if (!joined) return joined.error();
  g->joined = std::move(*joined);
  if (status s = open_queue_pair(*g); s.failed()) {
    close(*g);
    return s;
  }
  const auto id = g->place = static_cast<std::uint32_t>(place - groups_.begin());
  *place = std::move(g);
  for (std::uint32_t slot = 0; slot < receives; ++slot) refill(**place, slot);
  return group_id{id};
}

status verbs_multicast::open_queue_pair(group& g) {
  const adapter& a = *at_.device;
  const std::size_t slot = grh + packet_, bytes = receives * slot + sends * packet_;
  g.buffers = std::make_unique<std::byte[]>(bytes);
  g.mr = ibv_reg_mr(at_.pd, g.buffers.get(), bytes, IBV_ACCESS_LOCAL_WRITE);
  if (!g.mr) return os_error(worded("registering ", bytes, " bytes for a multicast group"), errno);
  ibv_qp_init_attr init{};
  init.qp_type = IBV_QPT_UD;
  init.send_cq = init.recv_cq = cq_;
  init.cap.max_send_wr = sends, init.cap.max_recv_wr = receives;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  g.qp = ibv_create_qp(at_.pd, &init);
  if (!g.qp) return os_error("a queue pair for a multicast group", errno);
  ibv_qp_attr q{};
  q.qp_state = IBV_QPS_INIT, q.port_num = static_cast<std::uint8_t>(a.where.port), q.qkey = g.joined.address().qkey;
  int e = ibv_modify_qp(g.qp, &q, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  q.qp_state = IBV_QPS_RTR;
  if (!e) e = ibv_modify_qp(g.qp, &q, IBV_QP_STATE);
  q.qp_state = IBV_QPS_RTS;
  if (!e) e = ibv_modify_qp(g.qp, &q, IBV_QP_STATE | IBV_QP_SQ_PSN);
  if (e) return os_error("readying a queue pair for a multicast group", e);
  ibv_gid gid;
  std::memcpy(gid.raw, g.joined.address().gid.data(), sizeof gid.raw);
  if (const int error = ibv_attach_mcast(g.qp, &gid, g.joined.lid())) return os_error("attaching to a multicast group", error);
  g.attached = true;
  ibv_ah_attr way = g.joined.way();
  g.ah = ibv_create_ah(at_.pd, &way);
  return g.ah ? status{} : os_error("addressing a multicast group", errno);
}

void verbs_multicast::close(group& g) noexcept {
  ibv_gid gid;
  std::memcpy(gid.raw, g.joined.address().gid.data(), sizeof gid.raw);
  if (g.attached) ibv_detach_mcast(g.qp, &gid, g.joined.lid());
  if (g.qp) ibv_destroy_qp(g.qp);
  if (g.ah) ibv_destroy_ah(g.ah);
  if (g.mr) ibv_dereg_mr(g.mr);
}

void verbs_multicast::leave(group_id id) noexcept {
  group* g = at(id);
  if (!g) return;
  progress();
  close(*g);
  // Entries of the queue pair that is gone must not be taken for those of its successor in this place.
  ibv_wc entry;
  while (ibv_poll_cq(cq_, 1, &entry) > 0)
    if ((entry.wr_id & ~send_mark) >> 32 != static_cast<std::uint32_t>(id)) handle(entry);
  groups_[static_cast<std::uint32_t>(id)].reset();
}

// --- datagrams -----------------------------------------------------------------------------------------------------------
void verbs_multicast::refill(group& g, std::uint32_t slot) noexcept {
  ibv_sge sge{reinterpret_cast<std::uint64_t>(g.buffers.get() + slot * (grh + packet_)), static_cast<std::uint32_t>(grh + packet_),
              g.mr->lkey};
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.wr_id = std::uint64_t{g.place} << 32 | slot, wr.sg_list = &sge, wr.num_sge = 1;
  ibv_post_recv(g.qp, &wr, &bad);
}

bool verbs_multicast::post(group& g, std::uint32_t kind, std::uint32_t tag, std::span<const std::byte> payload) noexcept {
  if (g.sending == sends) progress();
  if (g.sending == sends) return false;
  std::byte* const buffer = g.buffers.get() + receives * (grh + packet_) + g.sent++ % sends * packet_;
  header h;
  h.group = g.name, h.from = at_.rank, h.tag = tag;
  h.kind = static_cast<std::uint16_t>(kind), h.bytes = static_cast<std::uint16_t>(payload.size());
  if (kind == data) h.number = ++g.number;
  std::memcpy(buffer, &h, sizeof h);
  if (!payload.empty()) std::memcpy(buffer + sizeof h, payload.data(), payload.size());
  ibv_sge sge{reinterpret_cast<std::uint64_t>(buffer), static_cast<std::uint32_t>(sizeof h + payload.size()), g.mr->lkey};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.wr_id = send_mark | std::uint64_t{g.place} << 32;
  wr.sg_list = &sge, wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND, wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
  wr.wr.ud.ah = g.ah, wr.wr.ud.remote_qpn = 0xff'ffff, wr.wr.ud.remote_qkey = g.joined.address().qkey;
  if (ibv_post_send(g.qp, &wr, &bad) == 0) ++g.sending;  // else it is lost, like any
  return true;
}

bool verbs_multicast::send(group_id id, std::uint32_t tag, std::span<const std::byte> payload) noexcept {
  group* g = at(id);
  return g && post(*g, data, tag, payload);
}

unsigned verbs_multicast::progress() noexcept {
  std::array<ibv_wc, 16> entries;
  unsigned came = 0;
  for (int n; (n = ibv_poll_cq(cq_, static_cast<int>(entries.size()), entries.data())) > 0;) {
    for (int i = 0; i < n; ++i) came += handle(entries[static_cast<std::size_t>(i)]);
    if (n < static_cast<int>(entries.size())) break;
  }
  return came;
}

bool verbs_multicast::handle(const ibv_wc& entry) noexcept {
  const auto place = static_cast<std::uint32_t>((entry.wr_id & ~send_mark) >> 32);
  group* g = place < groups_.size() ? groups_[place].get() : nullptr;
  if (!g) return false;
  if (entry.wr_id & send_mark) {
    --g->sending;
    return false;
  }
  const auto slot = static_cast<std::uint32_t>(entry.wr_id);
  const bool keep = entry.status == IBV_WC_SUCCESS && entry.byte_len >= grh + sizeof(header) &&
                    arrived(*g, slot, entry.byte_len - static_cast<std::uint32_t>(grh));
  if (!keep) refill(*g, slot);
  return keep;
}

// True: the datagram is kept for receive().
bool verbs_multicast::arrived(group& g, std::uint32_t slot, std::uint32_t bytes) noexcept {
  header h;
  std::memcpy(&h, g.buffers.get() + slot * (grh + packet_) + grh, sizeof h);
  const std::uint32_t member = h.group == g.name ? g.members.index_of(h.from) : g.members.size();
  if (member == g.members.size() || h.from == at_.rank || sizeof h + h.bytes > bytes) return false;
  if (h.kind == question) {
    if (h.tag == at_.rank) post(g, answer, h.from, {});
    return false;
  }
  if (h.kind == answer) {
    g.heard = true;
    return false;
  }
  std::uint32_t& next = g.next[member];
  const auto ahead = next ? static_cast<std::int32_t>(h.number - next) : 0;
  if (ahead > 0) g.lost += static_cast<std::uint32_t>(ahead);
  if (ahead >= 0) next = h.number + 1;
  g.ready[(g.first + g.count++) % receives] = slot;
  return true;
}

bool verbs_multicast::receive(group_id id, datagram& out) noexcept {
  group* g = at(id);
  if (!g) return false;
  if (g->given != receives) refill(*g, std::exchange(g->given, receives));
  progress();
  if (g->count == 0) return false;
  g->given = g->ready[g->first];
  g->first = (g->first + 1) % receives, --g->count;
  const std::byte* datagram_at = g->buffers.get() + g->given * (grh + packet_) + grh;
  header h;
  std::memcpy(&h, datagram_at, sizeof h);
  out = {h.from, h.tag, {datagram_at + sizeof h, h.bytes}};
  return true;
}

}  // namespace tutti::verbs

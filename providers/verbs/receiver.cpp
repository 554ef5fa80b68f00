#include "providers/verbs/receiver.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "providers/verbs/error.h"
#include "providers/verbs/packets.h"

namespace tutti::verbs {
namespace {

constexpr std::uint32_t at_first = 256, at_most = 4096;  // receives
constexpr std::uint32_t most_batch = 32;

}  // namespace

status receiver::open(const adapter& a, ibv_pd* pd, ibv_comp_channel* channel, std::uint32_t ranks) {
  const std::uint64_t later = round_up(std::uint64_t{packet_window} * ranks, slab_buffers);
  const std::uint64_t wanted = std::min<std::uint64_t>(at_first + later, at_most);
  depth_ = std::min({static_cast<std::uint32_t>(wanted), static_cast<std::uint32_t>(a.limits.max_srq_wr),
                     static_cast<std::uint32_t>(a.limits.max_cqe)});
  if (depth_ > slab_buffers) depth_ -= depth_ % slab_buffers;
  const std::uint32_t first = std::min(at_first, depth_);
  leases_ = first / 4;  // the rest is for rings
  limit_ = (first - leases_) / 2;
  batch_ = std::clamp(first / 8, 1u, most_batch);
  cq_ = ibv_create_cq(a.context.get(), static_cast<int>(depth_), nullptr, channel, 0);
  if (!cq_) return os_error("creating the completion queue of receives", errno);
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = depth_;
  attributes.attr.max_sge = 1;
  srq_ = ibv_create_srq(pd, &attributes);
  if (!srq_) return os_error("creating the shared receive queue", errno);
  if (status s = buffers_.open(pd, a, static_cast<std::uint32_t>(round_up(depth_, slab_buffers))); s.failed()) return s;
  records_ = std::make_unique<record[]>(buffers_.most());
  inbox_.reserve(64);
  for (std::uint32_t n = 0; n < first; n += slab_buffers) {
    if (status s = buffers_.grow(); s.failed()) return s;
    for (std::uint32_t i = n; i < std::min(n + slab_buffers, first); ++i) free(i);
  }
  refill(1);
  set_limit();
  return {};
}

void receiver::close() noexcept {
  if (srq_) ibv_destroy_srq(srq_);
  if (cq_) ibv_destroy_cq(cq_);
  srq_ = nullptr, cq_ = nullptr;
  buffers_.close();
}

// Half of the rings' part: so much is posted, however many messages are held, until rings have taken the other half.
void receiver::set_limit() noexcept {
  ibv_srq_attr attributes{};
  attributes.srq_limit = limit_;
  ibv_modify_srq(srq_, &attributes, IBV_SRQ_LIMIT);
}

void receiver::free(std::uint32_t place) noexcept {
  records_[place] = {free_, no_rank};
  free_ = place;
  ++free_count_;
}

void receiver::refill(std::uint32_t unless_fewer) noexcept {
  if (free_count_ < unless_fewer) return;
  std::array<ibv_recv_wr, most_batch> wrs{};
  std::array<ibv_sge, most_batch> sges;
  while (free_count_) {
    const std::uint32_t n = std::min(free_count_, most_batch);
    std::uint32_t place = free_;
    for (std::uint32_t i = 0; i < n; ++i, place = records_[place].next) {
      sges[i] = buffers_.part(place, packet_bytes);
      wrs[i].wr_id = place, wrs[i].sg_list = &sges[i], wrs[i].num_sge = 1;
      wrs[i].next = i + 1 < n ? &wrs[i + 1] : nullptr;
    }
    ibv_recv_wr* bad = nullptr;
    if (ibv_post_srq_recv(srq_, wrs.data(), &bad) != 0) return;  // the device is gone: its event tells
    free_ = place, free_count_ -= n;
  }
}

bool receiver::admit(std::uint32_t qpn, rank_t rank) noexcept {
  const std::lock_guard lock{mutex_};
  try {
    packet_origin& o = origins_[rank];
    o.news.from = rank;
    connected_[qpn] = &o;
  } catch (...) {
    return false;
  }
  return true;
}

void receiver::dismiss(std::uint32_t qpn) noexcept {
  const std::lock_guard lock{mutex_};
  drained_ += drain();
  connected_.erase(qpn);
}

// True: a message, which stays in its buffer.
bool receiver::keeps(const ibv_wc& wc) noexcept {
  const auto place = static_cast<std::uint32_t>(wc.wr_id);
  const auto from = connected_.find(wc.qp_num);
  if (wc.byte_len < sizeof(packet_head) || from == connected_.end()) return false;
  packet_head head;
  std::memcpy(&head, buffers_.at(place), sizeof head);
  packet_origin& o = *from->second;
  const bool had_news = o.has_news;
  const auto verdict = o.hear(head, wc.byte_len);
  if (o.has_news && !had_news) news_.push(o);
  if (verdict == packet_origin::verdict::drop) return false;
  records_[place] = {none, o.news.from};
  (last_ == none ? first_ : records_[last_].next) = place;
  last_ = place;
  return true;
}

unsigned receiver::drain() noexcept {
  unsigned arrived = 0;
  std::array<ibv_wc, 16> entries;
  for (int n; (n = ibv_poll_cq(cq_, static_cast<int>(entries.size()), entries.data())) > 0;) {
    for (int i = 0; i < n; ++i) {
      const ibv_wc& wc = entries[static_cast<std::size_t>(i)];
      const bool well = wc.status == IBV_WC_SUCCESS;
      arrived += well;
      if (well && wc.opcode == IBV_WC_RECV && keeps(wc)) continue;
      free(static_cast<std::uint32_t>(wc.wr_id));
      if (!well || wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM) continue;
      const std::uint32_t ring = ntohl(wc.imm_data);
      if (kind_of_ring(ring) == ring_kind::bell) continue;
      try {
        inbox_.push_back({origin_of_ring(ring), kind_of_ring(ring)});
      } catch (...) {  // no memory for 8 bytes; a goodbye is then found out by silence
      }
    }
    if (n < static_cast<int>(entries.size())) break;
  }
  refill(batch_);
  return arrived;
}

unsigned receiver::take(std::vector<item>& out) noexcept {
  const std::unique_lock lock{mutex_, std::try_to_lock};
  if (!lock) return 1;  // the connection manager drains it: look again
  const unsigned arrived = drain() + std::exchange(drained_, 0);
  if (first_ != none) {
    (taken_last_ == none ? taken_first_ : records_[taken_last_].next) = std::exchange(first_, none);
    taken_last_ = std::exchange(last_, none);
  }
  taken_news_ = news_.front() != nullptr;
  if (inbox_.empty()) return arrived;
  try {
    out.insert(out.end(), inbox_.begin(), inbox_.end());
    inbox_.clear();
  } catch (...) {  // next time
  }
  return arrived;
}

std::uint32_t receiver::next_message() noexcept {
  const std::uint32_t place = taken_first_;
  if (place == none) return none;
  taken_first_ = records_[place].next;
  if (taken_first_ == none) taken_last_ = none;
  return place;
}

bool receiver::next_news(packet_news& out) noexcept {
  if (!taken_news_) return false;
  const std::lock_guard lock{mutex_};
  packet_origin* const o = news_.pop();
  taken_news_ = o != nullptr;
  if (!o) return false;
  out = o->news;
  o->has_news = o->news.asks = false;
  return true;
}

void receiver::give_back(std::uint32_t place) noexcept {
  const std::lock_guard lock{mutex_};
  free(place);
  refill(batch_);
}

bool receiver::grow() noexcept {
  const std::lock_guard lock{mutex_};
  const std::uint32_t from = buffers_.count();
  if (from + slab_buffers > depth_ || buffers_.grow().failed()) return false;
  for (std::uint32_t place = from; place < buffers_.count(); ++place) free(place);
  refill(1);
  return true;
}

packet_origin* receiver::find(rank_t rank) noexcept {
  const std::lock_guard lock{mutex_};
  const auto at = origins_.find(rank);
  return at == origins_.end() ? nullptr : &at->second;
}

void receiver::allow(packet_origin& o, std::uint32_t before) noexcept {
  const std::lock_guard lock{mutex_};
  o.allowed = before;
}

// The limit first: an adapter tells when the queue falls below it, and need not tell that it has fallen already. What was
// taken before the limit was set has its entry, which is drained here; what is taken later is told.
void receiver::refill_from_event() noexcept {
  const std::lock_guard lock{mutex_};
  set_limit();
  drained_ += drain();
  refill(1);
}

}  // namespace tutti::verbs

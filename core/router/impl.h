// The class of the router (core/router/router.h), one concern a file: router.cpp (opening, addresses, health), memory.cpp
// (regions, segments), submit.cpp (data path), wait.cpp (sleeping on both children); paths.h, multicast.h and two_sided.h are
// classes of their own.
//
// Ids. A region or segment of the router has the id that the node transport gave it, so an operation within the node
// is forwarded as it stands, without a copy. Towards the network, ids are translated into a bounded array on the stack:
// some nanoseconds beside the microsecond that the network takes.
#pragma once
#include <array>
#include <optional>

#include "core/base/epoll_set.h"
#include "core/base/id_map.h"
#include "core/router/node_lobby.h"
#include "core/router/router.h"
#include "core/router/paths.h"
#include "core/router/multicast.h"
#include "core/router/scatter_pool.h"
#include "core/router/two_sided.h"
#include "core/transport/multicast.h"
#include "core/transport/offload.h"

namespace tutti {

class router final : public transport {
 public:
  router(std::unique_ptr<transport> node, std::unique_ptr<transport> network, place_in_job self, epoll_set both);
  ~router() override;

  const capabilities& caps() const noexcept override { return caps_; }
  multicast* mcast() noexcept override;
  two_sided* sendrecv() noexcept override { return two_sided_ ? &*two_sided_ : nullptr; }
  // No offloader(): a schedule names ranks of both children, and neither fabric can wait for the other by itself.

  result<std::vector<std::byte>> address() override;
  status connect(shared_blobs addresses, time_point deadline) override;
  bool reaches(rank_t rank) const noexcept override { return node_->reaches(rank) || network_->reaches(rank); }
  bool native_towards(rank_t rank) const noexcept override { return (on_node(rank) ? *node_ : *network_).native_towards(rank); }

  result<region_id> add(std::span<std::byte> memory) override;
  result<region_id> add_unowned(std::span<std::byte> memory) override;
  result<region_id> allocate(std::size_t bytes, std::span<std::byte>& memory) override;
  result<std::vector<std::byte>> key(region_id) override;
  result<segment_id> attach(const rank_map& members, shared_blobs keys) override;
  void drop(segment_id) noexcept override;
  void drop(region_id) noexcept override;
  void at_rest(bool on) noexcept override { node_->at_rest(on), network_->at_rest(on); }
  std::byte* map(segment_id, rank_t) noexcept override;

  [[nodiscard]] std::size_t submit(std::span<const rma_op> ops) noexcept override;
  [[nodiscard]] bool flush(rank_t peer, completion* done) noexcept override;
  unsigned progress() noexcept override;

  armed arm() noexcept override;
  void sleep(armed, time_point deadline) noexcept override;
  bool arm_fd() noexcept override;
  int wait_fd() noexcept override { return both_.fd(); }
  void disarm() noexcept override;

  time_point now() const noexcept override { return network_->now(); }
  // A child that is never asked may never notice a death, and goes on taking operations: so where both serve a rank, both are
  // asked.
  status health(rank_t peer) noexcept override {
    status s = serving(peer).health(peer);
    if (!paths_.in_use() || !on_node(peer)) return s;
    status other = network_->health(peer);
    return s.ok() ? other : s;
  }

 private:
  bool on_node(rank_t rank) const noexcept { return on_node_[rank] != 0; }
  transport& serving(rank_t rank) noexcept { return on_node(rank) ? *node_ : *network_; }
  status open_paths();
  status connect_multicast(const blob_table& extras);
  result<region_id> also_on_network(region_id mine, result<region_id> theirs);
  bool goes_near(const rma_op& op) const noexcept {  // by the node transport
    return on_node(op.rank) && (!paths_.in_use() || router_paths::path_of(op) == router_paths::by_node);
  }
  bool may_go(const rma_op& op) noexcept {
    return !paths_.in_use() || !on_node(op.rank) || paths_.may_go(op, goes_near(op) ? *network_ : *node_);
  }
  std::size_t submit_to_network(std::span<const rma_op> ops) noexcept;
  bool flush_both(rank_t peer, completion* done) noexcept;
  bool flush_one(rank_t peer, completion* done) noexcept;
  unsigned pay_flushes() noexcept;
  bool arm_both() noexcept;
  transport& sleeper() noexcept { return node_->wait_fd() < 0 ? *node_ : *network_; }  // where both_ is not open

  // A flush that the network has taken and the node, being full, has not: see flush_both().
  struct owed_flush {
    rank_t peer;
    completion* done;
  };

  router_paths paths_;                  // in use where the children's atomics do not agree; has completions for both
  std::unique_ptr<transport> node_;
  scatter_pool scatters_;
  std::unique_ptr<transport> network_;  // destroyed first: it has registered memory of node_, and lists of scatters_
  capabilities caps_;
  std::vector<std::uint8_t> on_node_;   // by job rank; bytes, not bits: read for every operation
  const place_in_job self_;
  bool single_node_ = false;
  std::optional<node_lobby> lobby_;     // where the node transport has multicast
  std::optional<router_multicast> multicast_;
  std::optional<router_two_sided> two_sided_;  // where all who serve a rank have them
  id_map<region_id> regions_;           // from ours, which are the node's, to the network's
  id_map<segment_id> segments_;
  std::array<owed_flush, 8> owed_{};
  std::uint32_t owed_count_ = 0;
  epoll_set both_;                      // of the children's descriptors; open if both have one
  bool armed_ = false;
  armed child_sleep_ = armed_if(false);   // of the child whose sleep() serves for both, where both_ is not open
  bool refused_ = false;                // the last submit() or flush() was not taken in full
  std::chrono::nanoseconds nap_{};      // length of the last sleep that had to be bounded
};

}  // namespace tutti

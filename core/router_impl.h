// The router's class; core/router.h says what it is. One concern a file: router.cpp (opening, addresses, health),
// router_memory.cpp (regions, segments), router_submit.cpp (data path), router_wait.cpp (sleeping on both);
// router_multicast.h is a class of its own.
//
// Ids. A region or segment of the router has the id that the node transport gave it, so an operation within the node
// is forwarded as it stands, without a copy. Towards the network, ids are translated into a bounded array on the stack:
// some nanoseconds beside the microsecond that the network takes.
#pragma once
#include <array>
#include <optional>

#include "core/id_map.h"
#include "core/node_lobby.h"
#include "core/router.h"
#include "core/router_multicast.h"
#include "core/scatter_pool.h"

namespace tutti {

class router final : public transport {
 public:
  router(std::unique_ptr<transport> node, std::unique_ptr<transport> network, place_in_job self, int wait_fd);
  ~router() override;

  const capabilities& caps() const noexcept override { return caps_; }
  multicast* mcast() noexcept override;
  // No offloader(): a schedule names ranks of both children, and neither fabric can wait for the other by itself.

  result<std::vector<std::byte>> address() override;
  status connect(shared_blobs addresses, time_point deadline) override;
  bool reaches(rank_t rank) const noexcept override { return node_->reaches(rank) || network_->reaches(rank); }

  result<region_id> add(std::span<std::byte> memory) override;
  result<region_id> allocate(std::size_t bytes, std::span<std::byte>& memory) override;
  result<std::vector<std::byte>> key(region_id) override;
  result<segment_id> attach(const rank_map& members, shared_blobs keys) override;
  void drop(segment_id) noexcept override;
  void drop(region_id) noexcept override;
  std::byte* map(segment_id, rank_t) noexcept override;

  [[nodiscard]] std::size_t submit(std::span<const rma_op> ops) noexcept override;
  [[nodiscard]] bool flush(rank_t peer, completion* done) noexcept override;
  unsigned progress() noexcept override;

  bool arm(wake_by) noexcept override;
  void sleep(time_point deadline) noexcept override;
  int wait_fd() noexcept override { return wait_fd_; }
  void disarm() noexcept override;

  time_point now() const noexcept override { return network_->now(); }
  status health(rank_t peer) noexcept override { return serving(peer).health(peer); }

 private:
  bool on_node(rank_t rank) const noexcept { return on_node_[rank] != 0; }
  transport& serving(rank_t rank) noexcept { return on_node(rank) ? *node_ : *network_; }
  status connect_multicast(const blob_table& extras);
  result<region_id> also_on_network(region_id mine, std::span<std::byte> memory);
  std::size_t submit_to_network(std::span<const rma_op> ops) noexcept;
  bool flush_one(rank_t peer, completion* done) noexcept;
  bool flush_all(completion* done) noexcept;
  unsigned pay_flushes() noexcept;

  // A flush of all ranks that one child has taken and the other, being full, has not: see flush_all().
  struct owed_flush {
    transport* to;
    completion* done;
  };

  std::unique_ptr<transport> node_;
  scatter_pool scatters_;
  std::unique_ptr<transport> network_;  // destroyed first: it has registered memory of node_, and lists of scatters_
  capabilities caps_;
  std::vector<std::uint8_t> on_node_;   // by job rank; bytes, not bits: read for every operation
  const place_in_job self_;
  bool single_node_ = false;
  std::optional<node_lobby> lobby_;     // where the node transport has multicast
  std::optional<router_multicast> multicast_;
  id_map<region_id> regions_;           // from ours, which are the node's, to the network's
  id_map<segment_id> segments_;
  std::array<owed_flush, 8> owed_{};
  std::uint32_t owed_count_ = 0;
  int wait_fd_;                         // an epoll of both children's descriptors, or -1
  bool refused_ = false;                // the last submit() or flush() was not taken in full
  std::chrono::nanoseconds nap_{};      // length of the last sleep that had to be bounded
};

}  // namespace tutti

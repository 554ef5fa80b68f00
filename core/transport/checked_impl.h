// The class of the checking decorator (core/transport/checked_transport.h). checked_transport.cpp: set-up, which learns what is
// alive and how large; checked_submit.cpp: the rules, and what becomes of an operation that breaks one.
#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/transport/checked_transport.h"
#include "core/transport/forwarding_transport.h"

namespace tutti {

template <class Id>  // of a region, of a segment
std::uint32_t number(Id id) noexcept { return static_cast<std::uint32_t>(id); }

class checked_transport final : public forwarding_transport {
 public:
  using forwarding_transport::forwarding_transport;

  status connect(shared_blobs addresses, time_point deadline) override;
  bool reaches(rank_t rank) const noexcept override { return rank < job_size_ && inner().reaches(rank); }
  bool native_towards(rank_t rank) const noexcept override { return rank < job_size_ && inner().native_towards(rank); }
  result<region_id> add(std::span<std::byte> memory) override;
  result<region_id> add_unowned(std::span<std::byte> memory) override;
  result<region_id> allocate(std::size_t bytes, std::span<std::byte>& memory) override;
  result<std::vector<std::byte>> key(region_id) override;
  result<segment_id> attach(const rank_map& members, shared_blobs keys) override;
  void drop(segment_id) noexcept override;
  void drop(region_id) noexcept override;
  std::byte* map(segment_id, rank_t) noexcept override;
  [[nodiscard]] std::size_t submit(std::span<const rma_op> ops) noexcept override;
  [[nodiscard]] bool flush(rank_t peer, completion* done) noexcept override;
  status health(rank_t peer) noexcept override;
  two_sided* sendrecv() noexcept override { return inner().sendrecv() ? &two_sided_ : nullptr; }

 private:
  // What breaks a rule counts as taken and goes no further: there is no completion to tell, so the next flush does.
  class checked_two_sided final : public two_sided {
   public:
    explicit checked_two_sided(checked_transport& net) noexcept : net_(net) {}
    limits query() const noexcept override { return net_.inner().sendrecv()->query(); }
    bool send(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept override;
    bool receive(message& out) noexcept override { return net_.inner().sendrecv()->receive(out); }

   private:
    checked_transport& net_;
  };

  struct extent {              // of one member's memory
    std::uint64_t bytes = 0;   // 0: it exposes none
    std::uint8_t skew = 0;     // its base address modulo 8: a word's alignment is that of its address
  };
  struct group {
    rank_map members;
    std::vector<extent> extents;
  };

  status rank_error(rank_t) const;
  // The rules for one operation: success, or what is wrong with it.
  status verify(const rma_op&) const;
  status verify_remote(const char* what, segment_id, rank_t, std::uint64_t offset, std::uint64_t bytes,
                       bool word) const;
  status verify_local(region_id, std::uint64_t offset, std::uint64_t bytes) const;
  status verify_slices(const rma_op&, std::uint64_t& total) const;
  status verify_message(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) const;
  void report(const rma_op&, status);
  void report(rank_t, status);

  std::uint32_t job_size_ = 0;
  std::unordered_map<std::uint32_t, std::span<std::byte>> regions_;
  std::unordered_map<std::uint32_t, group> segments_;
  checked_two_sided two_sided_{*this};
  std::vector<std::pair<rank_t, status>> untold_;  // errors without a completion, for the next flush; one a rank
};

}  // namespace tutti

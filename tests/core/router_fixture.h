// Two children that note what they are told, and a router above them.
#pragma once
#include <boost/test/unit_test.hpp>

#include <memory>
#include <set>
#include <span>
#include <utility>

#include "core/router/router.h"
#include "tests/core/fake_transport.h"

namespace tutti::test {

inline constexpr std::uint32_t near_base = 3, far_base = 70;  // ids of the two children never coincide

// Ranks 0 and 2 are on this node, 1 and 3 are not.
struct router_fixture {
  fake_transport* near = nullptr;
  fake_transport* far = nullptr;
  fake_two_sided near_messages, far_messages;
  std::unique_ptr<transport> both;

  explicit router_fixture(int near_fd = -1, int far_fd = -1, std::set<rank_t> on_node = {0, 2}, bool far_agrees = true,
                          bool far_has_messages = true) {
    auto n = std::make_unique<fake_transport>("near");
    auto f = std::make_unique<fake_transport>("far");
    near = n.get(), far = f.get();
    near->reached_ranks = std::move(on_node), far->reached_ranks = {0, 1, 2, 3};
    near->next_region = near->next_segment = near_base;
    far->next_region = far->next_segment = far_base;
    near->fd = near_fd, far->fd = far_fd;
    near->ts = &near_messages, far->ts = far_has_messages ? &far_messages : nullptr;
    far->limits.cpu_atomics_agree = far_agrees;
    auto made = make_router(std::move(n), std::move(f), {});
    BOOST_REQUIRE_MESSAGE(made.ok(), made.error().text());
    both = std::move(*made);
    auto addresses = std::make_shared<blob_table>();
    const auto mine = both->address();
    BOOST_REQUIRE(mine.ok());
    for (int r = 0; r < 4; ++r) addresses->push_back(*mine);
    BOOST_REQUIRE(both->connect(addresses, time_point::max()).ok());
  }

  // A region and a segment of all four ranks.
  std::pair<region_id, segment_id> memory() {
    std::span<std::byte> given;
    const auto region = both->allocate(4096, given);
    BOOST_REQUIRE(region.ok());
    const auto key = both->key(*region);
    BOOST_REQUIRE(key.ok());
    auto keys = std::make_shared<blob_table>();
    for (int r = 0; r < 4; ++r) keys->push_back(*key);
    const auto segment = both->attach(rank_map::strided(0, 4), keys);
    BOOST_REQUIRE(segment.ok());
    return {*region, *segment};
  }
};

inline rma_op numbered_put(rank_t rank, region_id local, segment_id remote, std::uint64_t number) {
  rma_op op{};
  op.rank = rank, op.local = local, op.remote = remote, op.signal = remote, op.operand = number;
  return op;
}

}  // namespace tutti::test

// How many operations of the fabric a put or get between layouts is made of. (What arrives is checked by tests/c/random_layouts.)
#include <boost/test/unit_test.hpp>

#include "core/transport/forwarding_transport.h"
#include "messaging/layout_transfer.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/fabrics.h"

namespace {

using namespace tutti;
using namespace tutti::test;

class counting_transport final : public forwarding_transport {
 public:
  using forwarding_transport::forwarding_transport;
  std::size_t submit(std::span<const rma_op> ops) noexcept override {
    const std::size_t taken = inner().submit(ops);
    for (const rma_op& op : ops.first(taken)) ++operations, slices += op.slices;
    return taken;
  }
  std::size_t operations = 0, slices = 0;
};

struct blocks {
  std::size_t bytes, count;
  std::ptrdiff_t stride;
  block_layout layout() const { return take(block_layout::strided(bytes, 1, &count, &stride), "layout"); }
};

struct scene {
  const char* what;
  op_kind kind;
  blocks here, there;
  std::size_t operations, slices = 0;  // that are wanted, of the simulated fabric: 8 slices, o = 0.2 us, hence short below 1560 bytes
};

constexpr op_kind put = op_kind::put, get = op_kind::get;
const scene scenes[] = {
    {"one block", put, {800, 1, 0}, {800, 1, 0}, 1},
    {"dense rows are one block", put, {8, 100, 8}, {8, 100, 8}, 1},
    {"nothing", put, {0, 1, 0}, {0, 1, 0}, 1},
    {"one operation for each block there", put, {8, 100, 16}, {8, 100, 24}, 100},
    {"the same for gets", get, {8, 100, 16}, {8, 100, 24}, 100},
    {"short blocks are packed", put, {8, 100, 16}, {800, 1, 0}, 1},
    {"inline", put, {8, 4, 16}, {32, 1, 0}, 1},
    {"by slots of 16 KiB", put, {8, 5000, 16}, {40000, 1, 0}, 3},
    {"long blocks are not", put, {4000, 10, 5000}, {40000, 1, 0}, 10},
    {"gets are scattered", get, {8, 100, 16}, {800, 1, 0}, 13, 100},
    {"long ones too", get, {4000, 8, 5000}, {32000, 1, 0}, 1, 8},
    {"backwards at both ends", put, {8, 64, -8}, {8, 64, -8}, 1},
    {"backwards here", put, {8, 64, -8}, {8, 64, 8}, 1},
    {"backwards there", get, {8, 64, 8}, {8, 64, -8}, 8, 64},
};

}  // namespace

BOOST_AUTO_TEST_CASE(as_few_operations_as_pay) {
  run_ranks({"sim"}, 2, [](rank_env& env) {
    counting_transport* counter = nullptr;
    env.wrap([&](std::unique_ptr<transport> t) {
      auto c = std::make_unique<counting_transport>(std::move(t));
      counter = c.get();
      return c;
    });
    const auto j = open_job(env);
    constexpr std::size_t bytes = 128 << 10;
    const area theirs = env.allocate(bytes);
    std::vector<std::byte> mine(bytes);
    messaging::packing_memory packing;
    if (env.rank == 0)
      for (const scene& s : scenes) {
        const block_layout here = s.here.layout(), there = s.there.layout();
        completion done;
        const std::size_t before = counter->operations, slices = counter->slices;
        require(messaging::transfer(*j, packing, {.kind = s.kind, .base = mine.data() - here.low(), .here = &here, .rank = 1,
                                                  .segment = theirs.segment, .offset = static_cast<std::uint64_t>(-there.low()), .there = &there,
                                                  .owner = {.done = &done}, .most_bytes = 1 << 20}), s.what);
        env.wait(done);
        require_equal(counter->operations - before, s.operations, std::string("operations: ") + s.what);
        require_equal(counter->slices - slices, s.slices, std::string("slices: ") + s.what);
      }
    env.barrier();
  });
}

BOOST_AUTO_TEST_CASE(a_block_is_short_by_its_cost) {
  BOOST_TEST(messaging::short_block({.latency_us = 1, .overhead_us = 0.2, .gap_us = 0.1, .bytes_per_ns = 10}) == 1560u);
  BOOST_TEST(messaging::short_block({}) == 0u);  // what costs nothing is not avoided
  BOOST_TEST(messaging::short_block({.overhead_us = 1e6}) == messaging::packing_memory::slot_bytes / 2);
}

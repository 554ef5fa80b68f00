// What the fabric knows of a process's memory: areas until they are popped, other memory until the sync, of neither twice.
#define BOOST_TEST_MODULE bsp_registered_memory
#include <boost/test/unit_test.hpp>

#include "bsp/registered_memory.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/sim_fabric.h"

namespace {

using namespace tutti;
using namespace tutti::test;
using bsp::registrar;

bool lies(const std::optional<bsp::registered_memory::local>& l, region_id region, std::uint64_t offset) {
  return l && l->region == region && l->offset == offset;
}

void areas_and_other_memory(rank_env& env) {
  std::vector<std::byte> memory(4096), other(100 * 64);
  registrar areas;
  bsp::registered_memory registered(env.net(), areas);
  areas.push(memory.data(), memory.size());
  const auto id = take(registered.add(0, areas.area_of(areas.pending()[0])), "add");
  areas.apply();
  registered.settle();  // it is of an area now

  require(lies(registered.find(memory.data() + 100, 3996), id, 100), "inside the area");
  require(take(registered.of(*areas.at(0)), "of") == id, "the area is registered once");
  require(!registered.has_temporary(), "nothing else is");
  const auto first = registered.find(other.data(), 64);
  require(first && lies(registered.find(other.data() + 8, 56), first->region, 8), "other memory is registered once");
  require(registered.has_temporary(), "until the sync");
  std::uint32_t taken = 1;
  while (taken < 100 && registered.find(other.data() + 64 * taken, 64)) ++taken;
  require(taken == 64, "so much and no more");
  registered.settle();
  require(!registered.has_temporary() && lies(registered.find(memory.data(), 1), id, 0), "the area stays");
  require(registered.find(other.data() + 64 * 99, 64).has_value(), "there is room again");

  areas.pop(memory.data());
  areas.apply();
  registered.settle();
  require(registered.empty(), "what was popped is dropped");
}

}  // namespace

BOOST_AUTO_TEST_CASE(areas_stay_and_other_memory_goes) {
  sim::parameters p;
  p.ranks = 2;
  const auto report = try_ranks_simulated(p, areas_and_other_memory);
  BOOST_TEST(report.passed(), report.text());
}

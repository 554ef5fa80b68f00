// What the fabric knows of a process's memory: areas until they are popped, none twice.
#include <boost/test/unit_test.hpp>

#include "bsp/registered_memory.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/sim_fabric.h"

namespace {

using namespace tutti;
using namespace tutti::test;
using bsp::registrar;

void areas_are_registered_once(rank_env& env) {
  std::vector<std::byte> memory(4096), other(64);
  registrar areas;
  bsp::registered_memory registered(env.net(), areas);
  areas.push(memory.data(), memory.size());
  const auto id = take(registered.add(0, areas.area_of(areas.pending()[0])), "add");
  areas.apply();
  registered.settle();  // it is of an area now
  require(take(registered.of(*areas.at(0)), "of") == id, "the area is registered once");

  areas.push(other.data(), other.size());
  (void)take(registered.add(1, areas.area_of(areas.pending()[0])), "another");
  areas.apply();
  registered.settle();
  areas.pop(memory.data());
  areas.apply();
  registered.settle();
  require(!registered.empty(), "what was not popped stays");
  areas.pop(other.data());
  areas.apply();
  registered.settle();
  require(registered.empty(), "what was popped is dropped");
}

}  // namespace

BOOST_AUTO_TEST_CASE(areas_stay_until_they_are_popped) {
  sim::parameters p;
  p.ranks = 2;
  const auto report = try_ranks_simulated(p, areas_are_registered_once);
  BOOST_TEST(report.passed(), report.text());
}

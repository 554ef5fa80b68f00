// main() of the tests that have none of their own. A case that checked nothing has failed: it would pass whatever it ran.
#include <boost/cstdlib.hpp>
#include <boost/test/results_collector.hpp>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <iostream>

namespace {

namespace ut = boost::unit_test;

struct checks_counted : ut::test_observer {
  void test_unit_finish(const ut::test_unit& unit, unsigned long) override {
    if (unit.p_type != ut::TUT_CASE) return;
    const auto& seen = ut::results_collector.results(unit.p_id);
    if (seen.p_skipped || seen.p_assertions_passed + seen.p_assertions_failed > 0) return;
    std::cerr << unit.full_name() << " checked nothing\n";
    failed = true;
  }
  bool failed = false;
} counted;

bool init() {
  auto& all = ut::framework::master_test_suite();
  all.p_name.value = std::filesystem::path(all.argv[0]).filename();
  ut::framework::register_observer(counted);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int status = ut::unit_test_main(init, argc, argv);
  return status == 0 && counted.failed ? boost::exit_test_failure : status;
}

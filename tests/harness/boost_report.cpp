#include <boost/test/unit_test.hpp>

#include "tests/harness/fabrics.h"

namespace tutti::test {

bool run_ranks(const fabric_spec& fabric, std::uint32_t n, const rank_body& body, const run_options& o,
               std::string* why_skipped) {
  const run_report report = try_ranks(fabric, n, body, o);
  if (const std::string* why = report.skipped()) {
    if (why_skipped) *why_skipped = *why;
    BOOST_TEST_MESSAGE("skipped on " << fabric.name << ": " << *why);
    return false;
  }
  BOOST_TEST(report.passed(), fabric.name << ", " << n << " ranks, seed " << o.seed << "\n" << report.text());
  return true;
}

}  // namespace tutti::test

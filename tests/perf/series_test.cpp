// What numbers are made of series: quantiles, and where a quantity reaches a value for good.
#include <boost/test/unit_test.hpp>

#include "tools/perf/series.h"

using namespace tutti::tools;
using points = std::vector<std::pair<double, double>>;

BOOST_AUTO_TEST_CASE(a_value_is_reached_where_it_is_not_lost_again) {
  const points rising{{10, 0.2}, {20, 0.4}, {40, 0.8}};
  BOOST_TEST(kept_from(rising, 0.4).value() == 20.0);
  BOOST_TEST(kept_from(rising, 0.6).value() == 30.0, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(kept_from(rising, 0.1).value() == 5.0, boost::test_tools::tolerance(1e-9));  // on the line from (0, 0)
  BOOST_TEST(!kept_from(rising, 0.9));
  // It is crossed at 15 first, and falls below again.
  const points falls{{10, 0.2}, {20, 0.8}, {30, 0.3}, {40, 0.7}};
  BOOST_TEST(kept_from(falls, 0.5).value() == 35.0, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(kept_from(falls, 0.25).value() > 10.0);
  BOOST_TEST(!kept_from(points{{10, 0.9}, {20, 0.4}}, 0.5));
  BOOST_TEST(!kept_from(points{}, 0.5));
}

BOOST_AUTO_TEST_CASE(values_stay_in_their_order) {
  series s;
  for (const double x : {3.0, 1.0, 2.0}) s.add(x);
  BOOST_TEST(s.at(0) == 3.0);
  BOOST_TEST(s.median() == 2.0);
  BOOST_TEST(s.at(2) == 2.0);
}

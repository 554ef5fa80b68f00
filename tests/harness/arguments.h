// What stands behind Boost.Test's own options: `program -- --fabric ucx:tcp --seeds 1000`.
#pragma once
#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/harness/fabrics.h"

namespace tutti::test {

inline std::string argument(std::string_view name, std::string otherwise = {}) {
  const auto& all = boost::unit_test::framework::master_test_suite();
  for (int i = 1; i + 1 < all.argc; ++i)
    if (all.argv[i] == name) return all.argv[i + 1];
  return otherwise;
}

// --fabric: this one alone, and nobody looks for others, which takes time.
template <class All>
std::vector<fabric_spec> wanted(All all) {
  const std::string one = argument("--fabric");
  return one.empty() ? all() : std::vector<fabric_spec>{{one}};
}
inline std::vector<fabric_spec> wanted_fabrics() {
  return wanted([] { return fabrics(); });
}

}  // namespace tutti::test

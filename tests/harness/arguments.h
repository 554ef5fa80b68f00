// What stands behind Boost.Test's own options: `program -- --fabric ucx:tcp --seeds 1000`.
#pragma once
#include <boost/test/unit_test.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/harness/fabrics.h"
#include "tests/harness/lists.h"

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
// Conformance tests hold every fabric to the contract; what stands upon it is tried on one of each kind.
inline std::vector<fabric_spec> wanted_fabrics() {
  return wanted([] {
    auto all = fabrics();
    static constexpr std::string_view one_of_a_kind[] = {"shm", "ucx:tcp", "ofi:net", "ofi:udp"};
    if (!whole_list()) std::erase_if(all, [](const fabric_spec& f) { return std::ranges::count(one_of_a_kind, f.name) == 0; });
    return all;
  });
}

}  // namespace tutti::test

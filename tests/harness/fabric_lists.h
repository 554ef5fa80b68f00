// Lists of fabrics for tests that run the same on each: all there are, composed and simulated ones included, or some of them.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/harness/composed.h"
#include "tests/harness/sim_fabric.h"

namespace tutti::test {

inline std::vector<fabric_spec> every_fabric() {
  auto all = fabrics();
  for (auto list : {composed_fabrics(all), sim_fabrics()}) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// Those of these names that can be had here.
inline std::vector<fabric_spec> some_fabrics(std::initializer_list<const char*> names) {
  const auto plain = fabrics();
  std::vector<fabric_spec> out;
  for (const std::string name : names) {
    const bool there = std::any_of(plain.begin(), plain.end(), [&](const fabric_spec& f) { return f.name == name; });
    if (there || name.starts_with("sim") || name.starts_with("far(")) out.push_back({name});
  }
  return out;
}

}  // namespace tutti::test

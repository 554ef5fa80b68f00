// Every fabric that can be used here, and a function run as N ranks upon one.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tests/harness/rank_env.h"
#include "tests/harness/run.h"

namespace tutti::test {

struct fabric_spec {
  std::string name;  // as in TUTTI_PROVIDER: "shm", "ucx:tcp"
  bool simulated() const noexcept { return name.starts_with("sim"); }
};

// Each usable device of each provider in the registry, but for the simulated one. What cannot be used is in `missing`, "name: reason".
std::vector<fabric_spec> fabrics(std::vector<std::string>* missing = nullptr);

using rank_body = std::function<void(rank_env&)>;

// Ranks are processes, each with a transport of its own, opened after the fork; or threads; on the simulated fabric
// they are its virtual ranks. A body that returns meets the others once more before its transport is destroyed.
run_report try_ranks(const fabric_spec&, std::uint32_t n, const rank_body&, const run_options& = {});

// The same, with what went wrong reported to Boost.Test. False: skipped (said in the log, and why).
bool run_ranks(const fabric_spec&, std::uint32_t n, const rank_body&, const run_options& = {},
               std::string* why_skipped = nullptr);

}  // namespace tutti::test

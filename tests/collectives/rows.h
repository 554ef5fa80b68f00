// Every algorithm of a collective, by the names under which it can be asked for, on every fabric on which it can run.
#pragma once
#include <boost/test/unit_test.hpp>

#include <span>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/arguments.h"
#include "tests/harness/sim_fabric.h"

namespace tutti::test {

inline communicator_options using_algorithm(collective of, const std::string& name) {
  communicator_options o;
  o.wanted(of) = name;
  return o;
}

// "" is what would be chosen.
inline std::vector<std::string> names(collective of) {
  std::vector<std::string> out{""};
  for (const algorithm& a : algorithms(of)) {
    out.emplace_back(a.name);
    if (a.default_radix) out.push_back(std::string(a.name) + ":1"), out.push_back(std::string(a.name) + ":15");
  }
  return out;
}

// Without any needs for "".
inline const algorithm& row_of(collective of, const std::string& name) {
  static constexpr algorithm any{};
  const algorithm* a = find_algorithm(of, name.substr(0, name.find(':')));
  return a ? *a : any;
}

inline bool can_run(const algorithm& row, rank_env& env, const job& j) {
  return (!row.needs.multicast || env.net().mcast()) && (!row.needs.mapped || (env.net().caps().maps_node && j.where().nodes() == 1)) &&
         (!row.data.exposes || j.facts().exposes_any);
}

// Sizes in which there is one of everything: data_schedules runs all of them, without a network.
inline std::vector<std::uint32_t> sizes(std::string_view fabric) {
  if (fabric == "sim:wild") return {2, 3, 5, 8, 13};
  return {1, 2, 3, 4, 5, 7, 8, 12, 16, 33};
}

// play(env, collective, name) in every rank.
template <class Play>
void on_simulated_fabrics_by_each(std::span<const collective> all, Play play) {
  for (const collective of : all)
    for (const std::string& name : names(of))
      for (const char* fabric : {"sim", "sim:wild"})
        for (const std::uint32_t n : sizes(fabric)) {
          sim::parameters p = sim_parameters({fabric}, n, n);
          if (row_of(of, name).needs.mapped) p.maps_node = true, p.ranks_per_node = n;
          const auto report = try_ranks_simulated(p, [&](rank_env& env) { play(env, of, name); },
                                                  {.timeout = std::chrono::seconds(60) * time_scale, .seed = n});
          BOOST_TEST(report.passed(), name_of(of) << " by " << name << ", " << fabric << ", " << n << " ranks: " << report.text());
        }
}

// `--fabric NAME`: on this one alone. `--ranks N`: in so many.
template <class Play>
void on_every_fabric_by_each(std::span<const collective> all, Play play) {
  const auto n = static_cast<std::uint32_t>(std::stoul(argument("--ranks", "5")));
  for (const fabric_spec& f : wanted_fabrics())
    for (const collective of : all)
      for (const std::string& name : names(of))
        run_ranks(f, n, [&](rank_env& env) { play(env, of, name); }, {.timeout = std::chrono::seconds(60) * time_scale});
}

}  // namespace tutti::test

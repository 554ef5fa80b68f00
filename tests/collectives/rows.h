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
  if (fabric == "sim:wild") return listed({3u, 8u}, {2u, 5u, 13u});
  return listed({1u, 2u, 3u, 5u, 8u}, {4u, 7u, 12u, 16u, 33u});
}

// Algorithms that ranks play one after the other, each in a job of its own: to start ranks and to connect them takes longer than
// most of what is played. A rank that fails says in which; `begun` tells of one that hangs.
class in_turn {
 public:
  explicit in_turn(std::vector<std::string> names) : names_(std::move(names)), at_(1) {}
  template <class Play>
  void operator()(rank_env& env, Play play) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      at_[0] = i;
      try {
        play(names_[i]);
      } catch (const failure& f) {
        throw failure{"\"" + names_[i] + "\": " + f.text};
      }
      env.barrier();
    }
  }
  std::string begun() const { return names_.empty() ? "" : names_[at_[0]]; }
  bool empty() const noexcept { return names_.empty(); }

 private:
  std::vector<std::string> names_;
  shared_words at_;
};

// Of a collective, those that need mapped memory or those that do not.
inline std::vector<std::string> names(collective of, bool mapped) {
  std::vector<std::string> out = names(of);
  std::erase_if(out, [&](const std::string& name) { return row_of(of, name).needs.mapped != mapped; });
  return out;
}

// play(env, collective, name) in every rank.
template <class Play>
void on_simulated_fabrics_by_each(std::span<const collective> all, Play play) {
  for (const collective of : all)
    for (const bool mapped : {false, true})
      for (const char* fabric : {"sim", "sim:wild"})
        for (const std::uint32_t n : sizes(fabric)) {
          const in_turn each(names(of, mapped));
          if (each.empty()) continue;
          sim::parameters p = sim_parameters({fabric}, n, n);
          if (mapped) p.maps_node = true, p.ranks_per_node = n;
          const auto report = try_ranks_simulated(p, [&](rank_env& env) {
            each(env, [&](const std::string& name) { play(env, of, name); });
          }, {.timeout = std::chrono::seconds(60) * time_scale, .seed = n});
          BOOST_TEST(report.passed(), name_of(of) << ", " << fabric << ", " << n << " ranks, last begun: \"" << each.begun() << "\": " << report.text());
        }
}

// `--fabric NAME`: on this one alone. `--ranks N`: in so many.
template <class Play>
void on_every_fabric_by_each(std::span<const collective> all, Play play) {
  const auto n = static_cast<std::uint32_t>(std::stoul(argument("--ranks", "5")));
  for (const fabric_spec& f : wanted_fabrics())
    for (const collective of : all) {
      const in_turn each(names(of));
      const auto report = try_ranks(f, n, [&](rank_env& env) {
        each(env, [&](const std::string& name) { play(env, of, name); });
      }, {.timeout = std::chrono::seconds(100) * time_scale});
      BOOST_TEST(report.passed(), name_of(of) << ", " << f.name << ", " << n << " ranks, last begun: \"" << each.begun() << "\"\n" << report.text());
    }
}

}  // namespace tutti::test

// conformance [Boost.Test's options] [-- [--seed N] [--fabric NAME] [--of PROVIDER] [--repeat N] [--timeout SECONDS]
//                                        [--ranks threads]]
// Cases are named clause/case/fabric, so --run_test=signals, --run_test='*/*/shm', --run_test=signals/in_order work.
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <utility>

#include "core/transport/provider.h"
#include "tests/conformance/clause.h"
#include "tests/harness/composed.h"
#include "tests/harness/lists.h"
#include "tests/harness/sim_fabric.h"

namespace tutti::test {
namespace {

namespace ut = boost::unit_test;

struct settings {
  std::uint64_t seed = 1;
  std::string fabric;  // empty: all
  std::string of;      // those that this vendor's provider has a part in, `builtin`: no vendor's, or `composed`: made of
                       // builtin ones; empty: all
  unsigned repeat = 1;  // with the seeds that follow
  int timeout = 30;     // of a case
  bool threads = false; // ranks are threads of one process, and cases in which one dies are left out
} chosen;

struct tally {
  unsigned run = 0, skipped = 0;
  std::map<std::string, unsigned> reasons;
};
std::map<std::string, tally> tallies;
bool nothing_there = false;  // the provider that was asked for has nothing to work upon here

void run_case(const conformance_case& c, const fabric_spec& fabric, bool threads) {
  for (unsigned i = 0; i < chosen.repeat; ++i) {
    run_options o;
    o.seed = chosen.seed + i;
    o.threads = threads;
    o.timeout = std::chrono::seconds{chosen.timeout} * time_scale;
    if (c.dies != no_rank) o.to_die = {c.dies};
    tally& t = tallies[fabric.name + (threads ? " (threads)" : "")];
    std::string why;
    if (run_ranks(fabric, c.ranks, c.body, o, &why)) ++t.run;
    else ++t.skipped, ++t.reasons[why];
  }
}

// "router(shm+ofi:tcp)": ofi.
std::string vendor_of(const std::string& fabric) {
  for (const provider_entry& p : providers())
    if (p.name != "shm" && p.name != "sim" && fabric.find(p.name) != fabric.npos) return std::string{p.name};
  return fabric.ends_with(')') ? "composed" : "builtin";
}

std::string path_name(std::string name) {  // without what Boost.Test's filters use
  for (char& c : name)
    if (c == ':') c = '-';
  return name;
}

// Compositions have few ways of their own, and so have `ucx`, which is ucx:shm and ucx:tcp, and libfabric's net, which is much as its tcp.
void add_clause(const clause& cl, const std::vector<fabric_spec>& all, one_in& composed, one_in& akin) {
  auto* suite = BOOST_TEST_SUITE(cl.name);
  for (const conformance_case& c : cl.cases) {
    auto* one = BOOST_TEST_SUITE(c.name);
    const auto add = [&](const fabric_spec& f, bool threads) {
      one->add(ut::make_test_case([&c, f, threads] { run_case(c, f, threads); },
                                  path_name(f.name) + (threads ? "-threads" : ""), __FILE__, __LINE__));
    };
    for (const fabric_spec& f : all) {
      const bool wanted = f.name == chosen.fabric;
      if (f.name.ends_with(')') && !wanted && !composed()) continue;
      if ((f.name == "ucx" || f.name == "ofi:net") && !wanted && !akin()) continue;
      if (!chosen.threads) add(f, false);
      if ((chosen.threads || f.name == "shm") && c.dies == no_rank) add(f, true);
    }
    suite->add(one);
  }
  ut::framework::master_test_suite().add(suite);
}

bool parse(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--seed") chosen.seed = std::strtoull(argv[i + 1], nullptr, 0);
    else if (name == "--fabric") chosen.fabric = argv[i + 1];
    else if (name == "--of") chosen.of = argv[i + 1];
    else if (name == "--repeat") chosen.repeat = static_cast<unsigned>(std::atoi(argv[i + 1]));
    else if (name == "--timeout") chosen.timeout = std::atoi(argv[i + 1]);
    else if (name == "--ranks") chosen.threads = std::string{argv[i + 1]} == "threads";
    else return false;
  }
  return true;
}

bool init() {
  ut::framework::master_test_suite().p_name.value = "conformance";
  auto& m = ut::framework::master_test_suite();
  if (!parse(m.argc, m.argv)) return false;
  std::vector<std::string> missing;
  std::vector<fabric_spec> all;
  std::vector<fabric_spec> known = fabrics(&missing);
  for (auto& f : composed_fabrics(known)) known.push_back(std::move(f));
  for (auto& f : sim_fabrics()) known.push_back(std::move(f));
  if (chosen.fabric.ends_with(')')) known = {{chosen.fabric}};  // any composition, also one that is not tested always
  for (auto& f : known) {
    if (!chosen.fabric.empty() && f.name != chosen.fabric) continue;
    if (chosen.of.empty() || vendor_of(f.name) == chosen.of) all.push_back(f);
  }
  for (const auto& m_text : missing) std::cout << "no " << m_text << "\n";
  if (all.empty() && find_provider(chosen.fabric)) all.push_back({chosen.fabric});  // one that is taken only when named
  if (all.empty() && !chosen.of.empty()) return nothing_there = true;
  if (all.empty()) {
    std::cerr << "no fabric to test\n";
    return false;
  }
  one_in composed(3), akin(3);
  for (const clause& c : all_clauses()) add_clause(c, all, composed, akin);
  return true;
}

}  // namespace

std::span<const clause> all_clauses() {
  static const clause all[] = {naming_clause(),         submission_clause(), completion_clause(), visibility_clause(),
                               signals_clause(),        serial_numbers_clause(), atomics_clause(), progress_clause(),
                               sleep_clause(),          failure_clause(),    teardown_clause(),   regions_clause(),
                               segments_clause(),       sizes_clause(),      scatter_clause(),    multicast_clause(),
                               offload_clause(),        two_sided_clause(),  map_clause(),        random_clause()};
  return all;
}

}  // namespace tutti::test

int main(int argc, char** argv) {
  const int status = boost::unit_test::unit_test_main(tutti::test::init, argc, argv);
  for (const auto& [name, t] : tutti::test::tallies) {
    std::cout << name << ": " << t.run << " cases run, " << t.skipped << " skipped";
    const char* before = ": ";
    for (const auto& [why, n] : t.reasons) std::cout << std::exchange(before, ", ") << why << " (" << n << ")";
    std::cout << "\n";
  }
  return tutti::test::nothing_there ? 77 : status;
}

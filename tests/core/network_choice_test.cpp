// Which network a job takes between its nodes, among ranks whose machines are not alike.
#include <boost/test/unit_test.hpp>
#include <thread>

#include "tests/doubles/bootstrap_threads.h"
#include "core/job/job.h"
#include "core/job/network_choice.h"
#include "core/job/team.h"

namespace {

using namespace tutti;
using namespace std::chrono_literals;

struct machine {
  networks at_first, in_all;
  std::string why_not;
};

// What each rank gets.
std::vector<result<std::string>> agree(const std::vector<machine>& machines) {
  auto boots = make_thread_bootstraps(static_cast<std::uint32_t>(machines.size()));
  std::vector<result<std::string>> out(machines.size(), result<std::string>{std::string{}});
  std::vector<std::thread> ranks;
  for (std::size_t i = 0; i < machines.size(); ++i)
    ranks.emplace_back([&, i] {
      const auto usable = [&](bool all, std::string& why_not) {
        why_not = machines[i].why_not;
        return all ? machines[i].in_all : machines[i].at_first;
      };
      out[i] = agree_on_network(*boots[i], std::chrono::steady_clock::now() + 20s, usable);
    });
  for (auto& r : ranks) r.join();
  return out;
}

void all_take(const std::vector<machine>& machines, const std::string& wanted) {
  for (const auto& r : agree(machines)) {
    BOOST_TEST_REQUIRE(r.ok());
    BOOST_TEST(*r == wanted);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_best_that_all_have) {
  const machine adapters{{"ucx:rc", "verbs", "ucx"}, {}, {}}, none{{"ucx"}, {}, {}}, without_ucx{{"verbs"}, {}, {}};
  all_take({adapters, adapters, adapters}, "ucx:rc");
  all_take({adapters, none, adapters}, "ucx");
  all_take({none, adapters}, "ucx");
  all_take({adapters, without_ucx}, "verbs");
}

BOOST_AUTO_TEST_CASE(a_last_resort_where_the_first_round_finds_nothing) {
  const machine ucx{{"ucx"}, {"ucx", "ofi:tcp", "ofi:udp"}, {}}, ofi{{"ofi:tcp"}, {"ofi:tcp"}, "ucx: no such library"};
  all_take({ucx, ucx, ofi}, "ofi:tcp");
}

BOOST_AUTO_TEST_CASE(nothing_in_common_is_told_to_all_with_what_there_is) {
  const machine ucx{{"ucx"}, {"ucx"}, {}}, ofi{{"ofi:tcp"}, {"ofi:tcp"}, "ucx: no such library"}, bare{{}, {}, "no network"};
  for (const auto& [third, words] : {std::pair{ofi, "rank 2 has ofi:tcp"}, std::pair{bare, "rank 2 has none"}}) {
    const auto all = agree({ucx, ucx, third});
    for (const auto& r : all) {
      BOOST_TEST_REQUIRE((r.error().code() == errc::unavailable));
      const std::string text = r.error().text();
      BOOST_TEST(text.find("rank 0 has ucx") != text.npos);
      BOOST_TEST(text.find(words) != text.npos);
    }
    BOOST_TEST(std::string(all[2].error().text()).find(third.why_not) != std::string::npos);
  }
}

// Whatever this machine has: what is asked for first is among what there is, in the same order.
BOOST_AUTO_TEST_CASE(networks_of_this_machine) {
  std::string why_not;
  const networks few = usable_networks(false, why_not), all = usable_networks(true, why_not);
  std::size_t at = 0;
  for (const std::string& spec : all) at += at < few.size() && few[at] == spec;
  BOOST_TEST(at == few.size());
  BOOST_TEST((!all.empty() || !why_not.empty()));
}

BOOST_AUTO_TEST_CASE(one_rank_that_asks_for_others_is_told_of_its_own) {
  const auto told = agree({machine{{}, {}, "no network"}});
  BOOST_TEST_REQUIRE(!told[0].ok());
  const std::string text = told[0].error().text();
  BOOST_TEST(text.find("rank 0 has none (here: no network)") != std::string::npos, text);
}

// What was asked for by name and cannot reach the other nodes is refused where the job is made, in all ranks.
BOOST_AUTO_TEST_CASE(shared_memory_is_refused_between_nodes) {
  for (const char* const fabric : {"shm", "ucx:shm", "shm+ofi:shm"}) {
    auto boots = make_thread_bootstraps(4, 2);
    std::vector<status> ends(boots.size());
    std::vector<std::thread> ranks;
    for (std::size_t i = 0; i < boots.size(); ++i)
      ranks.emplace_back([&, i] {
        const config_option forced{"provider", fabric};
        const auto c = config::load({&forced, 1}, environment{}, environment{});
        ends[i] = c ? job::open(std::move(boots[i]), *c, options_from(*c)).error() : c.error();
      });
    for (auto& r : ranks) r.join();
    for (const status& end : ends) {
      const std::string text = end.text();
      if (text.find("could not be loaded") != text.npos) continue;  // built without that one
      BOOST_TEST((end.code() == errc::unavailable), text);
      BOOST_TEST(text.find("TUTTI_PROVIDER=" + std::string(fabric) + " reaches the ranks of one node only") != text.npos, text);
      BOOST_TEST(text.find("ucx:tcp") != text.npos, text);
    }
  }
}

// The checker must be able to fail: barriers with one mistake each, all of which it has to find.
#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "tests/collectives/schedule_world.h"

using namespace tutti;
using namespace tutti::test;

namespace {

struct subject {
  const char* name;
  std::uint32_t size, radix;
  bool on_nodes;
};

// Sizes without redundancy: every wait of these is necessary. (Dissemination of 5 hears of some ranks twice.)
constexpr subject subjects[] = {
    {"dissemination", 8, 0, false}, {"pairwise", 8, 0, false},   {"pairwise", 7, 0, false},
    {"nway", 9, 3, false},          {"tree", 11, 2, false},      {"flat", 6, 0, false},
    {"counter", 5, 0, false},       {"multicast", 11, 3, false}, {"hierarchical", 9, 0, true}};

std::vector<schedule> schedules_of(const subject& s) {
  static constexpr std::uint32_t nodes[] = {3, 1, 1, 3, 2, 2, 9, 3, 9};  // four nodes
  shape shape;
  shape.size = s.size, shape.radix = s.radix;
  if (s.on_nodes) shape.node_of = nodes;
  return all_ranks(*find_algorithm(collective::barrier, s.name), shape);
}

// The first complaint within so many seeds.
std::string hunt(const std::vector<schedule>& all, run_options o = {}) {
  for (o.seed = 1; o.seed <= 20000; ++o.seed) {
    const std::string wrong = run(all, o);
    if (!wrong.empty()) return wrong;
  }
  return "nothing found";
}

bool early(const std::string& complaint) { return complaint.find(" left epoch ") != std::string::npos; }
bool stuck(const std::string& complaint) { return complaint.starts_with("stuck: rank "); }

}  // namespace

BOOST_AUTO_TEST_CASE(the_unharmed_are_not_accused) {
  for (const subject& s : subjects)
    for (std::uint64_t seed = 1; seed <= 500; ++seed) BOOST_TEST(run(schedules_of(s), {seed}) == "", s.name);
}

BOOST_AUTO_TEST_CASE(any_wait_dropped) {
  for (const subject& s : subjects) {
    const std::vector<schedule> good = schedules_of(s);
    for (std::uint32_t r = 0; r < s.size; ++r)
      for (std::size_t i = 0; i < good[r].steps.size(); ++i) {
        const step_kind kind = good[r].steps[i].kind;
        if (kind != step_kind::wait && kind != step_kind::await_multicast) continue;
        std::vector<schedule> bad = good;
        bad[r].steps.erase(bad[r].steps.begin() + static_cast<std::ptrdiff_t>(i));
        const std::string complaint = hunt(bad);
        BOOST_TEST(early(complaint), s.name << ", rank " << r << ", step " << i << ": " << complaint);
      }
  }
}

BOOST_AUTO_TEST_CASE(any_signal_dropped) {
  for (const subject& s : subjects) {
    const std::vector<schedule> good = schedules_of(s);
    for (std::uint32_t r = 0; r < s.size; ++r)
      for (std::size_t i = 0; i < good[r].steps.size(); ++i) {
        if (good[r].steps[i].kind != step_kind::signal) continue;
        std::vector<schedule> bad = good;
        step& st = bad[r].steps[i];
        st.kind = step_kind::wait, st.peer = any_peer, st.multiple = 0;  // does nothing, whatever the word: 0 is past
        const std::string complaint = hunt(bad);
        BOOST_TEST(stuck(complaint), s.name << ", rank " << r << ", step " << i << ": " << complaint);
      }
  }
}

// A fast peer has already written the next epoch when a slow one looks: equality never comes true again.
BOOST_AUTO_TEST_CASE(equality_instead_of_reached) {
  for (const char* name : {"dissemination", "pairwise", "nway"}) {
    run_options o;
    o.satisfied = [](std::uint64_t word, std::uint64_t target) { return word == target; };
    const std::string complaint = hunt(schedules_of({name, 4, 2, false}), o);
    BOOST_TEST(stuck(complaint), name << ": " << complaint);
  }
}

// An unsigned comparison is right for centuries and wrong at the wrap.
BOOST_AUTO_TEST_CASE(unsigned_comparison_at_the_wrap) {
  for (const subject& s : subjects) {
    run_options o;
    o.first_epoch = std::uint64_t(-2);
    o.satisfied = [](std::uint64_t word, std::uint64_t target) { return word >= target; };
    const std::string complaint = hunt(schedules_of(s), o);
    BOOST_TEST((early(complaint) || stuck(complaint)), s.name << ": " << complaint);
  }
}

BOOST_AUTO_TEST_CASE(one_word_for_two_rounds) {
  std::vector<schedule> bad = schedules_of({"dissemination", 8, 0, false});
  for (schedule& s : bad)
    for (step& st : s.steps)
      if (st.word == 1) st.word = 0;
  BOOST_TEST(inspect(bad, 3).find("sets that word too") != std::string::npos, inspect(bad, 3));
  const std::string complaint = hunt(bad);
  BOOST_TEST((early(complaint) || complaint.find(" race on word ") != std::string::npos), complaint);
}

BOOST_AUTO_TEST_CASE(signal_before_the_waits_it_vouches_for) {
  for (const char* name : {"dissemination", "pairwise", "nway", "tree", "hierarchical"}) {
    std::vector<schedule> bad = schedules_of({name, 9, 3, std::string_view(name) == "hierarchical"});
    const auto signals = [](const step& st) { return st.kind == step_kind::signal; };
    for (schedule& s : bad) std::stable_partition(s.steps.begin(), s.steps.end(), signals);
    const std::string complaint = hunt(bad);
    BOOST_TEST(early(complaint), name << ": " << complaint);
  }
}

BOOST_AUTO_TEST_CASE(multicast_before_the_gather) {
  std::vector<schedule> bad = schedules_of({"multicast", 9, 7, false});
  std::rotate(bad[0].steps.begin(), bad[0].steps.end() - 1, bad[0].steps.end());
  const std::string complaint = hunt(bad);
  BOOST_TEST(early(complaint), complaint);
}

BOOST_AUTO_TEST_CASE(counter_miscounted) {
  for (const int off : {-1, 1}) {
    std::vector<schedule> full = schedules_of({"counter", 5, 0, false}), skip = full;
    for (schedule& s : full) s.steps[0].multiple = static_cast<std::uint64_t>(5 + off);
    for (schedule& s : skip) s.steps[0].count = static_cast<std::uint32_t>(5 + off);
    BOOST_TEST(hunt(full) != "nothing found");
    BOOST_TEST(hunt(skip) != "nothing found");
  }
}

BOOST_AUTO_TEST_CASE(what_inspection_finds) {
  const std::vector<schedule> good = schedules_of({"dissemination", 8, 0, false});
  BOOST_TEST(inspect(good, 3) == "");
  BOOST_TEST(inspect(good, 2) != "");
  std::vector<schedule> bad = good;
  bad[3].steps[1].word = 3;
  BOOST_TEST(inspect(bad, 3).find("word out of range") != std::string::npos);
  bad = good;
  bad[3].steps[1].peer = 8;
  BOOST_TEST(inspect(bad, 3).find("no such peer") != std::string::npos);
  bad = good;
  bad[3].steps[0].peer = 5;
  BOOST_TEST(inspect(bad, 3) != "");
}

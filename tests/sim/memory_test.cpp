// What a rank of a large job costs: control words by each algorithm's formula, and the memory that really goes.
#include <boost/test/unit_test.hpp>
#include <malloc.h>

#include <cstdio>
#include <optional>

#include "core/transport/two_sided.h"
#include "tests/harness/resources.h"
#include "tests/sim/hostile.h"

using namespace tutti;
using namespace tutti::test;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool exact_memory = false;
#else
constexpr bool exact_memory = true;
#endif

// ceil(log_base n)
std::uint32_t ceil_log(std::uint64_t base, std::uint64_t n) {
  std::uint32_t k = 0;
  for (std::uint64_t reach = 1; reach < n; reach *= base) ++k;
  return k;
}

// sum over the rounds m of min(k - 1, floor((n - 1) / k^m))
std::uint32_t partners(std::uint64_t k, std::uint64_t n) {
  std::uint64_t all = 0;
  for (std::uint64_t stride = 1; stride < n; stride *= k) all += std::min(k - 1, (n - 1) / stride);
  return static_cast<std::uint32_t>(all);
}

// As collectives/algorithm.h has it, for the defaults: radix 4, fan-in 3 with a tree release, fan-in 7 with
// multicast, dissemination among leaders and in the fabric.
std::uint32_t formula(std::string_view name, std::uint32_t n, std::uint32_t nodes, std::uint32_t largest) {
  if (name == "dissemination" || name == "pairwise" || name == "offloaded") return ceil_log(2, n);
  if (name == "nway") return partners(4, n);
  if (name == "tree") return partners(3 + 1, n);
  if (name == "multicast") return partners(7 + 1, n);
  if (name == "hierarchical") return largest - 1 + ceil_log(2, nodes);
  if (name == "counter") return 2;
  if (name == "flat") return n - 1;
  BOOST_FAIL("barrier.h tells no formula for " << name);
  return 0;
}

// At most, O(l log n), whatever the formulas come to.
std::uint32_t bound(std::string_view name, std::uint32_t n) {
  if (name == "nway" || name == "tree") return 3 * ceil_log(4, n);
  return name == "multicast" ? 7 * ceil_log(8, n) : ~0u;
}

}  // namespace

BOOST_AUTO_TEST_CASE(control_words_are_those_of_the_formulas) {
  for (const algorithm& a : algorithms(collective::barrier))
    for (std::uint32_t n = 2; n <= 1u << 20; n = n * 5 / 3 + 1) {
      std::vector<std::uint32_t> nodes(a.needs.nodes ? n : 0);
      for (std::uint32_t i = 0; i < nodes.size(); ++i) nodes[i] = i / 8;
      const std::uint32_t told = formula(a.name, n, (n + 7) / 8, std::min(n, 8u));
      const std::uint32_t words = a.words({.size = n, .node_of = nodes});
      BOOST_TEST(words == told, a.name << ", " << n << " ranks: " << words << " words, not " << told);
      BOOST_TEST(words <= bound(a.name, n));
    }
}

BOOST_AUTO_TEST_CASE(ten_thousand_ranks_at_a_few_kibibytes) {
  constexpr std::uint32_t n = 10000;
  for (const algorithm& a : algorithms(collective::barrier)) {
    if (a.name == "flat" || a.name == "counter") continue;  // n words in all ranks; n steps in all ranks
    malloc_trim(0);
    const std::size_t before = resident_bytes();
    sim::parameters p;
    p.ranks = n, p.ranks_per_node = a.needs.nodes ? 16 : 1;
    sim::world w(p);
    const auto picked = need(virtual_job::pick(w, {.barrier = std::string(a.name)}));
    auto job = need(virtual_job::open(w, picked));
    const status ran = job->run({.epochs = 2});
    BOOST_TEST(ran.ok(), ran.text());

    const std::uint32_t words = formula(a.name, n, p.ranks_per_node > 1 ? n / 16 : n, p.ranks_per_node);
    BOOST_TEST(picked.lines == program::lines(words));
    std::size_t largest = 0;
    for (rank_t r = 0; r < n; ++r) {
      BOOST_TEST_REQUIRE(job->at(r).world().lines() == picked.lines);
      BOOST_TEST_REQUIRE(job->epochs_left(r) == 2u);
      largest = std::max(largest, job->barrier(r).bytes());
    }
    const std::size_t each = (resident_bytes() - before) / n;
    BOOST_TEST_MESSAGE(a.name << ": " << picked.lines << " lines, a barrier of at most " << largest << " bytes, "
                              << each << " bytes a rank in all");
    // The largest program is a tree root's or n-way's: a send and a wait for each word, at most.
    BOOST_TEST(largest <= 640u + 192u * words);
    if (exact_memory) BOOST_TEST(each <= 13u << 10);  // n-way is the largest, with three messages of each rank under way
  }
}

namespace {

std::size_t heap_bytes() {  // with the large blocks, which lie apart
  const struct mallinfo2 m = mallinfo2();
  return m.uordblks + m.hblkhd;
}

// A thousand ranks, and who sends to whom: as many messages as are taken.
struct thousand {
  static constexpr std::uint32_t n = 1000;
  sim::parameters p;
  std::optional<sim::world> w;
  two_sided::limits limits{};
  std::vector<std::byte> header, payload;
  std::size_t before = 0;

  thousand() {
    p.ranks = n;
    w.emplace(p);
    for (rank_t r = 0; r < n; ++r) w->net(r);
    limits = net(0).query();
    header.resize(limits.max_header), payload.resize(limits.max_payload);
    before = heap_bytes();
  }
  two_sided& net(rank_t r) { return *w->net(r).sendrecv(); }
  std::uint64_t fill(rank_t from, rank_t to) {
    std::uint64_t taken = 0;
    while (net(from).send(to, header, payload)) ++taken;
    return taken;
  }
  void drive() {
    for (int i = 0; i < 3; ++i)
      for (rank_t r = 0; r < n; ++r) w->net(r).progress();
  }
  std::size_t grown() const { return heap_bytes() - before; }
};

}  // namespace

// Two-sided messages: so much for each rank that was talked to, and nothing for the others of a thousand.
BOOST_AUTO_TEST_CASE(two_sided_messages_cost_those_who_talk) {
  if (!exact_memory) return;
  for (const auto& [senders, targets] : {std::pair{thousand::n, 1u}, {thousand::n, 5u}, {10u, 40u}}) {
    thousand t;
    std::uint64_t taken = 0;
    for (rank_t r = 0; r < senders; ++r)
      for (std::uint32_t k = 1; k <= targets; ++k) taken += t.fill(r, (r + k) % t.n);
    t.drive();
    const std::size_t grown = t.grown();
    const std::uint64_t pairs = std::uint64_t{senders} * targets;
    BOOST_TEST(taken == pairs * t.p.packet_window);
    // Each pair counts at one end here, since what a target keeps for it is no longer anywhere else.
    BOOST_TEST(grown <= t.limits.fixed_bytes + pairs * t.limits.peer_bytes, pairs << " pairs: " << grown << " bytes");
    BOOST_TEST(grown >= taken * t.limits.max_payload, "this test sees memory");
  }
}

// All others flood one rank, again and again: what that costs does not depend on how long it goes on.
BOOST_AUTO_TEST_CASE(a_flood_from_a_thousand_is_bounded) {
  if (!exact_memory) return;
  thousand t;
  constexpr std::uint64_t pairs = thousand::n - 1;
  const std::size_t most = t.limits.fixed_bytes + pairs * t.limits.peer_bytes;
  std::vector<std::uint64_t> received(t.n);
  std::uint64_t taken = 0, all = 0;
  const auto receive = [&] {
    two_sided::message m;
    while (t.net(0).receive(m)) ++received[m.from], ++all;
  };
  for (int round = 0; taken < 3 * pairs * t.p.packet_window; ++round) {
    for (rank_t r = 1; r < t.n; ++r) taken += t.fill(r, 0);
    t.drive();
    BOOST_TEST_REQUIRE(t.grown() <= most, "round " << round << ": " << t.grown() << " bytes");
    receive();
  }
  while (all < taken) t.drive(), receive();
  for (rank_t r = 1; r < t.n; ++r) BOOST_TEST_REQUIRE(received[r] >= t.p.packet_window);
  BOOST_TEST(t.grown() <= most);
}

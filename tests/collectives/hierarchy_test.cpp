// Collectives that go by nodes first: whatever lies between nodes and leaders, each result is right; what dies or differs in any
// phase is named; and the choice falls on them where they pay.
// hierarchy [Boost.Test's options] [-- --fabric NAME]: on_every_fabric on this one alone.
#include <boost/test/unit_test.hpp>

#include <numeric>

#include "collectives/hierarchy.h"
#include "tests/collectives/affine.h"
#include "tests/collectives/rows.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// A team of some of the ranks of a world with so many a node.
struct lie {
  const char* name;
  std::uint32_t ranks, per_node;
  std::vector<std::uint32_t> list;   // empty: all
};

const lie lies[] = {
    {"2 x 2", 4, 2, {}},
    {"3 x 3", 9, 3, {}},
    {"4 + 4 + 3", 11, 4, {}},
    {"5 + 1 + 3 + 2", 17, 5, {0, 1, 2, 3, 4, 5, 10, 11, 12, 15, 16}},
    {"1 + 4, leader last", 8, 4, {3, 7, 6, 5, 4}},
    {"one node", 3, 4, {}},
    {"a node each", 3, 1, {}},
    {"one rank", 2, 2, {1}},
};
const lie interleaved[] = {{"2 x 2, by turns", 4, 2, {0, 2, 1, 3}}, {"1 + 3 + 5, mixed", 15, 5, {12, 5, 10, 6, 0, 11, 7, 13, 14}}};

const affine untouched{77, 78};

struct example {
  collective of;
  std::uint64_t call;
  std::uint32_t size, root;
  std::size_t count;       // elements, of a block if there are several
  bool commutes;

  bool many_out() const { return of == collective::allgather || of == collective::gather || of == collective::alltoall; }
  bool many_in() const { return of == collective::scatter || of == collective::reduce_scatter || of == collective::alltoall; }
  bool gets(std::uint32_t rank) const {
    return of == collective::exscan ? rank > 0 : (of != collective::reduce && of != collective::gather) || rank == root;
  }
  std::vector<affine> given(std::uint32_t rank) const {
    std::vector<affine> out(count * (many_in() ? size : 1));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = operand(call, rank, i);
    return out;
  }
  std::vector<affine> expected(std::uint32_t rank) const {
    const bool one_gives = has_root(of) && !reduces(of) && !many_out();
    const std::uint32_t end = one_gives ? root + 1 : of == collective::scan ? rank + 1 : of == collective::exscan ? rank : size;
    std::vector<affine> out;
    for (std::uint32_t r = one_gives ? root : 0; r < end; ++r) {
      std::vector<affine> next = given(r);
      if (many_in()) next = {next.begin() + static_cast<std::ptrdiff_t>(rank * count), next.begin() + static_cast<std::ptrdiff_t>((rank + 1) * count)};
      if (many_out() || out.empty()) out.insert(out.end(), next.begin(), next.end());
      else for (std::size_t i = 0; i < out.size(); ++i) out[i] = commutes ? affine{out[i].a + next[i].a, out[i].b + next[i].b} : then(out[i], next[i]);
    }
    return out;
  }
};

// A call's two buffers; in place, the one that has fewer blocks is a part of the other.
struct member_call {
  std::vector<affine> in, out;
  std::vector<affine> expected;   // in what holds the result
  collective_call call;
  const std::vector<affine>& result() const { return in_in_ ? in : out; }

  member_call(const example& e, std::uint32_t me, bool in_place) {
    const std::size_t mine = me * e.count;
    const auto put = [](const std::vector<affine>& from, std::vector<affine>& to, std::size_t at) {
      std::ranges::copy(from, to.begin() + static_cast<std::ptrdiff_t>(at));
    };
    in_place = in_place && e.of != collective::broadcast && (e.of != collective::scatter || me == e.root);
    in = e.given(me);
    out.assign(e.count * (e.many_out() ? e.size : 1), untouched);
    if (e.of == collective::broadcast && me == e.root) out = in;
    const affine* from = in.data();
    affine* to = out.data();
    std::size_t at = 0;
    const bool one_of_many = e.many_out() && !e.many_in();
    if (in_place && e.many_in() && !e.many_out()) in_in_ = true, to = in.data() + mine, at = mine;
    else if (in_place) put(in, out, one_of_many ? mine : 0), from = out.data() + (one_of_many ? mine : 0);
    expected = result();
    if (e.gets(me)) put(e.expected(me), expected, at);
    call = {.of = e.of, .root = e.root, .bytes = e.count * sizeof(affine), .in = reinterpret_cast<const std::byte*>(from),
            .out = reinterpret_cast<std::byte*>(to),
            .op = e.commutes ? take(find_reduction(datatype::uint64, operation::sum), "sum")
                             : take(user_reduction(compose, sizeof(affine), false, nullptr), "user")};
  }

 private:
  bool in_in_ = false;
};

std::vector<collective> that_have_it() {
  std::vector<collective> out;
  for (unsigned c = 1; c < collectives; ++c)
    if (find_algorithm(static_cast<collective>(c), "hierarchical")) out.push_back(static_cast<collective>(c));
  return out;
}

bool fits(collective of, const lie& where) {
  std::vector<std::uint32_t> nodes = where.list;
  if (nodes.empty()) nodes.resize(where.ranks), std::iota(nodes.begin(), nodes.end(), 0u);
  for (std::uint32_t& n : nodes) n /= where.per_node;
  const node_map map(nodes);
  return map.consecutive || find_algorithm(of, "hierarchical")->phases->mixed_nodes;
}

host_id host_of(const rank_env& env, const lie& where) {
  host_id host{};
  host[0] = static_cast<std::byte>(1 + env.rank / where.per_node);
  return host;
}

// All members of the team play; the other ranks of the world wait.
template <class F>
void in_team(rank_env& env, const lie& where, const communicator_options& o, F&& play) {
  auto j = open_job(env, {}, host_of(env, where));
  auto world = take(communicator::world(*j, {}), "world");
  std::vector<std::uint32_t> list = where.list;
  if (list.empty()) list.resize(where.ranks), std::iota(list.begin(), list.end(), 0u);
  if (std::ranges::find(list, env.rank) == list.end()) list.clear();
  auto team = take(world->create(list, o), "team");
  if (team) {
    play(*team);
    require(team->group().settle(), "leaving the team");
    team.reset();
  }
  require(world->group().settle(), "leaving");
  env.barrier();
}

void try_in_team(const lie& where, const communicator_options& o, const sim::parameters& base, const std::string& what,
                 const std::function<void(rank_env&, communicator&)>& play) {
  sim::parameters p = base;
  p.ranks = where.ranks, p.ranks_per_node = where.per_node;
  const auto report = try_ranks_simulated(p, [&](rank_env& env) {
    in_team(env, where, o, [&](communicator& team) { play(env, team); });
  }, {.timeout = std::chrono::seconds(60) * time_scale, .seed = where.ranks});
  BOOST_TEST(report.passed(), what << ", " << where.name << ": " << report.text());
}

// The world, which does not live to the end.
void try_in_team_that_breaks(const lie& where, const communicator_options& o, const std::string& what,
                             const std::function<void(rank_env&, communicator&)>& play) {
  sim::parameters p;
  p.ranks = where.ranks, p.ranks_per_node = where.per_node;
  const auto report = try_ranks_simulated(p, [&](rank_env& env) {
    auto j = open_job(env, {}, host_of(env, where));
    auto team = take(communicator::world(*j, o), "world");
    play(env, *team);
    env.barrier();
  }, {.timeout = std::chrono::seconds(60) * time_scale});
  BOOST_TEST(report.passed(), what << ": " << report.text());
}

void play_all(rank_env& env, communicator& team, collective of, std::span<const std::size_t> counts, bool any_order) {
  const std::uint32_t size = team.group().size(), me = team.group().index();
  std::uint64_t number = 0;
  for (const std::size_t count : counts)
    for (const bool commutes : {true, false})
      for (const bool in_place : {false, true}) {
        if (!commutes && (any_order || !reduces(of))) continue;
        const example e{of, ++number, size, static_cast<std::uint32_t>(number * 5 % size), count, commutes};
        member_call m(e, me, in_place);
        if (env.random() % 4 == 0) env.pause(std::chrono::microseconds(env.random() % 100));
        require(team.run(m.call), "call");
        require(m.result() == m.expected, "result of call " + std::to_string(number) + ", " + std::to_string(count) + " elements, root " + std::to_string(e.root));
      }
}

constexpr std::size_t few[] = {1, 0, 3, 4097}, many[] = {2, 0, 1, 100, 8192, 8193, 30000, 5};

}  // namespace

BOOST_AUTO_TEST_CASE(on_any_nodes) {
  one_in some(3, {std::size(lies), 3});
  for (const collective of : that_have_it())
    for (const char* fabric : {"sim", "sim:tcp", "sim:node"})
      for (const lie& where : lies)
        if (some() && fits(of, where))
          try_in_team(where, using_algorithm(of, "hierarchical"), sim_parameters({fabric}, where.ranks, where.ranks),
                      std::string(name_of(of)) + ", " + fabric, [&](rank_env& env, communicator& team) { play_all(env, team, of, many, false); });
}

BOOST_AUTO_TEST_CASE(on_nodes_whose_ranks_are_mixed) {
  for (const collective of : that_have_it())
    for (const lie& where : interleaved)
      if (fits(of, where))
        try_in_team(where, using_algorithm(of, "hierarchical"), sim_parameters({"sim:wild"}, where.ranks, where.ranks), std::string(name_of(of)),
                    [&](rank_env& env, communicator& team) { play_all(env, team, of, many, true); });
}

// Whatever carries the messages; the job takes two ranks for a node.
BOOST_AUTO_TEST_CASE(on_every_fabric) {
  const lie where{"2 + 2 + 1", 5, 2, {}};
  const std::vector<collective> all_of_them = that_have_it();
  std::vector<std::string> names;
  for (const collective of : all_of_them) names.emplace_back(name_of(of));
  for (const fabric_spec& f : wanted_fabrics()) {
    const in_turn each(names);
    const auto report = try_ranks(f, where.ranks, [&](rank_env& env) {
      each(env, [&](const std::string& name) {
        const collective of = *std::ranges::find_if(all_of_them, [&](collective c) { return name_of(c) == name; });
        in_team(env, where, using_algorithm(of, "hierarchical"), [&](communicator& team) { play_all(env, team, of, many, false); });
      });
    }, {.timeout = std::chrono::seconds(100) * time_scale});
    BOOST_TEST(report.passed(), f.name << ", last begun: " << each.begun() << "\n" << report.text());
  }
}

BOOST_AUTO_TEST_CASE(any_algorithm_among_the_leaders) {
  one_in some(2);
  for (const collective of : that_have_it())
    for (const algorithm& inner : algorithms(of)) {
      if (inner.needs.nodes || inner.needs.mapped) continue;
      for (const lie& where : {lies[1], lies[2], lies[3]}) {
        const bool unlike = where.ranks % where.per_node != 0;  // leaders of such nodes have one alltoallv
        if (!some()) continue;
        if (unlike && (inner.needs.alike || (of == collective::alltoall && inner.name != "linear"))) continue;
        try_in_team(where, using_algorithm(of, "hierarchical:" + std::string(inner.name)), sim_parameters({"sim:wild"}, where.ranks, where.ranks),
                    std::string(name_of(of)) + " by " + std::string(inner.name),
                    [&](rank_env& env, communicator& team) { play_all(env, team, of, few, inner.needs.commutative); });
      }
    }
}

namespace {

// Blocks that all members know the lengths of, none of some ranks; with `gap` elements before each in the data of all of them.
void play_unlike(rank_env& env, communicator& team, collective of, std::size_t longest, std::size_t gap, std::uint64_t number) {
  const std::uint32_t size = team.group().size(), me = team.group().index();
  const bool gathers = of == collective::allgather;
  block_lists lists;
  auto &lengths = gathers ? lists.out_lengths : lists.in_lengths, &begins = gathers ? lists.out_begins : lists.in_begins;
  std::vector<std::size_t> counts;
  std::size_t all = 0, most = 0;
  for (std::uint32_t r = 0; r < size; ++r) {
    const std::size_t count = (r + number) % 3 == 0 ? 0 : operand(number, r, 0).b % (longest + 1);
    counts.push_back(count), most = std::max(most, count);
    lengths.push_back(count * sizeof(affine)), begins.push_back((all + gap) * sizeof(affine));
    all += gap + count;
  }
  std::vector<affine> in(gathers ? counts[me] : all, untouched), out(gathers ? all : counts[me], untouched), expected = out;
  std::size_t at = 0;
  for (std::uint32_t r = 0; r < size; ++r) {
    at += gap;
    for (std::size_t i = 0; i < counts[r]; ++i, ++at) {
      if (gathers) {
        expected[at] = operand(number, r, i);
        if (r == me) in[i] = expected[at];
        continue;
      }
      in[at] = operand(number, me, at);
      if (r != me) continue;
      expected[i] = operand(number, 0, at);
      for (std::uint32_t from = 1; from < size; ++from) expected[i] = then(expected[i], operand(number, from, at));
    }
  }
  if (env.random() % 4 == 0) env.pause(std::chrono::microseconds(env.random() % 100));
  const std::vector<affine> before = in;
  require(team.run({.of = of, .bytes = most * sizeof(affine), .in = reinterpret_cast<const std::byte*>(in.data()),
                    .out = reinterpret_cast<std::byte*>(out.data()),
                    .op = take(user_reduction(compose, sizeof(affine), false, nullptr), "user"),
                    .lists = std::make_shared<const block_lists>(std::move(lists))}), "call");
  require(out == expected, "result of call " + std::to_string(number) + ", blocks of up to " + std::to_string(longest));
  require(in == before, "what was given is left alone");
  require(size == 1 || most == 0 || team.data().latest().row->phases, "by nodes");
}

}  // namespace

BOOST_AUTO_TEST_CASE(blocks_of_unlike_lengths) {
  for (const collective of : {collective::allgather, collective::reduce_scatter})
    for (const lie& where : lies)
      try_in_team(where, using_algorithm(of, "hierarchical"), sim_parameters({"sim:wild"}, where.ranks, where.ranks), std::string(name_of(of)),
                  [&](rank_env& env, communicator& team) {
        std::uint64_t number = 0;
        for (const std::size_t longest : {1, 0, 3, 300, 9000, 2})
          for (const std::size_t gap : {0, 2}) play_unlike(env, team, of, longest, gap, ++number);
      });
}

// Several under way, of any kind and size, waited for in any order, and another engine's phases between them.
BOOST_AUTO_TEST_CASE(many_at_once) {
  communicator_options by_nodes;
  for (const collective of : that_have_it()) by_nodes.wanted(of) = "hierarchical";
  for (const lie& where : {lies[0], lies[3]})
    for (const char* fabric : {"sim:wild", "sim:tcp"})
      try_in_team(where, by_nodes, sim_parameters({fabric}, where.ranks, 3), fabric, [&](rank_env& env, communicator& team) {
        const std::uint32_t size = team.group().size(), me = team.group().index();
        constexpr std::size_t counts[] = {1, 20000, 0, 40, 9000, 3};
        std::vector<collective> kinds = that_have_it();
        std::erase_if(kinds, [&](collective of) { return !fits(of, where); });
        for (std::uint64_t round = 0; round < 3; ++round) {
          std::vector<std::unique_ptr<member_call>> all;
          std::vector<std::uint64_t> requests;
          for (std::uint64_t k = 0; k < 16; ++k) {
            const example e{kinds[k % kinds.size()], round * 100 + k, size, static_cast<std::uint32_t>((k * 3 + round) % size),
                            counts[(k * 5 + round) % std::size(counts)], k % 2 == 0};
            all.push_back(std::make_unique<member_call>(e, me, k % 3 == 0));
            if (env.random() % 3 == 0) env.pause(std::chrono::microseconds(env.random() % 50));
            requests.push_back(take(team.start(all.back()->call), "start"));
          }
          for (std::size_t k = 0; k < all.size(); ++k) {
            const std::size_t i = me % 2 ? k : all.size() - 1 - k;
            require(team.data().wait(requests[i]), "wait");
            require(all[i]->result() == all[i]->expected, "result of call " + std::to_string(i));
          }
        }
      });
}

// Whoever starts one first is not held up by what is made for it.
BOOST_AUTO_TEST_CASE(the_first_use_does_not_block) {
  for (const collective of : that_have_it())
    try_in_team(lies[0], using_algorithm(of, "hierarchical"), {}, std::string(name_of(of)), [&](rank_env& env, communicator& team) {
      member_call m({of, 1, 4, 1, 1000, true}, env.rank, false);
      std::uint64_t request = 0;
      if (env.rank == 2) request = take(team.start(m.call), "start");
      require(env.rank != 2 || !team.data().test(request), "nobody else has called");
      env.barrier();  // which rank 2 would not reach
      if (env.rank != 2) request = take(team.start(m.call), "start");
      require(team.data().wait(request), "wait");
      require(m.result() == m.expected, "result");
    });
}

namespace {

// Calls until it fails, within the time that a hang would take.
status until_it_fails(communicator& team, const collective_call& c) {
  status s;
  for (int i = 0; i < 1000 && s.ok(); ++i) s = team.run(c);
  return s;
}

// A rank dies so long after it has begun a call, its first one or the second. All others hear of it by name.
void try_a_death(collective of, rank_t victim, double into_us, bool in_first) {
  const lie& where = lies[1];
  sim::parameters p;
  p.ranks = where.ranks, p.ranks_per_node = where.per_node, p.notice_us = 100;
  const auto report = try_ranks_simulated(p, [&](rank_env& env) {
    auto j = open_job(env, {}, host_of(env, where));
    auto team = take(communicator::world(*j, using_algorithm(of, "hierarchical")), "world");
    member_call m({of, 1, where.ranks, 4, 20000, true}, env.rank, false);
    if (!in_first) require(team->run(m.call), "while all live");
    if (env.rank == victim) {
      (void)team->start(m.call);
      const time_point end = env.net().now() + std::chrono::nanoseconds(static_cast<std::int64_t>(into_us * 1000));
      (void)j->wait([&] { return env.net().now() >= end; }, [] { return status{}; }, {"dying"}, end);
      env.die();
    }
    const status s = until_it_fails(*team, m.call);
    require(s.code() == errc::peer_dead && s.peer() == victim, "the call names the dead: " + std::string(s.text()));
    require(team->run(m.call).code() == errc::peer_dead, "from then on");
  }, {.timeout = std::chrono::seconds(60) * time_scale, .to_die = {victim}});
  BOOST_TEST(report.passed(), name_of(of) << ", " << victim << " dies after " << into_us << " us: " << report.text());
}

}  // namespace

// In the midst of a call: a rank of a node, a leader, the root.
BOOST_AUTO_TEST_CASE(a_death_in_any_phase_is_named) {
  constexpr double times_us[] = {0, 3, 20, 60, 150};
  std::size_t turn = 0;
  for (const collective of : that_have_it())
    for (const rank_t victim : {0u, 1u, 3u, 5u})
      for (const double into_us : {times_us[turn++ % std::size(times_us)], times_us[(turn + 1) % std::size(times_us)]})
        try_a_death(of, victim, into_us, false);
}

// While the two teams are made.
BOOST_AUTO_TEST_CASE(a_death_in_the_first_call_is_named) {
  for (const rank_t victim : {0u, 3u, 8u})
    for (const double into_us : {0.0, 10.0, 30.0, 60.0, 150.0}) try_a_death(collective::allreduce, victim, into_us, true);
}

// In a call that has its own time for it in each member, and no later call takes its messages for its own.
BOOST_AUTO_TEST_CASE(a_deadline_in_any_phase) {
  for (const collective of : that_have_it())
    for (const bool first : {true, false})
      for (const rank_t late : {1u, 3u})
        try_in_team_that_breaks(lies[1], using_algorithm(of, "hierarchical"), std::string(name_of(of)), [&](rank_env& env, communicator& team) {
          member_call m({of, 1, 9, 4, 1000, true}, env.rank, false);
          if (!first) require(team.run(m.call), "in time");
          if (env.rank == late) env.pause(std::chrono::milliseconds(300));
          const status s = team.run(m.call, env.net().now() + std::chrono::milliseconds(100));
          // Whoever needs nothing of the late one may have finished.
          require(s.ok() || s.code() == errc::timed_out || s.peer() != no_rank, s.text());
          require(env.rank == late || s.code() == errc::timed_out || of != collective::allreduce, "given up: " + std::string(s.text()));
          require(s.ok() || team.run(m.call).failed(), "for ever");
        });
}

// One member gives another root, number of bytes, operation or collective, or the like: all who notice are told who and what.
BOOST_AUTO_TEST_CASE(what_differs_is_named) {
  communicator_options by_nodes;
  for (const collective of : that_have_it()) by_nodes.wanted(of) = "hierarchical";
  struct difference {
    const char* what;
    example usual, other;
  };
  const difference all[] = {
      {"with root 5", {collective::broadcast, 1, 9, 4, 100, true}, {collective::broadcast, 1, 9, 5, 100, true}},
      {"with root 3", {collective::broadcast, 1, 9, 4, 100, true}, {collective::broadcast, 1, 9, 3, 100, true}},
      {"with root 1", {collective::reduce, 1, 9, 4, 100, true}, {collective::reduce, 1, 9, 1, 100, true}},
      {"with root 5", {collective::reduce, 1, 9, 4, 100, true}, {collective::reduce, 1, 9, 5, 100, true}},
      {"of 3200 bytes", {collective::allreduce, 1, 9, 0, 100, true}, {collective::allreduce, 1, 9, 0, 200, true}},
      {"(user of bytes)", {collective::allreduce, 1, 9, 0, 100, true}, {collective::allreduce, 1, 9, 0, 100, false}},
      {"an allreduce of", {collective::reduce, 1, 9, 0, 100, true}, {collective::allreduce, 1, 9, 0, 100, true}},
      {"a broadcast of", {collective::allreduce, 1, 9, 0, 100, true}, {collective::broadcast, 1, 9, 0, 100, true}},
      {"an allgather of", {collective::allreduce, 1, 9, 0, 100, true}, {collective::allgather, 1, 9, 0, 100, true}},
      {"of 3200 bytes", {collective::allgather, 1, 9, 0, 100, true}, {collective::allgather, 1, 9, 0, 200, true}},
  };
  for (const difference& d : all)
    for (const bool later : {false, true})
      for (const rank_t odd : {0u, 3u, 5u}) {
        // Whoever broadcasts to ranks that have its data already, by another, may be noticed by nobody.
        if (d.usual.of == collective::broadcast && d.other.of == d.usual.of && odd == d.other.root) continue;
        try_in_team_that_breaks(lies[1], by_nodes, std::string(name_of(d.usual.of)) + ": rank " + std::to_string(odd) + " calls " + d.what +
                                (later ? ", later" : ""), [&](rank_env& env, communicator& team) {
          member_call usual(d.usual, env.rank, false), other(d.other, env.rank, false);
          const auto call = [&](const member_call& m) { return team.run(m.call, env.net().now() + std::chrono::seconds(30)); };
          if (later) {
            require(call(usual), "while all agree");
            member_call agreed(d.other, env.rank, false);
            require(call(agreed), "while all agree");
          }
          status s = call(env.rank == odd ? other : usual);
          for (int i = 0; i < 100 && s.ok(); ++i) s = call(usual);
          const std::string text = s.text();
          require(s.code() == errc::protocol && text.find(d.what) != std::string::npos, "no error, or another: " + text);
        });
      }
}

// Where messages between nodes are dear, few of them are best; where nodes have one rank, or all share one, there is nothing to gain.
BOOST_AUTO_TEST_CASE(chosen_where_it_pays) {
  std::vector<std::uint32_t> nodes(28);  // of 7 ranks: of 8, the first rounds of recursive doubling stay inside
  for (std::uint32_t r = 0; r < nodes.size(); ++r) nodes[r] = r / 7;
  choice_inputs in;
  in.ranks = 28, in.node_of = nodes, in.bytes = 64;
  in.network = {20, 1, 5, 1}, in.node = {0.2, 0.05, 0.02, 10};
  for (const collective of : that_have_it()) {
    const auto all = take(choose(of, in), "choice");
    const auto ours = std::ranges::find_if(all, [](const candidate& c) { return c.row->phases != nullptr; });
    BOOST_TEST_REQUIRE((ours != all.end() && ours->runnable));
    BOOST_TEST(ours->cost_us > 0, name_of(of));
    const bool pays = of == collective::allreduce || of == collective::allgather || of == collective::alltoall || of == collective::scan || of == collective::exscan;
    BOOST_TEST((!pays || ours == all.begin()), name_of(of) << ": " << all.front().row->name);
    in.wanted.name = "hierarchical";
    BOOST_TEST(take(choose(of, in), "choice").front().cost_us == ours->cost_us);
    in.wanted = {};
  }
  std::ranges::fill(nodes, 0);
  for (const collective of : that_have_it())
    for (const candidate& c : take(choose(of, in), "choice")) BOOST_TEST(c.row->name != "hierarchical", name_of(of));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused) {
  const std::vector<std::uint32_t> mixed{0, 1, 0, 1};
  choice_inputs in;
  in.ranks = 4, in.node_of = mixed, in.bytes = 64, in.network = in.node = {1, 0.2, 0.1, 10};
  const auto refused = [&](collective of, const char* text, const char* why) {
    in.wanted = take(parse_wanted(of, text), text);
    const auto made = choose(of, in);
    BOOST_TEST(std::string(made.error().text()).find(why) != std::string::npos, text << ": " << made.error().text());
  };
  refused(collective::allgather, "hierarchical", "do not follow each other");
  refused(collective::scan, "hierarchical", "do not follow each other");
  refused(collective::scan, "hierarchical:nonsense", "no scan for the leaders");
  refused(collective::allreduce, "hierarchical:nonsense", "no allreduce for the leaders");
  refused(collective::allreduce, "hierarchical:hierarchical", "no allreduce for the leaders");
  refused(collective::allreduce, "hierarchical:mapped", "not mapped");
  refused(collective::allreduce, "hierarchical:ring:3", "takes no radix");
  BOOST_TEST(take(choose(collective::allreduce, (in.wanted = take(parse_wanted(collective::allreduce, "hierarchical:tree:3"), "tree"), in)), "choice")
                 .front().radix == 3u);
  in.commutative = false;
  refused(collective::allreduce, "hierarchical", "do not follow each other");
  in.commutative = true, in.canonical = true;
  refused(collective::allreduce, "hierarchical", "TUTTI_REPRODUCIBLE");
  const std::vector<std::uint32_t> unlike{0, 0, 0, 1};
  in.node_of = unlike, in.canonical = false;
  refused(collective::alltoall, "hierarchical:pairwise", "no alltoallv");
}

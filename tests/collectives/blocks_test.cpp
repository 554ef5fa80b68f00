// What has a block for each member (gather, scatter, allgather, alltoall, and with unlike lengths alltoallv with what it carries
// out): every algorithm, in any size of team, in place and not; random programs of all collectives, several under way on teams
// that overlap, against a sequential model.
// blocks [Boost.Test's options] [-- --fabric NAME]: on_every_fabric on this one alone.
#define BOOST_TEST_MODULE blocks
#include <boost/test/unit_test.hpp>

#include <numeric>

#include "collectives/communicator.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/arguments.h"
#include "tests/harness/sim_fabric.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr collective with_blocks[] = {collective::gather, collective::scatter, collective::allgather, collective::alltoall,
                                      collective::alltoallv};

// Which bytes a member gives another in a call. What goes to several of them is the same for all.
std::byte given(std::uint64_t call, std::uint32_t from, std::uint32_t to, std::size_t i) {
  return static_cast<std::byte>(((call * 131 + from) * 31 + to) * 7 + i * 13 + (i >> 8) * 5);
}
constexpr std::byte untouched{0xa5};

// Who gives whom how much. Lengths are a function of what all members know, so each can tell its own.
struct traffic {
  collective of;
  std::uint64_t call;
  std::uint32_t size, root;
  std::size_t bytes;             // of a block
  call_kind as = call_kind::none;
  bool unlike = false;

  std::size_t length(std::uint32_t from, std::uint32_t to) const {
    if (of == collective::gather || as == kind_of_gatherv) { if (to != root) return 0; }
    if (of == collective::scatter || as == kind_of_scatterv) { if (from != root) return 0; }
    if (as == kind_of_neighbor_alltoall && (from + 1) % size != to && (to + 1) % size != from) return 0;
    if (!unlike) return bytes;
    const std::uint32_t pair = of == collective::allgather ? from : from * size + to;
    const std::uint64_t z = (call * 1000003 + pair + 1) * 0x9e3779b97f4a7c15u;
    return (z >> 60) < 5 ? 0 : (z >> 33) % (2 * bytes + 1);
  }
  std::uint32_t content_to(std::uint32_t to) const { return of == collective::allgather ? 0 : to; }
};

struct member_call {
  std::vector<std::byte> in, out, expected;
  std::vector<std::byte> in_place;      // holds both
  collective_call call;
};

member_call make_call(const traffic& t, std::uint32_t me, bool in_place) {
  member_call m;
  const bool one_in = t.of == collective::gather || t.of == collective::allgather, one_out = t.of == collective::scatter;
  block_lists lists;
  const auto add = [&](std::vector<std::byte>& to, std::uint32_t a, std::uint32_t b, std::size_t room) {
    const std::size_t n = t.length(a, b), at = to.size();
    to.resize(at + std::max(n, room), untouched);
    for (std::size_t i = 0; i < n; ++i) to[at + i] = given(t.call, a, t.content_to(b), i);
  };
  const std::size_t room = t.unlike || t.of == collective::alltoallv ? 0 : t.bytes;
  if (one_in) {
    add(m.in, me, t.of == collective::gather ? t.root : 0, 0);
  } else if (t.of != collective::scatter || me == t.root) {
    for (std::uint32_t to = 0; to < t.size; ++to) {
      lists.in_begins.push_back(m.in.size()), lists.in_lengths.push_back(t.length(me, to));
      add(m.in, me, to, room);
      if (t.unlike) m.in.resize(m.in.size() + to % 3, untouched);
    }
  }
  if (one_out) add(m.expected, t.root, me, 0);
  else if (t.of != collective::gather || me == t.root)
    for (std::uint32_t from = 0; from < t.size; ++from) {
      lists.out_begins.push_back(m.expected.size()), lists.out_lengths.push_back(t.length(from, me));
      add(m.expected, from, me, room);
      if (t.unlike) m.expected.resize(m.expected.size() + from % 2, untouched);
    }
  m.out.assign(m.expected.size(), untouched);
  m.call = {.of = t.of, .root = t.root, .bytes = t.bytes, .in = m.in.data(), .out = m.out.data(), .as = t.as};
  if (t.unlike || t.of == collective::alltoallv) {
    if (one_in) lists.in_lengths.clear(), lists.in_begins.clear();
    m.call.bytes = 0;
    for (const auto* list : {&lists.in_lengths, &lists.out_lengths})
      for (const std::uint64_t n : *list) m.call.bytes = std::max(m.call.bytes, n);
    m.call.lists = std::make_shared<const block_lists>(std::move(lists));
  } else if (in_place) {
    if (one_in && !m.expected.empty()) {
      std::copy(m.in.begin(), m.in.end(), m.out.begin() + static_cast<std::ptrdiff_t>(me * t.bytes));
      m.call.in = m.out.data() + me * t.bytes;
    } else if (one_out && me == t.root) {
      m.call.out = m.in.data() + me * t.bytes;
      m.out = m.expected;
    } else if (t.of == collective::alltoall) {
      m.out = m.in;
      m.call.in = m.out.data();
    }
  }
  return m;
}

communicator_options using_algorithm(collective of, const std::string& name) {
  communicator_options o;
  o.wanted(of) = name;
  return o;
}

std::vector<std::string> names(collective of) {
  std::vector<std::string> out{""};
  for (const algorithm& a : algorithms(of)) {
    out.emplace_back(a.name);
    if (a.default_radix) out.push_back(std::string(a.name) + ":1"), out.push_back(std::string(a.name) + ":15");
  }
  return out;
}

bool takes_unlike(collective of, const std::string& name) {
  const algorithm* a = find_algorithm(of, name.substr(0, name.find(':')));
  return !a || !a->needs.alike;
}

bool reads_mapped_memory(collective of, const std::string& name) {
  const algorithm* a = find_algorithm(of, name.substr(0, name.find(':')));
  return a && a->needs.mapped;
}

// One on which the algorithm can run.
sim::parameters simulated(collective of, const std::string& name, const char* fabric, std::uint32_t ranks) {
  sim::parameters p = sim_parameters({fabric}, ranks, ranks);
  if (reads_mapped_memory(of, name)) p.maps_node = true, p.ranks_per_node = ranks;
  return p;
}

void play(rank_env& env, collective of, const std::string& name, std::span<const std::size_t> lengths) {
  auto j = open_job(env);
  if (reads_mapped_memory(of, name) && (!env.net().caps().maps_node || j->where().nodes() > 1)) return env.barrier();
  auto team = take(communicator::world(*j, using_algorithm(of, name)), "world");
  constexpr call_kind names_of_v[] = {call_kind::none, kind_of_gatherv, kind_of_scatterv, kind_of_neighbor_alltoall};
  std::uint64_t number = 0;
  for (int again = 0; again < 2; ++again)
    for (const std::size_t bytes : lengths)
      for (const bool unlike : {false, true})
        for (const bool in_place : {false, true})
          for (const call_kind as : names_of_v) {
            if (of != collective::alltoallv && as != call_kind::none) continue;
            if (unlike && ((of != collective::alltoallv && of != collective::allgather) || !takes_unlike(of, name))) continue;
            if (of == collective::alltoallv && in_place) continue;
            const traffic t{of, ++number, env.size, static_cast<std::uint32_t>(number * 5 % env.size), bytes, as, unlike};
            member_call m = make_call(t, env.rank, in_place);
            const std::vector<std::byte> before = m.in;
            if (env.random() % 4 == 0) env.pause(std::chrono::microseconds(env.random() % 100));
            require(team->run(m.call), "call");
            require(m.out == m.expected, "result of call " + std::to_string(number) + ", blocks of " + std::to_string(bytes) + " bytes");
            require(m.in == before, "what was given is left alone");
          }
  require(team->group().settle(), "leaving");
  team.reset();
  env.barrier();
}

// Sizes in which there is one of everything: data_schedules runs all of them, without a network.
std::vector<std::uint32_t> sizes(std::string_view fabric) {
  if (fabric == "sim:wild") return {2, 3, 5, 8, 13};
  return {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 21, 33};
}

constexpr std::size_t few[] = {1, 0, 48, 49, 100, 5000, 3};
constexpr std::size_t many[] = {8, 0, 40000, 300000, 7};

}  // namespace

BOOST_AUTO_TEST_CASE(on_simulated_fabrics) {
  for (const collective of : with_blocks)
    for (const std::string& name : names(of))
      for (const char* fabric : {"sim", "sim:wild"})
        for (const std::uint32_t n : sizes(fabric)) {
          const auto report = try_ranks_simulated(simulated(of, name, fabric, n), [&](rank_env& env) { play(env, of, name, few); },
                                                  {.timeout = std::chrono::seconds(60) * time_scale, .seed = n});
          BOOST_TEST(report.passed(), name_of(of) << " by " << name << ", " << fabric << ", " << n << " ranks: " << report.text());
        }
}

BOOST_AUTO_TEST_CASE(on_every_fabric) {
  for (const fabric_spec& f : wanted_fabrics())
    for (const collective of : with_blocks)
      for (const std::string& name : names(of))
        run_ranks(f, 5, [&](rank_env& env) { play(env, of, name, many); }, {.timeout = std::chrono::seconds(60) * time_scale});
}

BOOST_AUTO_TEST_CASE(a_death_is_named) {
  for (const collective of : with_blocks) {
    if (of == collective::gather || of == collective::scatter) continue;  // who does not wait for the dead goes on for a while
    for (const std::string& name : names(of))
      for (const std::uint32_t victim : {0u, 2u, 4u}) {
        sim::parameters p;
        p.ranks = 5, p.notice_us = 100;
        if (reads_mapped_memory(of, name)) p.maps_node = true, p.ranks_per_node = 5;
        const auto report = try_ranks_simulated(p, [&](rank_env& env) {
          auto j = open_job(env);
          auto team = take(communicator::world(*j, using_algorithm(of, name)), "world");
          const traffic t{of, 1, env.size, 0, 50000};
          member_call m = make_call(t, env.rank, false);
          require(team->run(m.call), "while all live");
          if (env.rank == victim) env.die();
          status s;
          for (int i = 0; i < 1000 && s.ok(); ++i) s = team->run(m.call);
          require(s.code() == errc::peer_dead && s.peer() == victim, "the call names the dead: " + std::string(s.text()));
          require(team->run(m.call).code() == errc::peer_dead, "from then on");
        }, {.to_die = {victim}});
        BOOST_TEST(report.passed(), name_of(of) << " by " << name << ", " << victim << " dies: " << report.text());
      }
  }
}

// Two members of a pair that expect unlike lengths of each other are told so.
BOOST_AUTO_TEST_CASE(unlike_lengths_of_a_pair_are_named) {
  const auto report = try_ranks_simulated(sim_parameters({"sim"}, 3, 3), [](rank_env& env) {
    auto j = open_job(env);
    auto team = take(communicator::world(*j, {}), "world");
    const traffic t{collective::alltoallv, 1, env.size, 0, 100};
    member_call m = make_call(t, env.rank, false);
    if (env.rank == 2) {
      block_lists lists = *m.call.lists;
      lists.out_lengths[1] = 60;
      m.call.lists = std::make_shared<const block_lists>(lists);
    }
    const status s = team->run(m.call);
    require(env.rank == 0 || s.code() == errc::protocol, "an error: " + std::string(s.text()));
    env.barrier();
  }, {.timeout = std::chrono::seconds(60) * time_scale});
  BOOST_TEST(report.passed(), report.text());
}

// Calls of all kinds, blocking and not, on a team and on one of its halves: a function of the seed that all members go through
// alike. Each result is compared with the model.
BOOST_AUTO_TEST_CASE(random_programs) {
  constexpr std::size_t lengths[] = {0, 1, 8, 48, 49, 400, 3000, 70000};
  const reduction sum = take(find_reduction(datatype::uint64, operation::sum), "sum");
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    const std::uint32_t n = 1 + seed % 9;
    const auto report = try_ranks_simulated(sim_parameters({seed % 2 ? "sim:wild" : "sim"}, n, n), [&](rank_env& env) {
      auto j = open_job(env);
      auto world = take(communicator::world(*j, {}), "world");
      auto part = take(world->split(static_cast<std::int32_t>(env.rank % 2), -static_cast<std::int32_t>(env.rank), {}), "split");
      std::mt19937 program(seed);
      struct under_way {
        communicator* team;
        std::uint64_t request;
        member_call m;
      };
      std::vector<std::unique_ptr<under_way>> open;
      const auto finish = [&](under_way& u) {
        require(u.team->data().wait(u.request), "wait");
        require(u.m.out == u.m.expected, "result");
      };
      for (std::uint64_t call = 1; call <= 60; ++call) {
        const auto pick = [&](std::size_t many_of) { return program() % many_of; };
        communicator& team = pick(3) ? *world : *part;
        const std::uint32_t size = team.group().size(), me = team.group().index();
        const auto of = static_cast<collective>(1 + pick(collectives - 1));
        const std::size_t bytes = lengths[pick(std::size(lengths))];
        const bool unlike = pick(2) && (of == collective::allgather || of == collective::alltoallv), blocking = pick(2);
        const bool in_place = pick(2);
        const auto root = static_cast<std::uint32_t>(pick(1000) % size);
        auto u = std::make_unique<under_way>();
        u->team = &team;
        if (has_block_each(of) && !reduces(of)) {
          u->m = make_call({of, call, size, root, bytes, call_kind::none, unlike}, me, in_place);
        } else if (of == collective::broadcast) {
          for (std::size_t i = 0; i < bytes; ++i) u->m.expected.push_back(given(call, root, 0, i));
          u->m.out = me == root ? u->m.expected : std::vector<std::byte>(bytes, untouched);
          u->m.call = {.root = root, .bytes = bytes, .out = u->m.out.data()};
        } else {
          const std::size_t count = bytes / 8, whole = of == collective::reduce_scatter ? count * size : count;
          const std::uint32_t ranks = of == collective::scan ? me + 1 : of == collective::exscan ? me : size;
          const bool any = of == collective::reduce ? me == root : of != collective::exscan || me > 0;
          u->m.in.resize(whole * 8), u->m.out.assign(count * 8, untouched), u->m.expected = u->m.out;
          const auto operand = [&](std::uint32_t rank, std::size_t i) { return (call * 77 + rank) * 0x9e3779b97f4a7c15u + i; };
          const std::size_t first = of == collective::reduce_scatter ? me * count : 0;
          for (std::size_t i = 0; i < whole; ++i) {
            const std::uint64_t v = operand(me, i);
            std::memcpy(&u->m.in[i * 8], &v, 8);
          }
          for (std::size_t i = 0; any && i < count; ++i) {
            std::uint64_t v = 0;
            for (std::uint32_t r = 0; r < ranks; ++r) v += operand(r, first + i);
            std::memcpy(&u->m.expected[i * 8], &v, 8);
          }
          u->m.call = {.of = of, .root = root, .bytes = count * 8, .in = u->m.in.data(), .out = u->m.out.data(), .op = sum};
        }
        if (env.random() % 6 == 0) env.pause(std::chrono::microseconds(env.random() % 50));
        if (blocking) {
          require(team.run(u->m.call), "call");
          require(u->m.out == u->m.expected, "result of call " + std::to_string(call) + ", " + std::string(name_of(of)));
          continue;
        }
        u->request = take(team.start(u->m.call), "start");
        open.push_back(std::move(u));
        if (open.size() > 5) {
          const std::size_t which = env.random() % open.size();
          finish(*open[which]);
          open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
        }
      }
      for (const auto& u : open) finish(*u);
      require(part->finish(), "all of the part");
      require(world->finish(), "all");
      require(part->group().settle(), "leaving the part");
      require(world->group().settle(), "leaving");
    }, {.timeout = std::chrono::seconds(60) * time_scale, .seed = seed});
    BOOST_TEST(report.passed(), "seed " << seed << ", " << n << " ranks: " << report.text());
  }
}

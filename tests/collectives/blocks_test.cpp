// What has a block for each member (gather, scatter, allgather, alltoall, and with unlike lengths alltoallv with what it carries
// out): every algorithm, in any size of team, in place and not; random programs of all collectives, several under way on teams
// that overlap, against a sequential model; and deaths in the middle of every collective.
// blocks [Boost.Test's options] [-- --fabric NAME --ranks N]: on_every_fabric on this one alone, in teams of N.
// blocks --run_test=random_programs -- [--seeds K] [--from S] [--fabric NAME]: K of them, on the simulated fabrics or on this one.
#include <boost/test/unit_test.hpp>

#include <numeric>

#include "core/transport/forwarding_transport.h"
#include "tests/collectives/rows.h"

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

// The same of what has no blocks, and of what adds integers of 64 bits.
member_call any_call(const traffic& t, std::uint32_t me, bool in_place) {
  if (has_block_each(t.of) && !reduces(t.of)) return make_call(t, me, in_place);
  member_call m;
  if (t.of == collective::broadcast) {
    for (std::size_t i = 0; i < t.bytes; ++i) m.expected.push_back(given(t.call, t.root, 0, i));
    m.out = me == t.root ? m.expected : std::vector<std::byte>(t.bytes, untouched);
    m.call = {.root = t.root, .bytes = t.bytes, .out = m.out.data()};
    return m;
  }
  const std::size_t count = t.bytes / 8, whole = t.of == collective::reduce_scatter ? count * t.size : count;
  const std::uint32_t ranks = t.of == collective::scan ? me + 1 : t.of == collective::exscan ? me : t.size;
  const bool any = t.of == collective::reduce ? me == t.root : t.of != collective::exscan || me > 0;
  m.in.resize(whole * 8), m.out.assign(count * 8, untouched), m.expected = m.out;
  const auto operand = [&](std::uint32_t rank, std::size_t i) { return (t.call * 77 + rank) * 0x9e3779b97f4a7c15u + i; };
  const std::size_t first = t.of == collective::reduce_scatter ? me * count : 0;
  for (std::size_t i = 0; i < whole; ++i) {
    const std::uint64_t v = operand(me, i);
    std::memcpy(&m.in[i * 8], &v, 8);
  }
  for (std::size_t i = 0; any && i < count; ++i) {
    std::uint64_t v = 0;
    for (std::uint32_t r = 0; r < ranks; ++r) v += operand(r, first + i);
    std::memcpy(&m.expected[i * 8], &v, 8);
  }
  m.call = {.of = t.of, .root = t.root, .bytes = count * 8, .in = m.in.data(), .out = m.out.data(),
            .op = take(find_reduction(datatype::uint64, operation::sum), "sum")};
  return m;
}

void play(rank_env& env, collective of, const std::string& name, std::span<const std::size_t> lengths) {
  auto j = open_job(env);
  if (!can_run(row_of(of, name), env, *j)) return env.barrier();
  auto team = take(communicator::world(*j, using_algorithm(of, name)), "world");
  constexpr call_kind names_of_v[] = {call_kind::none, kind_of_gatherv, kind_of_scatterv, kind_of_neighbor_alltoall};
  std::uint64_t number = 0;
  for (int again = 0; again < 2; ++again)
    for (const std::size_t bytes : lengths)
      for (const bool unlike : {false, true})
        for (const bool in_place : {false, true})
          for (const call_kind as : names_of_v) {
            if (of != collective::alltoallv && as != call_kind::none) continue;
            if (unlike && ((of != collective::alltoallv && of != collective::allgather) || row_of(of, name).needs.alike)) continue;
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

constexpr std::size_t few[] = {1, 0, 48, 49, 100, 5000, 3};
constexpr std::size_t many[] = {8, 0, 40000, 300000, 7};

}  // namespace

BOOST_AUTO_TEST_CASE(on_simulated_fabrics) {
  on_simulated_fabrics_by_each(with_blocks, [](rank_env& env, collective of, const std::string& name) { play(env, of, name, few); });
}

BOOST_AUTO_TEST_CASE(on_every_fabric) {
  on_every_fabric_by_each(with_blocks, [](rank_env& env, collective of, const std::string& name) { play(env, of, name, many); });
}

namespace {

// A member dies right after any of the operations that it submits, those of the first use included. A call of a survivor that
// succeeds has its result; one of the next calls, and each after that, names the dead. The survivors' own team goes on.
struct doing {
  const char* name;
  collective of;
  call_kind as = call_kind::none;
};
constexpr doing every_kind[] = {{"broadcast", collective::broadcast}, {"reduce", collective::reduce}, {"allreduce", collective::allreduce},
                                {"reduce_scatter", collective::reduce_scatter}, {"scan", collective::scan},
                                {"exscan", collective::exscan}, {"gather", collective::gather}, {"scatter", collective::scatter},
                                {"allgather", collective::allgather}, {"alltoall", collective::alltoall},
                                {"alltoallv", collective::alltoallv}, {"gatherv", collective::alltoallv, kind_of_gatherv},
                                {"scatterv", collective::alltoallv, kind_of_scatterv},
                                {"neighbor_alltoall", collective::alltoallv, kind_of_neighbor_alltoall}};

class mortal_transport final : public forwarding_transport {
 public:
  mortal_transport(std::unique_ptr<transport> inner, rank_env& env) : forwarding_transport(std::move(inner)), env_(env) {}
  std::size_t submit(std::span<const rma_op> ops) noexcept override {
    const std::size_t taken = inner().submit(ops.first(std::min<std::size_t>(ops.size(), last - done)));
    if ((done += taken) == last) env_.die();
    return taken;
  }
  std::uint64_t done = 0, last = ~std::uint64_t{0};

 private:
  rank_env& env_;
};

// The victim dies after `step` operations in the middle of some calls; 0: it lives. Gives how many it submitted in these.
std::uint64_t run_until_death(const doing& d, const std::string& name, std::uint32_t victim, std::uint64_t step) {
  constexpr std::uint32_t n = 5, root = 1;
  constexpr std::uint64_t calls = 3, of_survivors = 30;
  sim::parameters p;
  p.ranks = n, p.notice_us = 100, p.maps_node = true, p.ranks_per_node = n;
  const shared_words submitted(1);
  const auto report = try_ranks_simulated(p, [&](rank_env& env) {
    mortal_transport* net = nullptr;
    env.wrap([&](auto inner) {
      auto made = std::make_unique<mortal_transport>(std::move(inner), env);
      return net = made.get(), std::move(made);
    });
    auto j = open_job(env);
    auto world = take(communicator::world(*j, using_algorithm(d.of, name)), "world");
    auto others = take(world->split(env.rank == victim, 0, {}), "split");
    const std::uint64_t before = net->done;
    if (env.rank == victim && step > 0) net->last = before + step;
    status s;
    for (std::uint64_t call = 1; s.ok() && call <= (step > 0 ? of_survivors : calls); ++call) {
      member_call m = any_call({d.of, call, n, root, call % 2 ? 40u : 200000u, d.as}, env.rank, false);
      s = world->run(m.call);
      require(s.failed() || m.out == m.expected, "result of call " + std::to_string(call));
    }
    if (step == 0) {
      require(s, "while all live");
      if (env.rank == victim) submitted[0] = net->done - before;
      return env.barrier();
    }
    if (env.rank == victim) env.die();
    member_call m = any_call({d.of, 1, n, root, 40, d.as}, env.rank, false);
    require(s.code() == errc::peer_dead && s.peer() == victim, "a call names the dead: " + std::string(s.text()));
    require(world->run(m.call).code() == errc::peer_dead, "from then on");
    m = any_call({d.of, 2, n - 1, root, 30000, d.as}, others->group().index(), false);
    require(others->run(m.call), "without the dead");
    require(m.out == m.expected, "result without the dead");
  }, {.to_die = step > 0 ? std::vector<rank_t>{victim} : std::vector<rank_t>{}});
  BOOST_TEST(report.passed(), d.name << " by " << name << ", " << victim << " dies after " << step << " operations: " << report.text());
  return submitted[0];
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_death_is_named) {
  std::uint64_t turn = 0;
  one_in some(3);
  for (const doing& d : every_kind)
    for (const std::string& name : names(d.of))
      for (const std::uint32_t victim : {1u, 0u, 2u, 4u}) {
        if (!some()) continue;
        const std::uint64_t steps = run_until_death(d, name, victim, 0);
        const std::uint64_t stride = std::max<std::uint64_t>(1, steps / 4);
        for (std::uint64_t step = 1 + turn++ % stride; step <= steps; step += stride) run_until_death(d, name, victim, step);
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

namespace {

// Calls of all kinds, blocking and not, on a team and on one of its halves: a function of the seed that all members go through
// alike. Each result is compared with the model. In some programs algorithms are asked for by name, calls try candidates by turns, or
// the job takes a few ranks for a node.
void play_program(rank_env& env, std::uint32_t seed) {
  constexpr std::size_t lengths[] = {0, 1, 8, 48, 49, 400, 3000, 70000};
  std::mt19937 program(seed);
  const auto pick = [&](std::size_t many_of) { return program() % many_of; };
  host_id host{};
  host[0] = static_cast<std::byte>(1 + env.rank / (1 + pick(env.size)));
  auto j = open_job(env, {}, host);
  communicator_options o;
  const bool by_name = pick(2);
  for (unsigned c = 1; c < collectives; ++c) {
    const auto of = static_cast<collective>(c);
    const std::vector<std::string> all = names(of);
    const std::string& name = all[pick(all.size())];
    if (by_name && can_run(row_of(of, name), env, *j)) o.wanted(of) = name;
  }
  if (pick(3) == 0) o.online = tuning::online_settings{.one_in = 1, .setup = 0, .exchange = 0};
  auto world = take(communicator::world(*j, o), "world");
  auto part = take(world->split(static_cast<std::int32_t>(env.rank % 2), -static_cast<std::int32_t>(env.rank), {}), "split");
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
    communicator& team = pick(3) ? *world : *part;
    const std::uint32_t size = team.group().size(), me = team.group().index();
    const auto of = static_cast<collective>(pick(collectives));
    if (of == collective::barrier) {
      require(team.barrier().enter(), "barrier");
      continue;
    }
    const std::size_t bytes = lengths[pick(std::size(lengths))];
    const bool lists = of == collective::alltoallv || (of == collective::allgather && !row_of(of, team.options().wanted(of)).needs.alike);
    const bool unlike = pick(2) && lists, blocking = pick(2), in_place = pick(2);
    const auto root = static_cast<std::uint32_t>(pick(1000) % size);
    auto u = std::make_unique<under_way>();
    u->team = &team;
    u->m = any_call({of, call, size, root, bytes, call_kind::none, unlike}, me, in_place);
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
  part.reset(), world.reset();
  env.barrier();
}

void play_programs(std::uint32_t first, std::uint32_t count, const std::string& fabric) {
  for (std::uint32_t seed = first; seed < first + count; ++seed) {
    const std::uint32_t n = 1 + seed % 9;
    const run_options limits{.timeout = std::chrono::seconds(60) * time_scale, .seed = seed};
    const auto each = [&](rank_env& env) { play_program(env, seed); };
    if (!fabric.empty()) {
      BOOST_TEST_CONTEXT("seed " << seed << ", " << n << " ranks") run_ranks({fabric}, n, each, limits);
      continue;
    }
    sim::parameters p = sim_parameters({seed % 2 ? "sim:wild" : "sim"}, n, n);
    if (seed % 5 == 0) p.maps_node = true, p.ranks_per_node = n;
    const auto report = try_ranks_simulated(p, each, limits);
    BOOST_TEST(report.passed(), "seed " << seed << ", " << n << " ranks: " << report.text());
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(random_programs) {
  play_programs(static_cast<std::uint32_t>(std::stoul(argument("--from", "1"))), static_cast<std::uint32_t>(std::stoul(argument("--seeds", "40"))),
                argument("--fabric"));
}

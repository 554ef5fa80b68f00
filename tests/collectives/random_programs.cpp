// Random programs of all collectives, several under way on teams that overlap, against a sequential model.
// blocks --run_test=random_programs -- [--seeds K] [--from S] [--fabric NAME]: K of them, the first of seed S, on the simulated fabrics or
// on this one.
#include <boost/test/unit_test.hpp>

#include <random>

#include "tests/collectives/member_calls.h"
#include "tests/collectives/rows.h"
#include "tests/harness/lists.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// Calls of all kinds, blocking and not, some of them made several times with the same arguments, on a team and on one of its halves: a
// function of the seed that all members go through alike. Each result is compared with the model, and what was given is left alone. In
// some programs algorithms are asked for by name, results are reproducible, calls try candidates by turns, or the job takes a few
// ranks for a node.
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
  o.reproducible = !by_name && pick(4) == 0;
  if (pick(3) == 0) o.online = tuning::online_settings{.one_in = 1, .setup = 0, .exchange = 0};
  auto world = take(communicator::world(*j, o), "world");
  auto part = take(world->split(static_cast<std::int32_t>(env.rank % 2), -static_cast<std::int32_t>(env.rank), {}), "split");
  struct under_way {
    communicator* team;
    std::string what;
    std::uint64_t request;
    member_call m;
    std::vector<std::byte> in, out;   // as they were before
    void check() const {
      require(m.out == m.expected, "result of " + what);
      require(m.in == in, "what was given is left alone by " + what);
    }
  };
  std::vector<std::unique_ptr<under_way>> open;
  const auto finish = [&](under_way& u) {
    require(u.team->data().wait(u.request), "wait");
    u.check();
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
    const auto& needs = row_of(of, team.options().wanted(of)).needs;
    const bool lists = of == collective::alltoallv || ((of == collective::allgather || of == collective::reduce_scatter) && !needs.alike);
    const call_kind as = of == collective::alltoallv ? names_of_v[pick(std::size(names_of_v))] : call_kind::none;
    const bool unlike = pick(2) && lists, blocking = pick(2), in_place = pick(2);
    const auto root = static_cast<std::uint32_t>(pick(1000) % size);
    const arithmetic_case& arithmetic = arithmetics[pick(std::size(arithmetics) - (needs.commutative ? 1 : 0))];
    auto u = std::make_unique<under_way>();
    u->team = &team;
    u->what = "call " + std::to_string(call) + ", " + std::string(name_of(of)) + (unlike ? " of unlike blocks" : "") +
              (in_place ? " in place" : "");
    u->m = any_call({of, call, size, root, bytes, as, unlike, arithmetic}, me, in_place);
    u->in = u->m.in, u->out = u->m.out;
    if (env.random() % 6 == 0) env.pause(std::chrono::microseconds(env.random() % 50));
    if (blocking) {
      for (std::size_t again = pick(3); ; --again) {
        require(team.run(u->m.call), u->what);
        u->check();
        if (again == 0) break;
        std::ranges::copy(u->out, u->m.out.begin());
      }
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
  const auto number = [](const char* name, const char* otherwise) { return static_cast<std::uint32_t>(std::stoul(argument(name, otherwise))); };
  play_programs(number("--from", "1"), number("--seeds", whole_list() ? "400" : "40"), argument("--fabric"));
}

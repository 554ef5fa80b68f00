// What has a block for each member (gather, scatter, allgather, alltoall, and with unlike lengths alltoallv with what it carries
// out): every algorithm, in any size of team, in place and not; and deaths in the middle of every collective.
// blocks [Boost.Test's options] [-- --fabric NAME --ranks N]: on_every_fabric on this one alone, in teams of N.
#include <boost/test/unit_test.hpp>

#include "core/engine/move_watch.h"
#include "core/transport/forwarding_transport.h"
#include "tests/collectives/member_calls.h"
#include "tests/collectives/rows.h"
#include "tests/harness/lists.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr collective with_blocks[] = {collective::gather, collective::scatter, collective::allgather, collective::alltoall,
                                      collective::alltoallv};
void play(rank_env& env, collective of, const std::string& name, std::span<const std::size_t> lengths) {
  auto j = open_job(env);
  if (!can_run(row_of(of, name), env, *j)) return env.barrier();
  auto team = take(communicator::world(*j, using_algorithm(of, name)), "world");
  std::uint64_t number = 0;
  for (int again = 0; again < 2; ++again)
    for (const std::size_t bytes : lengths)
      for (const bool unlike : {false, true})
        for (const bool in_place : {false, true})
          for (const call_kind as : names_of_v) {
            if (of != collective::alltoallv && as != call_kind::none) continue;
            if (unlike && ((of != collective::alltoallv && of != collective::allgather) || row_of(of, name).needs.alike)) continue;
            if (of == collective::alltoallv && in_place && as != kind_of_gatherv && as != kind_of_scatterv) continue;
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

namespace {

class copy_count final : public move_watch {
 public:
  copy_count() { watching_moves = this; }
  ~copy_count() { watching_moves = nullptr; }
  void moved(std::uint64_t n, bool) noexcept override { bytes += n; }
  std::uint64_t bytes = 0;
};

}  // namespace

// In one call some pairs exchange blocks of an alltoallv out of each other's own memory, where that pays, and others through slots.
BOOST_AUTO_TEST_CASE(long_blocks_come_out_of_the_givers_memory_and_short_ones_through_slots) {
  constexpr std::size_t long_bytes = 1 << 20, short_bytes = 100'000;
  const auto report = try_ranks({"shm"}, 4, [](rank_env& env) {
    auto j = open_job(env);
    auto team = take(communicator::world(*j, {}), "world");
    const auto length = [](std::size_t from, std::size_t to) { return (from + to) % 2 ? long_bytes : from < to ? short_bytes : 0; };
    block_lists lists;
    std::vector<std::byte> in, expected;
    std::uint64_t through_slots = 0;
    for (rank_t other = 0; other < env.size; ++other) {
      lists.in_begins.push_back(in.size()), lists.in_lengths.push_back(length(env.rank, other));
      for (std::size_t i = 0; i < length(env.rank, other); ++i) in.push_back(given(1, env.rank, other, i));
      lists.out_begins.push_back(expected.size()), lists.out_lengths.push_back(length(other, env.rank));
      for (std::size_t i = 0; i < length(other, env.rank); ++i) expected.push_back(given(1, other, env.rank, i));
      if (length(other, env.rank) < long_bytes) through_slots += length(other, env.rank);
    }
    std::vector<std::byte> out(expected.size());
    const collective_call call{.of = collective::alltoallv, .bytes = long_bytes, .in = in.data(), .out = out.data(),
                               .lists = std::make_shared<const block_lists>(std::move(lists))};
    for (int again = 0; again < 20; ++again) {
      std::ranges::fill(out, untouched);
      const copy_count copied;
      require(team->run(call), "call");
      require(out == expected, "result");
      const auto best = take(team->data().choices().candidates(call.of, long_bytes), "candidates").front();
      require_equal(copied.bytes, best.row->data.exposes ? through_slots : expected.size(), "bytes that were copied here");
    }
    require(team->group().settle(), "leaving");
    env.barrier();
  });
  BOOST_TEST(report.passed(), report.text());
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

// Also where one of them alone takes the block for a long one, and no block comes back that would tell.
BOOST_AUTO_TEST_CASE(a_block_that_is_long_to_one_member_alone_is_named) {
  for (const bool root_errs : {false, true}) {
    const auto report = try_ranks({"shm"}, 4, [&](rank_env& env) {
      auto j = open_job(env);
      auto team = take(communicator::world(*j, {}), "world");
      for (std::uint64_t call = 1; call <= 3; ++call) {
        member_call m = make_call({collective::alltoallv, call, env.size, 0, 1 << 20, kind_of_scatterv}, env.rank, false);
        if (call == 3 && env.rank == (root_errs ? 0u : 2u)) {
          block_lists lists = *m.call.lists;
          (root_errs ? lists.in_lengths[2] : lists.out_lengths[0]) = 60;
          m.call.lists = std::make_shared<const block_lists>(lists);
        }
        const status s = team->run(m.call);
        if (call < 3) require(s, "call");
        else require(s.code() == errc::protocol || (env.rank % 2 == 1 && s.ok()), "an error: " + std::string(s.text()));
      }
      env.barrier();
    }, {.timeout = std::chrono::seconds(60) * time_scale});
    BOOST_TEST(report.passed(), (root_errs ? "the root errs: " : "rank 2 errs: ") << report.text());
  }
}

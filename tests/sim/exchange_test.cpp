// Everyone's blob to everyone, on the simulated fabric: every size of team, blobs of any length, every freedom of the contract,
// a death before every operation of every member, and every operation that fails.
#include <boost/test/unit_test.hpp>

#include <cstdlib>

#include "collectives/communicator.h"
#include "core/job/agreement.h"
#include "tests/doubles/fault_transport.h"
#include "core/job/window.h"
#include "core/transport/ops.h"
#include "tests/sim/hostile.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr unsigned rounds = 2;

// Teams in which every operation of every member is the one that goes wrong; and larger ones, in which every so many-th is.
constexpr struct { std::uint32_t ranks, step; } teams[] = {{2, 1}, {3, 1}, {4, 1}, {5, 2}, {8, 7}, {11, 23}};

std::unique_ptr<job> join(sim::world& w, rank_t r, transport& net, job_options options = {}) {
  std::vector<std::byte> blob;
  options.world_lines = communicator::world_lines;
  auto j = need(job::offer(w.boot(r), net, options, blob));
  const auto hosts = need(w.boot(r).allgather(w.boot(r).host(), time_point::max()));
  auto in = need(job::digest(*need(w.boot(r).allgather(blob, time_point::max())), std::make_shared<layout>(make_layout(*hosts))));
  in.addresses = nullptr;
  const status s = j->accept(in);
  need(s.ok(), s.text());
  return j;
}

// What a rank gives in a round: often nothing or little, now and then more than its parent has slots for. The last byte, and
// the length, are of this rank and this round alone.
std::vector<std::byte> blob_of(rank_t r, unsigned round) {
  constexpr std::size_t lengths[] = {0, 1, 8, 100, control::fragment_bytes - 8, control::fragment_bytes, 2000};
  sim::random dice(977 * r + round);
  std::vector<std::byte> blob(lengths[below(dice, std::size(lengths))]);
  for (std::byte& b : blob) b = static_cast<std::byte>(dice.next());
  return blob;
}

void check(const blob_table& all, std::uint32_t ranks, unsigned round) {
  need(all.size() == ranks, "as many blobs as ranks");
  for (rank_t r = 0; r < ranks; ++r)
    need(std::ranges::equal(all[r], blob_of(r, round)), "the blob of rank " + std::to_string(r) + " in round " + std::to_string(round));
}

// All rounds, then the leave. `late`: by how much a rank may come too late to each. The first error.
status take_part(sim::world& w, rank_t r, transport& net, double late_us) {
  auto j = join(w, r, net);
  sim::random mine(r + 1);
  for (unsigned round = 0; round < rounds; ++round) {
    if (late_us > 0 && mine.chance(0.5)) w.compute(r, mine.unit() * late_us);
    auto all = j->world().exchange(blob_of(r, round));
    if (!all) return all.error();
    check(**all, w.size(), round);
  }
  return j->world().settle();
}

// "": right; else what went wrong.
template <class F>
std::string seen_by(F&& body) {
  try {
    body();
    return "";
  } catch (const std::runtime_error& e) {
    return e.what();
  }
}

void run_all(const sim::parameters& p, double late_us) {
  sim::world w(p);
  const status s = w.run([&](rank_t r) {
    const status end = take_part(w, r, w.net(r), late_us);
    need(end.ok(), end.text());
  });
  need(s.ok(), s.text());
}

// Dies in place of its operation of that number, from 1.
class dies_at final : public forwarding_transport {
 public:
  dies_at(std::unique_ptr<transport> inner, sim::world& w, rank_t r, unsigned at)
      : forwarding_transport{std::move(inner)}, world_{w}, rank_{r}, at_{at} {}
  std::size_t submit(std::span<const rma_op> ops) noexcept override {
    if (++operations_ == at_) world_.kill(rank_);
    return forwarding_transport::submit(ops);
  }

 private:
  sim::world& world_;
  const rank_t rank_;
  const unsigned at_;
  unsigned operations_ = 0;
};

// Where one dies at its operation `at`: with and without a need for the target's progress.
sim::parameters machine_of_deaths(std::uint32_t ranks, unsigned at, double limit_us) {
  sim::parameters p;
  p.ranks = ranks, p.seed = at;
  p.limit_us = limit_us;
  p.target_must_progress = at % 2;
  return p;
}

}  // namespace

// `sim_exchange_test -- 100` runs a hundred seeds of each instead of three.
BOOST_AUTO_TEST_CASE(all_have_everyones_blob) {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  const std::uint64_t seeds = suite.argc > 1 ? std::strtoull(suite.argv[1], nullptr, 10) : 3;
  for (std::uint32_t n = 1; n <= 64; n += n < 18 ? 1 : 15)
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      sim::random dice(seed * 1000 + n);
      const auto p = hostile_machine(n, dice);
      const std::string seen = seen_by([&] { run_all(p, dice.unit() * 100); });
      BOOST_TEST(seen.empty(), n << " ranks, seed " << seed << ": " << seen);
    }
}

// Whoever cannot finish is told who died; who had all it needs may have finished before.
BOOST_AUTO_TEST_CASE(a_death_before_any_operation_hangs_nobody) {
  for (const auto& [n, step] : teams)
    for (rank_t victim = 0; victim < n; ++victim) {
      bool died = true;
      for (unsigned at = 1 + victim % step; died; at += step) {
        sim::world w(machine_of_deaths(n, at, 2e6));
        unsigned told = 0;
        const std::string seen = seen_by([&] {
          const status s = w.run([&](rank_t r) {
            std::unique_ptr<transport> dying;
            if (r == victim) dying = std::make_unique<dies_at>(need(w.open(r)), w, r, at);
            const status end = take_part(w, r, dying ? *dying : w.net(r), 0);
            if (r == victim) died = false;
            if (end.failed()) need(end.code() == errc::peer_dead && end.peer() == victim, end.text()), ++told;
          });
          need(s.ok(), s.text());
          need(died || told == 0, "nobody died");
        });
        BOOST_TEST(seen.empty(), n << " ranks, rank " << victim << " dies at operation " << at << ": " << seen);
      }
    }
}

// The learner is told of the death elsewhere, and turns to the agreement; the others leave the job, where each asks after its
// neighbours in the tree alone, and turn to the agreement when they are told. The learner may follow one that waits for it.
BOOST_AUTO_TEST_CASE(who_turns_to_the_agreement_on_a_death_hangs_nobody) {
  constexpr double dies_at_us = 1000, told_us = 500'000;
  for (const std::uint32_t n : {3u, 4u, 5u, 8u})
    for (rank_t victim = 0; victim < n; ++victim)
      for (rank_t learner = 0; learner < n; ++learner)
        for (unsigned at = 1; victim != learner && at <= 5; ++at) {
          sim::world w(machine_of_deaths(n, at, 5e6));
          unsigned through = 0;
          const std::string seen = seen_by([&] {
            const status s = w.run([&](rank_t r) {
              std::unique_ptr<transport> dying;
              if (r == victim) dying = std::make_unique<dies_at>(need(w.open(r)), w, r, at);
              auto j = join(w, r, dying ? *dying : w.net(r));
              if (r == learner) {
                w.compute(r, dies_at_us);
                if (w.alive(victim)) w.kill(victim);
              } else {
                const status end = j->world().leave();
                need(end.code() == errc::peer_dead, end.text());
              }
              const auto said = j->world().survivors().agree(1);
              need(said.ok(), said.error().text());
              need(said->flags == 1 && std::ranges::count(said->dead, victim) == 1, "the agreement lacks the dead");
              const auto took = std::chrono::duration<double, std::micro>(w.net(r).now().time_since_epoch()).count();
              need(took < told_us, "rank " + std::to_string(r) + " took " + std::to_string(took) + " us");
              for (++through; through < n - 1; j->progress()) w.compute(r, 10);  // clause 3 of tutti.h
            });
            need(s.ok(), s.text());
          });
          BOOST_TEST(seen.empty(), n << " ranks, rank " << victim << " dies at operation " << at << ", rank " << learner
                                     << " turns to the agreement: " << seen);
        }
}

// All hear of an operation that failed: nobody waits for what does not come.
BOOST_AUTO_TEST_CASE(an_operation_that_fails_hangs_nobody) {
  for (const auto& [n, step] : teams)
    for (rank_t unlucky = 0; unlucky < n; ++unlucky) {
      bool failed = true;
      for (unsigned at = 1 + unlucky % step; failed; at += step) {
        sim::parameters p;
        p.ranks = n, p.seed = at;
        p.limit_us = 2e6;
        sim::world w(p);
        failed = false;
        const std::string seen = seen_by([&] {
          const status s = w.run([&](rank_t r) {
            std::unique_ptr<transport> failing;
            fault_plan plan;
            plan.fail_operation = at;
            if (r == unlucky) failing = std::make_unique<fault_transport>(need(w.open(r)), plan);
            const status end = take_part(w, r, failing ? *failing : w.net(r), 0);
            if (end.failed()) failed = true;
          });
          need(s.ok(), s.text());
        });
        BOOST_TEST(seen.empty(), n << " ranks, operation " << at << " of rank " << unlucky << " fails: " << seen);
      }
    }
}

// Members look at each other's memory while they wait for one that comes late; of this nothing is under way when any of them leaves
// and drops its memory. `late` sweeps over the moment of the look.
BOOST_AUTO_TEST_CASE(nobody_leaves_while_it_is_asked) {
  unsigned asked = 0;
  for (std::uint32_t n = 2; n <= 5; ++n)
    for (rank_t late = 0; late < n; ++late)
      for (int step = -30; step <= 10; ++step) {
        sim::parameters p;
        p.ranks = n, p.limit_us = 2e6;
        sim::world w(p);
        const std::string seen = seen_by([&] {
          const status s = w.run([&](rank_t r) {
            auto j = join(w, r, w.net(r));
            team& all = j->world();
            const auto lines = control_lines::of(all, control::record);
            completion done;
            all.check_waits([&](rank_t awaited) {
              const rma_op get = move_op(op_kind::get, lines.region, lines.at(1), awaited, lines.segment, lines.at(0), 8, &done);
              need(done.idle() && w.net(r).submit({&get, 1}) == 1, "a question at a time");
              ++asked;
              return status{};
            }, &done);
            if (r == late) w.compute(r, 50000 + step * 0.5);
            const status end = all.settle();
            need(end.ok(), end.text());
            need(done.idle() && done.outcome().ok(), "rank " + std::to_string(r) + " leaves with a question under way");
            all.check_waits({}, nullptr);
          });
          need(s.ok(), s.text());
        });
        BOOST_TEST(seen.empty(), n << " ranks, " << late << " late, step " << step << ": " << seen);
      }
  BOOST_TEST(asked > 0u);
}

// Any step of its making that fails in one member: all members hear the same, whoever drops the team first.
BOOST_AUTO_TEST_CASE(a_team_that_cannot_be_made_is_refused_alike) {
  constexpr std::uint32_t n = 5;
  unsigned unavailable = 0;
  for (rank_t unlucky = 0; unlucky < n; ++unlucky)
    // Two of the first calls are a trial (facts_of()), whose failure is no error.
    for (unsigned at = 1, failed = 1; (failed || at < 7) && at < 100; ++at) {
      failed = 1;
      sim::random dice(100 * unlucky + at);
      auto p = hostile_machine(n, dice);
      p.mcast_loss = 0;
      sim::world w(p);
      status ends[n];
      const std::string seen = seen_by([&] {
        const status s = w.run([&](rank_t r) {
          std::unique_ptr<transport> failing;
          auto joined = [&] {
            if (r != unlucky) return join(w, r, w.net(r));
            fault_plan plan;
            plan.fail_setup = at;
            failing = std::make_unique<fault_transport>(need(w.open(r)), plan);
            return join(w, r, *failing);
          }();
          auto world = need(communicator::world(*joined, {.barrier = "dissemination"}));
          auto half = world->split(0, 0, {.barrier = "multicast"});
          ends[r] = half.error();
          if (half) ends[r] = (*half)->group().settle();
          (void)joined->world().settle();
        });
        need(s.ok(), s.text());
        const bool not_there = ends[unlucky].code() == errc::unavailable;
        failed = ends[unlucky].failed();
        for (const status& end : ends) {
          if (not_there) need(end.code() == errc::unavailable && end.peer() == unlucky, end.text()), ++unavailable;
        }
      });
      if (seen.find("set-up") != std::string::npos) continue;
      BOOST_TEST(seen.empty(), "step " << at << " of rank " << unlucky << ": " << seen);
    }
  BOOST_TEST(unavailable > 0u);
}

// Rank 2 hears of it in a team of its own, and comes to no exchange of the world's any more; where rank 3 waits for it, and for
// nobody who has died.
BOOST_AUTO_TEST_CASE(a_death_that_one_team_hears_of_is_told_in_the_world) {
  sim::parameters p;
  p.ranks = 4, p.limit_us = 2e7;
  sim::world w(p);
  const std::string seen = seen_by([&] {
    const status s = w.run([&](rank_t r) {
      auto j = join(w, r, w.net(r));
      auto half = need(j->world().split(r % 2 != 0, 0, [](void*, const rank_map&) { return team_request{}; }, nullptr));
      w.compute(r, 1000);
      if (r < 2) w.kill(r);
      const status end = (r == 2 ? *half : j->world()).exchange({}).error();
      need(end.code() == errc::peer_dead && end.peer() < 2, end.text());
      if (r == 2) w.compute(r, 4e6);
      else need(w.clock(r) < time_point{std::chrono::seconds(1)}, "told late");
    });
    need(s.ok(), s.text());
  });
  BOOST_TEST(seen.empty(), seen);
}

// A member that makes another call gives other blobs than the others look for: they say so, and name it.
BOOST_AUTO_TEST_CASE(who_calls_something_else_is_named) {
  using call = std::function<status(team&)>;
  const std::pair<const char*, call> calls[] = {
      {"split", [](team& t) { return t.split(0, 0, [](void*, const rank_map&) { return team_request{}; }, nullptr).error(); }},
      {"create", [](team& t) {
         const std::uint32_t all[] = {0, 1, 2};
         return t.create(all, [](void*, const rank_map&) { return team_request{}; }, nullptr).error();
       }},
      {"window", [](team& t) { return window::open(t, {nullptr, 64}).error(); }},
      {"broadcast", [](team& t) {
         call_record record(t);
         data_collectives data(t, record, {});
         std::byte bytes[8];
         collective_call c{.bytes = sizeof bytes, .out = bytes};
         record.enter(c.recorded());
         return data.run(c);
       }},
      {"multicast", [](team& t) { return reliable_broadcast::open(t).error(); }},
  };
  for (const auto& [name, made] : calls)
    for (const std::size_t bytes : {0, 1, 7}) {
      sim::parameters p;
      p.ranks = 3, p.limit_us = 2e6;
      sim::world w(p);
      const std::string seen = seen_by([&, made = made] {
        const status s = w.run([&](rank_t r) {
          auto j = join(w, r, w.net(r));
          const status end = r == 2 ? j->world().exchange(std::vector<std::byte>(bytes)).error() : made(j->world());
          if (r != 2) need(end.code() == errc::protocol && end.peer() == 2, end.text());
        });
        need(s.ok(), s.text());
      });
      BOOST_TEST(seen.empty(), name << ", " << bytes << " bytes: " << seen);
    }
}

// Another library needs turns of a rank that has waited for long already, one after the other, as a chain of synchronous sends does:
// each is asked for once the last was had. They come in bursts; and where none is asked for, they take little of the processor.
BOOST_AUTO_TEST_CASE(another_library_has_many_turns_of_a_wait_soon) {
  for (const unsigned wanted : {0, 1, 32, 256})
    for (const double before_us : {0.0, 30e3, 2e6}) {
      sim::parameters p;
      p.ranks = 2, p.limit_us = 2e7;
      sim::world w(p);
      unsigned turns = 0, asked = 0, had = 0;
      const std::string seen = seen_by([&] {
        const status s = w.run([&](rank_t r) {
          job_options options;
          if (r == 0) options.idle = [&] { ++turns, had = asked; };
          auto j = join(w, r, w.net(r), std::move(options));
          (void)need(j->world().exchange({}));
          turns = 0;
          if (r == 1) w.compute(r, before_us);
          const double allowed_us = before_us / 1e6 / 40 / 5e-6 + 40;
          need(turns < allowed_us, "undisturbed it took " + std::to_string(turns) + " turns, of 5 us each");
          const time_point began = w.clock(r);
          for (unsigned i = 1; r == 1 && i <= wanted; ++i)
            for (asked = i; had < i;) w.compute(r, 1);
          const double took = us(w.clock(r)) - us(began), burst_us = 2500;
          need(r == 0 || wanted == 0 || took <= (wanted / 10 + 2) * burst_us, "they took " + std::to_string(took) + " us");
          (void)need(j->world().exchange({}));
          j.reset();
        });
        need(s.ok(), s.text());
      });
      BOOST_TEST(seen.empty(), wanted << " turns after " << before_us << " us: " << seen);
    }
}

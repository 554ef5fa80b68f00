// What a rank holds is what providers/verbs/transport.h says, counted by adapters that exist in this process alone.
#include <boost/test/unit_test.hpp>
#include <thread>

#include "core/transport/multicast.h"
#include "core/transport/two_sided.h"
#include "providers/verbs/transport.h"
#include "tests/collectives/job_env.h"
#include "tests/verbs/fake_party.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// The ranks are threads of one child process, each with an adapter of its own.
void on_fakes(std::uint32_t n, const rank_body& body) {
  const run_options o;
  fake::install(roce(n));
  const run_report report = run_processes(n, true, o, [&](meeting& m, rank_t first, std::uint32_t count) {
    std::vector<std::thread> threads;
    for (rank_t r = first; r < first + count; ++r)
      threads.emplace_back([&, r] {
        run_one(m, r, [&] {
          rank_env env(m, r, o.seed, o.timeout);
          env.own_process = false;
          const std::string device = "fake" + std::to_string(r);
          open_params p;
          p.device = device, p.job_id = m.name(), p.rank = r, p.size = n;
          env.open(take(verbs::verbs_transport::open(p), "open"));
          body(env);
          env.barrier();
          env.close();
        });
      });
    for (auto& t : threads) t.join();
    for (const std::string& b : fake::breaches()) m.finish(first, rank_state::failed, b);
  });
  BOOST_TEST(report.passed(), report.text());
}

// The formula of providers/verbs/transport.h, where adapters are as generous as these. `slabs`: of buffers for two-sided messages.
void require_bounds(const rank_env& e, std::uint64_t peers, std::uint64_t groups, std::uint64_t regions, std::string_view when,
                    std::uint64_t slabs = 0) {
  const rank_t r = e.rank;
  const std::uint64_t shared = 256 + (8 * e.size + 63) / 64 * 64;
  const fake::holdings h = fake::held_by("fake" + std::to_string(r));
  const std::string at{when};
  require_equal(h.rc, peers, at + ": RC queue pairs");
  require_equal(h.ud, 1 + groups, at + ": UD queue pairs");
  require_equal(h.sends, 128 * peers + 64 + 16 * groups, at + ": requests under way, at most");
  require_equal(h.receives, shared + 256 + 128 * groups, at + ": receives");
  require_equal(h.completions, 6976 + shared, at + ": completions");
  require_equal(h.registered, regions + 1048576 + 36864 + 262144 * slabs + 594944 * groups, at + ": registered bytes");
}

constexpr std::uint64_t kib = 1024;

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_is_connected_before_it_is_used) {
  on_fakes(16, [](rank_env& e) {
    require_bounds(e, 0, 0, 0, "open");
    const area a = e.allocate(256 * kib);
    require_bounds(e, 0, 0, 256 * kib, "with a region");
    e.barrier();
    if (e.rank == 3) e.run(put(a.mine(), a.at(5), 4096)), e.flush();
    e.barrier();
    require_bounds(e, e.rank == 3 || e.rank == 5, 0, 256 * kib, "after one put");
    e.barrier();
    area gone = a;
    e.drop(gone);
    require_bounds(e, e.rank == 3 || e.rank == 5, 0, 0, "without the region");
    e.barrier();
  });
}

// A barrier connects those who signal each other, and a second one no more: of 16 ranks dissemination signals those 1, 2, 4
// and 8 further, and is signalled by those before; 8 further and 8 before is the same one.
BOOST_AUTO_TEST_CASE(a_barrier_connects_its_distinct_partners) {
  struct row { const char* name; std::uint32_t ranks; std::uint64_t most; bool exactly; };
  for (const row& b : {row{"dissemination", 16, 7, true}, row{"dissemination", 9, 6, true}, row{"pairwise", 16, 4, true},
                       row{"dissemination", 2, 1, true}, row{"tree", 16, 15, false}}) BOOST_TEST_CONTEXT(b.name << ' ' << b.ranks)
    on_fakes(b.ranks, [&](rank_env& e) {
      auto j = open_job(e);
      auto team = take(communicator::world(*j, {.barrier = b.name}), "world");
      for (int i = 0; i < 30; ++i) require(team->barrier().enter(), b.name);
      e.barrier();
      const auto opened = fake::held_by("fake" + std::to_string(e.rank)).rc;
      if (b.exactly) require_equal(opened, b.most, "queue pairs");
      require(opened <= b.most, "no more queue pairs than partners");
      if (b.ranks == 16 && std::string_view{b.name} == "tree") require(e.sum(opened) == 2 * 15, "a tree has 15 edges");
      e.barrier();
    });
}

// A sender's slots, 64 and one for each peer, and 8 receives of the target for each origin: in slabs of 64. Neither who only
// receives nor who only sends pays for the other, and nobody for ranks that it has not talked to.
BOOST_AUTO_TEST_CASE(two_sided_messages_cost_those_who_talk) {
  on_fakes(16, [](rank_env& e) {
    two_sided& net = *e.net().sendrecv();
    const std::uint64_t before = fake::held_by("fake" + std::to_string(e.rank)).registered;
    const auto send = [&](rank_t to) { e.until("a message to be taken", [&] { return net.send(to, {}, {}); }); };
    const auto receive = [&](std::uint32_t count) {
      two_sided::message m;
      while (count) e.until("a message", [&] { return net.receive(m); }), --count;
    };
    const auto holds = [&](std::uint64_t peers, std::uint64_t slabs, std::string_view when) {
      e.barrier();
      require_bounds(e, peers, 0, 0, when, slabs);
      const auto limits = net.query();
      const std::uint64_t grown = fake::held_by("fake" + std::to_string(e.rank)).registered - before;
      require((1 << 20) + grown <= limits.fixed_bytes + peers * limits.peer_bytes, "no more than it says");
      e.barrier();
    };
    if (e.rank == 1) send(2);
    if (e.rank == 2) receive(1);
    holds(e.rank == 1 || e.rank == 2, e.rank == 1 ? 2 : e.rank == 2 ? 1 : 0, "after one message");
    if (e.rank != 0 && e.rank <= 9) send(0);
    if (e.rank == 0) receive(9);
    holds(e.rank == 0 ? 9 : e.rank <= 2 ? 2 : e.rank <= 9, e.rank == 0 ? 2 : e.rank == 2 ? 3 : e.rank <= 9 ? 2 : 0, "after ten");
  });
}

BOOST_AUTO_TEST_CASE(a_multicast_group_costs_one_queue_pair_and_its_buffers) {
  on_fakes(3, [](rank_env& e) {
    const auto far_off = e.net().now() + std::chrono::seconds{20};
    std::vector<std::byte> token;
    multicast& m = *e.net().mcast();
    multicast::group_id g{};
    if (e.rank == 0) g = take(m.create(rank_map::strided(0, e.size), token, far_off), "create");
    const auto tokens = e.exchange(token);
    if (e.rank != 0) g = take(m.join(rank_map::strided(0, e.size), (*tokens)[0], far_off), "join");
    e.barrier();
    require_bounds(e, 0, 1, 0, "in a group");
    e.barrier();
    m.leave(g);
    require_bounds(e, 0, 0, 0, "left it");
    e.barrier();
  });
}

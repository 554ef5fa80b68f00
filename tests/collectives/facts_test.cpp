// Members of a team choose by what all have agreed on, never by what their own transport tells.
#include <boost/test/unit_test.hpp>

#include <mutex>
#include <set>
#include <thread>

#include "collectives/communicator.h"
#include "collectives/pick.h"
#include "core/transport/forwarding_transport.h"
#include "tests/doubles/bootstrap_threads.h"

using namespace tutti;

namespace {

// As if each rank had an adapter of its own kind.
class unlike_costs final : public forwarding_transport {
 public:
  unlike_costs(std::unique_ptr<transport> inner, rank_t r) : forwarding_transport(std::move(inner)), caps_(forwarding_transport::caps()) {
    // By themselves the ranks would choose one of each.
    constexpr loggp kinds[] = {{100, 0.01, 0.01, 1}, {0.1, 10, 10, 100}, {0.1, 0.1, 0.1, 1}, {1, 0.02, 0.5, 0.1}};
    caps_.cost = kinds[r % 4], caps_.node_cost.reset();
    caps_.native_atomics = caps_.native_atomics && r % 2 == 0;
  }
  const capabilities& caps() const noexcept override { return caps_; }

 private:
  capabilities caps_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_agreed_holds_for_all_in_whatever_order) {
  fabric_facts a{.network = {1, 2, 3, 4}, .node = {1, 1, 1, 1}, .max_bytes = 10, .target_must_progress = 0, .native_atomics = 1, .maps_node = 1};
  a.network_message = 3000, a.node_message = 0;
  fabric_facts b{.network = {4, 3, 2, 1}, .node = {1, 1, 1, 1}, .max_bytes = 7, .target_must_progress = 1, .native_atomics = 0, .maps_node = 1};
  b.network_message = 2000, b.node_message = 1000;
  fabric_facts ab = a, ba = b;
  agree(ab, b), agree(ba, a);
  for (const fabric_facts& both : {ab, ba}) {
    BOOST_TEST((both.network.latency_us == 4 && both.network.overhead_us == 3 && both.network.gap_us == 3 && both.network.bytes_per_ns == 1));
    BOOST_TEST((both.max_bytes == 7 && both.target_must_progress == 1 && both.native_atomics == 0 && both.maps_node == 1));
    BOOST_TEST((both.network_message == 2000 && both.node_message == 1000));  // 0 is none
  }
}

BOOST_AUTO_TEST_CASE(unlike_ranks_make_one_choice) {
  constexpr std::uint32_t n = 8;
  const provider* const shm = find_provider("shm")->impl;
  auto boots = make_thread_bootstraps(n);
  std::mutex books;
  std::set<std::string> of_world, of_half, of_broadcast;
  std::vector<std::string> wrong;
  std::vector<std::thread> ranks;
  for (rank_t r = 0; r < n; ++r)
    ranks.emplace_back([&, r] {
      const auto note = [&](const status& s) {
        if (s.failed()) {
          const std::lock_guard hold(books);
          wrong.push_back(s.text());
        }
        return s.ok();
      };
      auto& boot = *boots[r];
      auto net = shm->open({.job_id = boot.job_id(), .rank = r, .size = n});
      if (!note(net.error())) return;
      auto j = job::open(std::move(boots[r]), std::make_unique<unlike_costs>(std::move(*net), r), {.world_lines = communicator::world_lines});
      if (!note(j.error())) return;
      auto world = communicator::world(**j, {});
      if (!note(world.error())) return;
      auto half = (*world)->split(static_cast<std::int32_t>(r % 2), 0, {});
      if (!note(half.error())) return;
      // Members that had chosen differently would wait for ever.
      const time_point late = (*j)->net().now() + std::chrono::seconds(20);
      for (int i = 0; i < 20; ++i)
        if (!note((*world)->barrier().enter(late)) || !note((*half)->barrier().enter(late))) return;
      std::uint64_t word = r;
      for (int i = 0; i < 5; ++i)
        if (!note((*world)->broadcast(3, std::as_writable_bytes(std::span{&word, 1}), late))) return;
      {
        const std::lock_guard hold(books);
        if (word != 3) wrong.push_back("the broadcast brought something else");
        of_world.insert(to_string((*world)->barrier().choice()));
        of_half.insert(to_string((*half)->barrier().choice()));
        of_broadcast.insert(std::string((*world)->data().choices().algorithm_for(collective::broadcast, 8).name));
      }
      note((*world)->group().settle(late));
    });
  for (std::thread& t : ranks) t.join();
  for (const std::string& w : wrong) BOOST_ERROR(w);
  BOOST_TEST((of_world.size() == 1 && of_half.size() == 1 && of_broadcast.size() == 1));
}

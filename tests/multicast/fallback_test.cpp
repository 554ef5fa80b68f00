// Where multicast cannot be formed, or does not arrive at somebody, all members go without it, alike; unless it was asked
// for: then all are told who could not, and why.
#include <boost/test/unit_test.hpp>

#include "core/transport/forwarding_transport.h"
#include "core/transport/multicast.h"
#include "tests/collectives/job_env.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// A multicast whose create() or join() fails, as behind a switch that filters.
class deaf_multicast final : public multicast {
 public:
  deaf_multicast(multicast& inner, bool deaf) : inner_(inner), deaf_(deaf) {}
  limits query() const noexcept override {
    limits l = inner_.query();
    l.latency_us = 0.001;  // so quick that the choice falls upon it
    return l;
  }
  result<group_id> create(const rank_map& m, std::vector<std::byte>& token, time_point d) override {
    if (deaf_) return status{errc::no_resource, "no socket"};
    return inner_.create(m, token, d);
  }
  result<group_id> join(const rank_map& m, std::span<const std::byte> token, time_point d) override {
    if (deaf_) return status{errc::unavailable, "a switch filters it"};
    return inner_.join(m, token, d);
  }
  bool send(group_id g, std::uint32_t tag, std::span<const std::byte> p) noexcept override { return inner_.send(g, tag, p); }
  bool receive(group_id g, datagram& d) noexcept override { return inner_.receive(g, d); }
  void leave(group_id g) noexcept override { inner_.leave(g); }

 private:
  multicast& inner_;
  bool deaf_;
};

class deaf_transport final : public forwarding_transport {
 public:
  deaf_transport(std::unique_ptr<transport> inner, bool deaf)
      : forwarding_transport(std::move(inner)), mc_(*forwarding_transport::inner().mcast(), deaf) {}
  multicast* mcast() noexcept override { return &mc_; }

 private:
  deaf_multicast mc_;
};

void a_deaf_rank(const fabric_spec& fabric, std::uint32_t ranks, rank_t deaf) {
  BOOST_TEST_CONTEXT(fabric.name << " of " << ranks << ", rank " << deaf << " deaf")
  run_ranks(fabric, ranks, [&](rank_env& env) {
    env.wrap([&](std::unique_ptr<transport> net) { return std::make_unique<deaf_transport>(std::move(net), env.rank == deaf); });
    host_id own{};  // a node each: there, multicast pays
    own[0] = std::byte(env.rank + 1);
    auto j = open_job(env, {}, own);
    auto world = take(communicator::world(*j, {}), "world");
    require((world->barrier().mcast() != nullptr) == (deaf == no_rank), "who multicasts");
    if (deaf == no_rank) {
      require(world->group().exchange({}).error(), "leaving");
      return env.barrier();
    }
    for (int e = 0; e < 20; ++e) require(world->barrier().enter(), "the barrier without multicast");
    // A team without the deaf rank may have it, and its parent goes on without.
    auto some = take(world->split(env.rank == deaf ? -1 : 0, 0, {}), "split");
    for (int e = 0; some && e < 20; ++e) require(some->barrier().enter(), "a team's barrier");
    // Asked for by name: an error, in all alike, that names the rank and its reason.
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < ranks; ++i) all.push_back(i);
    const auto forced = world->create(all, {.barrier = "rgm:3"});
    require(!forced.ok() && forced.error().code() == errc::unavailable, "forced");
    const std::string text = forced.error().text();
    require(text.find("rank " + std::to_string(deaf)) != text.npos, text);
    require(text.find(deaf == 0 ? "no socket" : "a switch filters it") != text.npos, text);
    require(world->barrier().enter(), "the world still works");
    require(world->group().exchange({}).error(), "leaving");
    env.barrier();
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_go_without_it_alike) {
  std::vector<std::string> names{"shm"};
  for (const fabric_spec& f : fabrics())
    if (f.name == "ucx:tcp") names.push_back("driven(ucx:tcp)");  // without the thread nothing chooses multicast
  for (const std::string& name : names)
    for (const rank_t deaf : {rank_t{0}, rank_t{3}, no_rank}) a_deaf_rank({name}, 5, deaf);
}

// Multicast of a router: once over the network for each node, inside a node by its own transport; whatever is refused on
// the way is handed on later; who leads hands on until its mates have left.
#include <boost/test/unit_test.hpp>
#include <deque>
#include <map>

#include "core/transport/forwarding_transport.h"
#include "core/router/multicast.h"
#include "core/transport/multicast.h"
#include "tests/collectives/job_env.h"
#include "tests/core/fake_transport.h"
#include "tests/harness/composed.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// A fabric of one process: groups that all its ends know, datagrams in queues.
struct exchange_office {
  struct box {
    rank_t who;
    std::deque<std::tuple<rank_t, std::uint32_t, std::vector<std::byte>>> mail;
    std::vector<std::byte> given;
  };
  std::map<std::uint32_t, std::vector<box>> groups;
  std::uint32_t next = 1;
  unsigned sent = 0, refuse = 0;  // the next `refuse` are
  status closed;                  // why nobody can join
};

class office_multicast final : public multicast {
 public:
  office_multicast(exchange_office& o, rank_t self) : o_(o), self_(self) {}
  limits query() const noexcept override { return {200, 32, 64}; }
  result<group_id> create(const rank_map& members, std::vector<std::byte>& token, time_point) override {
    const std::uint32_t id = o_.next++;
    for (std::uint32_t i = 0; i < members.size(); ++i) members_[id].push_back(members[i]);
    token.assign(reinterpret_cast<const std::byte*>(&id), reinterpret_cast<const std::byte*>(&id) + sizeof id);
    o_.groups[id].push_back({self_, {}, {}});
    return group_id{id};
  }
  result<group_id> join(const rank_map& members, std::span<const std::byte> token, time_point) override {
    if (o_.closed.failed()) return o_.closed;
    require(members.index_of(self_) < members.size(), "who joins is a member");
    std::uint32_t id = 0;
    std::memcpy(&id, token.data(), sizeof id);
    o_.groups[id].push_back({self_, {}, {}});
    return group_id{id};
  }
  bool send(group_id g, std::uint32_t tag, std::span<const std::byte> p) noexcept override {
    if (o_.refuse && o_.refuse--) return false;
    ++o_.sent;
    for (auto& b : o_.groups[static_cast<std::uint32_t>(g)])
      if (b.who != self_) b.mail.emplace_back(self_, tag, std::vector<std::byte>(p.begin(), p.end()));
    return true;
  }
  bool receive(group_id g, datagram& d) noexcept override {
    for (auto& b : o_.groups[static_cast<std::uint32_t>(g)]) {
      if (b.who != self_ || b.mail.empty()) continue;
      auto& [from, tag, payload] = b.mail.front();
      b.given = std::move(payload);
      d = {from, tag, b.given};
      b.mail.pop_front();
      return true;
    }
    return false;
  }
  void leave(group_id g) noexcept override {
    std::erase_if(o_.groups[static_cast<std::uint32_t>(g)], [&](const auto& b) { return b.who == self_; });
  }

 private:
  exchange_office& o_;
  rank_t self_;
  std::map<std::uint32_t, std::vector<rank_t>> members_;
};

// Ranks of one process; rank r lives on node r / 3. Lobbies are unregistered memory.
class small_world {
 public:
  static constexpr std::uint32_t size = 7;  // nodes of 3, 3 and 1
  exchange_office inside, outside;

  small_world() {
    std::vector<std::uint32_t> node_of;
    for (rank_t r = 0; r < size; ++r) node_of.push_back(r / 3);
    for (rank_t r = 0; r < size; ++r) {
      near_mc.push_back(std::make_unique<office_multicast>(inside, r));
      far_mc.push_back(std::make_unique<office_multicast>(outside, r));
      near.push_back(std::make_unique<mapping_transport>(*this, near_mc.back().get()));
      far.push_back(std::make_unique<mapping_transport>(*this, far_mc.back().get()));
      lobbies.push_back(std::make_unique<node_lobby>(*near.back()));
      take(lobbies.back()->address(), "lobby");
      memory.push_back(near.back()->given);
    }
    for (rank_t r = 0; r < size; ++r) {
      require(lobbies[r]->connect({r}, std::make_shared<blob_table>()), "lobby");
      ranks.push_back(std::make_unique<router_multicast>(*near[r], *far[r], r, node_of, *lobbies[r], [this] { return progress(); }));
    }
  }
  unsigned progress() {
    for (auto& r : ranks) r->progress();
    return 0;
  }
  // All of them, created by `creator`; leaders join before their mates, who would wait for them in this one thread.
  std::vector<multicast::group_id> join_all(rank_t creator) {
    const rank_map members = rank_map::strided(0, size);
    std::vector<std::byte> token;
    std::vector<multicast::group_id> ids(size);
    ids[creator] = take(ranks[creator]->create(members, token, time_point::max()), "create");
    for (rank_t r = 0; r < size; ++r)
      if (r != creator) ids[r] = take(ranks[r]->join(members, token, time_point::max()), "join");
    return ids;
  }

  struct mapping_transport final : forwarding_transport {
    mapping_transport(small_world& w, multicast* m) : forwarding_transport(std::make_unique<fake_transport>("near")), world(w), mc(m) {}
    multicast* mcast() noexcept override { return mc; }
    result<region_id> allocate(std::size_t bytes, std::span<std::byte>& out) override {
      own.resize(bytes / sizeof own[0]);
      out = given = std::as_writable_bytes(std::span{own});
      return region_id{};
    }
    std::byte* map(segment_id, rank_t r) noexcept override { return world.memory[r].data(); }
    small_world& world;
    multicast* mc;
    std::vector<std::uint64_t> own;
    std::span<std::byte> given;
  };
  std::vector<std::unique_ptr<office_multicast>> near_mc, far_mc;
  std::vector<std::unique_ptr<mapping_transport>> near, far;
  std::vector<std::unique_ptr<node_lobby>> lobbies;
  std::vector<std::span<std::byte>> memory;
  std::vector<std::unique_ptr<router_multicast>> ranks;
};

std::vector<std::pair<rank_t, std::uint32_t>> everything(multicast& m, multicast::group_id g) {
  std::vector<std::pair<rank_t, std::uint32_t>> all;
  for (multicast::datagram d; m.receive(g, d);) {
    require(text_of(d.payload) == "payload " + std::to_string(d.tag), "the payload");
    all.emplace_back(d.from, d.tag);
  }
  return all;
}

bool send(multicast& m, multicast::group_id g, std::uint32_t tag) {
  return m.send(g, tag, bytes_of("payload " + std::to_string(tag)));
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_node_gets_one_over_the_network) {
  for (const rank_t creator : {0u, 4u, 6u}) {
    small_world w;
    const auto g = w.join_all(creator);
    for (rank_t sender = 0; sender < w.size; ++sender) {
      w.inside.sent = w.outside.sent = 0;
      BOOST_TEST(send(*w.ranks[sender], g[sender], 10 + sender));
      for (int i = 0; i < 3; ++i) w.progress();
      for (rank_t r = 0; r < w.size; ++r) {
        const auto got = everything(*w.ranks[r], g[r]);
        const std::vector<std::pair<rank_t, std::uint32_t>> one{{sender, 10 + sender}};
        BOOST_TEST((r == sender ? got.empty() : got == one), "creator " << creator << ", " << sender << " to " << r);
      }
      // Two nodes have mates inside; a mate's own sending inside is the first of its node's two.
      BOOST_TEST(w.outside.sent == 1u);
      BOOST_TEST(w.inside.sent == 2u);
    }
  }
}

BOOST_AUTO_TEST_CASE(groups_within_a_node_or_of_one_a_node_use_one_transport) {
  small_world w;
  for (const auto& [ranks, near, far] : {std::tuple{std::vector<rank_t>{5, 3}, 1u, 0u}, {{6, 1, 4}, 0u, 1u}}) {
    const rank_map members = rank_map::listed(ranks);
    std::vector<std::byte> token;
    std::map<rank_t, multicast::group_id> g;
    g[ranks[0]] = take(w.ranks[ranks[0]]->create(members, token, time_point::max()), "create");
    for (std::size_t i = 1; i < ranks.size(); ++i) g[ranks[i]] = take(w.ranks[ranks[i]]->join(members, token, time_point::max()), "join");
    w.inside.sent = w.outside.sent = 0;
    BOOST_TEST(send(*w.ranks[ranks[1]], g[ranks[1]], 7));
    BOOST_TEST(w.inside.sent == near);
    BOOST_TEST(w.outside.sent == far);
    for (const rank_t r : ranks) BOOST_TEST(everything(*w.ranks[r], g[r]).size() == (r == ranks[1] ? 0u : 1u));
  }
}

// Refused at every single one of the sends that a datagram takes on its way: none is lost, none is doubled.
BOOST_AUTO_TEST_CASE(what_is_refused_is_handed_on_later) {
  for (const bool at_network : {false, true})
    for (unsigned refusals = 1; refusals <= 6; ++refusals) {
      small_world w;
      const auto g = w.join_all(0);
      (at_network ? w.outside : w.inside).refuse = refusals;
      std::uint32_t taken = 0;
      for (int i = 0; i < 60 && taken < 20; ++i) {
        taken += send(*w.ranks[4], g[4], taken);
        w.progress();
      }
      BOOST_TEST(taken == 20u);
      for (int i = 0; i < 20; ++i) w.progress();
      for (rank_t r = 0; r < w.size; ++r) {
        BOOST_TEST(!w.ranks[r]->owes());
        const auto got = everything(*w.ranks[r], g[r]);
        BOOST_TEST(got.size() == (r == 4 ? 0u : 20u));
        for (std::uint32_t i = 0; i < got.size(); ++i) BOOST_TEST(got[i].second == i);
      }
    }
}

BOOST_AUTO_TEST_CASE(a_leader_that_does_not_fetch_hands_on_all_the_same) {
  small_world w;
  const auto g = w.join_all(0);
  for (std::uint32_t i = 0; i < 500; ++i) {
    BOOST_TEST(send(*w.ranks[0], g[0], i));
    w.progress();
    BOOST_TEST(everything(*w.ranks[4], g[4]).size() == 1u);  // its leader, rank 3, fetches nothing
  }
  const auto kept = everything(*w.ranks[3], g[3]);
  BOOST_TEST(kept.size() == 64u);
}

BOOST_AUTO_TEST_CASE(a_leader_that_left_hands_on_until_its_mates_have) {
  small_world w;
  const auto g = w.join_all(0);
  w.ranks[3]->leave(g[3]);
  BOOST_TEST(send(*w.ranks[0], g[0], 1));
  w.progress();
  BOOST_TEST(everything(*w.ranks[4], g[4]).size() == 1u);
  BOOST_TEST(everything(*w.ranks[5], g[5]).size() == 1u);
  w.ranks[4]->leave(g[4]);
  BOOST_TEST(send(*w.ranks[0], g[0], 2));
  w.progress();
  BOOST_TEST(everything(*w.ranks[5], g[5]).size() == 1u);
  w.ranks[5]->leave(g[5]);
  w.progress();
  for (const auto& [id, boxes] : w.outside.groups)
    for (const auto& b : boxes) BOOST_TEST(b.who != 3u);
  // Nothing is left behind however often: lobbies and inner groups are finite.
  for (int i = 0; i < 100; ++i) {
    const auto again = w.join_all(i % w.size);
    for (rank_t r = 0; r < w.size; ++r) w.ranks[(r + i) % w.size]->leave(again[(r + i) % w.size]);
    w.progress();
  }
}

BOOST_AUTO_TEST_CASE(mates_fail_with_their_leader) {
  small_world w;
  const rank_map members = rank_map::strided(0, w.size);
  for (int i = 0; i < 100; ++i) {  // reasons that were left give way to later ones
    std::vector<std::byte> token;
    const auto g = take(w.ranks[0]->create(members, token, time_point::max()), "create");
    // What the leader met, and not the leader, is what its mates are told.
    w.outside.closed = i % 2 ? status{errc::unavailable, "a switch filters it", 0} : status{errc::peer_dead, "rank 0 died", 0};
    for (const rank_t r : {3u, 4u, 5u}) {
      const auto joined = w.ranks[r]->join(members, token, time_point::max());
      BOOST_REQUIRE(!joined.ok());
      BOOST_TEST((joined.error().code() == w.outside.closed.code()));
      BOOST_TEST(joined.error().peer() == 0u);
      BOOST_TEST(std::string(joined.error().text()).find(w.outside.closed.text()) != std::string::npos);
    }
    w.outside.closed = {};
    w.ranks[0]->leave(g);  // its mates never came: they will not, in a job they would all have failed alike
    for (const rank_t r : {1u, 2u}) w.ranks[r]->leave(take(w.ranks[r]->join(members, token, time_point::max()), "join"));
    w.progress();
  }
}

BOOST_AUTO_TEST_CASE(foreign_tokens_are_refused) {
  small_world w;
  const rank_map members = rank_map::strided(0, w.size);
  std::vector<std::byte> token;
  (void)take(w.ranks[0]->create(members, token, time_point::max()), "create");
  token.pop_back();
  BOOST_TEST((w.ranks[1]->join(members, token, time_point::max()).error().code() == errc::protocol));
  BOOST_TEST((w.ranks[1]->join(members, {}, time_point::max()).error().code() == errc::protocol));
}

// Barriers over real transports, where the ranks of one parity take each other for a node.
BOOST_AUTO_TEST_CASE(barriers_across_nodes) {
  std::vector<std::string> missing;
  for (const fabric_spec& fabric : composed_fabrics(fabrics(&missing))) {
    if (!fabric.name.starts_with("router")) continue;
    for (const std::uint32_t n : {2u, 3u, 5u, 8u}) {
      const attendance books(n);
      run_ranks(fabric, n, [&](rank_env& env) {
        host_id node{};
        node[0] = std::byte(1 + env.rank % 2);
        auto j = open_job(env, {}, node);
        auto world = take(communicator::world(*j, {}), "world");
        std::vector<std::uint32_t> all;
        for (std::uint32_t i = 0; i < n; ++i) all.push_back(i);
        std::uint64_t base = 0;
        for (const char* name : {"rgm:1", "rgm:3", "rgm:15", "hierarchical:multicast", "hierarchical:multicast:1"}) {
          auto team = take(world->create(all, {.barrier = name}), name);
          for (std::uint64_t e = 1; e <= 60; ++e) {
            if (env.random() % 8 == 0) env.pause(std::chrono::microseconds(env.random() % 300));
            books.enter(env.rank, base + e);
            require(team->barrier().enter(), name);
            books.left(base + e);
          }
          base += 100;
          require(world->barrier().enter(), "between");
        }
        require(world->group().exchange({}).error(), "leaving");
        env.barrier();
      });
    }
  }
}

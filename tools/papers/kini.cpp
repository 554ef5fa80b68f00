// Kini, Liu, Wu, Wyckoff, Panda (2003): barriers by RDMA writes and multicast on InfiniBand, two clusters.
#include <algorithm>

#include "core/transport/multicast.h"
#include "tools/papers/figure.h"
#include "tools/sim/joined.h"

namespace tutti::tools::papers {
namespace {

constexpr struct {
  const char* key;
  const char* name;
  const char* barrier;
} contestants[] = {{"pe", "MPI-PE", "messages:pairwise"},
                   {"ds", "MPI-DS", "messages:dissemination"},
                   {"rpe", "RPE", "pairwise"},
                   {"rds", "RDS", "dissemination"},
                   {"rgm", "RGM, fan-in 7", "multicast:7"}};

constexpr struct {
  const char* name;
  const char* title;
  std::uint32_t nodes;
} clusters[] = {{"1", "cluster 1", 8}, {"2", "cluster 2", 16}};

// All contestants on both clusters, for these numbers of nodes.
void barriers(lab& here, measured& m, bool (*wanted)(std::uint32_t nodes), std::initializer_list<std::string_view> keys) {
  std::vector<barrier_loop> loops;
  for (const auto& c : contestants) loops.push_back({c.barrier, {}});
  for (const auto& cluster : clusters) {
    picture p{std::string("Barrier, ") + cluster.title, "nodes", "us", {}};
    for (const auto& key : keys) p.keys.push_back(std::string(cluster.name) + "/" + std::string(key));
    m.pictures.push_back(std::move(p));
    for (std::uint32_t n = 2; n <= std::min(cluster.nodes, here.most_ranks()); ++n) {
      if (!wanted(n)) continue;
      const auto us = here.turns(here.at(cluster.title), n, loops);
      for (std::size_t i = 0; i < us.size(); ++i)
        m.add(std::string(cluster.name) + "/" + contestants[i].key, contestants[i].name, n, us[i]);
    }
  }
}

void fan_in(lab& here, measured& m) {
  m.pictures.push_back({"RGM by fan-in, cluster 2", "nodes", "us", {}});
  std::vector<barrier_loop> loops;
  for (const char* l : {"1", "3", "7", "15"}) {
    loops.push_back({std::string("multicast:") + l, {}});
    m.pictures[0].keys.push_back(std::string("fan-in ") + l);
  }
  for (std::uint32_t n = 2; n <= std::min(16u, here.most_ranks()); ++n) {
    const auto us = here.turns(here.at("cluster 2"), n, loops);
    for (std::size_t i = 0; i < us.size(); ++i) m.add(m.pictures[0].keys[i], m.pictures[0].keys[i], n, us[i]);
  }
  // Over all group sizes: what one fan-in for all of them is to be chosen by.
  for (const std::string& key : m.pictures[0].keys)
    if (const curve_of* c = m.find(key)) {
      double sum = 0;
      for (const auto& [n, us] : c->at) sum += us;
      m.add("mean", "mean over the group sizes", std::stod(key.substr(7)), sum / static_cast<double>(c->at.size()));
    }
}

// One datagram, from its sender's call until the last of the others has it (2.1.3).
void one_multicast(lab& here, measured& m) {
  m.pictures.push_back({"Multicast of a byte, cluster 1", "receivers", "us", {"multicast"}});
  for (const std::uint32_t receivers : {1u, 3u, 7u}) {
    sim::parameters p = here.at("cluster 1").fabric;
    p.ranks = receivers + 1;
    sim::world w(p);
    double last = 0;
    need(run_ranks(w, [&](rank_t r) {
      const auto j = join_simulated(w, r, {});
      auto token = std::vector<std::byte>{};
      const rank_map all = rank_map::strided(0, w.size());
      if (r == 0) token.resize(4);
      auto group = r == 0 ? j->net().mcast()->create(all, token, time_point::max()) : multicast::group_id{};
      const shared_blobs tokens = need(w.boot(r).allgather(token, time_point::max()));
      if (r > 0) group = j->net().mcast()->join(all, (*tokens)[0], time_point::max());
      const time_point start = latest_clock(w, r) + std::chrono::microseconds(10);
      if (r == 0) {
        w.compute(r, std::chrono::duration<double, std::micro>(start - w.clock(r)).count());
        const std::byte one{1};
        while (!j->net().mcast()->send(need(std::move(group)), 1, {&one, 1})) j->progress();
      } else {
        multicast::datagram got;
        const multicast::group_id mine = need(std::move(group));
        while (!j->net().mcast()->receive(mine, got)) j->progress();
        last = std::max(last, std::chrono::duration<double, std::micro>(w.clock(r) - start).count());
      }
      (void)latest_clock(w, r);
    }));
    m.add("multicast", "multicast", receivers, last);
  }
}

bool powers(std::uint32_t n) { return (n & (n - 1)) == 0; }
bool any(std::uint32_t) { return true; }

}  // namespace

const std::vector<figure> kini_figures = {
    {"kini-multicast", "kini", one_multicast},
    {"kini-6", "kini", fan_in, true},
    {"kini-7", "kini", [](lab& l, measured& m) { barriers(l, m, powers, {"pe", "rpe", "rds", "rgm"}); }, true},
    {"kini-8", "kini", [](lab& l, measured& m) { barriers(l, m, any, {"pe", "rpe", "rds", "rgm"}); }, true},
    {"kini-9", "kini", [](lab& l, measured& m) { barriers(l, m, any, {"ds", "rds", "rgm"}); }, true},
};

}  // namespace tutti::tools::papers

// Gupta, Tipparaju, Nieplocha, Panda (2002): barriers by RDMA writes on VIA, joined with shared memory within a node; three clusters.
#include "tools/papers/figure.h"

namespace tutti::tools::papers {
namespace {

constexpr const char* messages = "messages:pairwise";

void power_of_two_nodes(lab& here, measured& m) {
  const struct {
    const char* key;
    const char* title;
    std::uint32_t nodes;
  } clusters[] = {{"1", "cluster 1", 8}, {"2", "cluster 2", 16}, {"3", "cluster 3", 32}};
  const barrier_loop loops[] = {{messages, {}}, {"pairwise", {}}};
  for (const auto& cluster : clusters) {
    const std::string key = cluster.key;
    m.pictures.push_back({std::string("One task a node, ") + cluster.title, "nodes", "us", {key + "/mp", key + "/rdma"}});
    machine one = here.at(cluster.title);
    one.fabric.ranks_per_node = 1;
    for (std::uint32_t n = 2; n <= std::min(cluster.nodes, here.most_ranks()); n *= 2) {
      const auto us = here.turns(one, n, loops);
      m.add(key + "/mp", "message passing", n, us[0]);
      m.add(key + "/rdma", "RDMA", n, us[1]);
    }
  }
}

void any_nodes(lab& here, measured& m) {
  const barrier_loop loops[] = {{messages, {}}, {"pairwise", {}}};
  for (const std::uint32_t cluster : {1u, 2u}) {
    const std::string key = std::to_string(cluster);
    m.pictures.push_back({"All nodes, cluster " + key, "nodes", "us", {key + "/mp", key + "/rdma"}});
    for (std::uint32_t n = 2; n <= std::min(8 * cluster, here.most_ranks()); ++n) {
      const auto us = here.turns(here.at("cluster " + key), n, loops);
      m.add(key + "/mp", "message passing", n, us[0]);
      m.add(key + "/rdma", "RDMA", n, us[1]);
    }
  }
}

// One and two tasks a node. The nodes' masters meet by RDMA, the tasks of a node by flags in shared memory.
void tasks(lab& here, measured& m) {
  m.pictures.push_back({"Cluster 3", "nodes", "us", {"mp 1", "mp 2", "rdma 1", "rdma 2"}});
  for (const std::uint32_t tasks : {1u, 2u}) {
    machine flags = here.at("cluster 3"), sends = here.at("cluster 3 messages");
    flags.fabric.ranks_per_node = sends.fabric.ranks_per_node = tasks;
    for (std::uint32_t n = 2; n <= 32; n *= 2) {
      const double us[] = {here.turn(sends, n * tasks, {messages, {}}),
                           here.turn(flags, n * tasks, {tasks == 1 ? "pairwise" : "hierarchical", {}})};
      const std::string t = std::to_string(tasks), a_node = t + (tasks == 1 ? " task a node" : " tasks a node");
      m.add("mp " + t, "message passing, " + a_node, n, us[0]);
      m.add("rdma " + t, "RDMA, " + a_node, n, us[1]);
    }
  }
}

}  // namespace

const std::vector<figure> gupta_figures = {
    {"gupta-4", "gupta", power_of_two_nodes, true},
    {"gupta-5", "gupta", any_nodes, true},
    {"gupta-6", "gupta", tasks},
};

}  // namespace tutti::tools::papers

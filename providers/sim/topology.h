// How the nodes of a simulated network are wired: which links a message takes from one node to another. Routes are static, as
// InfiniBand's forwarding tables are: a function of the two nodes alone, so that messages of a pair keep to one path and cannot
// overtake each other on it.
//
// flat       Every pair of nodes has a wire of its own: LogGP, and no links at all.
// fat tree   (Leiserson 1985; the form with whole switches is the extended generalized fat tree of Öhring et al. 1995.) A switch of the
//            lowest level has `down` nodes below and `up` cables above, and so has each switch above it, over as many levels
//            as the nodes need. up == down: full bisection; fewer: oversubscribed. A message climbs to the lowest switch that has
//            its target below; at level l it takes the cable that digit l of the target's number in base `up` says ("d-mod-k", Zahavi
//            2012): all messages to one node come down one path, and a shift of all nodes by a constant meets no contention.
// torus      `x` by `y` by `z` nodes, each with a router and a link in each of six directions. Dimension order (Dally and Seitz 1987):
//            first along x, the shorter way round, then y, then z; half way round is gone in the positive direction.
// dragonfly  (Kim, Dally, Scott, Abts 2008.) A router has `nodes` nodes; `routers` routers, each with a link to each other, are
//            a group; and each router has `globals` cables to other groups, dealt out in order of their numbers. Where there are more cables than other groups,
//            several lead to each, and the target's number says which one is taken. Minimal routes: to the router with the cable, over it, to the
//            target's router, and down.
//
// A link is a cable in one direction. Its index tells what it is (name()).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace tutti::sim {

enum class wiring : std::uint8_t { flat, fat_tree, torus, dragonfly };
inline constexpr std::string_view wiring_names[] = {"flat", "fat-tree", "torus", "dragonfly"};

struct topology_parameters {
  wiring kind = wiring::flat;
  double hop_us = 0.1;                        // each link adds this to a message's time: the cable and the switch behind it
  double link_bytes_per_ns = 0;               // of a link; 0: as an adapter's
  std::uint32_t down = 18, up = 18;           // fat tree
  std::uint32_t x = 0, y = 0, z = 0;          // torus; 0: chosen, as near to a cube as the nodes allow
  std::uint32_t nodes = 4, routers = 8, globals = 4;  // dragonfly: a router's nodes, a group's routers, a router's cables to other groups
  bool operator==(const topology_parameters&) const = default;
};

class topology {
 public:
  // `invalid`: so many nodes do not fit, saying what would.
  static result<topology> make(const topology_parameters&, std::uint32_t nodes);

  bool flat() const noexcept { return p_.kind == wiring::flat; }
  std::uint32_t links() const noexcept { return links_; }
  // Links from one node to another; 0 where they are one, or where the network is flat.
  std::uint32_t hops(std::uint32_t from, std::uint32_t to) const noexcept;
  double mean_hops() const noexcept;           // from node 0 to others, of up to a thousand of them
  // The one that comes after `taken` others. Cost: O(1).
  std::uint32_t link(std::uint32_t from, std::uint32_t to, std::uint32_t taken) const noexcept;
  std::string name(std::uint32_t link) const;  // "from switch 3 of level 1 up, 2"
  std::string describe() const;                // "fat tree of 3 levels, 18 down and 18 up"

 private:
  struct level {                       // fat tree: the cables between it and the next
    std::uint64_t span = 1;            // nodes below one of its switches; of level 0, the nodes themselves
    std::uint32_t trees = 0, width = 1;  // its subtrees; cables that each has upwards
    std::uint32_t first = 0;           // link: the ways up of all trees, then the ways down
  };
  struct step {                        // torus: moves along each dimension, and their direction
    std::uint32_t moves[3];
    bool back[3];
  };
  std::uint32_t common_level(std::uint32_t from, std::uint32_t to) const noexcept;
  step along(std::uint32_t from, std::uint32_t to) const noexcept;
  std::uint32_t dragonfly_route(std::uint32_t from, std::uint32_t to, std::uint32_t* out) const noexcept;
  std::uint32_t cable_to(std::uint32_t group, std::uint32_t other, std::uint32_t to) const noexcept;

  topology_parameters p_;
  std::uint32_t nodes_ = 0, links_ = 0;
  std::vector<level> levels_;
  std::uint32_t size_[3] = {};         // torus
  std::uint32_t groups_ = 0;           // dragonfly
};

}  // namespace tutti::sim

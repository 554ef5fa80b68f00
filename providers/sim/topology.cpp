// Routes as arithmetic: no tables, so a hundred thousand nodes cost nothing.
#include "providers/sim/topology.h"

#include <algorithm>
#include <cmath>

namespace tutti::sim {

namespace {

constexpr std::uint64_t most_links = std::uint64_t{1} << 28;

std::string number(std::uint64_t n) { return std::to_string(n); }

status too_large() { return {errc::invalid, "the topology has more than " + number(most_links) + " links"}; }

}  // namespace

result<topology> topology::make(const topology_parameters& p, std::uint32_t nodes) {
  topology t;
  t.p_ = p, t.nodes_ = std::max(nodes, 1u);
  std::uint64_t links = 0;
  switch (p.kind) {
    case wiring::flat: break;
    case wiring::fat_tree: {
      if (p.down < 2 || p.up < 1) return status(errc::invalid, "a fat tree's switches have at least 2 cables down and 1 up");
      std::uint64_t span = 1, width = 1;
      do {
        const std::uint64_t trees = (t.nodes_ + span - 1) / span;
        if (links + 2 * trees * width > most_links) return too_large();
        t.levels_.push_back({span, static_cast<std::uint32_t>(trees), static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(links)});
        links += 2 * trees * width;
        span *= p.down, width *= p.up;
      } while (span < t.nodes_);
      break;
    }
    case wiring::torus: {
      std::uint32_t* s = t.size_;
      s[0] = p.x, s[1] = p.y, s[2] = p.z;
      if (!s[0] && !s[1] && !s[2]) {  // the largest that a cube's edge may be, then what is left as a square
        const auto root = [](double n, double k) { return std::max(1u, static_cast<std::uint32_t>(std::ceil(std::pow(n, 1 / k) - 1e-9))); };
        s[0] = root(t.nodes_, 3);
        s[1] = root(std::ceil(static_cast<double>(t.nodes_) / s[0]), 2);
        s[2] = (t.nodes_ + s[0] * s[1] - 1) / (s[0] * s[1]);
      }
      for (int d = 0; d < 3; ++d) s[d] = std::max(s[d], 1u);
      const std::uint64_t places = std::uint64_t{s[0]} * s[1] * s[2];
      if (places < t.nodes_)
        return status(errc::invalid, "a torus of " + number(s[0]) + " by " + number(s[1]) + " by " + number(s[2]) + " has no room for " +
                                         number(t.nodes_) + " nodes; give larger dimensions, or none to have them chosen");
      links = 6 * places;
      break;
    }
    case wiring::dragonfly: {
      if (!p.nodes || !p.routers || !p.globals) return status(errc::invalid, "a dragonfly's routers have at least one node and one cable, and its groups one router");
      const std::uint64_t a_group = std::uint64_t{p.nodes} * p.routers, cables = std::uint64_t{p.routers} * p.globals;
      const std::uint64_t groups = (t.nodes_ + a_group - 1) / a_group;
      if (groups > cables + 1)
        return status(errc::invalid, "a dragonfly whose groups have " + number(a_group) + " nodes and " + number(cables) + " cables to other groups has at most " +
                                         number((cables + 1) * a_group) + " nodes, not " + number(t.nodes_) + "; give its routers more cables");
      t.groups_ = static_cast<std::uint32_t>(groups);
      links = groups * (2 * a_group + std::uint64_t{p.routers} * p.routers + cables);
      break;
    }
  }
  if (links > most_links) return too_large();
  t.links_ = static_cast<std::uint32_t>(links);
  return t;
}

std::uint32_t topology::common_level(std::uint32_t from, std::uint32_t to) const noexcept {
  std::uint32_t up = 1;
  while (up < levels_.size() && from / levels_[up].span != to / levels_[up].span) ++up;
  return up;
}

topology::step topology::along(std::uint32_t from, std::uint32_t to) const noexcept {
  step s{};
  for (int d = 0; d < 3; ++d) {
    const std::uint32_t forward = (to % size_[d] + size_[d] - from % size_[d]) % size_[d];
    s.back[d] = 2 * forward > size_[d];
    s.moves[d] = s.back[d] ? size_[d] - forward : forward;
    from /= size_[d], to /= size_[d];
  }
  return s;
}

// The group's cable to another. Of the cables, in order of routers, the first ones go to each other group once, the next ones again.
std::uint32_t topology::cable_to(std::uint32_t group, std::uint32_t other, std::uint32_t to) const noexcept {
  const std::uint32_t others = groups_ - 1, copies = p_.routers * p_.globals / others;
  return to % copies * others + (other < group ? other : other - 1);
}

std::uint32_t topology::dragonfly_route(std::uint32_t from, std::uint32_t to, std::uint32_t* out) const noexcept {
  const std::uint32_t a_group = p_.nodes * p_.routers, room = groups_ * a_group;
  const std::uint32_t local = 2 * room, global = local + groups_ * p_.routers * p_.routers;
  const std::uint32_t here = from / a_group, there = to / a_group, target = to / p_.nodes % p_.routers;
  std::uint32_t router = from / p_.nodes % p_.routers, n = 0;
  const auto go = [&](std::uint32_t group, std::uint32_t next) {
    if (router != next) out[n++] = local + (group * p_.routers + router) * p_.routers + next;
    router = next;
  };
  out[n++] = from;
  if (here != there) {
    const std::uint32_t cable = cable_to(here, there, to), back = cable_to(there, here, to);
    go(here, cable / p_.globals);
    out[n++] = global + here * p_.routers * p_.globals + cable;
    router = back / p_.globals;  // the cable's other end, since both groups count the copies alike
  }
  go(there, target);
  out[n++] = room + to;
  return n;
}

std::uint32_t topology::hops(std::uint32_t from, std::uint32_t to) const noexcept {
  if (from == to) return 0;
  switch (p_.kind) {
    case wiring::flat: return 0;
    case wiring::fat_tree: return 2 * common_level(from, to);
    case wiring::torus: {
      const step s = along(from, to);
      return s.moves[0] + s.moves[1] + s.moves[2];
    }
    case wiring::dragonfly: {
      std::uint32_t all[5];
      return dragonfly_route(from, to, all);
    }
  }
  return 0;
}

double topology::mean_hops() const noexcept {
  if (flat() || nodes_ < 2) return 0;
  const std::uint32_t stride = std::max(1u, nodes_ / 1000);
  double sum = 0, count = 0;
  for (std::uint32_t to = 1; to < nodes_; to += stride) sum += hops(0, to), ++count;
  return sum / count;
}

std::uint32_t topology::link(std::uint32_t from, std::uint32_t to, std::uint32_t taken) const noexcept {
  if (p_.kind == wiring::fat_tree) {
    const std::uint32_t top = common_level(from, to);
    const bool down = taken >= top;
    const level& l = levels_[down ? 2 * top - 1 - taken : taken];
    const auto tree = static_cast<std::uint32_t>((down ? to : from) / l.span);
    return l.first + ((down ? l.trees : 0) + tree) * l.width + to % l.width;
  }
  if (p_.kind == wiring::torus) {
    const step s = along(from, to);
    std::uint32_t at[3] = {from % size_[0], from / size_[0] % size_[1], from / size_[0] / size_[1]};
    std::uint32_t d = 0;
    for (; d < 2 && taken >= s.moves[d]; ++d) {
      taken -= s.moves[d];
      at[d] = (at[d] + (s.back[d] ? size_[d] - s.moves[d] : s.moves[d])) % size_[d];
    }
    at[d] = (at[d] + (s.back[d] ? size_[d] - taken : taken)) % size_[d];
    return 6 * (at[0] + size_[0] * (at[1] + size_[1] * at[2])) + 2 * d + s.back[d];
  }
  std::uint32_t all[5] = {};
  if (p_.kind == wiring::dragonfly) dragonfly_route(from, to, all);
  return all[taken];
}

std::string topology::name(std::uint32_t link) const {
  switch (p_.kind) {
    case wiring::flat: break;
    case wiring::fat_tree: {
      std::size_t i = levels_.size() - 1;
      while (i > 0 && link < levels_[i].first) --i;
      const level& l = levels_[i];
      const std::uint32_t at = (link - l.first) / l.width;
      const bool down = at >= l.trees;
      const std::string cable = l.width > 1 ? ", cable " + number((link - l.first) % l.width) : "";
      return (down ? "down to " : "up from ") + std::string(i == 0 ? "node " : "the switches of level " + number(i) + " above nodes ") +
             number((at % l.trees) * l.span) + (i == 0 ? "" : " to " + number(std::min<std::uint64_t>((at % l.trees + 1) * l.span, nodes_) - 1)) + cable;
    }
    case wiring::torus: {
      const std::uint32_t node = link / 6;
      return "from (" + number(node % size_[0]) + ", " + number(node / size_[0] % size_[1]) + ", " + number(node / size_[0] / size_[1]) + ") to " +
             (link % 2 ? "-" : "+") + "xyz"[link % 6 / 2];
    }
    case wiring::dragonfly: {
      const std::uint32_t room = groups_ * p_.nodes * p_.routers, locals = groups_ * p_.routers * p_.routers;
      if (link < room) return "up from node " + number(link);
      if (link < 2 * room) return "down to node " + number(link - room);
      if (link -= 2 * room; link < locals) {
        const std::uint32_t router = link / p_.routers;
        return "in group " + number(router / p_.routers) + " from router " + number(router % p_.routers) + " to " + number(link % p_.routers);
      }
      link -= locals;
      const std::uint32_t cables = p_.routers * p_.globals, others = groups_ - 1, group = link / cables, cable = link % cables;
      const std::uint32_t other = cable % others;
      return "from group " + number(group) + " to group " + number(other < group ? other : other + 1) + ", cable " + number(cable / others);
    }
  }
  return "";
}

std::string topology::describe() const {
  switch (p_.kind) {
    case wiring::flat: break;
    case wiring::fat_tree: return "fat tree of " + number(levels_.size()) + (levels_.size() == 1 ? " level, " : " levels, ") + number(p_.down) + " down and " + number(p_.up) + " up";
    case wiring::torus: return "torus of " + number(size_[0]) + " by " + number(size_[1]) + " by " + number(size_[2]);
    case wiring::dragonfly:
      return "dragonfly of " + number(groups_) + " groups of " + number(p_.routers) + " routers with " + number(p_.nodes) + " nodes and " + number(p_.globals) + " cables each";
  }
  return "flat";
}

}  // namespace tutti::sim

#include "core/router/multicast.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/base/random.h"
#include "core/transport/multicast.h"

namespace tutti {
namespace {

constexpr std::uint32_t queue_depth = 64;      // datagrams that a leader keeps for its own rank
constexpr std::uint32_t most_at_once = 64;     // handed on in one call

// In front of every payload of a group that has members of its own inside and outside.
struct frame {
  rank_t from = no_rank;
  std::uint32_t reserved = 0;
};

struct token_head {
  static constexpr std::uint32_t expected_magic = 0x746d7231;
  std::uint32_t magic = expected_magic;
  rank_t creator = 0;
  std::uint64_t name = 0;
  std::uint32_t inner_bytes = 0, outer_bytes = 0;  // what follows: the creator's node's token, and the leaders'
};

// Who is what in a group.
struct node_roles {
  node_roles(const rank_map& members, rank_t creator, rank_t self, const std::vector<std::uint32_t>& node_of) {
    std::set<std::uint32_t> seen;
    std::vector<rank_t> heads, here;
    heads.push_back(creator);
    seen.insert(node_of[creator]);
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      const rank_t r = members[i];
      if (seen.insert(node_of[r]).second) heads.push_back(r);
      if (node_of[r] == node_of[self]) here.push_back(r);
    }
    for (const rank_t r : heads)
      if (node_of[r] == node_of[self]) leader = r;
    nodes = static_cast<std::uint32_t>(heads.size());
    mixed = nodes > 1 && nodes < members.size();
    leaders = rank_map::listed(std::move(heads));
    mates = rank_map::listed(std::move(here));
  }
  rank_map leaders, mates;  // mates: members of this node, this rank included
  rank_t leader = no_rank;  // of this node
  std::uint32_t nodes = 0;
  bool mixed = false;       // neither within one node nor one a node
};

status not_a_token() { return {errc::protocol, "the token is not one of a router's multicast group of this version"}; }

}  // namespace

// One of the two groups that a group is made of.
struct router_multicast::part {
  multicast* mc = nullptr;  // null: there is none, or this rank is not in it
  group_id id{};
  bool owes = false;
  std::uint32_t tag = 0;
  std::vector<std::byte> held;  // what is owed, framed
};

struct router_multicast::group {
  struct kept {
    rank_t from = no_rank;
    std::uint32_t tag = 0;
    std::vector<std::byte> payload;
  };
  std::uint64_t name = 0;
  bool mixed = false;      // datagrams are framed
  bool leads = false;      // and handed on here
  rank_t leader = no_rank; // of this node
  std::uint32_t mates = 0; // of this node, this rank not counted
  part inside, outside;
  std::vector<kept> queue; // a leader's own
  std::uint32_t first = 0, last = 0;
  bool given = false;      // queue[first] is in its rank's hands
  std::vector<std::byte> framed;
};

router_multicast::router_multicast(transport& node, transport& network, rank_t self, std::vector<std::uint32_t> node_of,
                                   node_lobby& lobby, std::function<unsigned()> drive)
    : node_(*node.mcast()), network_(*network.mcast()), self_(self), node_of_(std::move(node_of)), lobby_(lobby),
      drive_(std::move(drive)) {}
router_multicast::~router_multicast() = default;

multicast::limits router_multicast::query() const noexcept {
  const limits in = node_.query(), out = network_.query();
  return {std::min(in.max_payload, out.max_payload) - std::uint32_t{sizeof(frame)},
          std::min({in.max_groups, out.max_groups, node_lobby::entries}), std::min(in.receive_depth, out.receive_depth),
          out.latency_us ? std::optional(*out.latency_us + in.latency_us.value_or(0)) : std::nullopt,
          in.bytes_per_ns && out.bytes_per_ns ? std::min(in.bytes_per_ns, out.bytes_per_ns) : std::nullopt};
}

multicast::group_id router_multicast::enter(std::unique_ptr<group> g) {
  if (g->leads) {
    ++leading_;
    lingering_.reserve(leading_);
    g->queue.resize(queue_depth);
  }
  const auto free = std::find(groups_.begin(), groups_.end(), nullptr);
  const auto id = static_cast<std::uint32_t>(free - groups_.begin());
  if (free == groups_.end()) groups_.push_back(std::move(g));
  else *free = std::move(g);
  return group_id{id};
}

result<multicast::group_id> router_multicast::create(const rank_map& members, std::vector<std::byte>& token,
                                                     time_point deadline) {
  const node_roles who(members, self_, self_, node_of_);
  auto g = std::make_unique<group>();
  token_head head;
  head.creator = self_;
  if (!draw(head.name) || head.name == 0)
    return status{errc::no_resource, "no random name for a multicast group"};
  g->name = head.name, g->mixed = who.mixed, g->leads = who.mixed, g->leader = self_, g->mates = who.mates.size() - 1;
  std::vector<std::byte> inner, outer;
  if (who.nodes > 1) {
    auto id = network_.create(who.leaders, outer, deadline);
    if (!id) return id;
    g->outside.mc = &network_, g->outside.id = *id;
  }
  if (who.nodes == 1 || who.mates.size() > 1) {
    auto id = node_.create(who.mates, inner, deadline);
    if (!id) {
      close(*g);
      return id;
    }
    g->inside.mc = &node_, g->inside.id = *id;
  }
  if (g->leads && g->mates)
    if (status s = lobby_.post(g->name, std::span<const std::byte>{}); s.failed()) {
      close(*g);
      return s;
    }
  head.inner_bytes = static_cast<std::uint32_t>(inner.size()), head.outer_bytes = static_cast<std::uint32_t>(outer.size());
  token.resize(sizeof head);
  std::memcpy(token.data(), &head, sizeof head);
  token.insert(token.end(), inner.begin(), inner.end());
  token.insert(token.end(), outer.begin(), outer.end());
  return enter(std::move(g));
}

result<multicast::group_id> router_multicast::join(const rank_map& members, std::span<const std::byte> token,
                                                   time_point deadline) {
  token_head head;
  if (token.size() < sizeof head) return not_a_token();
  std::memcpy(&head, token.data(), sizeof head);
  if (head.magic != token_head::expected_magic || head.creator >= node_of_.size() ||
      token.size() != sizeof head + head.inner_bytes + head.outer_bytes)
    return not_a_token();
  const auto inner = token.subspan(sizeof head, head.inner_bytes);
  const auto outer = token.subspan(sizeof head + head.inner_bytes, head.outer_bytes);
  const node_roles who(members, head.creator, self_, node_of_);
  auto g = std::make_unique<group>();
  g->name = head.name, g->mixed = who.mixed, g->leads = who.mixed && who.leader == self_;
  g->leader = who.leader, g->mates = who.mates.size() - 1;

  if (who.nodes > 1 && who.leader == self_) {
    if (status s = join_parts(*g, who.leaders, who.mates, outer, deadline); s.failed()) return s;
  } else {
    std::vector<std::byte> from_leader;
    std::span<const std::byte> way_in = inner;
    if (who.leader != head.creator) {
      auto found = lobby_.find(who.leader, head.name, deadline, drive_);
      if (!found) return found.error().during("joining a multicast group");
      from_leader = std::move(*found);
      way_in = from_leader;
    }
    auto id = node_.join(who.mates, way_in, deadline);
    if (!id) return id;
    g->inside.mc = &node_, g->inside.id = *id;
  }
  return enter(std::move(g));
}

// A leader's: out first, and then its mates may come.
status router_multicast::join_parts(group& g, const rank_map& leaders, const rank_map& mates,
                                    std::span<const std::byte> outer, time_point deadline) {
  std::vector<std::byte> inner;
  status trouble;
  if (auto id = network_.join(leaders, outer, deadline)) {
    g.outside.mc = &network_, g.outside.id = *id;
  } else {
    trouble = id.error();
  }
  if (mates.size() < 2) return trouble;
  if (trouble.ok()) {
    if (auto id = node_.create(mates, inner, deadline)) g.inside.mc = &node_, g.inside.id = *id;
    else trouble = id.error();
  }
  if (trouble.ok() && inner.size() > node_lobby::longest) trouble = {errc::unsupported, "the node's token is too long"};
  const status told = trouble.ok() ? lobby_.post(g.name, inner) : lobby_.post(g.name, trouble);
  if (trouble.ok()) trouble = told;
  if (trouble.failed()) close(g);
  return trouble;
}

// False: it was refused, and something else is kept already.
bool router_multicast::offer(part& to, rank_t from, std::uint32_t tag, std::span<const std::byte> payload) noexcept {
  if (!to.mc) return true;
  if (to.owes) return false;
  const frame head{from, 0};
  to.held.resize(sizeof head + payload.size());
  std::memcpy(to.held.data(), &head, sizeof head);
  if (!payload.empty()) std::memcpy(to.held.data() + sizeof head, payload.data(), payload.size());
  if (to.mc->send(to.id, tag, to.held)) return true;
  to.owes = true, to.tag = tag;
  ++owed_;
  return true;
}

bool router_multicast::pay(part& p) noexcept {
  if (!p.owes) return true;
  if (!p.mc->send(p.id, p.tag, p.held)) return false;
  p.owes = false;
  --owed_;
  return true;
}

bool router_multicast::send(group_id id, std::uint32_t tag, std::span<const std::byte> payload) noexcept {
  group& g = *at(id);
  part& only = g.outside.mc ? g.outside : g.inside;
  if (!g.mixed) return only.mc->send(only.id, tag, payload);
  // What is kept counts as sent; so nothing may be kept yet on either side.
  if (!pay(g.outside) || !pay(g.inside)) return false;
  return offer(g.outside, self_, tag, payload) && offer(g.inside, self_, tag, payload);
}

// One datagram from one side to the other, and to this rank. False: there was none, or the way is blocked.
bool router_multicast::take(group& g, part& from, part& to) noexcept {
  datagram d;
  frame head;
  if (!from.mc || !pay(to) || !from.mc->receive(from.id, d)) return false;
  if (d.payload.size() < sizeof head) return true;
  std::memcpy(&head, d.payload.data(), sizeof head);
  const auto payload = d.payload.subspan(sizeof head);
  if (head.from == self_) return true;
  (void)offer(to, head.from, d.tag, payload);  // nothing was owed there
  ++events_;
  if (g.last - g.first == queue_depth) return true;
  group::kept& k = g.queue[g.last++ % queue_depth];
  k.from = head.from, k.tag = d.tag;
  k.payload.assign(payload.begin(), payload.end());
  return true;
}

void router_multicast::pull(group& g, bool from_outside) noexcept {
  pay(g.inside), pay(g.outside);
  for (std::uint32_t i = 0; i < most_at_once && take(g, g.inside, g.outside); ++i) {}
  if (!from_outside) return;
  for (std::uint32_t i = 0; i < most_at_once && take(g, g.outside, g.inside); ++i) {}
}

unsigned router_multicast::progress() noexcept {
  if (leading_ == 0) return 0;
  const std::uint64_t before = events_;
  std::uint32_t n = 0;
  turn_ = (turn_ + 1) % leading_;
  for (auto& g : groups_)
    if (g && g->leads) pull(*g, n++ == turn_);
  for (auto& g : lingering_) pull(*g, n++ == turn_);
  std::erase_if(lingering_, [&](const std::unique_ptr<group>& g) {
    if (!all_mates_left(*g)) return false;
    close(*g);
    lobby_.forget(g->name);
    --leading_;
    return true;
  });
  return static_cast<unsigned>(events_ - before);
}

bool router_multicast::receive(group_id id, datagram& out) noexcept {
  group& g = *at(id);
  part& only = g.outside.mc ? g.outside : g.inside;
  if (!g.mixed) return only.mc->receive(only.id, out);
  if (!g.leads) {
    frame head;
    while (g.inside.mc->receive(g.inside.id, out)) {
      if (out.payload.size() < sizeof head) continue;
      std::memcpy(&head, out.payload.data(), sizeof head);
      if (head.from == self_) continue;
      out.from = head.from, out.payload = out.payload.subspan(sizeof head);
      return true;
    }
    return false;
  }
  if (std::exchange(g.given, false)) ++g.first;
  if (g.first == g.last) pull(g, true);
  if (g.first == g.last) return false;
  const group::kept& k = g.queue[g.first % queue_depth];
  out = {k.from, k.tag, k.payload};
  g.given = true;
  return true;
}

void router_multicast::close(group& g) noexcept {
  for (part* p : {&g.inside, &g.outside}) {
    if (p->owes) --owed_;
    if (p->mc) p->mc->leave(p->id);
    *p = {};
  }
}

bool router_multicast::all_mates_left(const group& g) const noexcept {
  return g.mates == 0 || lobby_.checked_out(g.name) >= g.mates;
}

void router_multicast::leave(group_id id) noexcept {
  auto g = std::move(groups_[static_cast<std::size_t>(id)]);
  if (g->leads && !all_mates_left(*g)) {
    lingering_.push_back(std::move(g));  // reserved by enter()
    return;
  }
  close(*g);
  if (g->leads) {
    --leading_;
    lobby_.forget(g->name);
  } else if (g->mixed) {
    lobby_.check_out(g->leader, g->name);
  }
}

}  // namespace tutti

#include "collectives/hierarchy.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <utility>

namespace tutti {
namespace {

constexpr std::uint64_t segment = 128 << 10;

constexpr std::size_t none = ~std::size_t{0};

team_request no_engines(void*, const rank_map&) { return {}; }

}  // namespace

node_map::node_map(std::span<const std::uint32_t> node_of) : node(node_of.size()), place(node_of.size()) {
  std::vector<std::uint32_t> number;  // of a node: its index here, + 1
  for (std::uint32_t rank = 0; rank < node_of.size(); ++rank) {
    if (number.size() <= node_of[rank]) number.resize(node_of[rank] + 1);
    std::uint32_t& mine = number[node_of[rank]];
    if (mine == 0) members.emplace_back(), mine = static_cast<std::uint32_t>(members.size());
    else if (node_of[rank - 1] != node_of[rank]) consecutive = false;
    node[rank] = mine - 1;
    place[rank] = static_cast<std::uint32_t>(members[mine - 1].size());
    members[mine - 1].push_back(rank);
  }
  const auto by_size = [](const auto& m) { return static_cast<std::uint32_t>(m.size()); };
  if (members.empty()) return;
  largest = by_size(*std::ranges::max_element(members, {}, by_size));
  smallest = by_size(*std::ranges::min_element(members, {}, by_size));
}

std::uint64_t segment_bytes(std::uint64_t element) noexcept { return std::max(segment / element * element, element); }

// Where all ranks need all others' data, a call begins when the one before has ended and a phase likewise: each counts as a call alone.
// With a root, calls overlap. The slower of the two teams decides how soon the next segment follows. The root is taken for a leader, as for other rows for rank 0.
result<double> price_of(const algorithm& a, const choice_inputs& in, const wanted_algorithm& among_leaders) {
  std::vector<std::uint32_t> apart = {in.node_of.begin(), in.node_of.end()};
  apart.resize(in.ranks);
  const node_map nodes(apart);
  apart.resize(nodes.members.size());
  std::iota(apart.begin(), apart.end(), 0u);
  const std::uint64_t each = a.phases->in_segments ? std::min(in.bytes, segment) : in.bytes;
  double once = 0, busy[2] = {};
  for (const phase& p : a.phases->phases) {
    choice_inputs of = in;
    const bool among = p.on == phase::level::leaders;
    of.ranks = among ? static_cast<std::uint32_t>(apart.size()) : nodes.largest;
    if (of.ranks == 1 || p.where == phase::reach::at_root) continue;
    of.node_of = among ? std::span<const std::uint32_t>(apart) : std::span<const std::uint32_t>{};
    of.wanted = among && p.of == a.of ? among_leaders : wanted_algorithm{};
    of.unlike = among && has_block_each(p.of) && nodes.largest != nodes.smallest;
    of.bytes = each * (p.bytes == phase::extent::team ? in.ranks : p.bytes == phase::extent::node ? nodes.largest : 1);
    const auto chosen = choose(p.of, of);
    if (!chosen) return chosen.error();
    const double amid = chosen->front().cost_us, cost = has_root(a.of) ? amid : predicted_us(chosen->front(), of, true);
    if (amid < 0 || cost < 0) return -1.0;
    once += cost, busy[among] += amid;
  }
  const std::uint64_t more = each == 0 ? 0 : (in.bytes - 1) / each;
  return once + static_cast<double>(more) * std::max(busy[0], busy[1]);
}

// --- the two teams ------------------------------------------------------------------------------------------------------

hierarchy::hierarchy(data_collectives& like) : team_(like.team_), nodes_(like.choices_.nodes()) {}
hierarchy::~hierarchy() = default;

resumable<result<std::unique_ptr<hierarchy>>> hierarchy::opening(data_collectives& like, std::vector<std::byte> agreement) {
  team& all = like.team_;
  const time_point deadline = all.parent_job().setup_deadline();
  if (status s = co_await all.meeting(std::move(agreement), deadline); s.failed()) co_return s;

  std::unique_ptr<hierarchy> h(new hierarchy(like));
  std::vector<std::uint32_t> leaders;
  for (const auto& node : h->nodes_.members) leaders.push_back(node[0]);
  if (h->nodes_.place[all.index()] != 0) leaders.clear();
  for (const bool among : {false, true}) {
    auto made = co_await all.creating(among ? leaders : h->nodes_.members[h->nodes_.node[all.index()]], no_engines, nullptr, deadline);
    if (!made) co_return made.error();
    if (!*made) continue;
    level& l = h->levels_[among];
    l.members = std::move(*made);
    l.members->check_waits([record = like.record_](rank_t awaited) { return record->mismatch({&awaited, 1}); }, nullptr);
    choice_settings with = like.choices_.settings();
    with.wanted = {}, with.online = {};
    for (unsigned c = 0; among && c < collectives; ++c) {
      const wanted_algorithm& w = like.choices_.settings().wanted[c];
      if (const algorithm* const row = find_algorithm(static_cast<collective>(c), w.name); row && row->phases) with.wanted[c] = {w.inner, w.radix, {}};
    }
    l.engine = std::make_unique<data_collectives>(*l.members, *like.record_, std::move(with));
  }
  co_return std::move(h);
}

void hierarchy::among_leaders(collective of, const wanted_algorithm& w) {
  if (data_collectives* const engine = at(phase::level::leaders).engine.get()) engine->choices_.want(of, w);
}

// --- an operation -------------------------------------------------------------------------------------------------------

void hierarchy::begin(const composition& what, const data_collectives::call& call, std::uint64_t digest) {
  what_ = &what, call_ = call;
  around_ = digest * 0x9e36;  // even: where the phase's own digest is the same, their sum is an odd multiple of it
  if (!has_root(call.of)) call_.root = 0;
  segment_ = what.in_segments ? std::min(call.bytes, segment_bytes(call.element())) : call.bytes;
  segments_ = (call.bytes + segment_ - 1) / segment_;
  done_.assign(what.phases.size(), 0);
  for (level& l : levels_) l.present = none;
}

bool hierarchy::takes_part(const phase& p) const noexcept {
  if (!levels_[static_cast<std::size_t>(p.on)].engine) return false;
  const bool stray = nodes_.node[call_.root] == nodes_.node[team_.index()] && nodes_.place[call_.root] != 0;
  return p.where == phase::reach::everywhere || (p.where == phase::reach::at_root) == stray;
}

// The phase that is next in that team, whether it may begin or not.
std::size_t hierarchy::next(phase::level on) const noexcept {
  std::size_t found = none;
  for (std::size_t p = 0; p < done_.size(); ++p)
    if (what_->phases[p].on == on && done_[p] < segments_ && (found == none || done_[p] + p <= done_[found] + found)) found = p;
  return found;
}

std::byte* hierarchy::memory_of(const phase::operand& o, std::uint64_t from) {
  const std::uint32_t me = team_.index();
  const bool leads = nodes_.place[me] == 0, is_root = call_.root == me;
  std::byte* base = nullptr;
  switch (o.where) {
    case phase::memory::none: return nullptr;
    case phase::memory::in: base = const_cast<std::byte*>(call_.in); break;
    case phase::memory::out: base = call_.out; break;
    case phase::memory::in_at_root:
    case phase::memory::out_at_root:
    case phase::memory::between:
      if (!leads) return nullptr;
      if (o.where != phase::memory::between && is_root) {
        base = o.where == phase::memory::in_at_root ? const_cast<std::byte*>(call_.in) : call_.out;
        break;
      }
      const std::uint64_t bytes = call_.bytes * (has_block_each(call_.of) ? team_.size() : 1);
      if (between_bytes_ < bytes) between_ = std::make_unique_for_overwrite<std::byte[]>(bytes), between_bytes_ = bytes;
      base = between_.get();
  }
  if (!base) return nullptr;
  return base + from + (o.of_node ? call_.bytes * nodes_.members[nodes_.node[me]][0] : 0);
}

void hierarchy::begin_phase(const phase& p, std::uint64_t number) {
  const std::uint64_t from = number * segment_, bytes = std::min(segment_, call_.bytes - from);
  data_collectives::call c = call_;
  c.around = around_, c.of = p.of, c.in = memory_of(p.in, from), c.out = memory_of(p.out, from), c.lists = nullptr;
  c.bytes = bytes * (p.bytes == phase::extent::team ? team_.size() : p.bytes == phase::extent::node ? nodes_.largest : 1);
  const bool from_root = p.from == phase::giver::root;
  c.root = p.on == phase::level::leaders ? nodes_.node[call_.root] : from_root ? nodes_.place[call_.root] : 0;
  if (p.of == collective::alltoallv) pass(c, from_root);
  else if (p.on == phase::level::leaders && has_block_each(p.of) && nodes_.largest != nodes_.smallest) c.lists = blocks_of_nodes();
  at(p.on).engine->begin(c);
}

// Between leader and root, of which one is the node's member 0.
void hierarchy::pass(data_collectives::call& c, bool to_leader) {
  const std::uint32_t me = nodes_.place[team_.index()], root = nodes_.place[call_.root];
  const std::uint32_t giver = to_leader ? root : 0, taker = to_leader ? 0 : root;
  if (!passed_) passed_ = std::make_shared<block_lists>();
  for (auto* const lengths : {&passed_->in_lengths, &passed_->out_lengths}) lengths->assign(nodes_.members[nodes_.node[call_.root]].size(), 0);
  if (me == giver) passed_->in_lengths[taker] = c.bytes;
  else if (me == taker) passed_->out_lengths[giver] = c.bytes;
  else c.bytes = 0;
  c.lists = passed_;
}

std::shared_ptr<const block_lists> hierarchy::blocks_of_nodes() {
  if (!unlike_) unlike_ = std::make_shared<block_lists>();
  const bool gives = call_.of == collective::reduce_scatter;
  auto &begins = gives ? unlike_->in_begins : unlike_->out_begins, &lengths = gives ? unlike_->in_lengths : unlike_->out_lengths;
  *unlike_ = {};
  for (const auto& members : nodes_.members) begins.push_back(call_.bytes * members[0]), lengths.push_back(call_.bytes * members.size());
  return unlike_;
}

// False: nothing can be done in this team now.
bool hierarchy::go_on(phase::level on, status& error) {
  level& l = at(on);
  if (l.present == none) {
    const std::size_t p = next(on);
    if (p == none || (p > 0 && done_[p - 1] == done_[p])) return false;
    if (takes_part(what_->phases[p])) begin_phase(what_->phases[p], done_[p]);
    l.present = p;
  }
  if (takes_part(what_->phases[l.present]) && !l.engine->go_on(1, error)) return false;
  if (error.failed()) return true;
  ++done_[std::exchange(l.present, none)];
  return true;
}

bool hierarchy::advance(status& error) noexcept {
  try {
    while (go_on(phase::level::leaders, error) || go_on(phase::level::node, error))
      if (error.failed()) return true;
  } catch (const std::bad_alloc&) {
    error = {errc::no_resource, "no memory for the data of a node"};
    return true;
  }
  return done_.back() == segments_;
}

status hierarchy::look() noexcept {
  status s = team_.health();
  for (level& l : levels_)
    if (s.ok() && l.present != none) s = l.engine->look();
  return s;
}

void hierarchy::cancel(const status& why) noexcept {
  for (level& l : levels_)
    if (l.present != none) l.engine->drop(why);
}

const hierarchy::level* hierarchy::waiting() const noexcept {
  for (const level& l : levels_)
    if (l.present != none) return &l;
  return nullptr;
}

wait_note hierarchy::waiting_for() const noexcept {
  return waiting() ? waiting()->engine->waiting_for() : wait_note{"a collective of nodes"};
}

status hierarchy::explained(const status& error) { return waiting() ? waiting()->engine->explained(error) : error; }

}  // namespace tutti

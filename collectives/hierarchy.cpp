#include "collectives/hierarchy.h"
#include "core/base/copy.h"
#include "core/engine/move_watch.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <optional>
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

const phase& among_leaders(const composition& c) noexcept { return *std::ranges::find(c.phases, phase::level::leaders, &phase::on); }

std::uint64_t segment_bytes(std::uint64_t element) noexcept { return std::max(segment / element * element, element); }

namespace {

// Leaders whose nodes have unlike numbers of ranks exchange blocks of unlike lengths.
collective carried_out_by(const phase& p, const node_map& nodes) noexcept {
  return p.of == collective::alltoall && p.on == phase::level::leaders && nodes.largest != nodes.smallest ? collective::alltoallv : p.of;
}

std::uint64_t blocks_in(phase::extent e, std::uint64_t ranks, const node_map& nodes) noexcept {
  switch (e) {
    case phase::extent::call: return 1;
    case phase::extent::node: return nodes.largest;
    case phase::extent::team: return ranks;
    case phase::extent::pair: return std::uint64_t{nodes.largest} * nodes.largest;
  }
  return 0;
}

double preparing_us(phase::preparation what, std::uint64_t bytes, const choice_inputs& in, const node_map& nodes) {
  if (what == phase::preparation::none) return 0;
  const picoseconds time = what == phase::preparation::carry ? for_bytes(bytes, in.reduced_bytes_per_ns)
                                                             : for_bytes(bytes * in.ranks * nodes.largest, in.copied_bytes_per_ns);
  return static_cast<double>(time) / 1e6;
}

// A team of all leaders, or of the fullest node, in any phase.
class priced_phases {
 public:
  priced_phases(const choice_inputs& in, const wanted_algorithm& inner) : in_(in), inner_(inner), apart_(in.node_of.begin(), in.node_of.end()) {
    apart_.resize(in.ranks);
    nodes_ = node_map(apart_);
    apart_.resize(nodes_.members.size());
    std::iota(apart_.begin(), apart_.end(), 0u);
  }
  const node_map& nodes() const noexcept { return nodes_; }

  // Nothing: no rank has anything to do in it. The answer refers to this object.
  std::optional<choice_inputs> inputs(const phase& p, std::uint64_t bytes) const {
    const bool among = p.on == phase::level::leaders;
    choice_inputs of = in_;
    of.ranks = among ? static_cast<std::uint32_t>(apart_.size()) : nodes_.largest;
    if (of.ranks == 1 || p.where == phase::reach::at_root) return {};
    of.node_of = among ? std::span<const std::uint32_t>(apart_) : std::span<const std::uint32_t>{};
    of.wanted = among ? inner_ : wanted_algorithm{};
    of.unlike = has_block_each(p.of) && (in_.unlike || (among && nodes_.largest != nodes_.smallest));
    of.bytes = bytes * blocks_in(p.bytes, in_.ranks, nodes_);
    return of;
  }
  // The one that would be chosen.
  result<candidate> choice(const phase& p, const choice_inputs& of) const { return choose_first(carried_out_by(p, nodes_), of); }

 private:
  const choice_inputs& in_;
  const wanted_algorithm& inner_;
  std::vector<std::uint32_t> apart_;   // at last, of each leader: a node of its own
  node_map nodes_{apart_};
};

}  // namespace

status check_phases(const algorithm& a, const choice_inputs& in, const wanted_algorithm& inner) {
  if (inner.name.empty()) return {};  // what is chosen can run
  const priced_phases all(in, inner);
  for (const phase& p : a.phases->phases)
    if (const auto of = p.on == phase::level::leaders ? all.inputs(p, in.bytes) : std::nullopt)
      if (const auto chosen = all.choice(p, *of); !chosen) return chosen.error();
  return {};
}

// Where all ranks need all others' data, a call begins when the one before has ended and a phase likewise: each counts as a call alone.
// With a root calls overlap, and in a scan among the leaders, but not in a node, which waits for its leader, which waits for all of
// it. The slower of the two teams decides how soon the next segment follows. The root is taken for a leader, as for other rows for rank 0.
result<double> price_of(const algorithm& a, const choice_inputs& in, const wanted_algorithm& inner) {
  const priced_phases all(in, inner);
  const std::uint64_t each = a.phases->in_segments ? std::min(in.bytes, segment) : in.bytes;
  double once = 0, busy[2] = {};
  for (const phase& p : a.phases->phases) {
    const auto of = all.inputs(p, each);
    if (!of) continue;
    auto chosen = all.choice(p, *of);
    if (!chosen) return chosen.error();
    if (!of->wanted.name.empty()) chosen->cost_us = predicted_us(*chosen, *of);
    const bool among = p.on == phase::level::leaders;
    const bool overlap = among ? a.phases->leaders_overlap : a.phases->nodes_overlap;
    const double amid = chosen->cost_us, cost = overlap ? amid : predicted_us(*chosen, *of, true);
    if (amid < 0 || cost < 0) return -1.0;
    const double before = preparing_us(p.before, each, in, all.nodes());
    once += before + cost, busy[among] += before + amid;
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
    l.members->check_waits([record = like.record_](rank_t awaited) { return record->mismatch({&awaited, 1}); }, nullptr,
                           [record = like.record_](wait_note& note) { return record->in_words(note); });
    choice_settings with = like.choices_.settings();
    with.wanted = {}, with.online = {};
    for (unsigned c = 0; among && c < collectives; ++c) {
      const wanted_algorithm& w = like.choices_.settings().wanted[c];
      if (const algorithm* const row = find_algorithm(static_cast<collective>(c), w.name); row && row->phases)
        with.wanted[static_cast<unsigned>(among_leaders(*row->phases).of)] = {w.inner, w.radix, {}};
    }
    l.engine = std::make_unique<data_collectives>(*l.members, *like.record_, std::move(with));
  }
  co_return std::move(h);
}

void hierarchy::want_among_leaders(const composition& c, const wanted_algorithm& w) {
  if (data_collectives* const engine = at(phase::level::leaders).engine.get()) engine->choices_.want(among_leaders(c).of, w);
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
  gaps_ = false;
  if (call_.lists) pack();
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

// As many bytes as any phase keeps there.
std::byte* hierarchy::room(bool aside) {
  auto& r = rooms_[aside];
  std::uint64_t bytes = has_block_each(call_.of) ? begin_of(team_.size()) : call_.bytes;
  if (call_.of == collective::alltoall) bytes *= nodes_.members[nodes_.node[team_.index()]].size();
  if (r.bytes < bytes) r.start = std::make_unique_for_overwrite<std::byte[]>(bytes), r.bytes = bytes;
  return r.start.get();
}

std::byte* hierarchy::memory_of(const phase::operand& o, std::uint64_t from) {
  const std::uint32_t me = team_.index();
  const bool leads = nodes_.place[me] == 0, is_root = call_.root == me;
  const bool gives_many = call_.of == collective::reduce_scatter;
  std::byte* const given = gives_many && gaps_ ? room(true) : const_cast<std::byte*>(call_.in);
  std::byte* const wanted = !gives_many && gaps_ ? room(true) : call_.out;
  std::byte* base = nullptr;
  using enum phase::memory;
  switch (o.where) {
    case none: return nullptr;
    case in: base = given; break;
    case out: base = wanted; break;
    case between: base = leads ? room(false) : nullptr; break;
    case aside: base = leads ? room(true) : nullptr; break;
    case in_at_root: base = !leads ? nullptr : is_root ? given : room(false); break;
    case out_at_root: base = !leads ? nullptr : is_root ? wanted : room(false); break;
    case carried: base = leads && me != 0 ? room(false) : given; break;
  }
  if (!base) return nullptr;
  return base + from + (o.of_node ? begin_of(nodes_.members[nodes_.node[me]][0]) : 0);
}

void hierarchy::begin_phase(const phase& p, std::uint64_t number) {
  const std::uint64_t from = number * segment_, bytes = std::min(segment_, call_.bytes - from);
  if (p.before != phase::preparation::none && nodes_.place[team_.index()] == 0) prepare(p.before, from, bytes);
  data_collectives::call c = call_;
  c.around = around_, c.of = carried_out_by(p, nodes_), c.in = memory_of(p.in, from), c.out = memory_of(p.out, from), c.lists = nullptr;
  c.bytes = call_.lists && p.bytes == phase::extent::team ? begin_of(team_.size()) : bytes * blocks_in(p.bytes, team_.size(), nodes_);
  const bool from_root = p.from == phase::giver::root, leaders = p.on == phase::level::leaders;
  c.root = leaders ? nodes_.node[call_.root] : from_root ? nodes_.place[call_.root] : 0;
  if (p.of == collective::alltoallv) pass(c, from_root);
  else if (!has_block_each(p.of)) {}
  else if (leaders && (call_.lists || nodes_.largest != nodes_.smallest)) list_nodes(c);
  else if (!leaders && call_.lists) list_ranks(c);
  at(p.on).engine->begin(c);
}

// Blocks whose lengths all members know.
void hierarchy::pack() {
  const bool gives = call_.of == collective::reduce_scatter;
  const block_lists& l = *call_.lists;
  const auto &lengths = gives ? l.in_lengths : l.out_lengths, &begins = gives ? l.in_begins : l.out_begins;
  packed_.assign(1, 0);
  for (std::uint32_t rank = 0; rank < team_.size(); ++rank) {
    gaps_ = gaps_ || begins[rank] != packed_.back();
    packed_.push_back(packed_.back() + lengths[rank]);
  }
  for (std::uint32_t rank = 0; gives && gaps_ && rank < team_.size(); ++rank)
    if (lengths[rank] > 0) copy_bytes(room(true) + packed_[rank], call_.in + begins[rank], lengths[rank]), tell_moved(lengths[rank], false);
}

void hierarchy::unpack() const noexcept {
  const block_lists& l = *call_.lists;
  for (std::uint32_t rank = 0; rank < team_.size(); ++rank)
    if (l.out_lengths[rank] > 0) {
      copy_bytes(call_.out + l.out_begins[rank], rooms_[true].start.get() + packed_[rank], l.out_lengths[rank]);
      tell_moved(l.out_lengths[rank], false);
    }
}

void hierarchy::prepare(phase::preparation what, std::uint64_t from, std::uint64_t bytes) {
  const std::uint32_t me = team_.index();
  std::byte *const between = room(false), *const aside = room(true);
  if (what == phase::preparation::carry) {
    if (me == 0) return;
    call_.op.combine(aside + from, call_.in + from, between + from, bytes / call_.op.element_size);
    tell_moved(bytes, true);
    if (call_.of == collective::exscan) copy_bytes(call_.out + from, aside + from, bytes);  // to which nothing of the node comes
    return;
  }
  const auto& mine = nodes_.members[nodes_.node[me]];
  const bool to_nodes = what == phase::preparation::to_nodes;
  std::byte *const rows = to_nodes ? between : aside, *by_node = to_nodes ? aside : between;
  for (const auto& theirs : nodes_.members)
    for (const std::uint32_t giver : to_nodes ? mine : theirs)
      for (const std::uint32_t taker : to_nodes ? theirs : mine) {
        const std::uint64_t row = nodes_.place[to_nodes ? giver : taker], column = to_nodes ? taker : giver;
        std::byte* const block = rows + (row * team_.size() + column) * bytes;
        copy_bytes(to_nodes ? by_node : block, to_nodes ? block : by_node, bytes);
        by_node += bytes;
        tell_moved(bytes, false);
      }
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

namespace {

block_lists& emptied(std::shared_ptr<block_lists>& lists) {
  if (!lists) lists = std::make_shared<block_lists>();
  for (auto* const list : {&lists->in_lengths, &lists->in_begins, &lists->out_lengths, &lists->out_begins}) list->clear();
  return *lists;
}

}  // namespace

// Of the node's gather or scatter, behind each other.
void hierarchy::list_ranks(data_collectives::call& c) {
  auto& lists = unlike_[static_cast<std::size_t>(phase::level::node)];
  block_lists& l = emptied(lists);
  const bool gives = c.of == collective::scatter;
  const auto& mine = nodes_.members[nodes_.node[team_.index()]];
  c.bytes = 0, c.lists = lists;
  for (const std::uint32_t rank : mine) {
    const std::uint64_t length = begin_of(rank + 1) - begin_of(rank);
    (gives ? l.in_begins : l.out_begins).push_back(begin_of(rank) - begin_of(mine[0]));
    (gives ? l.in_lengths : l.out_lengths).push_back(length);
    c.bytes = std::max(c.bytes, length);
  }
}

void hierarchy::list_nodes(data_collectives::call& c) {
  auto& lists = unlike_[static_cast<std::size_t>(phase::level::leaders)];
  block_lists& l = emptied(lists);
  const bool both = c.of == collective::alltoallv, gives = both || c.of == collective::reduce_scatter || c.of == collective::scatter;
  const std::uint64_t mine = nodes_.members[nodes_.node[team_.index()]].size();
  std::uint64_t next = 0;
  c.bytes = 0, c.lists = lists;
  for (const auto& members : nodes_.members) {
    const std::uint64_t length = both ? call_.bytes * mine * members.size() : begin_of(members.back() + 1) - begin_of(members[0]);
    if (gives) l.in_begins.push_back(next), l.in_lengths.push_back(length);
    if (both || !gives) l.out_begins.push_back(next), l.out_lengths.push_back(length);
    next += length;
    c.bytes = std::max(c.bytes, length);
  }
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
  if (done_.back() != segments_) return false;
  if (gaps_ && call_.of == collective::allgather) unpack();
  return true;
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

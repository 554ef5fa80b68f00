// The schedules of all ranks in virtual time, as providers/sim runs them: a rank goes on at once as far as it can, and what
// reaches another rank is an event, taken in the order of time. An adapter has a port for its node and one for the network;
// what it sends or takes in by one is at least a gap apart.
// A rank that shares its core goes on when it has it. What goes from rank to rank of a node is then no adapter's work: the sender's
// core moves the bytes and, unless memory is mapped, works for L, since the kernel brings a message to its taker's socket within the
// sender's call; the receiver's core moves the bytes again. In mapped memory they land where they are read, and L is the reader's.
#include <algorithm>
#include <map>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "collectives/price.h"
#include "collectives/shared_cores.h"

namespace tutti {
namespace {

constexpr picoseconds never = -1;
constexpr picoseconds each_move = 30'000;  // of a few bytes as well, where other ranks had the core meanwhile, and its cache
constexpr std::uint32_t no_word = ~std::uint32_t{0};
constexpr std::uint64_t exposure_bytes = 128;  // some; of what `expose` puts

bool exchanges(step_kind k) noexcept {
  return k != step_kind::copy && k != step_kind::reduce_left && k != step_kind::reduce_right;
}

// What one rank did and another sees.
struct signalled {
  picoseconds when = never;
  std::uint32_t by = 0;
  picoseconds payload = 0;
};

// What reaches the adapter of `to`; or its memory, which a rank that shares its core sees when it has it.
struct event {
  enum class kind : std::uint8_t { signal, addition, answer, landed, visit } what;
  picoseconds when;
  picoseconds made;      // events of one time in the order in which they were made
  std::uint64_t number;
  std::uint32_t from, to, word;
  picoseconds payload;
  std::uint64_t value;   // of an answer; of a visit: its plan

  bool operator>(const event& o) const noexcept { return std::tie(when, made, number) > std::tie(o.when, o.made, o.number); }
};

struct rank_state {
  picoseconds clock = 0;
  picoseconds sends[2] = {}, takes[2] = {};  // from when its adapter can, by port: the network's, the node's
  picoseconds gone = 0;                      // when all of what it sent or reads has
  picoseconds roused = never;                // when it is to go on, once all of that has gone
  picoseconds owed = 0;                      // what its core has to work for others before it goes on
  std::uint32_t run = 0;
  std::size_t at = 0;                        // step of it
  bool asked = false;                        // arrive: the addition is under way, or answered
  std::uint64_t answer = 0;                  // its result; 0: not here
  std::vector<event> additions;              // upon its counters, which wait for its core
};

class evaluation {
 public:
  evaluation(const algorithm& a, shape s, const costs& c, const partition& data, std::uint32_t runs, bool in_blocks)
      : shape_(s), costs_(c), data_(data), runs_(runs), behind_lines_(!owner_of(a).data.in_lines && data.length(0) <= data_layout::line_data_bytes),
        signals_all_(owner_of(a).data.needs_everyone), casts_(runs),
        network_(in_picoseconds(c.network)), node_(in_picoseconds(c.node)), cores_(s.size, s.node_of, c, in_blocks), ranks_(s.size) {
    s.copies_first = !c.mapped;  // as far as all ranks know
    for (s.rank = 0; s.rank < s.size; ++s.rank) all_.push_back(a.make(s));
    if (s.first_set)
      for (first_ = std::move(all_), all_.clear(), s.first_set = false, s.rank = 0; s.rank < s.size; ++s.rank) all_.push_back(a.make(s));
    // Each run has words of its own: those of runs to come say nothing of this one.
    lines_ = all_.empty() ? 0 : all_[0].words;
    arrival_.assign(std::size_t{s.size} * lines_ * runs, {});
  }

  picoseconds finish() {
    if (!shares()) for (std::uint32_t r = 0; r < shape_.size; ++r) go_on(r);
    for (std::uint32_t c = 0; c < cores_.count(); ++c) plan(cores_.first(c));
    while (!events_.empty()) {
      const event e = events_.top();
      events_.pop();
      if (e.what == event::kind::visit) visit({e.when, e.to, e.value});
      else take_in(e);
    }
    picoseconds last = 0;
    for (std::uint32_t r = 0; r < shape_.size; ++r) {
      if (ranks_[r].run < runs_) return never;
      last = std::max(last, ranks_[r].clock);
    }
    return last;
  }

 private:
  bool shares() const noexcept { return cores_.count() > 0; }
  std::uint32_t node_of(std::uint32_t r) const { return shape_.node_of.empty() ? 0 : shape_.node_of[r]; }
  bool same_node(std::uint32_t a, std::uint32_t b) const { return node_of(a) == node_of(b); }
  const link_cost& link(std::uint32_t a, std::uint32_t b) const { return same_node(a, b) ? node_ : network_; }
  // To itself a rank sends as inside a node, but for what it can store by itself.
  picoseconds latency(std::uint32_t from, std::uint32_t to) const { return from == to && costs_.mapped ? 0 : link(from, to).latency; }
  bool adds_by_cpu(std::uint32_t r, std::uint32_t owner) const { return costs_.mapped && same_node(r, owner); }
  bool by_cores(std::uint32_t a, std::uint32_t b) const { return shares() && same_node(a, b); }

  // What the core of `to` works for a message when it comes to it.
  picoseconds work_to_take(std::uint32_t from, std::uint32_t to, picoseconds payload) const {
    const link_cost& l = link(from, to);
    // Data that are not in the line of the signal come from the other's cache as well, after it. Of long ones that is little.
    const bool apart = payload > 0 && behind_lines_ && costs_.mapped && same_node(from, to);
    return (costs_.target_works ? l.overhead : 0) + (by_cores(from, to) && from != to ? (costs_.mapped ? l.latency : payload) : 0) + (apart ? l.latency : 0);
  }

  // True: at least a step further.
  bool go_on(std::uint32_t r) {
    rank_state& me = ranks_[r];
    bool moved = false;
    for (; me.run < runs_; ++me.run, me.at = 0) {
      const std::vector<step>& steps = steps_of(r);
      for (; me.at < steps.size() && advance(r, steps[me.at]); ++me.at) moved = true;
      if (me.at < steps.size()) return moved;
    }
    return moved;
  }

  // It goes on now, or when it has its core.
  void wake(std::uint32_t r, picoseconds now) {
    if (!shares()) go_on(r);
    else if (const auto next = cores_.arrived(r, now)) plan(*next);
  }
  void wake_at(picoseconds when, std::uint32_t r) { events_.push({event::kind::landed, when, when, number_++, r, r, no_word, 0, 0}); }

  void plan(const shared_cores::visit& v) { events_.push({event::kind::visit, v.when, v.when, number_++, 0, v.core, 0, 0, v.plan}); }

  void visit(const shared_cores::visit& v) {
    const auto r = cores_.begin(v);
    if (!r) return;
    rank_state& me = ranks_[*r];
    picoseconds now = std::max(me.clock, v.when);
    bool moved = false;
    if (me.run < runs_ || !me.additions.empty()) {  // who has finished looks for what comes next
      me.clock = now + std::exchange(me.owed, 0);
      moved = serve(*r);
      moved = go_on(*r) || moved;
      now = me.clock;
    }
    if (const auto next = cores_.end(v.core, moved, now)) plan(*next);
  }

  // Of the run that the rank is in.
  const std::vector<step>& steps_of(std::uint32_t r) const { return (first_.empty() || ranks_[r].run > 0 ? all_ : first_)[r].steps; }
  std::uint32_t word_of(std::uint32_t r, const step& s) const { return ranks_[r].run * lines_ + s.word; }
  std::size_t place_of(std::uint32_t r, std::uint32_t word) const { return std::size_t{r} * lines_ * runs_ + word; }

  // When the last byte of the message has left the adapter, or the core has moved it.
  picoseconds leave(rank_state& me, std::uint32_t from, std::uint32_t to, picoseconds payload) {
    if (by_cores(from, to)) return me.clock += payload + (costs_.mapped || from == to ? 0 : link(from, to).latency);
    const picoseconds sent = std::max(me.clock, me.sends[same_node(from, to)]) + payload;
    me.sends[same_node(from, to)] = sent + link(from, to).gap;
    me.gone = std::max(me.gone, sent);
    return sent;
  }

  // What is asked for leaves the other's adapter behind what else leaves it. As in providers/sim, it queues up nowhere here. Who asks does
  // not wait for what its own adapter is to send for others, who may ask later.
  void read_by_adapters(std::uint32_t r, std::uint32_t from, std::uint64_t bytes) {
    rank_state &me = ranks_[r], &other = ranks_[from];
    const link_cost& l = link(r, from);
    const bool port = same_node(r, from);
    const picoseconds payload = for_bytes(bytes, l.bytes_per_ns);
    me.clock += l.overhead;
    const picoseconds asked = me.clock + l.latency;
    const picoseconds begins = std::max(asked, other.sends[port]);
    other.sends[port] = begins + payload + l.gap;
    me.gone = std::max(me.gone, begins + l.latency + payload);
  }

  void send(event::kind what, std::uint32_t from, std::uint32_t to, std::uint32_t word, picoseconds payload) {
    rank_state& me = ranks_[from];
    me.clock += link(from, to).overhead;
    const picoseconds sent = leave(me, from, to, payload);
    const picoseconds when = by_cores(from, to) ? sent : sent - payload + latency(from, to);
    events_.push({what, when, me.clock, number_++, from, to, word, payload, 0});
  }

  void take_in(const event& e) {
    rank_state& me = ranks_[e.to];
    const link_cost& l = link(e.from, e.to);
    picoseconds& free = me.takes[same_node(e.from, e.to)];
    const bool adapter = !by_cores(e.from, e.to);
    const picoseconds when = adapter ? std::max(e.when, free) + e.payload : e.when;
    switch (e.what) {
      case event::kind::visit: return;
      case event::kind::answer:
        if (!shares()) me.clock = std::max(me.clock, e.when) + work_to_take(e.from, e.to, 0);
        else me.owed += work_to_take(e.from, e.to, 0);
        me.answer = e.value;
        return wake(e.to, e.when);
      case event::kind::addition: {
        if (adapter) free = when + std::max(l.gap, costs_.native_atomics ? 0 : l.overhead);
        if (shares() && !costs_.native_atomics) {
          me.additions.push_back(e);
          return wake(e.to, e.when);
        }
        return add(e, when + (costs_.native_atomics ? 0 : l.overhead));
      }
      case event::kind::signal:
        if (adapter) free = when + l.gap;
        if (when > e.when && shares()) {
          event later = e;
          later.what = event::kind::landed, later.when = when, later.number = number_++;
          return events_.push(later);
        }
        [[fallthrough]];
      case event::kind::landed:
        if (e.word == no_word && !shares()) me.clock = std::max(me.clock, e.when);
        if (e.word != no_word) arrival_[place_of(e.to, e.word)] = {e.what == event::kind::landed ? e.when : when, e.from, e.payload};
        return wake(e.to, e.when);
    }
  }

  // Those that wait for this rank's core.
  bool serve(std::uint32_t r) {
    rank_state& me = ranks_[r];
    const bool any = !me.additions.empty();
    for (const event& e : std::exchange(me.additions, {})) {
      me.clock += link(e.from, r).overhead + work_to_take(e.from, r, 0);
      add(e, me.clock);
    }
    return any;
  }

  // The adapter of the counter's owner adds, or its core does; the sum goes back by the adapter.
  void add(const event& e, picoseconds when) {
    picoseconds& sends = ranks_[e.to].sends[same_node(e.from, e.to)];
    const picoseconds left = std::max(when, sends);
    sends = left + link(e.from, e.to).gap;
    events_.push({event::kind::answer, left + latency(e.to, e.from), when, number_++, e.to, e.from, e.word, 0, ++counters_[{e.to, e.word}]});
  }

  // By its core. What a peer has written comes out of the peer's cache.
  picoseconds moving(std::uint32_t r, const step& s, std::uint64_t bytes) const {
    const double own = s.kind == step_kind::copy ? costs_.copied_bytes_per_ns : costs_.reduced_bytes_per_ns;
    if (s.peer == any_peer) return for_bytes(bytes, own) + (shares() && own > 0 ? each_move : 0);
    const link_cost& l = link(r, s.peer);
    return l.latency + for_bytes(bytes, l.bytes_per_ns > 0 ? std::min(own, l.bytes_per_ns) : own);
  }

  // False: rank r cannot finish its step yet.
  bool advance(std::uint32_t r, const step& s) {
    rank_state& me = ranks_[r];
    const std::uint64_t bytes = s.block == no_block ? 0 : data_.length(s.block, s.count);
    if (s.block != no_block && bytes == 0 && !(signals_all_ && exchanges(s.kind))) return true;
    if (s.one_way) return true;  // all give something to all
    switch (s.kind) {
      case step_kind::signal: send(event::kind::signal, r, s.peer, word_of(r, s), 0); return true;
      case step_kind::put_signal: send(event::kind::signal, r, s.peer, word_of(r, s), for_bytes(bytes, link(r, s.peer).bytes_per_ns)); return true;
      case step_kind::expose: send(event::kind::signal, r, s.peer, word_of(r, s), for_bytes(exposure_bytes, link(r, s.peer).bytes_per_ns)); return true;
      case step_kind::fetch:
        if (costs_.mapped && same_node(r, s.peer)) {
          me.clock += in_picoseconds(costs_.fetch_us) + for_bytes(bytes, costs_.fetched_bytes_per_ns);
          return true;
        }
        if (!by_cores(r, s.peer)) return read_by_adapters(r, s.peer, bytes), true;
        ranks_[s.peer].owed += each_move;  // which it moves in pieces, whenever it has its core
        [[fallthrough]];
      case step_kind::put:
      case step_kind::get: {
        const link_cost& l = link(r, s.peer);
        const picoseconds payload = for_bytes(bytes, l.bytes_per_ns);
        me.clock += l.overhead;
        const bool puts = s.kind == step_kind::put, adapter = !by_cores(r, s.peer);
        const picoseconds sent = leave(me, r, s.peer, puts || !adapter ? payload : 0);
        if (!puts && !(costs_.mapped && !adapter)) me.gone = std::max(me.gone, sent + 2 * l.latency + (adapter ? payload : 0));
        if (shares()) ranks_[s.peer].owed += work_to_take(r, s.peer, payload);
        return true;
      }
      case step_kind::copy:
      case step_kind::reduce_left:
      case step_kind::reduce_right:
        me.clock += moving(r, s, bytes);
        return true;
      case step_kind::complete:
        if (me.gone <= me.clock) return true;
        // What others ask of its adapter until then comes before what it sends afterwards.
        if (std::exchange(me.roused, me.gone) != me.gone) wake_at(me.gone, r);
        return false;
      case step_kind::wait: {
        const signalled& in = arrival_[place_of(r, word_of(r, s))];
        if (in.when == never) return false;
        me.clock = std::max(me.clock, in.when) + work_to_take(in.by, r, in.payload);
        return true;
      }
      case step_kind::arrive: return arrive(r, s);
      case step_kind::multicast: {
        me.clock += widest().overhead;
        const picoseconds sent = std::max(me.clock, me.sends[0]);
        me.sends[0] = sent + widest().gap;
        casts_[me.run] = {sent + multicast_cost(costs_, widest()) - 2 * widest().overhead, r};
        for (std::uint32_t t = 0; t < shape_.size; ++t) {
          if (t == r) continue;
          if (shares()) wake_at(casts_[me.run].when, t);
          else go_on(t);
        }
        return true;
      }
      case step_kind::await_multicast: {
        const signalled& in = casts_[me.run];
        if (in.when == never || (shares() && in.when > me.clock)) return false;
        me.clock = std::max(me.clock, in.when) + widest().overhead + (by_cores(in.by, r) ? widest().latency : 0);
        return true;
      }
    }
    return true;
  }

  const link_cost& widest() const {
    for (const std::uint32_t node : shape_.node_of)
      if (node != shape_.node_of[0]) return network_;
    return node_;
  }

  bool arrive(std::uint32_t r, const step& s) {
    rank_state& me = ranks_[r];
    if (!std::exchange(me.asked, true)) {
      if (!adds_by_cpu(r, s.peer)) {
        send(event::kind::addition, r, s.peer, word_of(r, s), 0);
        return false;
      }
      // A cache line that goes from core to core.
      picoseconds& free = line_free_[{s.peer, word_of(r, s)}];
      const link_cost& l = link(r, s.peer);
      free = me.clock = std::max(free, me.clock) + l.overhead + l.latency;
      me.answer = ++counters_[{s.peer, word_of(r, s)}];
    }
    if (me.answer == 0) return false;
    if (me.answer != s.multiple) me.at += s.count;
    me.asked = false, me.answer = 0;
    return true;
  }

  shape shape_;
  const costs& costs_;
  const partition data_;
  const std::uint32_t runs_;
  const bool behind_lines_;       // blocks could be in the lines of their signals, and are not
  const bool signals_all_;        // run_data's: also about blocks that are empty
  std::vector<signalled> casts_;  // by run
  link_cost network_, node_;
  shared_cores cores_;
  std::vector<schedule> all_, first_;  // first_: of run 0, where that is of the first set
  std::uint32_t lines_ = 0;
  std::vector<rank_state> ranks_;
  std::vector<signalled> arrival_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> counters_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, picoseconds> line_free_;
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  std::uint64_t number_ = 0;
};

}  // namespace

picoseconds evaluate(const algorithm& a, shape s, const costs& c, const partition& data, std::uint32_t runs) {
  const picoseconds dealt = evaluation(a, s, c, data, runs, false).finish();  // nobody knows where the kernel puts ranks
  return c.ranks_per_core > 1 && dealt >= 0 ? (dealt + evaluation(a, s, c, data, runs, true).finish()) / 2 : dealt;
}

}  // namespace tutti

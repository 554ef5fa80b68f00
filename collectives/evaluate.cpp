// The schedules of all ranks in virtual time, as providers/sim runs them: a rank goes on at once as far as it can, and what
// reaches another rank is an event, taken in the order of time. An adapter has a port for its node and one for the network;
// what it sends or takes in by one is at least a gap apart.
#include <algorithm>
#include <map>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "collectives/price.h"

namespace tutti {
namespace {

constexpr picoseconds never = -1;

bool exchanges(step_kind k) noexcept {
  return k != step_kind::copy && k != step_kind::reduce_left && k != step_kind::reduce_right;
}

struct rank_state {
  picoseconds clock = 0;
  picoseconds sends[2] = {}, takes[2] = {};  // from when its adapter can, by port: the network's, the node's
  picoseconds gone = 0;                      // when all of what it sent or reads has
  std::uint32_t turn = 0;                    // how often it has had its core before
  std::uint32_t run = 0;
  std::size_t at = 0;                        // step of it
  bool asked = false;                        // arrive: the addition is under way, or answered
  std::uint64_t answer = 0;                  // its result; 0: not here
};

// What one rank did and another sees. Ranks that share a core run one after another, so what a rank does in one turn is
// seen in the next: the first ones to look have lost the core by then.
struct signalled {
  picoseconds when = never;
  std::uint32_t by = 0, turn = 0;
};

// What reaches the adapter of `to`.
struct event {
  enum class kind : std::uint8_t { signal, addition, answer } what;
  picoseconds when;
  picoseconds made;      // events of one time in the order in which they were made
  std::uint64_t number;
  std::uint32_t from, to, word, turn;
  picoseconds payload;
  std::uint64_t value;   // of an answer

  bool operator>(const event& o) const noexcept { return std::tie(when, made, number) > std::tie(o.when, o.made, o.number); }
};

class evaluation {
 public:
  evaluation(const algorithm& a, shape s, const costs& c, const partition& data, std::uint32_t runs)
      : shape_(s), costs_(c), data_(data), runs_(runs), signals_all_(owner_of(a).data.needs_everyone), casts_(runs), network_(in_picoseconds(c.network)), node_(in_picoseconds(c.node)),
        turn_(in_picoseconds(c.turn_us)), ranks_(s.size) {
    for (s.rank = 0; s.rank < s.size; ++s.rank) all_.push_back(a.make(s));
    if (s.first_set)
      for (first_ = std::move(all_), all_.clear(), s.first_set = false, s.rank = 0; s.rank < s.size; ++s.rank) all_.push_back(a.make(s));
    // Each run has words of its own: those of runs to come say nothing of this one.
    lines_ = all_.empty() ? 0 : all_[0].words;
    arrival_.assign(std::size_t{s.size} * lines_ * runs, {});
    for (std::uint32_t r = 0; r < s.size; ++r) ++work_[node_of(r)].ranks;
  }

  picoseconds finish() {
    for (std::uint32_t r = 0; r < shape_.size; ++r) go_on(r);
    while (!events_.empty()) {
      const event e = events_.top();
      events_.pop();
      take_in(e);
    }
    picoseconds last = 0;
    for (std::uint32_t r = 0; r < shape_.size; ++r) {
      if (ranks_[r].run < runs_) return never;
      last = std::max(last, ranks_[r].clock);
    }
    picoseconds most = 0;
    for (const auto& [node, w] : work_) most = std::max(most, shared_work(w.done, w.ranks, costs_.ranks_per_core));
    return chain_and_work(last, most);
  }

 private:
  std::uint32_t node_of(std::uint32_t r) const { return shape_.node_of.empty() ? 0 : shape_.node_of[r]; }
  bool same_node(std::uint32_t a, std::uint32_t b) const { return node_of(a) == node_of(b); }
  const link_cost& link(std::uint32_t a, std::uint32_t b) const { return same_node(a, b) ? node_ : network_; }
  // To itself a rank sends as inside a node, but for what it can store by itself.
  picoseconds latency(std::uint32_t from, std::uint32_t to) const { return from == to && costs_.mapped ? 0 : link(from, to).latency; }
  bool adds_by_cpu(std::uint32_t r, std::uint32_t owner) const { return costs_.mapped && same_node(r, owner); }

  void go_on(std::uint32_t r) {
    rank_state& me = ranks_[r];
    for (; me.run < runs_; ++me.run, me.at = 0) {
      const std::vector<step>& steps = steps_of(r);
      while (me.at < steps.size() && advance(r, steps[me.at])) ++me.at;
      if (me.at < steps.size()) return;
    }
  }

  // Of the run that the rank is in.
  const std::vector<step>& steps_of(std::uint32_t r) const { return (first_.empty() || ranks_[r].run > 0 ? all_ : first_)[r].steps; }
  std::uint32_t word_of(std::uint32_t r, const step& s) const { return ranks_[r].run * lines_ + s.word; }
  std::size_t place_of(std::uint32_t r, std::uint32_t word) const { return std::size_t{r} * lines_ * runs_ + word; }

  // When the last byte of the message has left the adapter.
  picoseconds leave(rank_state& me, std::uint32_t from, std::uint32_t to, picoseconds payload) {
    const picoseconds sent = std::max(me.clock, me.sends[same_node(from, to)]) + payload;
    me.sends[same_node(from, to)] = sent + link(from, to).gap;
    me.gone = std::max(me.gone, sent);
    return sent;
  }

  void send(event::kind what, std::uint32_t from, std::uint32_t to, std::uint32_t word, picoseconds payload) {
    rank_state& me = ranks_[from];
    const link_cost& l = link(from, to);
    me.clock += l.overhead;
    const picoseconds sent = leave(me, from, to, payload);
    events_.push({what, sent - payload + latency(from, to), me.clock, number_++, from, to, word, me.turn, payload, 0});
    charge(from, to, l, payload);
  }

  void take(rank_state& me, const signalled& in, picoseconds overhead) {
    me.clock = std::max(me.clock, in.when);
    if (in.turn >= me.turn) me.turn = in.turn + 1, me.clock += turn_;
    me.clock += overhead;
  }

  // A message from one to another, which the cores of their nodes carry.
  void charge(std::uint32_t from, std::uint32_t to, const link_cost& l, picoseconds payload = 0) {
    if (from == to) return;
    work_[node_of(from)].done += l.overhead;
    work_[node_of(to)].done += l.overhead + (same_node(from, to) ? l.latency + payload : 0);
  }

  void take_in(const event& e) {
    rank_state& me = ranks_[e.to];
    if (e.what == event::kind::answer) {
      me.clock = std::max(me.clock, e.when) + (costs_.target_works ? link(e.to, e.from).overhead : 0);
      if (!costs_.native_atomics) me.clock += turn_;
      me.answer = e.value;
      return go_on(e.to);
    }
    const link_cost& l = link(e.from, e.to);
    picoseconds& free = me.takes[same_node(e.from, e.to)];
    const picoseconds when = std::max(e.when, free) + e.payload;
    if (e.what == event::kind::addition) return add(e, when, free);
    free = when + l.gap;
    arrival_[place_of(e.to, e.word)] = {when, e.from, e.turn};
    go_on(e.to);
  }

  // The adapter of the counter's owner adds, or its core does; the sum goes back by the adapter.
  void add(const event& e, picoseconds when, picoseconds& free) {
    const link_cost& l = link(e.from, e.to);
    rank_state& owner = ranks_[e.to];
    free = when + std::max(l.gap, costs_.native_atomics ? 0 : l.overhead);
    if (!costs_.native_atomics) charge(e.to, e.from, l);
    if (!costs_.native_atomics) when += l.overhead;
    picoseconds& sends = owner.sends[same_node(e.from, e.to)];
    const picoseconds left = std::max(when, sends);
    sends = left + l.gap;
    events_.push({event::kind::answer, left + latency(e.to, e.from), when, number_++, e.to, e.from, e.word, e.turn, 0,
                  ++counters_[{e.to, e.word}]});
  }

  // False: rank r cannot finish its step yet.
  bool advance(std::uint32_t r, const step& s) {
    rank_state& me = ranks_[r];
    const std::uint64_t bytes = s.block == no_block ? 0 : data_.length(s.block, s.count);
    if (s.block != no_block && bytes == 0 && !(signals_all_ && exchanges(s.kind))) return true;
    switch (s.kind) {
      case step_kind::signal: send(event::kind::signal, r, s.peer, word_of(r, s), 0); return true;
      case step_kind::put_signal: send(event::kind::signal, r, s.peer, word_of(r, s), for_bytes(bytes, link(r, s.peer).bytes_per_ns)); return true;
      case step_kind::put:
      case step_kind::get: {
        const link_cost& l = link(r, s.peer);
        const picoseconds payload = for_bytes(bytes, l.bytes_per_ns);
        me.clock += l.overhead;
        const picoseconds sent = leave(me, r, s.peer, s.kind == step_kind::put ? payload : 0);
        if (s.kind == step_kind::get) me.gone = std::max(me.gone, sent + 2 * l.latency + payload);
        charge(r, s.peer, l, payload);
        return true;
      }
      case step_kind::copy:
      case step_kind::reduce_left:
      case step_kind::reduce_right: {
        const picoseconds moving = for_bytes(bytes, s.kind == step_kind::copy ? costs_.copied_bytes_per_ns : costs_.reduced_bytes_per_ns);
        me.clock += moving + (s.peer == any_peer ? 0 : link(r, s.peer).latency);  // lines that a peer has written
        work_[node_of(r)].done += moving;
        return true;
      }
      case step_kind::complete: me.clock = std::max(me.clock, me.gone); return true;
      case step_kind::wait: {
        const signalled& in = arrival_[place_of(r, word_of(r, s))];
        if (in.when == never) return false;
        take(me, in, costs_.target_works ? link(r, in.by).overhead : 0);
        return true;
      }
      case step_kind::arrive: return arrive(r, s);
      case step_kind::multicast: {
        me.clock += widest().overhead;
        const picoseconds sent = std::max(me.clock, me.sends[0]);
        me.sends[0] = sent + widest().gap;
        casts_[me.run] = {sent + multicast_cost(costs_, widest()) - 2 * widest().overhead, r, me.turn};
        work_[node_of(r)].done += widest().overhead;
        for (std::uint32_t t = 0; t < shape_.size; ++t)
          if (t != r) go_on(t);
        return true;
      }
      case step_kind::await_multicast:
        if (casts_[me.run].when == never) return false;
        take(me, casts_[me.run], widest().overhead);
        work_[node_of(r)].done += widest().overhead + (same_node(casts_[me.run].by, r) ? widest().latency : 0);
        return true;
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
    last_turn_ = std::max(last_turn_, me.turn);
    if (me.answer == s.multiple) me.turn = last_turn_;
    else me.at += s.count;
    me.asked = false, me.answer = 0;
    return true;
  }

  shape shape_;
  const costs& costs_;
  const partition data_;
  const std::uint32_t runs_;
  const bool signals_all_;        // run_data's: also about blocks that are empty
  std::vector<signalled> casts_;  // by run
  link_cost network_, node_;
  picoseconds turn_;
  std::vector<schedule> all_, first_;  // first_: of run 0, where that is of the first set
  std::uint32_t lines_ = 0;
  struct node_work {
    std::uint32_t ranks = 0;
    picoseconds done = 0;
  };
  std::vector<rank_state> ranks_;
  std::map<std::uint32_t, node_work> work_;
  std::vector<signalled> arrival_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> counters_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, picoseconds> line_free_;
  std::uint32_t last_turn_ = 0;  // of those who added
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  std::uint64_t number_ = 0;
};

}  // namespace

picoseconds evaluate(const algorithm& a, shape s, const costs& c, const partition& data, std::uint32_t runs) {
  return evaluation(a, s, c, data, runs).finish();
}

}  // namespace tutti

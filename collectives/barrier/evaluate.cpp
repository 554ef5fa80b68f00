// The schedules of all ranks in virtual time. Each rank runs as far as it can and its signals carry the time at which
// they arrive, so ranks may be taken in any order; only additions to one counter have to be put in order, which is done
// once all of the epoch's are known.
#include <algorithm>
#include <map>
#include <utility>

#include "collectives/barrier/price.h"

namespace tutti {
namespace {

constexpr picoseconds never = -1;

struct rank_state {
  picoseconds clock = 0, sent = never, taken = never;  // when the last message left, when the last was taken in
  std::uint32_t turn = 0;                              // how often it has had its core before
  std::size_t at = 0;
  bool waiting = false, asked = false;
};

// What one rank did and another sees. Ranks that share a core run one after another, so what a rank does in one turn is
// seen in the next: the first ones to look have lost the core by then.
struct signalled {
  picoseconds when = never;
  std::uint32_t by = 0, turn = 0;
};

struct addition {
  picoseconds asked;
  std::uint32_t rank;
};

class evaluation {
 public:
  evaluation(const barrier_algorithm& a, barrier_shape shape, const barrier_costs& costs)
      : shape_(shape), costs_(costs), network_(in_picoseconds(costs.network)), node_(in_picoseconds(costs.node)),
        turn_(in_picoseconds(costs.turn_us)), ranks_(shape.size) {
    for (shape.rank = 0; shape.rank < shape.size; ++shape.rank) all_.push_back(a.make(shape));
    lines_ = all_.empty() ? 0 : all_[0].words;
    arrival_.assign(std::size_t{shape.size} * lines_, {});
    for (std::uint32_t r = 0; r < shape.size; ++r) ++work_[node_of(r)].ranks;
  }

  picoseconds finish() {
    for (std::uint32_t r = 0; r < shape_.size; ++r) runnable_.push_back(r);
    while (!runnable_.empty()) {
      const std::uint32_t r = runnable_.back();
      runnable_.pop_back();
      while (ranks_[r].at < all_[r].steps.size() && advance(r)) ++ranks_[r].at;
    }
    picoseconds last = 0;
    for (std::uint32_t r = 0; r < shape_.size; ++r) {
      if (ranks_[r].at < all_[r].steps.size()) return never;
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

  // When the message leaves the adapter.
  picoseconds send(rank_state& me, const link_cost& l) {
    me.clock += l.overhead;
    if (me.sent != never) me.sent = std::max(me.clock, me.sent + l.gap);
    else me.sent = me.clock;
    return me.sent;
  }

  void take(rank_state& me, const signalled& in, const link_cost& l) {
    me.clock = std::max(me.clock, in.when);
    if (in.turn >= me.turn) me.turn = in.turn + 1, me.clock += turn_;
    if (me.taken != never) me.clock = std::max(me.clock, me.taken + l.gap);
    me.taken = me.clock;
    me.clock += l.overhead;
  }

  // A message from one to another, which the cores of their nodes carry.
  void charge(std::uint32_t from, std::uint32_t to, const link_cost& l) {
    if (from == to) return;
    work_[node_of(from)].done += l.overhead;
    work_[node_of(to)].done += l.overhead + (same_node(from, to) ? l.latency : 0);
  }

  bool block(std::uint32_t r) {
    ranks_[r].waiting = true;
    return false;
  }

  void wake(std::uint32_t r) {
    if (std::exchange(ranks_[r].waiting, false)) runnable_.push_back(r);
  }

  // False: rank r cannot finish its step yet.
  bool advance(std::uint32_t r) {
    rank_state& me = ranks_[r];
    const step& s = all_[r].steps[me.at];
    switch (s.kind) {
      case step_kind::signal: {
        const link_cost& l = link(r, s.peer);
        arrival_[std::size_t{s.peer} * lines_ + s.word] = {send(me, l) + (s.peer == r ? 0 : l.latency), r, me.turn};
        charge(r, s.peer, l);
        wake(s.peer);
        return true;
      }
      case step_kind::wait: {
        const signalled& in = arrival_[std::size_t{r} * lines_ + s.word];
        if (in.when == never) return block(r);
        take(me, in, link(r, in.by));
        return true;
      }
      case step_kind::arrive: return arrive(r, s);
      case step_kind::multicast:
        cast_ = {me.clock + multicast_cost(costs_, widest()) - widest().overhead, r, me.turn};
        me.clock += widest().overhead;
        work_[node_of(r)].done += widest().overhead;
        for (std::uint32_t t = 0; t < shape_.size; ++t) wake(t);
        return true;
      case step_kind::await_multicast:
        if (cast_.when == never) return block(r);
        take(me, cast_, widest());
        work_[node_of(r)].done += widest().overhead + (same_node(cast_.by, r) ? widest().latency : 0);
        return true;
      default: return true;
    }
  }

  const link_cost& widest() const {
    for (const std::uint32_t node : shape_.node_of)
      if (node != shape_.node_of[0]) return network_;
    return node_;
  }

  // The first visit asks; when the last rank has asked, all are answered; the second visit goes on.
  bool arrive(std::uint32_t r, const step& s) {
    std::vector<addition>& queue = queues_[{s.peer, s.word}];
    if (!std::exchange(ranks_[r].asked, true)) {
      queue.push_back({ranks_[r].clock, r});
      if (queue.size() == s.multiple) {
        answer(queue, s.peer);
        for (const addition& a : queue) wake(a.rank);
      }
    }
    if (queue.size() < s.multiple) return block(r);
    ranks_[r].asked = false;
    if (queue.back().rank != r) ranks_[r].at += s.count;
    return true;
  }

  void answer(std::vector<addition>& queue, std::uint32_t owner) {
    const auto by_cpu = [&](std::uint32_t r) { return costs_.mapped && same_node(r, owner); };
    for (addition& a : queue) {  // when it reaches the counter
      const link_cost& l = link(a.rank, owner);
      if (!by_cpu(a.rank)) a.asked += l.overhead + (a.rank == owner ? 0 : l.latency);
    }
    std::sort(queue.begin(), queue.end(), [](const addition& a, const addition& b) {
      return std::pair(a.asked, a.rank) < std::pair(b.asked, b.rank);
    });
    picoseconds free = 0;
    std::uint32_t latest = 0;
    for (const addition& a : queue) latest = std::max(latest, ranks_[a.rank].turn);
    ranks_[queue.back().rank].turn = latest;
    for (const addition& a : queue) {
      const link_cost& l = link(a.rank, owner);
      picoseconds& clock = ranks_[a.rank].clock;
      if (by_cpu(a.rank)) {
        free = std::max(free, a.asked) + l.overhead + l.latency;
        clock = free;
      } else {
        charge(a.rank, owner, l);
        if (!costs_.native_atomics) charge(owner, a.rank, l);
        free = std::max(free, a.asked) + std::max(l.gap, costs_.native_atomics ? 0 : l.overhead);
        clock = free + (a.rank == owner ? 0 : l.latency) + l.overhead + (costs_.native_atomics ? 0 : turn_);
      }
    }
  }

  barrier_shape shape_;
  const barrier_costs& costs_;
  link_cost network_, node_;
  picoseconds turn_;
  std::vector<schedule> all_;
  std::uint32_t lines_ = 0;
  struct node_work {
    std::uint32_t ranks = 0;
    picoseconds done = 0;
  };
  std::vector<rank_state> ranks_;
  std::map<std::uint32_t, node_work> work_;
  std::vector<signalled> arrival_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<addition>> queues_;
  signalled cast_;
  std::vector<std::uint32_t> runnable_;
};

}  // namespace

picoseconds evaluate_barrier(const barrier_algorithm& a, barrier_shape shape, const barrier_costs& costs) {
  return evaluation(a, shape, costs).finish();
}

}  // namespace tutti

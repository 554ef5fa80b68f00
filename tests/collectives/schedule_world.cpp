#include "tests/collectives/schedule_world.h"

#include <deque>
#include <map>
#include <set>
#include <tuple>

#include "core/transport/transport.h"

namespace tutti::test {
namespace {

std::string name(std::uint32_t rank) { return "rank " + std::to_string(rank); }

std::string text(const step& s) {
  schedule one;
  one.steps.push_back(s);
  std::string out = to_string(one);
  out.pop_back();
  return out;
}

// A list whose members are picked at random and leave in O(1).
class bag {
 public:
  explicit bag(std::size_t universe) : where_(universe, absent) {}
  bool empty() const { return items_.empty(); }
  std::uint32_t any(random_source& r) const { return items_[r.below(items_.size())]; }
  bool has(std::uint32_t x) const { return where_[x] != absent; }
  void insert(std::uint32_t x) {
    if (has(x)) return;
    where_[x] = static_cast<std::uint32_t>(items_.size());
    items_.push_back(x);
  }
  void erase(std::uint32_t x) {
    const std::uint32_t hole = where_[x];
    items_[hole] = items_.back();
    where_[items_[hole]] = hole;
    items_.pop_back();
    where_[x] = absent;
  }

 private:
  static constexpr std::uint32_t absent = ~0u;
  std::vector<std::uint32_t> items_, where_;
};

// Signals of one origin to one word: delivered in order, whenever it pleases.
struct channel {
  std::uint32_t origin, target, word;
  std::deque<std::uint64_t> in_flight;
};

struct datagram {
  std::uint32_t origin, target;
  std::uint64_t epoch;
};

class world {
 public:
  world(const std::vector<schedule>& all, const run_options& o)
      : all_(all), o_(o), n_(static_cast<std::uint32_t>(all.size())), lines_(all.empty() ? 0 : all[0].words),
        random_(o.seed), memory_(std::size_t{n_} * lines_, o.first_epoch - 1), writer_(memory_.size()),
        datagram_seen_(n_, o.first_epoch - 1), ranks_(n_), entered_(o.epochs), ready_(n_), busy_(number_channels()) {
    if (!o_.satisfied) o_.satisfied = reached;
    laggard_ = random_.below(n_);
    style_ = random_.below(6);
    for (std::uint32_t r = 0; r < n_; ++r) ready_.insert(r);
  }

  std::string play() {
    while (error_.empty()) {
      const bool message = !busy_.empty() || !datagrams_.empty();
      if (ready_.empty() && !message) break;
      if (ready_.empty() || (message && random_.one_in(style_ == 1 ? 32 : style_ == 2 ? 2 : 4)))
        deliver();
      else
        act();
    }
    if (error_.empty() && finished_ < n_) report_stuck();
    return error_.empty() ? error_ : error_ + " (seed " + std::to_string(o_.seed) + ")";
  }

 private:
  struct rank_state {
    std::uint32_t epoch = 0;   // index of the run
    std::size_t at = 0;        // next step
    bool inside = false;
  };
  struct pending_writer {
    std::uint32_t origin = 0, count = 0;
  };

  std::size_t number_channels() {
    channel_of_.resize(n_);
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
    for (std::uint32_t r = 0; r < n_; ++r)
      for (const step& s : all_[r].steps) {
        std::uint32_t number = 0;
        if (s.kind == step_kind::signal) {
          const auto [it, fresh] = numbers.try_emplace({r, s.peer, s.word}, numbers.size());
          if (fresh) channels_.push_back({r, s.peer, s.word, {}});
          number = it->second;
        }
        if (s.kind == step_kind::arrive) word(s.peer, s.word) = (o_.first_epoch - 1) * s.multiple;
        channel_of_[r].push_back(number);
      }
    return channels_.size();
  }

  std::uint64_t& word(std::uint32_t rank, std::uint32_t line) { return memory_[std::size_t{rank} * lines_ + line]; }
  std::uint64_t epoch_of(const rank_state& s) const { return o_.first_epoch + s.epoch; }

  // A random style for each seed: even; slow messages; fast messages; one rank or one rank's messages held back until
  // little else can happen; one rank run as far as it gets before the next.
  std::uint32_t pick_rank() {
    if (style_ == 5 && ready_.has(favourite_) && !random_.one_in(64)) return favourite_;
    favourite_ = ready_.any(random_);
    for (int i = 0; style_ == 3 && favourite_ == laggard_ && i < 24; ++i) favourite_ = ready_.any(random_);
    return favourite_;
  }

  void act() {
    const std::uint32_t r = pick_rank();
    rank_state& me = ranks_[r];
    const std::vector<step>& steps = all_[r].steps;
    if (!me.inside) {
      me.inside = true, me.at = 0;
      ++entered_[me.epoch];
      return;
    }
    if (me.at == steps.size()) return leave(r);
    const step& s = steps[me.at];
    switch (s.kind) {
      case step_kind::signal: {
        const std::uint32_t number = channel_of_[r][me.at];
        pending_writer& w = writer_[std::size_t{s.peer} * lines_ + s.word];
        if (w.count && w.origin != r)
          return fail(name(r) + " and " + name(w.origin) + " race on word " + std::to_string(s.word) + " of " +
                      name(s.peer));
        w.origin = r, ++w.count;
        channels_[number].in_flight.push_back(epoch_of(me) * s.multiple);
        busy_.insert(number);
        break;
      }
      case step_kind::wait:
        if (!o_.satisfied(word(r, s.word), epoch_of(me) * s.multiple)) return ready_.erase(r);
        break;
      case step_kind::arrive:
        if (++word(s.peer, s.word) != epoch_of(me) * s.multiple) me.at += s.count;
        break;
      case step_kind::multicast:
        for (std::uint32_t t = 0; t < n_; ++t)
          if (t != r) datagrams_.push_back({r, t, epoch_of(me)});
        break;
      case step_kind::await_multicast:
        if (multicaster_ != any_peer && multicaster_ != s.peer)
          return fail(name(r) + " awaits the multicast of the wrong rank: " + text(s));
        if (!o_.satisfied(datagram_seen_[r], epoch_of(me))) return ready_.erase(r);
        break;
      default: return fail("no step of a barrier: " + text(s));
    }
    ++me.at;
  }

  void leave(std::uint32_t r) {
    rank_state& me = ranks_[r];
    if (entered_[me.epoch] != n_)
      return fail(name(r) + " left epoch " + std::to_string(epoch_of(me)) + " before " +
                  std::to_string(n_ - entered_[me.epoch]) + " had entered it");
    me.inside = false;
    if (++me.epoch == o_.epochs) ++finished_, ready_.erase(r);
  }

  void deliver() {
    if (busy_.empty() || (!datagrams_.empty() && random_.one_in(2))) return deliver_datagram();
    std::uint32_t number = busy_.any(random_);
    for (int i = 0; style_ == 4 && channels_[number].origin == laggard_ && i < 24; ++i) number = busy_.any(random_);
    channel& c = channels_[number];
    std::uint64_t& target = word(c.target, c.word);
    const std::uint64_t value = c.in_flight.front();
    c.in_flight.pop_front();
    if (c.in_flight.empty()) busy_.erase(number);
    --writer_[std::size_t{c.target} * lines_ + c.word].count;
    if (!reached(value, target))
      return fail("word " + std::to_string(c.word) + " of " + name(c.target) + " went back, set by " + name(c.origin));
    target = value;
    wake(c.target);
  }

  void deliver_datagram() {
    const std::uint32_t i = random_.below(datagrams_.size());
    const datagram d = datagrams_[i];
    if (!random_.one_in(8)) {  // else it comes once more, later
      datagrams_[i] = datagrams_.back();
      datagrams_.pop_back();
    }
    if (multicaster_ != any_peer && multicaster_ != d.origin)
      return fail(name(multicaster_) + " and " + name(d.origin) + " both multicast");
    multicaster_ = d.origin;
    if (reached(d.epoch, datagram_seen_[d.target])) datagram_seen_[d.target] = d.epoch;
    wake(d.target);
  }

  void wake(std::uint32_t r) {
    if (ranks_[r].epoch < o_.epochs) ready_.insert(r);
  }

  void fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }

  void report_stuck() {
    error_ = "stuck:";
    int shown = 0;
    for (std::uint32_t r = 0; r < n_ && shown < 8; ++r) {
      if (ranks_[r].epoch == o_.epochs) continue;
      const rank_state& s = ranks_[r];
      error_.append(" ").append(name(r)).append(" in epoch ").append(std::to_string(epoch_of(s)));
      error_.append(" at step ").append(std::to_string(s.at));
      error_.append(" (").append(text(all_[r].steps[s.at])).append(");");
      ++shown;
    }
  }

  const std::vector<schedule>& all_;
  run_options o_;
  std::uint32_t n_, lines_;
  random_source random_;
  std::vector<std::uint64_t> memory_;
  std::vector<pending_writer> writer_;
  std::vector<std::uint64_t> datagram_seen_;
  std::uint32_t multicaster_ = any_peer;
  std::vector<rank_state> ranks_;
  std::vector<std::uint32_t> entered_;          // ranks, by epoch
  std::vector<std::vector<std::uint32_t>> channel_of_;  // by rank and step
  std::vector<channel> channels_;
  std::vector<datagram> datagrams_;
  bag ready_, busy_;                            // ranks that may act, channels with something in flight
  std::uint32_t laggard_ = 0, favourite_ = 0, style_ = 0, finished_ = 0;
  std::string error_;
};

}  // namespace

std::vector<schedule> all_ranks(const algorithm& algorithm, shape shape) {
  std::vector<schedule> all;
  for (shape.rank = 0; shape.rank < shape.size; ++shape.rank) {
    shape.copies_first = shape.rank % 2 == 1;  // each rank as its own fabric is
    all.push_back(algorithm.make(shape));
  }
  return all;
}

std::string inspect(const std::vector<schedule>& all, std::uint32_t words) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> setter;             // (target, word) -> origin
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> signalled;          // origin, target, word
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_last, awaited;
  const auto at = [](std::uint32_t r, const step& s) { return name(r) + ", " + text(s) + ": "; };
  for (std::uint32_t r = 0; r < all.size(); ++r) {
    if (all[r].words != words) return name(r) + " has " + std::to_string(all[r].words) + " words";
    std::size_t last_only_until = 0;
    for (std::size_t i = 0; i < all[r].steps.size(); ++i) {
      const step& s = all[r].steps[i];
      const bool names_word = s.kind == step_kind::signal || s.kind == step_kind::wait || s.kind == step_kind::arrive;
      if (names_word && s.word >= words) return at(r, s) + "word out of range";
      const bool any = s.kind == step_kind::wait || s.kind == step_kind::multicast;
      if (s.peer >= all.size() && !(any && s.peer == any_peer)) return at(r, s) + "no such peer";
      if (s.kind == step_kind::arrive) last_only_until = i + 1 + s.count;
      if (last_only_until > all[r].steps.size()) return at(r, s) + "skips past the end";
      if (s.kind != step_kind::signal) continue;
      signalled.insert({r, s.peer, s.word});
      if (i < last_only_until) {
        by_last.insert({s.peer, s.word});
        continue;
      }
      const auto [it, fresh] = setter.try_emplace({s.peer, s.word}, r);
      if (!fresh && it->second != r) return at(r, s) + name(it->second) + " sets that word too";
    }
  }
  for (std::uint32_t r = 0; r < all.size(); ++r)
    for (const step& s : all[r].steps) {
      if (s.kind != step_kind::wait) continue;
      const std::pair mine{r, s.word};
      if (s.peer == any_peer ? !by_last.count(mine) : !signalled.count({s.peer, r, s.word}))
        return at(r, s) + "nobody signals that";
      awaited.insert(mine);
    }
  for (const auto& [place, origin] : setter) {
    if (by_last.count(place)) return name(origin) + " sets a word of the last arriver's";
    if (!awaited.count(place)) return name(origin) + " signals a word that nobody awaits";
  }
  return {};
}

std::string run(const std::vector<schedule>& all, const run_options& options) { return world(all, options).play(); }

std::vector<layout> layouts(std::uint32_t size, std::uint64_t seed) {
  std::vector<layout> out = {{"no layout given", {}}, {"one node", std::vector<std::uint32_t>(size, 7)},
                             {"a node each", {}},     {"blocks of 4", {}},
                             {"round robin of 3", {}}, {"one big node and single ranks", {}},
                             {"random", {}}};
  random_source random(seed);
  const std::uint32_t nodes = 1 + random.below(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    out[2].node_of.push_back(size - i);  // numbers descend: an order of nodes must come from ranks, not from these
    out[3].node_of.push_back(i / 4);
    out[4].node_of.push_back(i % 3);
    out[5].node_of.push_back(i % 2 == 0 ? 1000 : i);
    out[6].node_of.push_back(random.below(nodes) * 17);
  }
  return out;
}

}  // namespace tutti::test

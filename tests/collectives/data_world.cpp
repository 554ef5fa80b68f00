#include "tests/collectives/data_world.h"

#include <bit>

#include "core/transport/transport.h"
#include "tests/collectives/schedule_world.h"

namespace tutti::test {
namespace {

std::string name(std::uint32_t rank) { return "rank " + std::to_string(rank); }

// A byte: the sum of what `ranks` gave as their byte `index` in that run.
struct value {
  std::uint32_t run = ~0u, index = ~0u;
  std::uint64_t ranks = 0, grouping = 0;
  bool same_data(const value& o) const { return run == o.run && index == o.index && ranks == o.ranks; }
};

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  random_source r(a * 0x9e3779b97f4a7c15u + b);
  return r.next();
}

// What a rank was told of another's memory.
struct exposure {
  std::uint32_t run = ~0u, by = ~0u;
  place from;
  std::uint32_t block = 0;
};

struct signals_of_a_word {         // from one rank
  std::uint64_t given = 0, next = 0;
};

struct put_under_way {  // or a fetch
  const step* what;
  std::uint32_t from, run, turn = run;
  std::uint64_t ticket = 0;       // among the signals of `from` to that word
  enum { submitted, read, landed } at = submitted;
  bool late = false;
  std::vector<value> bytes;
  exposure told{};                // of a fetch
  signals_of_a_word* line = nullptr;
};

class world {
 public:
  world(data_schedules& s, const data_options& o) : made_(s), row_(s.row), o_(o), n_(s.where.size), random_(o.seed) {
    plan();
    words_.assign(n_, std::vector<std::uint64_t>(std::size_t{s.sets} * row_.words(s.where), 0));
    slot_bytes_ = slot_ + random_.below(2);
    staging_.assign(n_, std::vector<value>(s.sets * (row_.data.slots(s.where) + 1) * slot_bytes_));
    told_.assign(n_, std::vector<exposure>(row_.data.slots(s.where)));
    in_.resize(n_), out_.resize(n_), given_.resize(n_), ranks_.resize(n_), under_way_of_.assign(n_, 0);
    for (std::uint32_t r = 0; r < n_; ++r) ready_.push_back(r);
    laggard_ = random_.below(n_), style_ = random_.below(7);
  }

  std::string play(std::uint64_t* grouping) {
    while (error_.empty()) {
      if (ready_.empty() && puts_.empty()) break;
      const std::uint32_t slow = style_ == 1 ? 32 : style_ == 2 ? 2 : 4;
      if (ready_.empty() || (!puts_.empty() && random_.one_in(slow))) go_on_with(random_.below(puts_.size()));
      else act();
    }
    if (error_.empty() && finished_ < n_) report_stuck();
    if (grouping) *grouping = grouping_;
    return error_.empty() ? error_ : error_ + " (seed " + std::to_string(o_.seed) + ")";
  }

 private:
  struct rank_state {
    std::uint32_t run = 0;
    std::size_t at = 0;
    bool inside = false;
  };
  struct part {
    std::uint32_t root;
    const std::vector<schedule>* all;
    partition blocks;             // as the collective divides its data
  };

  // Runs of equal size, as data_collectives has them.
  void plan() {
    const std::uint64_t blocks = row_.data.blocks(made_.where);
    if (has_block_each(row_.of)) {
      slot_ = o_.bytes;
      blocks_ = {blocks * o_.bytes, o_.bytes};
    } else {
      const std::uint64_t bytes = std::min(o_.bytes, blocks * o_.most);
      slot_ = row_.data.even ? std::min(o_.most, (bytes + blocks - 1) / blocks) : o_.most;
      blocks_ = {bytes, slot_};
    }
    for (std::uint32_t k = 0; k < o_.runs; ++k) {
      const std::uint32_t root = has_root(row_.of) && !made_.one_root ? random_.below(n_) : 0;
      const bool first_set = row_.data.synchronizes && k % made_.sets == 0;
      parts_.push_back({root, &made_.of(root, first_set), blocks_});
    }
    if (row_.of == collective::alltoallv) plan_pairs();
    else if (o_.unlike) plan_lengths();
  }

  // Some pairs exchange by chance, run by run, and some in one direction throughout; and some runs are a gatherv or a scatterv.
  void plan_pairs() {
    std::vector<std::uint32_t> last(n_ * n_), manner(n_ * n_);
    for (std::uint32_t& m : manner) m = random_.below(3);
    for (std::uint32_t k = 0; k < o_.runs; ++k) {
      std::vector<std::uint64_t> lengths(n_ * n_, o_.bytes);
      const std::uint32_t as = random_.below(6), root = random_.below(n_);
      for (std::uint32_t from = 0; from < n_; ++from)
        for (std::uint32_t to = 0; to < n_; ++to) {
          std::uint64_t& length = lengths[from * n_ + to];
          const std::uint32_t how = manner[std::min(from, to) * n_ + std::max(from, to)];
          const bool any = (how == 0 ? random_.below(3) > 0 : how == 1 ? from < to : to < from) && (as != 0 || to == root) && (as != 1 || from == root);
          if (o_.unlike) length = any ? 1 + random_.below(static_cast<std::uint32_t>(o_.bytes)) : 0;
          last[from * n_ + to] += length > 0;
        }
      lengths_.push_back(std::move(lengths)), numbers_.push_back(last);
    }
  }
  // At least one block has something in it.
  void plan_lengths() {
    for (std::uint32_t k = 0; k < o_.runs; ++k) {
      lengths_.emplace_back(n_);
      for (std::uint64_t& length : lengths_.back()) length = random_.below(static_cast<std::uint32_t>(o_.bytes + 1));
      lengths_.back()[random_.below(n_)] = o_.bytes;
    }
  }

  // Of what rank r gives or gets, by the buffer that tells which of the two, in that run.
  std::uint64_t length(std::uint32_t run, std::uint32_t r, std::uint32_t buffer, std::uint32_t block, std::uint32_t count = 1) const {
    if (lengths_.empty()) return blocks_.length(block, count);
    if (row_.of != collective::alltoallv) return lengths_[run][block];
    return lengths_[run][buffer == data_in ? r * n_ + block : block * n_ + r];
  }
  // Runs as rank r and the one that its step is about count them, from 0: that decides which words and slots are used.
  std::uint32_t turn(std::uint32_t r, std::uint32_t run, const step& s) const {
    if (row_.of != collective::alltoallv || s.block == no_block) return run;
    return numbers_[run][s.from.buffer == data_in ? r * n_ + s.block : s.block * n_ + r] - 1;
  }
  bool is_left_out(std::uint32_t r, std::uint32_t run, const step& s) const {
    if (s.block == no_block) return false;
    const bool out = s.from.buffer == data_in;
    const bool tells = s.kind == step_kind::put_signal || s.kind == step_kind::expose || s.kind == step_kind::signal || s.kind == step_kind::wait;
    if (length(run, r, s.from.buffer, s.block, s.count) == 0) return !(row_.data.needs_everyone && tells);
    return s.one_way && length(run, r, out ? data_out : data_in, s.block) > 0;
  }

  bool one_in() const { return row_.of == collective::gather || row_.of == collective::allgather; }
  bool one_out() const { return row_.of == collective::scatter || row_.of == collective::reduce_scatter; }
  partition blocks_of(std::uint32_t rank, std::uint32_t buffer) const {
    partition p = blocks_;
    if (!has_block_each(row_.of)) return p;
    p.stride = p.piece + 1;
    if ((buffer == data_in && one_in()) || (buffer != data_in && one_out())) p.first = rank;
    return p;
  }

  std::uint32_t index_of(std::uint32_t block, std::uint64_t i) const { return static_cast<std::uint32_t>(block * blocks_.piece + i); }

  // The caller's memory at the start of a run.
  void enter(std::uint32_t r) {
    const rank_state& me = ranks_[r];
    const part& p = parts_[me.run];
    const partition in = blocks_of(r, data_in), out = blocks_of(r, data_out);
    const auto extent = [&](const partition& b, bool one) {
      return !has_block_each(row_.of) ? b.bytes : one ? b.piece : std::uint64_t{n_} * (b.piece + 1);
    };
    const bool gives = row_.of == collective::broadcast || row_.of == collective::scatter ? r == p.root : true;
    std::vector<value> given(extent(in, one_in()));
    for (std::uint32_t b = 0; b < row_.data.blocks(made_.where); ++b)
      for (std::uint64_t i = 0; gives && (!one_in() || b == r) && i < length(me.run, r, data_in, b); ++i)
        given[in.begin(b) + i] = {me.run, index_of(b, i), std::uint64_t{1} << r, mix(1, r)};
    in_[r] = given_[r] = given;
    out_[r].assign(extent(out, one_out()), {});
    if (row_.of == collective::broadcast) out_[r] = given;
    else if (o_.in_place && one_in()) {
      for (std::uint64_t i = 0; i < in.piece; ++i) out_[r][out.begin(r) + i] = given[in.begin(r) + i];
    } else if (o_.in_place && !one_out()) {
      out_[r] = given;
    }
  }

  value& cell(std::uint32_t rank, std::uint32_t turn, const place& at, std::uint32_t block, std::uint64_t i) {
    if (at.buffer == staging) {
      const std::uint64_t set = turn % made_.sets, per_set = staging_[rank].size() / made_.sets;
      const std::uint64_t offset = at.slot * slot_bytes_ + at.behind * blocks_.piece + i;
      if (offset >= per_set) fail(name(rank) + " has no such slot: " + std::to_string(at.slot) + " behind " + std::to_string(at.behind));
      return staging_[rank][set * per_set + offset % per_set];
    }
    std::uint64_t offset = blocks_of(rank, at.buffer).begin(block) + i;
    std::vector<value>* memory = at.buffer == data_in ? &in_[rank] : &out_[rank];
    // In place: both are one memory, out_'s; where the result is one block of what is given, in_'s.
    if (o_.in_place && row_.of != collective::broadcast) {
      if (one_out()) {
        if (at.buffer == data_out) memory = &in_[rank], offset += std::uint64_t{rank} * (blocks_.piece + 1);
      } else if (at.buffer == data_in) {
        memory = &out_[rank];
        if (one_in()) offset += std::uint64_t{rank} * (blocks_.piece + 1);
      }
    }
    static value nowhere;
    if (offset >= memory->size()) return fail(name(rank) + " reaches out of the caller's memory"), nowhere;
    return (*memory)[offset];
  }

  std::uint64_t& word(std::uint32_t rank, std::uint32_t turn, std::uint32_t line) {
    return words_[rank][turn % made_.sets * (words_[rank].size() / made_.sets) + line];
  }

  // A random style for each seed: even; slow messages; fast messages; one rank, one rank's messages, or some messages held back until
  // little else can happen; one rank run as far as it gets before the next.
  std::uint32_t pick() {
    std::uint32_t i = random_.below(ready_.size());
    if (style_ == 5 && !random_.one_in(64))
      for (std::uint32_t k = 0; k < ready_.size(); ++k)
        if (ready_[k] == favourite_) return k;
    for (int tries = 0; style_ == 3 && ready_[i] == laggard_ && tries < 24; ++tries) i = random_.below(ready_.size());
    favourite_ = ready_[i];
    return i;
  }

  void sleep(std::uint32_t i) { ready_[i] = ready_.back(), ready_.pop_back(); }
  void wake(std::uint32_t r) {
    for (const std::uint32_t other : ready_)
      if (other == r) return;
    if (ranks_[r].run < o_.runs) ready_.push_back(r);
  }

  void act() {
    const std::uint32_t which = pick(), r = ready_[which];
    rank_state& me = ranks_[r];
    if (!me.inside) {
      me.inside = true, me.at = 0;
      enter(r);
      return;
    }
    const std::vector<step>& steps = (*parts_[me.run].all)[r].steps;
    if (me.at == steps.size()) return leave(r, which);
    const step& s = steps[me.at];
    if (is_left_out(r, me.run, s)) {
      ++me.at;
      return;
    }
    const std::uint32_t now = turn(r, me.run, s);
    switch (s.kind) {
      case step_kind::fetch:
        if (!begin_fetch(r, s)) return;
        break;
      case step_kind::signal:
      case step_kind::put:
      case step_kind::expose:
      case step_kind::put_signal: {
        put_under_way put{.what = &s, .from = r, .run = me.run, .turn = now};
        if (s.kind == step_kind::signal) put.at = put_under_way::landed;
        else ++under_way_of_[r];
        put.late = style_ == 6 && random_.one_in(8);
        if (s.kind != step_kind::put) put.line = &tickets_[key(put)], put.ticket = put.line->given++;
        puts_.push_back(std::move(put));
        break;
      }
      case step_kind::wait:
        if (!reached(word(r, now, s.word), now + 1)) return sleep(which);
        break;
      case step_kind::complete:
        if (under_way_of_[r] > 0) return sleep(which);
        break;
      case step_kind::copy:
      case step_kind::reduce_left:
      case step_kind::reduce_right: move_here(r, s); break;
      default: fail("not a step of such a schedule: " + std::to_string(static_cast<unsigned>(s.kind)));
    }
    ++me.at;
  }

  std::tuple<std::uint32_t, std::uint32_t, std::uint64_t> key(const put_under_way& p) {
    return {p.from, p.what->peer, p.turn % made_.sets * row_.words(made_.where) + p.what->word};
  }

  void move_here(std::uint32_t r, const step& s) {
    const std::uint32_t run = turn(r, ranks_[r].run, s), source = s.peer == any_peer ? r : s.peer;
    std::uint64_t packed = 0;
    for (std::uint32_t b = s.block; b < s.block + s.count; ++b)
      for (std::uint64_t i = 0; i < length(ranks_[r].run, r, s.from.buffer, b); ++i, ++packed) {
        const value from = cell(source, run, s.from, b, s.from.slot == no_slot ? i : packed);
        value& to = cell(r, run, s.to, b, s.to.slot == no_slot ? i : packed);
        if (s.kind == step_kind::copy) to = from;
        else to = s.kind == step_kind::reduce_left ? added(from, to, r) : added(to, from, r);
      }
  }

  // What is told says where; the memory is read later, when its owner must still be in the run.
  bool begin_fetch(std::uint32_t r, const step& s) {
    const exposure& told = told_[r][s.from.slot];
    if (told.run != ranks_[r].run || told.by != s.peer)
      return fail(name(r) + " fetches from " + name(s.peer) + ", which has not told it where in this run"), false;
    puts_.push_back({.what = &s, .from = r, .run = ranks_[r].run, .told = told});
    ++under_way_of_[r];
    return true;
  }
  void finish_fetch(const put_under_way& p) {
    const step& s = *p.what;
    if (ranks_[s.peer].run != p.run || !ranks_[s.peer].inside) return fail(name(p.from) + " reads memory of " + name(s.peer) + " that is its owner's again");
    const bool copied = o_.in_place && (row_.of == collective::alltoall || row_.of == collective::alltoallv);
    for (std::uint64_t i = 0; i < length(p.run, p.from, s.from.buffer, s.block, s.count); ++i)
      cell(p.from, p.run, s.to, s.block, i) = copied ? given_[s.peer][blocks_of(s.peer, data_in).begin(p.told.block) + i]
                                                     : cell(s.peer, p.run, p.told.from, p.told.block, i);
    --under_way_of_[p.from];
    wake(p.from);
  }

  value added(const value& left, const value& right, std::uint32_t r) {
    if (left.run != ranks_[r].run || right.run != left.run || left.index != right.index)
      fail(name(r) + " adds up data of other elements or other runs");
    if ((left.ranks & right.ranks) != 0) fail(name(r) + " adds a rank's operand twice");
    if (!o_.commutative && static_cast<int>(std::bit_width(left.ranks)) > std::countr_zero(right.ranks)) fail(name(r) + " changes the order of operands");
    return {left.run, left.index, left.ranks | right.ranks, mix(left.grouping, right.grouping)};
  }

  void go_on_with(std::uint32_t i) {
    const auto held_back = [&] { return puts_[i].late || (style_ == 4 && puts_[i].from == laggard_); };
    for (int tries = 0; tries < 24 && held_back(); ++tries) i = random_.below(puts_.size());
    put_under_way& p = puts_[i];
    const step& s = *p.what;
    if (s.kind == step_kind::fetch) return finish_fetch(p), done(i);
    if (p.at == put_under_way::submitted) {
      const std::uint64_t bytes = s.kind == step_kind::expose ? 0 : length(p.run, p.from, s.from.buffer, s.block, s.count);
      for (std::uint64_t k = 0; k < bytes; ++k) p.bytes.push_back(cell(p.from, p.turn, s.from, s.block, k));
      p.at = put_under_way::read;
      --under_way_of_[p.from];
      return wake(p.from);
    }
    if (p.at == put_under_way::read) {
      if (s.kind == step_kind::expose) told_[s.peer][s.to.slot] = {p.run, p.from, s.from, s.block};
      for (std::uint64_t k = 0; k < p.bytes.size(); ++k) cell(s.peer, p.turn, s.to, s.block, k) = p.bytes[k];
      p.at = put_under_way::landed;
      return s.kind == step_kind::put ? done(i) : void();
    }
    if (p.ticket != p.line->next) return;
    ++p.line->next;
    std::uint64_t& w = word(s.peer, p.turn, s.word);
    if (!reached(p.turn + 1, w)) return fail("word " + std::to_string(s.word) + " of " + name(s.peer) + " went back, set by " + name(p.from));
    w = p.turn + 1;
    wake(s.peer);
    done(i);
  }
  void done(std::uint32_t i) {
    if (i + 1 != puts_.size()) puts_[i] = std::move(puts_.back());
    puts_.pop_back();
  }

  void leave(std::uint32_t r, std::uint32_t which) {
    rank_state& me = ranks_[r];
    if (under_way_of_[r] > 0) return fail(name(r) + " leaves run " + std::to_string(me.run) + " with puts that are not complete");
    check(r);
    me.inside = false;
    if (++me.run == o_.runs) ++finished_, sleep(which);
  }

  void check(std::uint32_t r) {
    const std::uint32_t run = ranks_[r].run, root = parts_[run].root;
    if ((row_.of == collective::gather || row_.of == collective::reduce) && r != root) return;
    if (row_.of == collective::exscan && r == 0) return;
    if (row_.down_by_multicast && r != 0) return;
    const std::uint64_t everyone = n_ == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n_) - 1, up_to = std::uint64_t{1} << r;
    for (std::uint32_t b = 0; b < row_.data.blocks(made_.where); ++b) {
      if (one_out() && b != r) continue;
      const std::uint64_t end = length(run, r, data_out, b);
      for (std::uint64_t i = end; !lengths_.empty() && i < blocks_.piece; ++i)
        if (!cell(r, run, {data_out}, b, i).same_data(o_.in_place && !one_in() ? given_[r][blocks_of(r, data_in).begin(b) + i] : value{}))
          return fail(name(r) + ", run " + std::to_string(run) + ": byte " + std::to_string(i) + " of block " + std::to_string(b) +
                      ", which nobody gave, is not as it was");
      for (std::uint64_t i = 0; i < end; ++i) {
        value want{run, index_of(b, i), everyone};
        switch (row_.of) {
          case collective::broadcast: case collective::scatter: want.ranks = std::uint64_t{1} << root; break;
          case collective::gather: case collective::allgather: want.ranks = std::uint64_t{1} << b; break;
          case collective::alltoall: case collective::alltoallv:
            want.ranks = std::uint64_t{1} << b, want.index = index_of(r, i);
            break;
          case collective::scan: want.ranks = up_to | (up_to - 1); break;
          case collective::exscan: want.ranks = up_to - 1; break;
          default: break;
        }
        const value& have = cell(r, run, {data_out}, b, i);
        if (!have.same_data(want))
          return fail(name(r) + ", run " + std::to_string(run) + ": byte " + std::to_string(i) + " of block " + std::to_string(b) +
                      " is " + (have.run == ~0u ? "untouched" : "not what it should be"));
        if (run + 1 < o_.runs) continue;
        if (!grouped_) grouping_ = have.grouping, grouped_ = true;
        if (grouping_ != have.grouping) grouping_ = 0;
      }
    }
  }

  void fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }

  void report_stuck() {
    error_ = "stuck:";
    for (std::uint32_t r = 0, shown = 0; r < n_ && shown < 8; ++r) {
      const rank_state& s = ranks_[r];
      if (s.run == o_.runs) continue;
      schedule one;
      one.steps.push_back((*parts_[s.run].all)[r].steps[s.at]);
      error_ += " " + name(r) + " in run " + std::to_string(s.run) + " at " + to_string(one) + ";", ++shown;
    }
  }

  data_schedules& made_;
  const algorithm& row_;
  data_options o_;
  std::uint32_t n_;
  random_source random_;
  std::uint64_t slot_ = 1, slot_bytes_ = 1;
  partition blocks_;
  std::vector<part> parts_;
  std::vector<std::vector<std::uint64_t>> lengths_; // of unlike blocks, by run, and by block; of an alltoallv by pair: from * n + to
  std::vector<std::vector<std::uint32_t>> numbers_; // of an alltoallv, in how many runs a pair had something, up to each
  std::vector<std::vector<std::uint64_t>> words_;   // by rank
  std::vector<std::vector<value>> staging_, in_, out_, given_;
  std::vector<std::vector<exposure>> told_;         // by rank and slot
  std::vector<rank_state> ranks_;
  std::vector<std::uint32_t> under_way_of_;         // puts that have not read
  std::vector<put_under_way> puts_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, signals_of_a_word> tickets_;
  std::vector<std::uint32_t> ready_;
  std::uint32_t laggard_ = 0, favourite_ = 0, style_ = 0, finished_ = 0;
  std::uint64_t grouping_ = 0;
  bool grouped_ = false;
  std::string error_;
};

}  // namespace

data_schedules::data_schedules(const algorithm& a, shape s)
    : row(a), where(s), sets(a.data.synchronizes ? 2 : a.data.sets()) {}

std::vector<schedule>& data_schedules::of(std::uint32_t root, bool first_set) {
  std::vector<schedule>& all = made_[{root, first_set}];
  if (all.empty()) {
    shape s = where;
    s.root = root, s.first_set = first_set;
    all = all_ranks(row, s);
  }
  return all;
}

std::string inspect(data_schedules& made, std::uint32_t root, bool first_set) {
  const std::uint32_t words = made.row.words(made.where), slots = made.row.data.slots(made.where);
  const std::uint32_t most = made.row.data.together ? made.row.data.together(made.where) : 1;
  const std::vector<schedule>& all = made.of(root, first_set);
  for (std::uint32_t r = 0; r < all.size(); ++r) {
    if (all[r].words != words && !all[r].steps.empty()) return name(r) + " has " + std::to_string(all[r].words) + " words";
    for (const step& s : all[r].steps) {
      schedule one;
      one.steps.push_back(s);
      const auto at = [&](const char* wrong) { return name(r) + ", " + to_string(one) + ": " + wrong; };
      const bool remote = s.kind == step_kind::put || s.kind == step_kind::put_signal || s.kind == step_kind::signal || s.kind == step_kind::expose ||
                          s.kind == step_kind::fetch;
      if ((remote || s.kind == step_kind::wait) && s.peer >= all.size()) return at("no such peer");
      if ((remote || s.kind == step_kind::wait) && s.word >= words) return at("word out of range");
      for (const place& p : {s.from, s.to})
        if (p.buffer == staging && p.slot != no_slot && p.slot + p.behind >= slots) return at("slot out of range");
      if (remote && s.kind != step_kind::signal && s.count > most) return at("too many blocks for one operation");
      const bool callers = s.from.buffer != staging || s.to.buffer != staging;
      if (remote && s.count > 1 && callers && has_block_each(made.row.of)) return at("the caller's blocks may be apart");
    }
  }
  return {};
}

std::string run(data_schedules& s, const data_options& o, std::uint64_t* grouping) { return world(s, o).play(grouping); }

}  // namespace tutti::test

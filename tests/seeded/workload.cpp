#include "tests/seeded/workload.h"

#include <poll.h>

#include <cstring>
#include <optional>

#include "core/ops.h"

extern "C" int __wrap_poll(pollfd*, nfds_t, int);

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t window_bytes = 4096, block_bytes = block_words * 8;
constexpr std::uint64_t signals_at = 3072, counter_at = 3200, added_at = 3264, swap_at = 3328;
constexpr std::uint64_t signal_of(rank_t origin) { return signals_at + 8 * origin; }
constexpr std::uint64_t block_of(rank_t origin) { return block_bytes * origin; }
constexpr std::uint64_t stamp(rank_t origin, std::uint32_t version) { return std::uint64_t{origin + 1} << 48 | version; }
constexpr auto slack = 500ms;
// Clause 10. A connection that is only being made when its peer's host falls silent is given up after three attempts.
nanoseconds within() { return world->silent_hosts.empty() ? 1s : 8s; }
constexpr unsigned slots = 8;

// Where all is in one address space: any rank's word, as it is now.
std::uint64_t word_at(const std::byte* base, std::uint64_t offset) {
  return std::atomic_ref{*reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(base) + offset)}.load(std::memory_order_acquire);
}

std::string name_of(rank_t r) { return "rank " + std::to_string(r); }

class rank_program {
 public:
  rank_program(trial& t, rank_t me) : t_(t), me_(me), draw_(world->random.draw()) {}
  void run();

 private:
  struct slot {
    completion done;
    bool busy = false;
    op_kind kind{};
    rank_t to = 0;
    std::uint32_t first = 0, count = 0;
    std::array<std::uint32_t, block_words> lower{};
    slice pieces[4];
  };
  using pair = trial::pair;
  pair& towards(rank_t to) { return t_.of[me_][to]; }
  std::byte* buffer(unsigned s) { return local_.data() + s * block_bytes; }

  bool together(const std::array<std::vector<std::byte>, most_ranks>& board, shared_blobs& out);
  bool meet();
  void operate();
  void put(rank_t to);
  void get(rank_t to);
  void atomic(rank_t to);
  void flush(rank_t to);
  void drop_local(rank_t to);
  void use_spare(rank_t to);
  void change_spare();
  void look_at_signals();
  bool submit(const rma_op&);
  bool wait(completion&, rank_t towards, const char* what);
  void pause_within_wait(unsigned turn, bool idle_is_end, const completion&);
  void finish_slot(slot&);
  void finish_all(rank_t towards);
  slot* free_slot();
  void ask(rank_t);
  void see_the_ends();
  void say(const std::string& s) {
    if (world->tracing) world->note(name_of(me_) + " " + s);
  }
  void doing(const char* what, rank_t towards) noexcept { t_.doing[me_] = {what, towards}; }
  void wrong(const std::string& s) {
    world->complain(name_of(me_) + ": " + s);
    world->idle(1h);
  }

  trial& t_;
  const rank_t me_;
  dice draw_;
  std::unique_ptr<transport> net_;
  std::vector<std::byte> local_ = std::vector<std::byte>(slots * block_bytes);
  region_id window_{}, mine_{};
  std::span<std::byte> memory_;
  segment_id segment_{};
  std::array<slot, slots> slots_;
  region_id spare_{};                               // a window that comes and goes
  bool has_spare_ = false;
  std::span<std::byte> spare_memory_;
  std::vector<std::byte> own_window_;
  std::vector<std::byte> own_spare_;                // or of memory that stays mine when it goes
  std::array<bool, most_ranks> ended_{};            // what health() has told
  std::array<bool, most_ranks> lost_{};             // what an operation has told
  std::array<std::array<bool, block_words>, most_ranks> dirty_{};
  std::array<std::uint64_t, most_ranks> seen_{};    // signals
  std::array<std::uint32_t, most_ranks> version_{};
};

// Memory of this rank's goes while a put reads it and a get fills it: both end, and it is not touched any more.
void rank_program::drop_local(rank_t to) {
  constexpr std::uint64_t junk_at = 3456;
  constexpr std::byte pattern{0x5a};
  std::array<std::byte, 512> memory{};
  const auto region = net_->add(memory);
  if (!region) return wrong(std::string{"no region: "} + region.error().text());
  completion read, filled;
  say("puts and gets, and drops the memory, at " + name_of(to));
  if (!submit(move_op(op_kind::put, *region, 0, to, segment_, junk_at, 512, &read))) return;
  if (!submit(move_op(op_kind::get, *region, 0, to, segment_, junk_at, 512, &filled))) return;
  if (draw_.one_in(2)) net_->progress();
  net_->drop(*region);
  memory.fill(pattern);
  if (!wait(read, to, "a put from memory that was dropped") || !wait(filled, to, "a get into memory that was dropped")) return;
  for (const std::byte b : memory)
    if (b != pattern) return wrong("memory that was dropped was written to");
}

// Towards a window that its owner may drop meanwhile, by a segment that is dropped before the operations have ended.
void rank_program::use_spare(rank_t to) {
  if (t_.spares[to].empty()) return;
  auto table = std::make_shared<blob_table>();
  table->push_back(t_.spares[to]);
  const auto segment = net_->attach(rank_map::strided(to, 1), std::move(table));
  if (!segment) return wrong(std::string{"cannot attach: "} + segment.error().text());
  completion done;
  std::array<std::byte, 256> memory{};
  std::uint64_t old = 0;
  say("uses the spare window of " + name_of(to));
  const auto at = [](auto& m) { return reinterpret_cast<std::uintptr_t>(&m); };
  if (!submit(move_op(op_kind::put, plain_memory, at(memory), to, *segment, 256, 256, &done))) return;
  if (!submit(atomic_op(op_kind::fetch_add, plain_memory, at(old), {to, *segment, 8}, 1, &done))) return;
  if (!submit(move_op(op_kind::get, plain_memory, at(memory), to, *segment, 0, 256, &done))) return;
  if (!submit(signal_op({to, *segment, 16}, 1))) return;
  const bool before = draw_.one_in(2);
  if (before) net_->drop(*segment);
  if (!wait(done, to, "operations upon a spare window")) return;
  if (!before) net_->drop(*segment);
}

// A signal names no completion: its error is the next flush's, which the model takes for one of its own.
void rank_program::change_spare() {
  constexpr std::byte pattern{0xa5};
  if (has_spare_) {
    say("drops its spare window");
    {
      const in_kernel k;
      t_.spares[me_].clear();
    }
    net_->drop(spare_);
    if (!own_spare_.empty()) std::fill(own_spare_.begin(), own_spare_.end(), pattern);
    has_spare_ = false;
    return;
  }
  for (const std::byte b : own_spare_)
    if (b != pattern) return wrong("a window that was dropped was written to");
  own_spare_.clear();
  if (t_.own_spares && draw_.one_in(2)) own_spare_.resize(512);
  const auto made = own_spare_.empty() ? net_->allocate(512, spare_memory_) : net_->add(own_spare_);
  if (!made) return wrong(std::string{"no spare window: "} + made.error().text());
  spare_ = *made, has_spare_ = true;
  const auto key = net_->key(spare_);
  if (!key) return wrong("no key of a spare window");
  const in_kernel k;
  t_.spares[me_].assign((*key).begin(), (*key).end());
}

// Everyone's blobs, once they are there; false if somebody has ended without.
bool rank_program::together(const std::array<std::vector<std::byte>, most_ranks>& board, shared_blobs& out) {
  for (rank_t r = 0; r < t_.ranks; ++r)
    while (board[r].empty()) {
      if (t_.fates[r] != fate::runs) return false;
      world->idle(20us);
    }
  auto table = std::make_shared<blob_table>();
  for (rank_t r = 0; r < t_.ranks; ++r) table->push_back(board[r]);
  out = std::move(table);
  return true;
}

bool rank_program::meet() {
  const auto publish = [&](auto& board, const std::vector<std::byte>& blob) {
    const in_kernel k;
    board[me_].assign(blob.begin(), blob.end());
  };
  open_params params;
  params.rank = me_, params.size = t_.ranks, params.job_id = "seeded";
  params.multicast_interface = "none";
  auto opened = t_.open(params);
  if (!opened) return wrong(std::string{"cannot open: "} + opened.error().text()), false;
  net_ = std::move(*opened);
  auto address = net_->address();
  if (!address) return wrong(std::string{"no address: "} + address.error().text()), false;
  publish(t_.addresses, *address);
  shared_blobs blobs;
  if (!together(t_.addresses, blobs)) return false;
  if (const status s = net_->connect(blobs, net_->now() + 10s); !s) {
    for (rank_t r = 0; r < t_.ranks; ++r)
      if (t_.fates[r] != fate::runs) return false;
    return wrong(std::string{"cannot connect: "} + s.text()), false;
  }
  t_.met[me_] = world->now();
  const bool own = t_.own_windows && draw_.one_in(2);
  if (own) own_window_.resize(window_bytes), memory_ = own_window_;
  auto window = own ? net_->add(memory_) : net_->allocate(window_bytes, memory_);
  auto mine = net_->add(local_);
  if (!window || !mine) return wrong("no regions"), false;
  window_ = *window, mine_ = *mine;
  t_.windows[me_] = memory_.data();
  auto key = net_->key(window_);
  if (!key) return wrong("no key"), false;
  publish(t_.keys, *key);
  if (!together(t_.keys, blobs)) return false;
  auto segment = net_->attach(rank_map::strided(0, t_.ranks), blobs);
  if (!segment) return wrong(std::string{"cannot attach: "} + segment.error().text()), false;
  segment_ = *segment;
  return true;
}

void rank_program::run() {
  if (meet()) operate();
  if (t_.exits[me_]) {
    const in_kernel k;
    world->at(world->now(), [t = &t_, me = me_] {
      t->fates[me] = fate::dead, t->ended[me] = world->now();
      world->kill(*t->processes[me]);
    });
  }
  if (t_.exits[me_]) world->idle(1h);
  t_.fates[me_] = fate::leaves;
  t_.ended[me_] = world->now();
  say("leaves");
  doing("its end", no_rank);
  const nanoseconds began = world->now(), kept_off = world->kept_off;
  t_.windows[me_] = nullptr;
  {
    const in_kernel k;
    t_.spares[me_].clear();
    if (t_.stops[me_] > 0ns)
      world->at(world->now() + draw_.time(100us), [t = &t_, me = me_] {
        if (t->processes[me]->running) world->stop(*t->processes[me], t->stops[me]);
      });
  }
  net_.reset();
  if (world->now() - began > 2s + slack + (world->kept_off - kept_off) + t_.longest_stop)
    wrong("leaving took " + std::to_string((world->now() - began).count() / 1'000'000) + " ms");
  t_.fates[me_] = fate::left;
  say("has left");
  world->idle(draw_.time(50ms));
}

void rank_program::operate() {
  for (unsigned i = 0; i < t_.steps[me_]; ++i) {
    auto to = static_cast<rank_t>(draw_.below(t_.ranks));
    if (ended_[to] && !draw_.one_in(8)) to = me_;
    switch (draw_.below(20)) {
      case 0: case 1: case 2: case 3: case 4: put(to); break;
      case 5: case 6: get(to); break;
      case 7: case 8: case 9: atomic(to); break;
      case 10: flush(to); break;
      case 11: flush(no_rank); break;
      case 12: world->idle(draw_.time(5ms)); break;
      case 13: ask(to); break;
      case 14: net_->progress(); break;
      case 15: finish_all(no_rank); break;
      case 16: drop_local(to); break;
      case 17: case 18: use_spare(to); break;
      case 19:
        if (t_.has_spares) change_spare();
        break;
    }
    look_at_signals();
  }
  finish_all(no_rank);
  flush(no_rank);
  see_the_ends();
}

rank_program::slot* rank_program::free_slot() {
  for (slot& s : slots_) {
    if (s.busy && s.done.idle()) finish_slot(s);
    if (!s.busy) return &s;
  }
  slot& s = slots_[draw_.below(slots)];
  if (!wait(s.done, s.to, "an operation")) return nullptr;
  finish_slot(s);
  return &s;
}

bool rank_program::submit(const rma_op& op) {
  const nanoseconds began = world->now(), kept_off = world->kept_off;
  doing("room for an operation", op.rank);
  for (unsigned turn = 0; net_->submit({&op, 1}) == 0; ++turn) {
    net_->progress();
    if (turn > 10) world->idle(draw_.time(1ms)), ask(op.rank);
    if (world->now() - began > within() + slack + (world->kept_off - kept_off) + t_.longest_stop)
      return wrong("no room for an operation towards " + name_of(op.rank) + " within a second"), false;
  }
  return true;
}

// One turn of a wait, in one of the ways in which engines wait.
void rank_program::pause_within_wait(unsigned turn, bool by_fd, const completion& done) {
  net_->progress();
  if (turn < 4 || done.idle()) return;
  const time_point until = net_->now() + draw_.time(20ms);
  if (by_fd) {
    if (!net_->arm(transport::wake_by::fd)) return;
    if (done.idle()) return net_->disarm();
    pollfd p{net_->wait_fd(), POLLIN, 0};
    ::poll(&p, 1, static_cast<int>(draw_.below(100)));
    net_->disarm();
  } else if (net_->arm(transport::wake_by::sleep)) {
    done.idle() ? net_->disarm() : net_->sleep(until);
  }
}

bool rank_program::wait(completion& done, rank_t to, const char* what) {
  const nanoseconds began = world->now(), kept_off = world->kept_off;
  const bool by_fd = draw_.one_in(4) && net_->wait_fd() >= 0;
  doing(what, to);
  for (unsigned turn = 0; !done.idle(); ++turn) {
    pause_within_wait(turn, by_fd, done);
    if (turn % 8 == 7) {
      if (to != no_rank) ask(to);
      else
        for (rank_t r = 0; r < t_.ranks; ++r) ask(r);
    }
    if (world->now() - began > within() + slack + (world->kept_off - kept_off) + t_.longest_stop)
      return wrong(std::string{what} + " towards " + (to == no_rank ? "all" : name_of(to)) + " does not end"), false;
  }
  return true;
}

// Health is right: nobody is told of who goes on, and how it ended is told right.
void rank_program::ask(rank_t r) {
  if (r == me_ || ended_[r]) return;
  const status s = net_->health(r);
  if (s.ok()) return;
  ended_[r] = true;
  say("is told: " + std::string{s.text()});
  const fate what = t_.fates[r];
  if (t_.broken[me_ * most_ranks + r]) return;
  if (s.code() != errc::peer_dead) wrong("health(" + std::to_string(r) + ") says: " + s.text());
  if (what == fate::runs) wrong(name_of(r) + " runs, and is told of: " + s.text());
  const bool left = s.native() == peer_left, beside = t_.processes[r]->host == t_.processes[me_]->host;
  const nanoseconds mine = t_.connected(me_, r), its = t_.connected(r, me_);
  const bool saw_it_stand = beside || (mine >= 0ns && mine + 20ms < t_.ended[r]);
  const bool was_told = its >= 0ns && its < t_.ended[r];
  if (left ? what == fate::dead && t_.exits[r] && saw_it_stand : (what == fate::left || what == fate::leaves) && was_told)
    wrong(std::string{what == fate::dead ? "dead " : "orderly "} + name_of(r) + " is told of: " + s.text());
}

void rank_program::see_the_ends() {
  for (rank_t r = 0; r < t_.ranks; ++r) {
    if (r == me_ || t_.fates[r] == fate::runs || t_.fates[r] == fate::leaves) continue;
    const nanoseconds began = world->now(), kept_off = world->kept_off;
    doing("word of the end", r);
    while (!ended_[r]) {
      ask(r);
      net_->progress();
      world->idle(1ms);
      const nanoseconds mine = t_.connected(me_, r);
      if (world->silent_hosts.count(t_.processes[r]->host) && (mine < 0ns || mine + 20ms > t_.ended[r])) break;
      if (world->now() - std::max(began, t_.ended[r]) > (world->silent_hosts.empty() ? 1s : 5s) + slack + (world->kept_off - kept_off) + t_.longest_stop)
        wrong("the end of " + name_of(r) + " is not told within a second");
    }
  }
}

void rank_program::finish_slot(slot& s) {
  s.busy = false;
  const bool ok = s.done.outcome().ok();
  if (!ok) {
    lost_[s.to] = true;
    if (s.done.outcome().code() != errc::peer_dead || t_.fates[s.to] == fate::runs)
      if (!t_.broken[me_ * most_ranks + s.to])
        wrong("an operation towards " + name_of(s.to) + " failed: " + s.done.outcome().text());
    s.done.clear();
    return;
  }
  const std::byte* from = buffer(static_cast<unsigned>(&s - slots_.data()));
  if (s.kind == op_kind::get || s.kind == op_kind::get_scatter) {
    for (std::uint32_t i = 0; i < s.count; ++i) {
      const std::uint64_t got = word_at(from, 8 * i);
      const std::uint32_t k = s.first + i;
      if (got < (s.lower[i] ? stamp(me_, s.lower[i]) : 0) || got > stamp(me_, towards(s.to).submitted[k]))
        wrong("a get from " + name_of(s.to) + " has " + std::to_string(got & 0xffffffff) + " in word " + std::to_string(k) +
              ", from " + std::to_string(s.lower[i]) + " to " + std::to_string(towards(s.to).submitted[k]) + " expected");
    }
  } else if (s.kind == op_kind::fetch_add) {
    ++t_.at[s.to].done;
    const in_kernel k;
    if (!t_.at[s.to].seen.insert(word_at(from, 0)).second)
      world->complain(name_of(me_) + ": a fetch_add's old value " + std::to_string(word_at(from, 0)) + " was given twice");
  } else if (s.kind == op_kind::swap) {
    const in_kernel k;
    if (!t_.at[s.to].swap_seen.insert(word_at(from, 0)).second)
      world->complain(name_of(me_) + ": a swap's old value was given twice");
  }
}

void rank_program::finish_all(rank_t to) {
  for (slot& s : slots_)
    if (s.busy && (to == no_rank || s.to == to) && wait(s.done, s.to, "an operation")) finish_slot(s);
}

void rank_program::put(rank_t to) {
  slot* s = free_slot();
  if (!s) return;
  auto& dirty = dirty_[to];
  const auto first = static_cast<std::uint32_t>(draw_.below(block_words));
  std::uint32_t count = 0, most = 1 + static_cast<std::uint32_t>(draw_.below(draw_.one_in(3) ? block_words : 8));
  while (first + count < block_words && count < most && !dirty[first + count]) ++count;
  if (!count) return flush(to);
  const auto index = static_cast<unsigned>(s - slots_.data());
  const std::uint32_t version = ++version_[to];
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t value = stamp(me_, version);
    std::memcpy(buffer(index) + 8 * i, &value, 8);
    dirty[first + i] = true;
    towards(to).submitted[first + i] = version;
  }
  const bool inline_ = 8 * count <= net_->caps().max_inline && draw_.one_in(2);
  const bool quiet = inline_ && draw_.one_in(2);
  rma_op op = move_op(op_kind::put, inline_ ? plain_memory : mine_,
                      inline_ ? reinterpret_cast<std::uintptr_t>(buffer(index)) : index * block_bytes, to, segment_,
                      block_of(me_) + 8 * first, 8 * count, quiet ? nullptr : &s->done);
  if (draw_.one_in(2)) {  // with a signal
    const bool everything = draw_.one_in(2);
    {
      const in_kernel k;
      pair& p = towards(to);
      signalled now = p.signals.empty() ? signalled{} : p.signals.back();
      for (std::uint32_t i = 0; i < block_words; ++i)
        if (everything ? true : i >= first && i < first + count) now.words[i] = p.submitted[i];
        else now.words[i] = p.flushed[i];
      p.signals.push_back(now);
    }
    op = with_signal(op, segment_, signal_of(me_), towards(to).signals.size());
    op.order = everything ? not_before::everything : not_before::payload;
  }
  say("puts " + std::to_string(version) + " to " + name_of(to) + (op.kind == op_kind::put ? "" : ", signals"));
  if (!submit(op)) return;
  if (!quiet) s->busy = true, s->kind = op_kind::put, s->to = to;
}

void rank_program::get(rank_t to) {
  slot* s = free_slot();
  if (!s) return;
  const auto index = static_cast<unsigned>(s - slots_.data());
  s->first = static_cast<std::uint32_t>(draw_.below(block_words));
  s->count = 1 + static_cast<std::uint32_t>(draw_.below(block_words - s->first));
  for (std::uint32_t i = 0; i < s->count; ++i) s->lower[i] = towards(to).flushed[s->first + i];
  s->kind = op_kind::get, s->to = to;
  rma_op op = move_op(op_kind::get, mine_, index * block_bytes, to, segment_, block_of(me_) + 8 * s->first, 8 * s->count, &s->done);
  if (s->count >= 4 && net_->caps().max_slices >= 4 && draw_.one_in(2)) {
    const std::uint32_t each = s->count / 4;
    for (unsigned i = 0; i < 4; ++i)
      s->pieces[i] = {mine_, 8 * (i < 3 ? each : s->count - 3 * each), index * block_bytes + 8 * std::uint64_t{each} * i};
    op.kind = op_kind::get_scatter, op.slices = 4, op.scatter = s->pieces;
  }
  say("gets from " + name_of(to));
  if (submit(op)) s->busy = true;
}

void rank_program::atomic(rank_t to) {
  if (draw_.one_in(3)) {
    ++t_.at[to].added;
    const rma_op op = signal_op({to, segment_, added_at}, 1, signal_how::add);
    submit(op);
    return;
  }
  slot* s = free_slot();
  if (!s) return;
  const auto index = static_cast<unsigned>(s - slots_.data());
  const bool swap = draw_.one_in(3);
  s->kind = swap ? op_kind::swap : op_kind::fetch_add, s->to = to;
  if (!swap) ++t_.at[to].asked;
  const std::uint64_t operand = swap ? stamp(me_, static_cast<std::uint32_t>(++t_.at[to].swapped)) : 1;
  say(std::string{swap ? "swaps" : "adds"} + " at " + name_of(to));
  if (submit(atomic_op(s->kind, mine_, index * block_bytes, {to, segment_, swap ? swap_at : counter_at}, operand, &s->done)))
    s->busy = true;
}

void rank_program::flush(rank_t to) {
  completion done;
  doing("room for a flush", to);
  const nanoseconds began = world->now(), kept_off = world->kept_off;
  say("flushes " + (to == no_rank ? "all" : name_of(to)));
  while (!net_->flush(to, &done)) {
    net_->progress();
    world->idle(draw_.time(100us));
    if (world->now() - began > within() + slack + (world->kept_off - kept_off) + t_.longest_stop)
      return wrong("no room for a flush within a second");
  }
  if (!wait(done, to, "a flush")) return;
  for (slot& s : slots_)  // whose error is its completion's is not the flush's
    if (s.busy && s.done.idle()) finish_slot(s);
  const bool ok = done.outcome().ok();
  if (!ok && done.outcome().code() != errc::peer_dead && done.outcome().code() != errc::invalid)
    return wrong(std::string{"a flush failed: "} + done.outcome().text());
  if (!ok && (to == no_rank || done.outcome().code() == errc::invalid)) {  // whose error it is, the next ones show
    for (rank_t r = 0; r < t_.ranks; ++r)
      if (to == no_rank || r == to) flush(r);
    return;
  }
  if (!ok) lost_[to] = true;
  for (rank_t r = 0; r < t_.ranks; ++r) {
    if (to != no_rank && r != to) continue;
    const std::byte* there = t_.windows[r];
    for (std::uint32_t k = 0; k < block_words; ++k) {
      dirty_[r][k] = false;
      pair& p = towards(r);
      if (!ok) continue;
      p.flushed[k] = p.submitted[k];
      if (there && t_.fates[r] == fate::runs && !lost_[r] && word_at(there, block_of(me_) + 8 * k) != (p.submitted[k] ? stamp(me_, p.submitted[k]) : 0))
        return wrong("word " + std::to_string(k) + " of " + name_of(r) + " is not what was put there and flushed: " +
                     std::to_string(word_at(there, block_of(me_) + 8 * k) & 0xffffffff) + " instead of " +
                     std::to_string(p.submitted[k]));
    }
  }
}

void rank_program::look_at_signals() {
  for (rank_t o = 0; o < t_.ranks; ++o) {
    const std::uint64_t epoch = word_at(memory_.data(), signal_of(o));
    if (epoch == seen_[o]) continue;
    const pair& p = t_.of[o][me_];
    if (epoch < seen_[o]) return wrong("the signal of " + name_of(o) + " went back");
    if (epoch > p.signals.size()) return wrong("the signal of " + name_of(o) + " was never sent");
    seen_[o] = epoch;
    for (std::uint32_t k = 0; k < block_words; ++k) {
      const std::uint32_t least = p.signals[epoch - 1].words[k];
      if (word_at(memory_.data(), block_of(o) + 8 * k) < (least ? stamp(o, least) : 0))
        return wrong("signal " + std::to_string(epoch) + " of " + name_of(o) + " came before word " + std::to_string(k));
    }
  }
  const std::uint64_t count = word_at(memory_.data(), counter_at), added = word_at(memory_.data(), added_at);
  if (count < t_.at[me_].done || count > t_.at[me_].asked)
    wrong("the counter is " + std::to_string(count) + ", " + std::to_string(t_.at[me_].done) + " to " +
          std::to_string(t_.at[me_].asked) + " expected");
  if (added > t_.at[me_].added) wrong("the sum of added signals is too large");
}

}  // namespace

trial::trial(std::uint64_t seed, std::uint32_t n, opener o) : ranks(n), open(std::move(o)), plan(seed ^ 0x5eed) {
  met.fill(nanoseconds{-1});
}

void trial::start() {
  for (rank_t r = 0; r < ranks; ++r) {
    steps[r] = 5 + static_cast<unsigned>(plan.below(plan.one_in(4) ? 120 : 40));
    exits[r] = plan.one_in(6);
    const int host = same_host ? 0 : static_cast<int>(plan.below(3));
    processes[r] = &world->start(host, name_of(r), [this, r] { rank_program{*this, r}.run(); });
  }
  const auto some_time = [this] { return plan.one_in(4) ? plan.time(2ms) : plan.time(60ms); };
  for (auto n = plan.below(3); n; --n) {
    const auto r = static_cast<rank_t>(plan.below(ranks));
    world->at(some_time(), [this, r] {
      if (!processes[r]->running || fates[r] == fate::left) return;
      if (fates[r] == fate::runs) exits[r] = true;
      fates[r] = fate::dead, ended[r] = world->now(), windows[r] = nullptr;
      world->kill(*processes[r]);
    });
  }
  if (!same_host && plan.one_in(4)) {
    world->at(some_time(), [this] {
      world->note("host 1 falls silent");
      world->silent_hosts.insert(1);
      for (rank_t r = 0; r < ranks; ++r) {
        if (processes[r]->host != 1 || !processes[r]->running || fates[r] == fate::left) continue;
        exits[r] = true, fates[r] = fate::dead, ended[r] = world->now(), windows[r] = nullptr;
        world->kill(*processes[r]);
      }
    });
  }
  if (break_connection && plan.one_in(3)) {
    const auto a = static_cast<rank_t>(plan.below(ranks)), b = static_cast<rank_t>((a + 1 + plan.below(ranks - 1)) % ranks);
    world->at(some_time(), [this, a, b] {
      world->note("the connection of " + name_of(a) + " and " + name_of(b) + " breaks");
      broken[a * most_ranks + b] = broken[b * most_ranks + a] = true;
      break_connection(a, b);
    });
  }
  if (plan.one_in(3)) {
    const auto r = static_cast<rank_t>(plan.below(ranks));
    const nanoseconds how_long = plan.time(2s);
    longest_stop = how_long;
    world->at(some_time(), [this, r, how_long] {
      if (processes[r]->running) world->stop(*processes[r], how_long);
    });
  }
  if (plan.one_in(3)) {
    nanoseconds& how_long = stops[plan.below(ranks)] = plan.time(2s);
    longest_stop = std::max(longest_stop, how_long);
  }
}

bool trial::run() {
  const bool all = world->run(60s);
  if (!all && !world->failed()) {
    for (rank_t r = 0; r < ranks; ++r)
      if (processes[r]->running) world->complain(name_of(r) + " hangs: it waits for " + doing[r].what + ", " + (doing[r].towards == no_rank ? "all" : name_of(doing[r].towards)));
  }
  const bool ok = !world->failed();
  for (rank_t r = 0; r < ranks; ++r) world->kill(*processes[r]);
  return ok;
}

}  // namespace tutti::test

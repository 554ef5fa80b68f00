// Hp calls that go to the fabric at the call: unbuffered, from where the source lies to where the data belong.
//
// Reach. A process adds its part of an area to the transport in the sync that registers it, and the key goes to the
// others as a record among its puts of that sync. So whoever can name the area can reach it, and no exchange is needed.
// Where the transport does not take the memory no key is sent, and hp calls upon it are packed like others.
//
// Who takes them. All but processes with which memory is shared, but not what programs bring along: there the kernel would
// have to copy, at three times the cost of the slots of a channel, and what is small costs less packed than its call.
//
// When they may go. A process that has left the sync of superstep s - 1 may meet one that has not: which still serves
// gets of s - 1 from its memory, and places puts of s - 1 in it. What came then would be read by those gets, or be
// overwritten. So nothing goes to a process before it is known to have finished the sync of s - 1. It says so in a word
// of its window, which is read in place where it can be, and sends the word to those that asked in that sync: those that
// have made hp calls to it lately, and all when areas were registered. What must wait, for this or because the fabric is
// full, is offered again at the next hp call and in the sync. That ends: to finish the sync of s - 1 nobody needs anything
// of superstep s. But a store wakes nobody, so who has not asked, and does not read that it is so, does not wait: the call
// is packed.
//
// Why all is over at the end of the superstep. Puts: the metadata word is a signal that is not visible before anything that
// was taken earlier for that process (clause 5), and is awaited from whoever put ahead also where flags go another way
// than by words. Gets: they are over before the metadata words leave, and nobody leaves the sync, and changes what they read,
// without those.
#include <algorithm>
#include <atomic>
#include <string>

#include "bsp/engine.h"
#include "core/transport/ops.h"

namespace tutti::bsp {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;  // of one operation, whose size has 32 bits
constexpr std::uint32_t most_temporary = 64;
constexpr int most_turns = 100;
constexpr std::uint8_t hp_remembered = 16;  // syncs in which a process is asked for its end after an hp call to it

}  // namespace

void engine::meet_ahead(std::uint32_t pid) noexcept {
  peer& p = peers_[pid];
  transport& net = job_.net();
  const std::byte* const mapped = net.map(window_->segment(), p.rank);
  p.takes_ahead = pid == me_ || !mapped || net.caps().native_when_added;
  any_ahead_ = any_ahead_ || (p.takes_ahead && pid != me_);
  p.end_is_read = mapped != nullptr;
  p.end = mapped ? mapped + layout_.finished() : base_ + layout_.end(pid);
}

// `went` stays false: the call is to be packed. False: it broke a rule.
bool engine::go_ahead(call_kind kind, std::uint32_t pid, void* mine, const void* address, std::uint64_t offset,
                      std::uint64_t bytes, bool& went) {
  if (bytes == 0 || !peers_[pid].takes_ahead) return true;
  peer& p = peers_[pid];
  p.hp_lately = hp_remembered;
  std::uint32_t number;
  if (!find_area(name_of(kind), pid, address, offset, bytes, number)) return false;
  auto* const at = static_cast<std::byte*>(mine);
  const bool puts = kind == call_kind::hpput;
  if (pid == me_) {
    if (watched_) saw(kind, pid, mine, number, offset, bytes);
    std::byte* const own = areas_.at(number)->base + offset;
    std::memmove(puts ? own : at, puts ? at : own, bytes);
    return went = true;
  }
  if (number >= p.far.size() || !attach_area(p, p.far[number])) return true;
  if (!p.end_is_told && !(p.end_is_read && has_ended(p))) return true;
  const op_kind what = puts ? op_kind::put : op_kind::get;
  const std::uint64_t given = job_.net().caps().max_bytes, most = given ? std::min(given, most_bytes) : most_bytes;
  region_id local;
  std::uint64_t local_offset;
  if (!find_local(what, at, bytes, local, local_offset)) return true;
  if (watched_) saw(kind, pid, mine, number, offset, bytes);
  outbox& l = outboxes_[pid];
  for (std::uint64_t done = 0; done < bytes; done += most)
    l.ahead.push_back(move_op(what, local, local_offset + done, p.rank, p.far[number].segment, offset + done,
                              static_cast<std::uint32_t>(std::min(most, bytes - done)), puts ? &hp_puts_ : &hp_gets_));
  l.put_ahead = l.put_ahead || puts;
  hp_waits_ = went = true;
  if (!offer_ahead(pid)) {  // what it waits for may be there, or room, but for a look
    job_.net().progress();
    offer_ahead(pid);
  }
  return true;
}

// Where the fabric must know local memory: an area of mine, or memory that is registered until the sync.
bool engine::find_local(op_kind what, std::byte* mine, std::uint64_t bytes, region_id& local, std::uint64_t& local_offset) {
  local = plain_memory, local_offset = reinterpret_cast<std::uintptr_t>(mine);
  const capabilities& caps = job_.net().caps();
  if (caps.any_local_memory || (what == op_kind::put && bytes <= caps.max_inline)) return true;
  auto known = std::find_if(registrations_.begin(), registrations_.end(), [&](const registration& r) {
    return mine >= r.base && bytes <= r.bytes && static_cast<std::uint64_t>(mine - r.base) <= r.bytes - bytes;
  });
  if (known == registrations_.end()) {
    if (temporary_ == most_temporary) return false;
    auto id = job_.net().add({mine, bytes});
    if (!id) return false;
    ++temporary_;
    known = registrations_.insert(known, {registrar::no_area, mine, bytes, *id});
  }
  local = known->id, local_offset = static_cast<std::uint64_t>(mine - known->base);
  return true;
}

bool engine::attach_area(const peer& p, far_area& a) {
  if (a.attached || a.key.empty()) return a.attached;
  auto keys = std::make_shared<blob_table>();
  keys->push_back(a.key);
  auto segment = job_.net().attach(rank_map::strided(p.rank, 1), std::move(keys));
  if (!segment) {
    a.key.clear();  // packed, from now on
    return false;
  }
  a.segment = *segment;
  return a.attached = true;
}

bool engine::has_ended(const peer& p) const noexcept { return reached(load_acquire(p.end), epoch_ - 1); }

bool engine::offer_ahead(std::uint32_t pid) noexcept {
  outbox& l = outboxes_[pid];
  if (l.ahead.empty()) return true;
  if (!has_ended(peers_[pid])) return false;
  l.ahead_taken += job_.net().submit(std::span(l.ahead).subspan(l.ahead_taken));
  if (l.ahead_taken < l.ahead.size()) return false;
  l.ahead.clear();
  l.ahead_taken = 0;
  return true;
}

// Before the metadata words: all that went ahead is taken, and gets are over.
status engine::finish_ahead() {
  auto over = [&] {
    bool all = offer_ends();
    for (std::uint32_t i = 0; hp_waits_ && i < size_; ++i) all = offer_ahead(i) && all;
    return all && hp_gets_.idle();
  };
  if (!over()) {
    const wait_note note{"the end of the last sync, for hp calls", no_rank, 0, epoch_};
    if (status s = job_.wait(over, [&] { return team_.look(no_rank); }, note); !s.ok()) return s;
  }
  hp_waits_ = false;
  return hp_gets_.outcome();
}

// Before sources may change.
status engine::finish_puts_ahead() {
  if (!hp_puts_.idle()) {
    const wait_note note{"the sources of hp puts", no_rank, 0, epoch_};
    if (status s = job_.wait([&] { return hp_puts_.idle(); }, [&] { return team_.look(no_rank); }, note); !s.ok()) return s;
  }
  return hp_puts_.outcome();
}

// That this process has finished the sync. Words that the fabric does not take, though it is asked for a while, go in the
// next sync, before anything is waited for: nobody is kept here by a peer that computes for long.
void engine::tell_end() {
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(base_ + layout_.finished())).store(epoch_, std::memory_order_release);
  if (!ends_asked_) return;
  for (std::uint32_t k = 1, i = me_ + 1; k < size_; ++k, ++i) {
    if (i == size_) i = 0;
    if (flags_of(peers_[i].metadata) & asks_end)
      ends_.push_back(signal_op({peers_[i].rank, window_->segment(), layout_.end(me_)}, epoch_));
  }
  for (int turn = 0; !offer_ends() && turn < most_turns; ++turn) job_.net().progress();
}

bool engine::offer_ends() noexcept {
  if (ends_.empty()) return true;
  ends_taken_ += job_.net().submit(std::span(ends_).subspan(ends_taken_));
  if (ends_taken_ < ends_.size()) return false;
  ends_.clear();
  ends_taken_ = 0;
  return true;
}

// The parts of areas that are about to be registered, to all that take hp calls ahead. What cannot be added is not told.
bool engine::tell_areas(const char* call) {
  if (!any_ahead_) return true;
  for (const registrar::change& c : areas_.pending()) {
    if (!c.pushes || areas_.area_of(c).bytes == 0) continue;
    const area& a = areas_.area_of(c);
    const auto id = job_.net().add({a.base, a.bytes});
    if (!id) continue;
    registrations_.push_back({c.number, a.base, a.bytes, *id});
    const auto key = job_.net().key(*id);
    if (!key) continue;
    const std::uint64_t needed = sizeof(area_head) + round_up(key->size(), 4);
    const area_head h{area_mark, c.number, static_cast<std::uint32_t>(key->size())};
    for (std::uint32_t i = 0; i < size_; ++i) {
      if (i == me_ || !peers_[i].takes_ahead) continue;
      outbox& l = outboxes_[i];
      close_run(l);
      if (l.data.room() < needed && !extend(call, l.data, stage::data, peers_[i].reads_me, needed)) return false;
      std::memcpy(l.data.at, &h, sizeof h);
      std::memcpy(l.data.at + sizeof h, key->data(), key->size());
      l.data.at += needed;
    }
  }
  return true;
}

// A number that is registered now has no area before it: that one was popped in an earlier superstep, and forgotten.
void engine::on_area(std::uint32_t from, const area_head& h, std::span<const std::byte> key) {
  auto& far = peers_[from].far;
  if (far.size() <= h.area) far.resize(h.area + 1);
  far[h.area].key.assign(key.begin(), key.end());
}

void engine::forget_areas() noexcept {
  for (std::uint32_t i = 0; i < size_; ++i)
    for (std::uint32_t n = 0; n < peers_[i].far.size(); ++n)
      if (!areas_.at(n)) forget(peers_[i].far[n]);
}

void engine::forget(far_area& a) noexcept {
  if (a.attached) job_.net().drop(a.segment);
  a = {};
}

}  // namespace tutti::bsp

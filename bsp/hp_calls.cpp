#include "bsp/hp_calls.h"

#include <algorithm>
#include <atomic>

#include "core/base/copy.h"
#include "core/transport/wait_out.h"

namespace tutti::bsp {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;  // of one operation, whose size has 32 bits
constexpr int most_turns = 100;
constexpr std::uint8_t remembered = 16;  // syncs in which a process is asked for its end after a call to it

}  // namespace

hp_calls::hp_calls(const context& c, const registrar& areas, registered_memory& registered)
    : c_(c), areas_(areas), registered_(registered), peers_(c.size) {
  for (std::uint32_t i = 0; i < c.size; ++i) {
    peer& p = peers_[i];
    const std::byte* const window = c.net.map(c.window->segment(), c.rank_of(i));
    p.takes = i == c.me || !window || c.net.caps().native_when_added;
    any_ = any_ || (p.takes && i != c.me);
    p.end_is_read = window != nullptr;
    p.end = window ? window + c.layout.finished() : c.base + c.layout.end(i);
  }
}

hp_calls::~hp_calls() {
  wait_out(c_.net, {&puts_, &gets_});
  for (peer& p : peers_)
    for (far_area& a : p.areas) forget(a);
}

bool hp_calls::go(call_kind kind, std::uint32_t pid, std::uint32_t area, void* mine, std::uint64_t offset, std::uint64_t bytes) {
  peer& p = peers_[pid];
  if (!p.takes) return false;
  p.lately = remembered;
  auto* const at = static_cast<std::byte*>(mine);
  const bool puts = kind == call_kind::hpput;
  if (pid == c_.me) {
    std::byte* const own = areas_.at(area)->base + offset;
    move_bytes(puts ? own : at, puts ? at : own, bytes);
    return true;
  }
  if (area >= p.areas.size() || !attach(pid, p.areas[area])) return false;
  if (!p.end_is_told && !(p.end_is_read && has_ended(p))) return false;
  const std::uint64_t given = c_.net.caps().max_bytes, most = given ? std::min(given, most_bytes) : most_bytes;
  for (std::uint64_t done = 0; done < bytes; done += most)
    p.ops.push_back(move_op(puts ? op_kind::put : op_kind::get, unregistered_memory, reinterpret_cast<std::uintptr_t>(at) + done,
                            c_.rank_of(pid), p.areas[area].segment, offset + done, static_cast<std::uint32_t>(std::min(most, bytes - done)),
                            puts ? &puts_ : &gets_));
  p.put = p.put || puts;
  waits_ = true;
  if (!offer(p)) {  // what it waits for may be there, or room, but for a look
    c_.net.progress();
    offer(p);
  }
  return true;
}

bool hp_calls::attach(std::uint32_t pid, far_area& a) {
  if (a.attached || a.key.empty()) return a.attached;
  auto segment = attach_one(c_, pid, a.key);
  if (!segment) {
    a.key.clear();  // packed, from now on
    return false;
  }
  a.segment = *segment;
  return a.attached = true;
}

void hp_calls::forget(far_area& a) noexcept {
  if (a.attached) c_.net.drop(a.segment);
  a = {};
}

bool hp_calls::has_ended(const peer& p) const noexcept { return reached(load_acquire(p.end), c_.epoch - 1); }

bool hp_calls::offer(peer& p) noexcept {
  if (p.ops.empty()) return true;
  if (!has_ended(p)) return false;
  p.taken += c_.net.submit(std::span(p.ops).subspan(p.taken));
  if (p.taken < p.ops.size()) return false;
  p.ops.clear();
  p.taken = 0;
  return true;
}

status hp_calls::finish_gets() {
  auto over = [&] {
    bool all = offer_ends();
    for (std::uint32_t i = 0; waits_ && i < c_.size; ++i) all = offer(peers_[i]) && all;
    return all && gets_.idle();
  };
  if (!over()) {
    const wait_note note{"the end of the last sync, for hp calls", no_rank, 0, c_.epoch};
    if (status s = c_.job.wait(over, [&] { return c_.team.look(no_rank); }, note); s.failed()) return s;
  }
  waits_ = false;
  return gets_.outcome();
}

// What cannot be registered is not told.
status hp_calls::tell_areas(std::vector<outbox>& boxes) {
  for (const registrar::change& change : areas_.pending()) {
    if (!change.pushes || areas_.area_of(change).bytes == 0) continue;
    const auto id = registered_.add(change.number, areas_.area_of(change));
    if (!id) continue;
    const auto key = c_.net.key(*id);
    if (!key) continue;
    const area_head h{area_mark, change.number, static_cast<std::uint32_t>(key->size())};
    for (std::uint32_t i = 0; i < c_.size; ++i)
      if (i != c_.me && peers_[i].takes)
        if (status s = boxes[i].record(h, *key); s.failed()) return s;
  }
  return {};
}

std::uint8_t hp_calls::flags(std::uint32_t pid, bool leaving) noexcept {
  peer& p = peers_[pid];
  std::uint8_t flags = std::exchange(p.put, false) ? went_ahead : 0;
  p.end_is_told = p.takes && pid != c_.me && !leaving && (p.lately || areas_.changed());
  if (p.lately) --p.lately;
  if (p.end_is_told) flags |= asks_end;
  return flags;
}

// A number that is registered now has no area before it: that one was popped in an earlier superstep, and forgotten.
void hp_calls::on_area(std::uint32_t from, const area_head& h, std::span<const std::byte> key) {
  auto& far = peers_[from].areas;
  if (far.size() <= h.area) far.resize(h.area + 1);
  far[h.area].key.assign(key.begin(), key.end());
}

status hp_calls::finish_puts() {
  if (!puts_.idle()) {
    const wait_note note{"the sources of hp puts", no_rank, 0, c_.epoch};
    if (status s = c_.job.wait([&] { return puts_.idle(); }, [&] { return c_.team.look(no_rank); }, note); s.failed()) return s;
  }
  return puts_.outcome();
}

void hp_calls::forget_areas() noexcept {
  for (peer& p : peers_)
    for (std::uint32_t n = 0; n < p.areas.size(); ++n)
      if (!areas_.at(n)) forget(p.areas[n]);
}

// Words that the fabric does not take, though it is asked for a while, go in the next sync, before anything is waited for:
// nobody is kept here by a peer that computes for long.
void hp_calls::tell_end(std::span<const std::uint8_t> asked) {
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(c_.base + c_.layout.finished())).store(c_.epoch, std::memory_order_release);
  for (std::uint32_t k = 1, i = c_.me + 1; k < c_.size; ++k, ++i) {
    if (i == c_.size) i = 0;
    if (asked[i] & asks_end)
      ends_.push_back(signal_op({c_.rank_of(i), c_.window->segment(), c_.layout.end(c_.me)}, c_.epoch));
  }
  for (int turn = 0; !offer_ends() && turn < most_turns; ++turn) c_.net.progress();
}

bool hp_calls::offer_ends() noexcept {
  if (ends_.empty()) return true;
  ends_taken_ += c_.net.submit(std::span(ends_).subspan(ends_taken_));
  if (ends_taken_ < ends_.size()) return false;
  ends_.clear();
  ends_taken_ = 0;
  return true;
}

}  // namespace tutti::bsp

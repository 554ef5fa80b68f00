// The primitives between two syncs: what they check, and how they pack.
#include "bsp/engine.h"

#include <algorithm>
#include <string>

#include "core/base/copy.h"

namespace tutti::bsp {
namespace {

constexpr std::uint64_t direct_least = 8192;  // bytes: smaller hp puts are packed like others

std::string number(std::uint64_t n) { return std::to_string(n); }

}  // namespace

bool engine::fail(status s) noexcept {
  if (error_.ok()) error_ = std::move(s);
  return false;
}

bool engine::broken(const char* call, std::string text) {
  return fail({errc::invalid, worded(call, ": ", std::move(text)), c_.rank_of(c_.me)});
}

bool engine::no_process(const char* call, std::uint32_t pid) {
  return broken(call, "there is no process " + std::to_string(static_cast<std::int32_t>(pid)) + "; use 0 to " +
                          number(c_.size - 1));
}

bool engine::is_null(const char* call, const char* what, std::uint64_t bytes) {
  return broken(call, std::string("the ") + what + " of " + number(bytes) + " bytes is NULL");
}

void engine::watch(ledger* l, const std::function<void(const std::string&)>& check) {
  ledger_ = l;
  checker_ = check ? std::make_unique<checker>(c_.team, areas_, check) : nullptr;
  watched_ = ledger_ || checker_;
}

void engine::saw(call_kind kind, std::uint32_t pid, const void* mine, std::uint32_t area, std::uint64_t offset,
                 std::uint64_t bytes, const void* from) {
  if (ledger_) ledger_->note(pid, bytes, kind != call_kind::get && kind != call_kind::hpget, {pid == c_.me ? nullptr : from, name_of(kind)});
  if (checker_) checker_->note(kind, pid, mine, area, offset, bytes);
}

// --- areas -------------------------------------------------------------------------------------------------------

bool engine::find_area(const char* call, std::uint32_t pid, const char* what, const void* mine, const void* address,
                       std::uint64_t offset, std::uint64_t bytes, std::uint32_t& area) {
  if (pid >= c_.size) return no_process(call, pid);
  if (!mine) return is_null(call, what, bytes);
  if (!address)
    return broken(call, "the area is NULL, which names none; a process with NULL in an area has no part in it and cannot name it");
  area = areas_.find(address);
  if (area == registrar::no_area)
    return broken(call, hex(address) + " is not registered; bsp_push_reg takes effect at the next bsp_sync");
  const std::uint64_t there = areas_.bytes_at(area, pid);
  if (offset <= there && bytes <= there - offset) [[likely]] return true;
  return broken(call, number(bytes) + " bytes at offset " + number(offset) + " of an area of which process " +
                          number(pid) + " registered " + number(there) + " bytes; " +
                          (there ? "it must stay inside them" : "it has no part in the area"));
}

bool engine::push_reg(const void* address, std::uint64_t bytes) {
  if (!address && bytes > 0)
    return broken("bsp_push_reg", "NULL with " + number(bytes) + " bytes; a process without a part in an area "
                                  "registers NULL with 0 bytes");
  if (bytes >> 62 != 0) return broken("bsp_push_reg", "an area of " + number(bytes) + " bytes; no memory has as many");
  areas_.push(address, bytes);
  if (checker_) checker_->pushed();
  return true;
}

bool engine::pop_reg(const void* address) {
  if (areas_.pop(address)) {
    if (checker_) checker_->popped();
    return true;
  }
  return broken("bsp_pop_reg", (address ? hex(address) : "NULL") + " is not registered; pop what was pushed, by the same address");
}

bool engine::put_slowly(call_kind kind, std::uint32_t pid, const void* source, const void* address, std::uint64_t offset,
                        std::uint64_t bytes, const void* from) {
  const char* const call = name_of(kind);
  if (bytes == 0) return pid < c_.size || no_process(call, pid);
  std::uint32_t area;
  if (!find_area(call, pid, "source", source, address, offset, bytes, area)) return false;
  if (watched_) saw(kind, pid, source, area, offset, bytes, from);
  // Where calls are watched the next put must not go on in this one, unseen.
  const bool joins = c_.how.joins && !watched_;
  return during(call, boxes_[pid].put(static_cast<const std::byte*>(source), address, area, areas_.bytes_at(area, pid), offset,
                                      bytes, joins));
}

bool engine::request(call_kind kind, std::uint32_t pid, const void* address, std::uint64_t offset, void* into,
                     std::uint64_t bytes, const void* from) {
  const char* const call = name_of(kind);
  if (bytes == 0) return pid < c_.size || no_process(call, pid);
  std::uint32_t area;
  if (!find_area(call, pid, "target", into, address, offset, bytes, area)) return false;
  if (watched_) saw(kind, pid, into, area, offset, bytes, from);
  const bool hp = kind == call_kind::hpget;
  if (hp && hp_->go(kind, pid, area, into, offset, bytes)) return true;
  outbox& box = boxes_[pid];
  const bool direct = hp && moves_directly(box, bytes, box.hp_got);
  return during(call, box.request({offset, bytes, reinterpret_cast<std::uintptr_t>(into), area, direct}));
}

// Hp calls that do not go at the call (hp_calls.h). What is small is packed: that is allowed, and as fast as anything. So is
// what is large, up to a bound, where the other process reads it in place: two copies of which each finds the memory that it
// writes in nobody's cache. Beyond, and where nothing is read in place, it is not packed but sent from where it lies, during
// the sync, when the other process is there to place what comes: both copies go on at the same time, through a few slots,
// which need no memory; but each slot is fetched back from the other core's cache to be written again, which takes longer
// than all of the copying.
bool engine::moves_directly(const outbox& box, std::uint64_t bytes, std::uint64_t& packed) noexcept {
  if (bytes < direct_least || box.to() == c_.me || !c_.how.direct) return false;
  const bool in_place = box.in_place() && peers_->window(box.to());
  if (!in_place || bytes > hp_bound_ - packed) return ++hp_direct_, true;
  packed += bytes;
  return ++hp_packed_, false;
}

bool engine::hpput(std::uint32_t pid, const void* source, const void* address, std::uint64_t offset, std::uint64_t bytes,
                   const void* from) {
  constexpr const char* call = "bsp_hpput";
  if (bytes == 0) return pid < c_.size || no_process(call, pid);
  std::uint32_t area;
  if (!find_area(call, pid, "source", source, address, offset, bytes, area)) return false;
  outbox& box = boxes_[pid];
  const bool went = hp_->go(call_kind::hpput, pid, area, const_cast<void*>(source), offset, bytes);
  if (!went && !moves_directly(box, bytes, box.hp_put))
    return put_slowly(call_kind::hpput, pid, source, address, offset, bytes, from);
  if (watched_) saw(call_kind::hpput, pid, source, area, offset, bytes, from);
  if (!went) box.move_directly({static_cast<const std::byte*>(source), offset, bytes, area});
  return true;
}

bool engine::hpget(std::uint32_t pid, const void* address, std::uint64_t offset, void* into, std::uint64_t bytes, const void* from) {
  return request(call_kind::hpget, pid, address, offset, into, bytes, from);
}

bool engine::direct_get(std::uint32_t pid, const void* address, std::uint64_t offset, void* into, std::uint64_t bytes, const void* from) {
  constexpr const char* call = "bsp_direct_get";
  if (bytes == 0) return pid < c_.size || no_process(call, pid);
  std::uint32_t area;
  if (!find_area(call, pid, "target", into, address, offset, bytes, area)) return false;
  if (ledger_) ledger_->note(pid, bytes, false, {pid == c_.me ? nullptr : from, call});
  if (pid == c_.me) {
    move_bytes(into, areas_.at(area)->base + offset, bytes);
    return true;
  }
  return during(call, direct_gets_->fetch(pid, area, offset, static_cast<std::byte*>(into), bytes));
}

// --- messages ----------------------------------------------------------------------------------------------------

bool engine::set_tagsize(std::uint64_t bytes, std::uint64_t& before) {
  if (bytes >> 31 != 0) return broken("bsp_set_tagsize", number(bytes) + " bytes; a tag has at most 2^31 - 1");
  before = agreement_.set_tag(bytes);
  return true;
}

bool engine::send(std::uint32_t pid, const void* tag, const void* payload, std::uint64_t bytes, const void* from) {
  constexpr const char* call = "bsp_send";
  const std::uint64_t tag_bytes = agreement_.sent_tag();
  if (pid >= c_.size) return no_process(call, pid);
  if (bytes >> 62 != 0) return broken(call, "a payload of " + number(bytes) + " bytes; negative sizes mean nothing");
  if (!tag && tag_bytes > 0) return is_null(call, "tag", tag_bytes);
  if (!payload && bytes > 0) return is_null(call, "payload", bytes);
  if (watched_) saw(call_kind::send, pid, payload, registrar::no_area, 0, bytes, from);
  return during(call, boxes_[pid].send(tag, tag_bytes, payload, bytes));
}

bool engine::give(std::uint32_t pid, const call_note& note, const void* source, std::uint64_t bytes) {
  if (ledger_) ledger_->note(pid, bytes, true, {});
  return during(note.call, boxes_[pid].send(&note, sizeof note, source, bytes, value_mark));
}

}  // namespace tutti::bsp

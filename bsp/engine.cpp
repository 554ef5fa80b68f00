// The primitives between two syncs: what they check, and how they pack.
#include "bsp/engine.h"

#include <algorithm>
#include <string>

namespace tutti::bsp {
namespace {

constexpr std::uint64_t in_place_chunk = std::uint64_t{1} << 16, most_chunk = std::uint64_t{1} << 30;
constexpr std::uint64_t compact_bytes = put4::most_units * 8;

std::string number(std::uint64_t n) { return std::to_string(n); }

}  // namespace

bool engine::fail(status s) noexcept {
  if (error_.ok()) error_ = std::move(s);
  return false;
}

bool engine::broken(const char* call, std::string text) {
  return fail({errc::invalid, std::string(call) + ": " + std::move(text), peers_[me_].rank});
}

bool engine::check_pid(const char* call, std::uint32_t pid) {
  if (pid < size_) return true;
  return broken(call, "there is no process " + std::to_string(static_cast<std::int32_t>(pid)) + "; use 0 to " +
                          number(size_ - 1));
}

bool engine::check_memory(const char* call, const char* what, const void* at, std::uint64_t bytes) {
  if (at || bytes == 0) [[likely]] return true;
  return broken(call, std::string("the ") + what + " of " + number(bytes) + " bytes is NULL");
}

void engine::watch(ledger* l, const std::function<void(const std::string&)>& check) {
  ledger_ = l;
  checker_ = check ? std::make_unique<checker>(team_, areas_, check) : nullptr;
  watched_ = ledger_ || checker_;
}

void engine::saw(call_kind kind, std::uint32_t pid, const void* mine, std::uint32_t area, std::uint64_t offset,
                 std::uint64_t bytes) {
  if (ledger_) ledger_->note(pid, bytes, kind != call_kind::get && kind != call_kind::hpget);
  if (checker_) checker_->note(kind, pid, mine, area, offset, bytes);
}

// --- areas -------------------------------------------------------------------------------------------------------

bool engine::find_area(const char* call, std::uint32_t pid, const void* address, std::uint64_t offset,
                       std::uint64_t bytes, std::uint32_t& area) {
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

bool engine::extend(const char* call, chain& c, stage s, bool in_place, std::uint64_t wanted) {
  std::uint64_t bytes = slot_bytes;
  if (in_place) {  // half of what the chain has: so there are few chunks, and little of the last is left over
    const std::uint64_t least = std::clamp(round_up(c.chunk_bytes() / 2, 64), bytes, in_place_chunk);
    bytes = std::clamp(round_up(wanted + sizeof(chunk_head), 64), least, most_chunk);
  } else if (c.empty() && s == stage::requests) {
    bytes = layout_.eager_bytes();  // goes with the metadata word
  }
  if (status e = c.extend(*arena_, half(), bytes, s); !e.ok()) return fail(e.during(call));
  return true;
}

void engine::close_run(outbox& l) noexcept {
  l.run_address = &l;  // nobody registers this one
  if (!l.run_head) return;
  if (!l.run_long) {
    close_short(l);
    l.run_head = nullptr;
    return;
  }
  std::byte* const head = std::exchange(l.run_head, nullptr);
  if (l.run_start >> 32 == 0) {
    const put12 h{long_head(record::put12, l.run_area, l.run_cut),
                  static_cast<std::uint32_t>(l.data.at - head - sizeof(put12)), static_cast<std::uint32_t>(l.run_start)};
    std::memcpy(head, &h, sizeof h);
  } else {
    const put16 h{long_head(record::put16, l.run_area, l.run_cut),
                  static_cast<std::uint32_t>(l.data.at - head - sizeof(put16)), l.run_start};
    std::memcpy(head, &h, sizeof h);
  }
  l.data.at += -reinterpret_cast<std::uintptr_t>(l.data.at) & 3;
}

// Leaves room for the header of a put, of which the first piece is to come, and closes it again unless later puts may
// go on in it.
bool engine::open_run(const char* call, outbox& l, std::uint32_t pid, const void* address, std::uint32_t area,
                      std::uint64_t offset, std::uint64_t bytes, bool goes_on) {
  const bool by_words = ((offset | bytes) & 7) == 0;
  l.run_long = !scheme_.compresses || goes_on || !put4::fits(area, offset, bytes, by_words);
  const std::uint64_t head = !l.run_long ? 4 : offset >> 32 == 0 ? sizeof(put12) : sizeof(put16);
  // A small put is not worth cutting.
  if (l.data.room() < head + std::min(bytes, compact_bytes) &&
      !extend(call, l.data, stage::data, peers_[pid].reads_me, head + bytes))
    return false;
  const std::uint64_t there = areas_.bytes_at(area, pid);
  l.run_head = l.data.at;
  l.run_address = address;
  l.run_area = area;
  l.run_start = l.run_next = offset;
  l.run_mask = l.run_long || !by_words ? 0 : 7;
  l.word_address = &l;
  if (!l.run_long) {
    l.run_word = put4::pack(area, offset, 0, by_words);
    if (scheme_.joins && !watched_) {
      l.word_address = address;
      l.word_end = std::min<std::uint64_t>(there, 8ull * put4::offsets);
      l.word_head = put4::pack(area, 0, 0, true);
    }
  }
  l.data.at += head;
  std::uint64_t most = std::min<std::uint64_t>(l.data.room(), there - offset);
  if (!l.run_long) most = std::min<std::uint64_t>(most, put4::most_units << (by_words ? 3 : 0));
  l.run_end = l.data.at + most;
  return true;
}

bool engine::put_slowly(call_kind kind, std::uint32_t pid, const void* source, const void* address,
                        std::uint64_t offset, std::uint64_t bytes) {
  const char* const call = name_of(kind);
  if (!check_pid(call, pid)) return false;
  if (bytes == 0) return true;
  std::uint32_t area;
  if (!check_memory(call, "source", source, bytes) || !find_area(call, pid, address, offset, bytes, area)) return false;
  outbox& l = outboxes_[pid];
  bool goes_on = l.run_address == address && l.run_next == offset;  // in a header that was full
  const auto* from = static_cast<const std::byte*>(source);
  if (watched_) saw(kind, pid, source, area, offset, bytes);
  if (bytes >= peers_[pid].bulk_from) return put_in_bulk(call, l, from, area, offset, bytes);
  while (bytes > 0) {
    close_run(l);
    if (!open_run(call, l, pid, address, area, offset, bytes, goes_on)) return false;
    auto piece = std::min<std::uint64_t>(bytes, static_cast<std::uint64_t>(l.run_end - l.data.at));
    if (piece < bytes) piece &= ~std::uint64_t{7};
    l.run_cut = piece < bytes;  // never where the header is put4
    copy_small(l.data.at, from, piece);
    l.data.at += piece, l.run_next += piece;
    from += piece, offset += piece, bytes -= piece;
    goes_on = true;
  }
  if (watched_) close_run(l);  // or the next put might go on in it, unseen
  if (!scheme_.joins) close_run(l);
  return true;
}

bool engine::request(call_kind kind, std::uint32_t pid, const void* address, std::uint64_t offset, void* into,
                     std::uint64_t bytes, bool direct) {
  const char* const call = name_of(kind);
  if (!check_pid(call, pid)) return false;
  if (bytes == 0) return true;
  std::uint32_t area;
  if (!check_memory(call, "target", into, bytes) || !find_area(call, pid, address, offset, bytes, area)) return false;
  outbox& l = outboxes_[pid];
  const get_request r{offset, bytes, reinterpret_cast<std::uintptr_t>(into), area, direct};
  if (l.requests.room() < sizeof r && !extend(call, l.requests, stage::requests, peers_[pid].reads_me, sizeof r))
    return false;
  std::memcpy(l.requests.at, &r, sizeof r);
  l.requests.at += sizeof r;
  if (watched_) saw(kind, pid, into, area, offset, bytes);
  ++(direct ? l.direct_gets : l.gets);
  return true;
}

// Hp calls that do not go at the call (ahead.cpp). What is small is packed: that is allowed, and as fast as anything. So is
// what is large, up to a bound, where the other process reads it in place: two copies of which each finds the memory that it
// writes in nobody's cache. Beyond, and where nothing is read in place, it is not packed but sent from where it lies, during
// the sync, when the other process is there to place what comes: both copies go on at the same time, through a few slots,
// which need no memory; but each slot is fetched back from the other core's cache to be written again, which takes longer
// than all of the copying.
bool engine::goes_direct(std::uint32_t pid, std::uint64_t bytes, std::uint64_t& packed) noexcept {
  if (bytes < direct_least || pid == me_ || !scheme_.direct || !job_.net().caps().any_local_memory) return false;
  const bool in_place = peers_[pid].reads_me && peers_[pid].mapped;
  if (!in_place || bytes > hp_bound_ - packed) return ++hp_direct_, true;
  packed += bytes;
  return ++hp_packed_, false;
}

bool engine::hpput(std::uint32_t pid, const void* source, const void* address, std::uint64_t offset,
                   std::uint64_t bytes) {
  if (!check_pid("bsp_hpput", pid) || !check_memory("bsp_hpput", "source", source, bytes)) return false;
  bool went = false;
  if (!go_ahead(call_kind::hpput, pid, const_cast<void*>(source), address, offset, bytes, went)) return false;
  if (went) return true;
  if (!goes_direct(pid, bytes, outboxes_[pid].hp_put))
    return put_slowly(call_kind::hpput, pid, source, address, offset, bytes);
  std::uint32_t area;
  if (!find_area("bsp_hpput", pid, address, offset, bytes, area)) return false;
  if (watched_) saw(call_kind::hpput, pid, source, area, offset, bytes);
  outboxes_[pid].direct.push_back({static_cast<const std::byte*>(source), offset, bytes, area});
  return true;
}

bool engine::hpget(std::uint32_t pid, const void* address, std::uint64_t offset, void* into, std::uint64_t bytes) {
  if (!check_pid("bsp_hpget", pid) || !check_memory("bsp_hpget", "target", into, bytes)) return false;
  bool went = false;
  if (!go_ahead(call_kind::hpget, pid, into, address, offset, bytes, went)) return false;
  if (went) return true;
  return request(call_kind::hpget, pid, address, offset, into, bytes, goes_direct(pid, bytes, outboxes_[pid].hp_got));
}

bool engine::direct_get(std::uint32_t pid, const void* address, std::uint64_t offset, void* into, std::uint64_t bytes) {
  constexpr const char* call = "bsp_direct_get";
  if (!check_pid(call, pid)) return false;
  if (bytes == 0) return true;
  std::uint32_t area;
  if (!check_memory(call, "target", into, bytes) || !find_area(call, pid, address, offset, bytes, area)) return false;
  if (ledger_) ledger_->note(pid, bytes, false);
  if (pid == me_) {
    std::memmove(into, areas_.at(area)->base + offset, bytes);
    return true;
  }
  const status s = direct_gets_->fetch(pid, area, offset, static_cast<std::byte*>(into), bytes);
  return s.ok() || fail(s.during(call));
}

// --- messages ----------------------------------------------------------------------------------------------------

// A message lies whole in one chunk where the chunk is read in place, so that it need not be copied there. Elsewhere it
// fills chunks to their ends.
bool engine::send(std::uint32_t pid, const void* tag, const void* payload, std::uint64_t bytes) {
  if (!check_pid("bsp_send", pid)) return false;
  if (bytes >> 62 != 0) return broken("bsp_send", "a payload of " + number(bytes) + " bytes; negative sizes mean nothing");
  if (!check_memory("bsp_send", "tag", tag, sent_tag_) || !check_memory("bsp_send", "payload", payload, bytes)) return false;
  if (watched_) saw(call_kind::send, pid, payload, registrar::no_area, 0, bytes);
  outbox& l = outboxes_[pid];
  chain& c = l.data;
  const bool in_place = peers_[pid].reads_me;
  const message_head head{message_mark, static_cast<std::uint32_t>(sent_tag_), bytes};
  const std::uint64_t padded_tag = round_up(sent_tag_, 16), whole = sizeof head + padded_tag + bytes;
  close_run(l);
  const std::uint64_t gap = -reinterpret_cast<std::uintptr_t>(c.at) & 15;
  const std::uint64_t needed = in_place ? std::min(whole, most_chunk / 2) : sizeof head;
  if (c.room() < gap + needed) {
    if (!extend("bsp_send", c, stage::data, in_place, whole)) return false;
  } else {
    for (std::uint64_t i = 0; i < gap; i += 4, c.at += 4) store_word(c.at, padding);
  }
  std::memcpy(c.at, &head, sizeof head);
  c.at += sizeof head;
  auto append = [&](const void* source, std::uint64_t n) {
    for (const auto* from = static_cast<const std::byte*>(source); n > 0;) {
      if (c.room() == 0 && !extend("bsp_send", c, stage::data, in_place, n)) return false;
      const auto piece = std::min<std::uint64_t>(n, c.room());
      if (from) std::memcpy(c.at, from, piece), from += piece;
      c.at += piece, n -= piece;
    }
    return true;
  };
  if (!append(tag, sent_tag_) || !append(nullptr, padded_tag - sent_tag_) || !append(payload, bytes)) return false;
  c.at += -reinterpret_cast<std::uintptr_t>(c.at) & 3;
  return true;
}

}  // namespace tutti::bsp

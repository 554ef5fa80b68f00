// Large puts. Their data are packed apart from the records, one put after the other, so that when the superstep ends they
// can go either way, as is the cheapest for this destination (bulk_choice.h): they stay, and the target reads them straight
// to their places; or they are pushed through the channel, behind all records, and copied out of its slots.
//
// Order. Bytes that are pushed come in the order of their records, so the records, which are before them in the channel,
// say where each belongs. They are placed when records are: once the gets upon this memory are served and one's own
// answered. Bytes that are read are read when all else is written, from every process (puller.h). So of two puts to one
// place one is there whole: a put that came in part keeps others from being written, as records do; and of those that are
// read none runs beside one that it meets.
#include <algorithm>
#include <string>

#include "bsp/engine.h"

namespace tutti::bsp {
namespace {

constexpr std::uint64_t most_chunk = std::uint64_t{1} << 30;

}  // namespace

// --- the sender --------------------------------------------------------------------------------------------------

// Chunks grow with what is packed, so that few reads and slots are cut by their ends, and little stays unused.
bool engine::put_in_bulk(const char* call, outbox& l, const std::byte* source, std::uint32_t area, std::uint64_t offset,
                         std::uint64_t bytes) {
  close_run(l);
  while (bytes > 0) {
    if (l.bulk.room() == 0) {
      const std::uint64_t grown = l.bulk.empty() ? 0 : std::min(l.load.bytes, puller::most_bytes);
      const std::uint64_t preferred = round_up(std::max(bytes, grown) + sizeof(chunk_head), 64);
      const auto size = std::clamp<std::uint64_t>(preferred, slot_bytes, most_chunk);
      if (status s = l.bulk.extend(*arena_, half(), size, stage::bulk); !s.ok()) return fail(s.during(call));
      if (!tell_keys(call, l)) return false;
    }
    if (l.data.room() < sizeof(bulk_head) && !extend(call, l.data, stage::data, false, 0)) return false;
    const auto piece = std::min<std::uint64_t>(bytes, l.bulk.room());
    copy_small(l.bulk.at, source, piece);
    const bulk_head h{piece < bytes ? bulk_mark | bulk_goes_on : bulk_mark, area, offset, piece,
                      arena_->where(l.bulk.at, l.bulk.current())};
    std::memcpy(l.data.at, &h, sizeof h);
    l.data.at += sizeof h;
    l.bulk.at += piece, source += piece, offset += piece, bytes -= piece;
    ++l.load.puts, l.load.bytes += piece;
  }
  return true;
}

// The keys of all regions that the other process has not met.
bool engine::tell_keys(const char* call, outbox& l) {
  for (; l.keys_told < arena_->regions(); ++l.keys_told) {
    const auto key = arena_->key(l.keys_told);
    const std::uint64_t needed = sizeof(key_head) + round_up(key.size(), 4);
    if (l.data.room() < needed && !extend(call, l.data, stage::data, false, 0)) return false;
    const key_head h{key_mark, l.keys_told, static_cast<std::uint32_t>(key.size()), 0};
    std::memcpy(l.data.at, &h, sizeof h);
    std::memcpy(l.data.at + sizeof h, key.data(), key.size());
    l.data.at += needed;
  }
  return true;
}

// Before the records are complete: which way, which the first chunk of them tells.
void engine::choose_bulk(std::uint32_t pid) noexcept {
  outbox& l = outboxes_[pid];
  peer& p = peers_[pid];
  l.bulk.seal(*arena_, stage::bulk);
  const bool pull = scheme_.pulls_from || pays_to_pull(l.load, bulk_way_);
  ++(pull ? bulk_pulled_ : bulk_pushed_);
  if (pull) return;
  l.data.head(*arena_).pushed = l.load.bytes;
  p.bulk = l.bulk.first(), p.bulk_at = sizeof(chunk_head);
}

// A slot of what is pushed, then another process has its turn. True: all is on its way.
bool engine::send_bulk(std::uint32_t pid) noexcept {
  peer& p = peers_[pid];
  if (p.bulk == 0) return true;
  if (!p.line || !p.line->open()) return false;
  const auto& chunk = *reinterpret_cast<const chunk_head*>(arena_->at(p.bulk));
  const auto piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk.used.bytes - p.bulk_at, slot_data));
  const bool ends = p.bulk_at + piece == chunk.used.bytes;
  chunk_head front{};
  front.used = {static_cast<std::uint32_t>(sizeof front) + piece, make_note(stage::bulk, ends && chunk.next == 0)};
  if (!p.line->send(std::as_bytes(std::span(&front, 1)), arena_->id(p.bulk), offset_of(p.bulk) + p.bulk_at, piece,
                    &sending_[half()]))
    return false;
  moved_ = true;
  p.bulk_at += piece;
  if (ends) p.bulk = chunk.next, p.bulk_at = sizeof(chunk_head);
  return p.bulk == 0;
}

// --- the target --------------------------------------------------------------------------------------------------

status engine::on_key(std::uint32_t from, std::uint32_t region, std::span<const std::byte> key) {
  peer& p = peers_[from];
  auto keys = std::make_shared<blob_table>();
  keys->push_back(key);
  auto segment = job_.net().attach(rank_map::strided(p.rank, 1), std::move(keys));
  if (!segment) return segment.error();
  p.segments.push_back(*segment);
  if (p.readable.size() <= region) p.readable.resize(region + 1);
  p.readable[region] = *segment;
  return {};
}

// Where the sender's memory is not mapped here an adapter brings the data, or a library, and it is from registered memory to
// registered memory that they do so best: the whole area is registered, once, until it is popped.
status engine::on_bulk(std::uint32_t from, const bulk_head& h, const area& to) {
  peer& p = peers_[from];
  if (p.pushed) {
    p.coming.push_back({to.base + h.offset, h.bytes, (h.kind & bulk_goes_on) != 0});
    return {};
  }
  puller::pull pull{(from + size_ - me_) % size_, p.rank, p.readable[region_of(h.from)], offset_of(h.from), plain_memory,
                    reinterpret_cast<std::uintptr_t>(to.base) + h.offset, to.base + h.offset, h.bytes};
  if (!job_.net().map(pull.segment, pull.rank)) {
    auto known = std::find_if(registrations_.begin(), registrations_.end(),
                              [&](const registration& r) { return r.base == to.base && r.bytes == to.bytes; });
    if (known == registrations_.end()) {
      auto id = job_.net().add({to.base, to.bytes});
      if (!id) return id.error().during("registering an area of " + std::to_string(to.bytes) + " bytes");
      known = registrations_.insert(known, {areas_.number_of(to), to.base, to.bytes, *id});
    }
    pull.local = known->id;
    pull.local_offset = h.offset;
  }
  puller_.add(pull);
  return {};
}

// One slot of what is pushed: to where the records said.
status engine::place_bulk(std::uint32_t pid, std::span<const std::byte> bytes, bool last) {
  peer& p = peers_[pid];
  while (!bytes.empty() && p.placed < p.coming.size()) {
    arrival& a = p.coming[p.placed];
    const auto piece = std::min<std::uint64_t>(a.bytes, bytes.size());
    std::memcpy(a.to, bytes.data(), piece);
    a.to += piece, a.bytes -= piece;
    bytes = bytes.subspan(piece);
    const bool whole = a.bytes == 0 && !a.goes_on;
    if (a.bytes == 0) ++p.placed;
    mid_put_ = whole ? no_process : pid;
  }
  if (!bytes.empty() || last != (p.placed == p.coming.size()))
    return {errc::protocol, "process " + std::to_string(pid) + " pushed other bytes than it announced", p.rank};
  if (last) p.coming.clear(), p.placed = 0, p.pushed = 0;
  return {};
}

// Of areas that are no more, and of other memory: it may go.
void engine::drop_registrations() noexcept {
  temporary_ = 0;
  std::erase_if(registrations_, [&](const registration& r) {
    const area* const a = areas_.at(r.number);
    if (a && a->base == r.base && a->bytes == r.bytes) return false;
    job_.net().drop(r.id);
    return true;
  });
}

}  // namespace tutti::bsp

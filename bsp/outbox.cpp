#include "bsp/outbox.h"

#include <string>

#include "bsp/puller.h"
#include "core/base/copy.h"

namespace tutti::bsp {
namespace {

constexpr std::uint64_t in_place_chunk = std::uint64_t{1} << 16, most_chunk = std::uint64_t{1} << 30;
constexpr std::uint64_t compact_bytes = put4::most_units * 8;
constexpr std::uint64_t answer_piece = std::uint64_t{1} << 15;

}  // namespace

status outbox::extend(chain& c, stage s, std::uint64_t wanted) {
  std::uint64_t bytes = slot_bytes;
  if (in_place_) {  // half of what the chain has: so there are few chunks, and little of the last is left over
    const std::uint64_t least = std::clamp(round_up(c.chunk_bytes() / 2, 64), bytes, in_place_chunk);
    bytes = std::clamp(round_up(wanted + sizeof(chunk_head), 64), least, most_chunk);
  } else if (c.empty() && s == stage::requests) {
    bytes = c_.layout.eager_bytes();  // goes with the metadata word
  }
  return c.extend(memory_, c_.half(), bytes, s);
}

status outbox::make_room(std::uint64_t bytes) {
  close_run();
  return data_.room() < bytes ? extend(data_, stage::data, bytes) : status{};
}

status outbox::record_calls(std::span<const std::uint64_t> calls) {
  for (std::size_t first = 0; first < calls.size();) {
    const auto rest = calls.subspan(first);
    close_run();
    if (data_.room() < sizeof(changes_head) + 8)
      if (status s = extend(data_, stage::data, sizeof(changes_head) + rest.size_bytes()); s.failed()) return s;
    const auto some = rest.first(std::min(rest.size(), (data_.room() - sizeof(changes_head)) / 8));
    write(changes_head{changes_mark, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(some.size())}, std::as_bytes(some));
    first += some.size();
  }
  return {};
}

// --- puts --------------------------------------------------------------------------------------------------------

void outbox::close_run() noexcept {
  run_address_ = this;  // nobody registers this one
  if (!run_head_) return;
  std::byte* const head = run_head_;
  if (run_long_) {
    if (run_start_ >> 32 == 0) {
      const put12 h{long_head(record::put12, run_area_, run_cut_), static_cast<std::uint32_t>(data_.at - head - sizeof(put12)),
                    static_cast<std::uint32_t>(run_start_)};
      std::memcpy(head, &h, sizeof h);
    } else {
      const put16 h{long_head(record::put16, run_area_, run_cut_), static_cast<std::uint32_t>(data_.at - head - sizeof(put16)),
                    run_start_};
      std::memcpy(head, &h, sizeof h);
    }
    data_.at += -reinterpret_cast<std::uintptr_t>(data_.at) & 3;
  } else {
    close_short();
  }
  run_head_ = nullptr;
}

// Leaves room for the header of a put, of which the first piece is to come.
status outbox::open_run(const void* address, std::uint32_t area, std::uint64_t there, std::uint64_t offset, std::uint64_t bytes,
                        bool goes_on, bool joins) {
  const bool by_words = ((offset | bytes) & 7) == 0;
  run_long_ = !c_.how.compresses || goes_on || !put4::fits(area, offset, bytes, by_words);
  const std::uint64_t head = !run_long_ ? 4 : offset >> 32 == 0 ? sizeof(put12) : sizeof(put16);
  // A small put is not worth cutting.
  if (data_.room() < head + std::min(bytes, compact_bytes))
    if (status s = extend(data_, stage::data, head + bytes); s.failed()) return s;
  run_head_ = data_.at;
  run_address_ = address;
  run_area_ = area;
  run_start_ = run_next_ = offset;
  run_mask_ = run_long_ || !by_words ? 0 : 7;
  word_address_ = this;
  if (!run_long_) {
    run_word_ = put4::pack(area, offset, 0, by_words);
    if (joins) {
      word_address_ = address;
      word_end_ = std::min<std::uint64_t>(there, 8ull * put4::offsets);
      word_head_ = put4::pack(area, 0, 0, true);
    }
  }
  data_.at += head;
  std::uint64_t most = std::min<std::uint64_t>(data_.room(), there - offset);
  if (!run_long_) most = std::min<std::uint64_t>(most, put4::most_units << (by_words ? 3 : 0));
  run_end_ = data_.at + most;
  return {};
}

status outbox::put(const std::byte* source, const void* address, std::uint32_t area, std::uint64_t there, std::uint64_t offset,
                   std::uint64_t bytes, bool joins) {
  if (bytes >= bulk_from_) return put_in_bulk(source, area, offset, bytes);
  bool goes_on = run_address_ == address && run_next_ == offset;  // in a header that was full
  while (bytes > 0) {
    close_run();
    if (status s = open_run(address, area, there, offset, bytes, goes_on, joins); s.failed()) return s;
    auto piece = std::min<std::uint64_t>(bytes, static_cast<std::uint64_t>(run_end_ - data_.at));
    if (piece < bytes) piece &= ~std::uint64_t{7};
    run_cut_ = piece < bytes;  // never where the header is put4
    copy_small(data_.at, source, piece);
    data_.at += piece, run_next_ += piece;
    source += piece, offset += piece, bytes -= piece;
    goes_on = true;
  }
  if (!joins) close_run();
  return {};
}

// Chunks grow with what is packed, so that few reads and slots are cut by their ends, and little stays unused.
status outbox::put_in_bulk(const std::byte* source, std::uint32_t area, std::uint64_t offset, std::uint64_t bytes) {
  while (bytes > 0) {
    if (bulk_.room() == 0) {
      const std::uint64_t grown = bulk_.empty() ? 0 : std::min(load_.bytes, puller::most_bytes);
      const std::uint64_t preferred = round_up(std::max(bytes, grown) + sizeof(chunk_head), 64);
      const auto size = std::clamp<std::uint64_t>(preferred, slot_bytes, most_chunk);
      if (status s = bulk_.extend(memory_, c_.half(), size, stage::bulk); s.failed()) return s;
      if (status s = tell_keys(); s.failed()) return s;
    }
    const auto piece = std::min<std::uint64_t>(bytes, bulk_.room());
    const std::byte* const at = bulk_.at;
    copy_small(bulk_.at, source, piece);
    bulk_.at += piece;
    const bulk_head h{piece < bytes ? bulk_mark | bulk_goes_on : bulk_mark, area, offset, piece,
                      memory_.where(at, bulk_.current())};
    if (status s = record(h, {}); s.failed()) return s;
    source += piece, offset += piece, bytes -= piece;
    ++load_.puts, load_.bytes += piece;
  }
  return {};
}

// The keys of all regions that the other process has not met.
status outbox::tell_keys() {
  for (; keys_told_ < memory_.regions(); ++keys_told_) {
    const auto key = memory_.key(keys_told_);
    if (status s = record(key_head{key_mark, keys_told_, static_cast<std::uint32_t>(key.size()), 0}, key); s.failed()) return s;
  }
  return {};
}

// --- messages -------------------------------------------------------------------------------------------

// A message lies whole in one chunk where the chunk is read in place, so that it need not be copied there. Elsewhere it
// fills chunks to their ends.
status outbox::send(const void* tag, std::uint64_t tag_bytes, const void* payload, std::uint64_t bytes, std::uint32_t mark) {
  chain& c = data_;
  const message_head head{mark, static_cast<std::uint32_t>(tag_bytes), bytes};
  const std::uint64_t padded_tag = round_up(tag_bytes, 16), whole = sizeof head + padded_tag + bytes;
  close_run();
  const std::uint64_t gap = -reinterpret_cast<std::uintptr_t>(c.at) & 15;
  const std::uint64_t needed = in_place_ ? std::min(whole, most_chunk / 2) : sizeof head;
  if (c.room() < gap + needed) {
    if (status s = extend(c, stage::data, whole); s.failed()) return s;
  } else {
    for (std::uint64_t i = 0; i < gap; i += 4, c.at += 4) store_word(c.at, padding);
  }
  write(head, {});
  const auto append = [&](const void* source, std::uint64_t n) -> status {
    for (const auto* from = static_cast<const std::byte*>(source); n > 0;) {
      if (c.room() == 0)
        if (status s = extend(c, stage::data, n); s.failed()) return s;
      const auto piece = std::min<std::uint64_t>(n, c.room());
      if (from) copy_bytes(c.at, from, piece), from += piece;
      c.at += piece, n -= piece;
    }
    return {};
  };
  if (status s = append(tag, tag_bytes); s.failed()) return s;
  if (status s = append(nullptr, padded_tag - tag_bytes); s.failed()) return s;
  if (status s = append(payload, bytes); s.failed()) return s;
  c.at += -reinterpret_cast<std::uintptr_t>(c.at) & 3;
  return {};
}

// --- the end of the superstep ------------------------------------------------------------------------------------

std::uint8_t outbox::seal(std::uint32_t calls, std::uint32_t tag, bool announces) noexcept {
  close_run();
  chunk_head& head = data_.head(memory_);
  head.calls = calls, head.tag = tag;
  std::uint8_t flags = direct_.empty() ? 0 : has_direct;
  eager_ = next = next_data = 0;
  if (!requests_.empty()) {
    requests_.seal(memory_, stage::requests);
    head.requests = requests_.first();
    flags |= has_requests;
  }
  data_.seal(memory_, stage::data);
  if (head.next || head.used.bytes > sizeof head || announces) flags |= has_data;
  if (in_place_ || !(flags & (has_requests | has_data))) return flags;
  next = requests_.first();
  if (flags & has_data) next_data = data_.first();
  if (!bulk_.empty()) choose_bulk();
  if (c_.how.eager) {
    location& first = next ? next : next_data;
    const auto& h = *reinterpret_cast<const chunk_head*>(memory_.at(first));
    if (h.used.bytes <= c_.layout.eager_bytes()) {
      eager_ = first;
      first = h.next;
      flags |= is_eager;
    }
  }
  if (next || next_data || bulk_next) flags |= has_more;
  return flags;
}

// Which way, which the first chunk of the records tells.
void outbox::choose_bulk() noexcept {
  bulk_.seal(memory_, stage::bulk);
  const bool pull = c_.how.pulls_from || pays_to_pull(load_, all_.bulk);
  ++(pull ? all_.bulk_pulled : all_.bulk_pushed);
  if (pull) return;
  data_.head(memory_).pushed = load_.bytes;
  bulk_next = bulk_.first(), bulk_at = sizeof(chunk_head);
}

// --- answers -----------------------------------------------------------------------------------------------------

status outbox::extend_answers(std::uint64_t wanted) {
  answer_chunks_ += !answers_.empty();
  return extend(answers_, stage::answers, std::min(wanted, answer_piece));
}

void outbox::seal_answers() noexcept {
  if (answers_.empty()) return;
  answers_.seal(memory_, stage::answers);
  ++answer_chunks_;
}

void outbox::await_answers() noexcept {
  asked_ = gets_ ? requests_.first() : 0;
  asked_at_ = sizeof(chunk_head), answered_ = 0;
}

status outbox::deliver(std::span<const std::byte> answers) {
  while (!answers.empty()) {
    const auto* chunk = reinterpret_cast<const chunk_head*>(memory_.at(asked_));
    if (asked_at_ == chunk->used.bytes) {
      if (chunk->next == 0)
        return {errc::protocol, worded("process ", to_, " answered more than it was asked"), c_.rank_of(to_)};
      asked_ = chunk->next, asked_at_ = sizeof *chunk;
      continue;
    }
    get_request r;
    std::memcpy(&r, reinterpret_cast<const std::byte*>(chunk) + asked_at_, sizeof r);
    if (r.direct) {
      asked_at_ += sizeof r;
      continue;
    }
    const auto piece = std::min<std::uint64_t>(r.bytes - answered_, answers.size());
    copy_small(reinterpret_cast<std::byte*>(r.into) + answered_, answers.data(), piece);
    answered_ += piece;
    answers = answers.subspan(piece);
    if (answered_ == r.bytes) answered_ = 0, asked_at_ += sizeof r;
  }
  return {};
}

}  // namespace tutti::bsp

#include "bsp/placer.h"

#include <algorithm>
#include <string>

namespace tutti::bsp {
namespace {

// The head of a record; `at` goes on to what follows.
template <class Head>
Head take(const std::byte*& at) noexcept {
  Head h;
  std::memcpy(&h, at, sizeof h);
  at += sizeof h;
  return h;
}

}  // namespace

status placer::check(const char* what, std::uint32_t from, std::uint32_t number, std::uint64_t offset,
                     std::uint64_t bytes, const area*& out) const {
  out = areas_.at(number);
  if (out && offset <= out->bytes && bytes <= out->bytes - offset) [[likely]] return {};
  return {errc::protocol, worded("process ", from, " sent ", what, " of ", bytes, " bytes at offset ", offset, " of area ", number,
                                 ", of which process ", me_, " has ", (out ? std::to_string(out->bytes) + " bytes" : "nothing")),
                                 from};
}

status placer::too_many(std::uint32_t from, std::uint64_t bytes) const {
  return {errc::no_resource, worded("process ", me_, " has ", queue_.payload_bytes(),
                                    " bytes of messages (bsp_send) of this superstep, and with one of ", bytes,
                                    " bytes from process ", from, " they do not fit into the ", queue_.remedy()),
                             from};
}

// A message that is here whole.
status placer::deliver(std::uint32_t from, const message_head& head, const std::byte* at) {
  const message m(head, at);
  if (head.kind == value_mark) return others_.on_value(from, m), status{};
  return queue_.add(m) ? status{} : too_many(from, head.payload_bytes);
}

status placer::place(std::span<const std::byte> records, std::uint32_t from, unfinished& open, bool stays) {
  const std::byte* at = records.data();
  const std::byte* const end = at + records.size();
  const area* to;
  if (open.left) {
    const auto piece = std::min<std::uint64_t>(open.left, records.size());
    std::memcpy(open.at, at, piece);
    open.at += piece, open.left -= piece, at += round_up(piece, 4);
    if (open.left) return {};
    if (status s = deliver(from, open.head, open.start); s.failed()) return s;
  }
  while (at < end) {
    const std::uint32_t word = load_word(at);
    std::uint64_t offset, bytes;
    std::uint32_t number;
    const auto long_put = [&](const auto& h) {
      number = long_area(word), offset = h.offset, bytes = h.bytes;
      open.put = long_goes_on(word);
    };
    switch (kind_of(word)) {
      case record::put4: {
        number = put4::area(word), offset = put4::offset(word), bytes = put4::bytes(word);
        at += 4;
        const area* const a = areas_.at(number);
        if (a && offset + bytes <= a->bytes) [[likely]] {
          copy_small(a->base + offset, at, bytes);
          at += round_up(bytes, 4);
          continue;
        }
        break;
      }
      case record::put12: long_put(take<put12>(at)); break;
      case record::put16: long_put(take<put16>(at)); break;
      case record::other: {
        if (word == padding) {
          at += 4;
          continue;
        }
        if ((word & ~bulk_goes_on) == bulk_mark) {
          const auto h = take<bulk_head>(at);
          if (status s = check("a put", from, h.area, h.offset, h.bytes, to); s.failed()) return s;
          if (status s = others_.on_bulk(from, h, *to); s.failed()) return s;
          continue;
        }
        if (word == key_mark) {
          const auto h = take<key_head>(at);
          if (status s = others_.on_key(from, h.region, {at, h.bytes}); s.failed()) return s;
          at += round_up(h.bytes, 4);
          continue;
        }
        if (word == changes_mark) {
          const auto h = take<changes_head>(at);
          if (status s = others_.on_changes(from, h, at); s.failed()) return s;
          at += std::size_t{8} * h.count;
          continue;
        }
        if (word == area_mark) {
          const auto h = take<area_head>(at);
          others_.on_area(from, h, {at, h.bytes});
          at += round_up(h.bytes, 4);
          continue;
        }
        if (word == hp_answer_mark) {
          const auto h = take<hp_answer_head>(at);
          std::memcpy(reinterpret_cast<std::byte*>(h.into), at, h.bytes);
          at += round_up(h.bytes, 4);
          continue;
        }
        const auto h = take<message_head>(at);
        const std::uint64_t whole = round_up(h.tag_bytes, 16) + h.payload_bytes;
        const auto here = std::min<std::uint64_t>(whole, static_cast<std::uint64_t>(end - at));
        if (stays && here == whole) {
          if (status s = deliver(from, h, at); s.failed()) return s;
        } else {
          std::byte* const copy = queue_.keep(whole);
          if (!copy) return too_many(from, h.payload_bytes);
          std::memcpy(copy, at, here);
          if (here < whole) open = {false, h, copy + here, copy, whole - here};
          else if (status s = deliver(from, h, copy); s.failed()) return s;
        }
        at += round_up(here, 4);
        continue;
      }
    }
    if (status s = check("a put", from, number, offset, bytes, to); s.failed()) return s;
    copy_small(to->base + offset, at, bytes);
    at += round_up(bytes, 4);
  }
  return {};
}

}  // namespace tutti::bsp

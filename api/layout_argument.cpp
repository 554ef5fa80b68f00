#include "api/layout_argument.h"

#include <string>
#include <utility>

namespace tutti::api {
namespace {

constexpr unsigned most_nested = 256;  // more can only be a layout that holds itself

result<block_layout> read(const tutti_layout_t&, unsigned depth);

result<block_layout> read_nested(const tutti_layout_t& l, unsigned depth) {
  const auto wrong = [](const auto&... what) { return status{errc::invalid, worded(what...)}; };
  if (depth == most_nested) return wrong("the layout nests more than ", most_nested, " deep; does it hold itself?");
  if (l.count > 0 && !l.offsets) return wrong("the layout's offsets is NULL; pass the list");
  if (l.count > 0 && l.counts && !l.strides) return wrong("the layout's strides is NULL; pass the list");
  layout_nest nest;
  const tutti_layout_t* recent = nullptr;
  block_layout inner;
  for (std::size_t i = 0; i < l.count; ++i) {
    const tutti_layout_t* const part = l.parts ? l.parts[i] : nullptr;
    if (!part || part != recent) {
      auto r = part ? read(*part, depth + 1) : block_layout::contiguous(l.lengths ? l.lengths[i] : l.block_bytes);
      if (!r) return r;
      inner = std::move(*r);
    }
    recent = part;
    if (status s = nest.add(l.offsets[i], l.counts ? l.counts[i] : 1, l.counts ? l.strides[i] : 0, inner); s.failed()) return s;
  }
  return nest.finish();
}

result<block_layout> read(const tutti_layout_t& l, unsigned depth) {
  switch (l.kind) {
    case TUTTI_CONTIGUOUS: return block_layout::contiguous(l.block_bytes);
    case TUTTI_STRIDED: return block_layout::strided(l.block_bytes, l.count, l.counts, l.strides);
    case TUTTI_INDEXED: return block_layout::indexed(l.count, l.offsets, l.lengths, l.block_bytes);
    case TUTTI_NESTED: return read_nested(l, depth);
    default:
      return status{errc::invalid,
                    worded("kind ", l.kind, " is no layout; use TUTTI_CONTIGUOUS, TUTTI_STRIDED, TUTTI_INDEXED or TUTTI_NESTED")};
  }
}

}  // namespace

result<block_layout> read_layout(const tutti_layout_t* layout, const char* what) {
  if (!layout) return status{errc::invalid, worded(what, " is NULL; pass a layout")};
  auto r = read(*layout, 0);
  if (!r) return r.error().during(what);
  return r;
}

status check_base(const block_layout& l, const tutti_layout_t& given, const void* base, const char* what) {
  if (base || l.bytes() == 0) return {};
  if (given.kind != TUTTI_INDEXED && given.kind != TUTTI_NESTED) return {errc::invalid, worded(what, " is NULL; pass where the layout begins")};
  if (l.low() > 0) return {};
  return {errc::invalid, worded(what, " is NULL, so that offsets are addresses, and one of them is ", l.low(),
                                "; pass a base, or the address of each block")};
}

result<block_layout> read_layout_at(const tutti_layout_t* layout, const void* base) {
  auto r = read_layout(layout, "layout");
  if (!r) return r;
  if (status s = check_base(*r, *layout, base, "base"); s.failed()) return s;
  return r;
}

}  // namespace tutti::api

#include "api/layout_argument.h"

#include <string>

namespace tutti::api {
namespace {

result<block_layout> read(const tutti_layout_t& l) {
  switch (l.kind) {
    case TUTTI_CONTIGUOUS: return block_layout::contiguous(l.block_bytes);
    case TUTTI_STRIDED: return block_layout::strided(l.block_bytes, l.count, l.counts, l.strides);
    case TUTTI_INDEXED: return block_layout::indexed(l.count, l.offsets, l.lengths, l.block_bytes);
    default:
      return status{errc::invalid, worded("kind ", l.kind, " is no layout; use TUTTI_CONTIGUOUS, TUTTI_STRIDED or TUTTI_INDEXED")};
  }
}

}  // namespace

result<block_layout> read_layout(const tutti_layout_t* layout, const char* what) {
  if (!layout) return status{errc::invalid, worded(what, " is NULL; pass a layout")};
  auto r = read(*layout);
  if (!r) return r.error().during(what);
  return r;
}

status check_base(const block_layout& l, const tutti_layout_t& given, const void* base, const char* what) {
  if (base || l.bytes() == 0) return {};
  if (given.kind != TUTTI_INDEXED) return {errc::invalid, worded(what, " is NULL; pass where the layout begins")};
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

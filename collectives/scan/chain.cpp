// Scan and exscan along a chain, in pieces: a rank takes the sum of the ranks before it, adds its own data on the right, and passes
// that on. n - 1 hops, and each rank sends each byte once.
//
// Words: line p, the rank before has put piece p into slot p; line `pieces`, the next rank has room. A rank gives room at the start
// of each run, when it has left the run before, its puts complete. Nobody puts before. Each line and slot has one writer for ever.
// A rank adds up where the data came, in an exscan too, whose result it keeps in a slot of its own meanwhile.
// Copies: of the result, one; of an exscan's, two, but at the last rank. In place: a piece is read before its result is written, and
// rank 0, which puts from the caller's memory, writes nothing but what is there.
#include "collectives/price.h"

namespace tutti::scans {
namespace {

constexpr std::uint32_t pieces = 16;  // of a run

std::uint32_t words(const shape&) { return pieces + 1; }
std::uint32_t slots(const shape&) { return 2 * pieces; }

schedule make(const shape& s, bool inclusive) {
  schedule out;
  out.words = words(s);
  const bool first = s.rank == 0, last = s.rank + 1 == s.size;
  if (!first) out.signal(s.rank - 1, pieces);
  for (std::uint32_t p = 0; p < pieces; ++p) {
    const place before{staging, p}, own{staging, pieces + p};
    const place sum = first ? place{data_in} : before;
    if (!first) {
      out.await(s.rank - 1, p, p);
      if (!inclusive && !last) out.local(step_kind::copy, p, before, own);
      if (inclusive || !last) out.local(step_kind::reduce_right, p, {data_in}, sum);
    }
    if (!last && p == 0) out.wait(s.rank + 1, pieces);
    if (!last) out.put_signal(s.rank + 1, p, p, sum, before);
    if (inclusive) out.local(step_kind::copy, p, sum, {data_out});
    else if (!first) out.local(step_kind::copy, p, last ? before : own, {data_out});
  }
  out.add(step_kind::complete, any_peer);
  return out;
}
schedule make_scan(const shape& s) { return make(s, true); }
schedule make_exscan(const shape& s) { return make(s, false); }

picoseconds chain(const form_input& in) {
  const std::uint64_t piece = std::min(in.piece, in.bytes);
  const auto all = static_cast<picoseconds>(piece ? (in.bytes + piece - 1) / piece : 0);
  const picoseconds one = for_bytes(piece, in.link.bytes_per_ns) + for_bytes(piece, in.all.reduced_bytes_per_ns);
  return (in.size - 1) * (hop(in, 1) + one) + std::max<picoseconds>(0, all - 1) * (in.link.interval() + one);
}
std::int64_t messages(const form_input& in) { return 2 * (std::int64_t{in.size} - 1); }

constexpr variant variants[] = {{.reason = "each rank sends each byte once, n - 1 hops, which long data fill"}};
constexpr data_layout layout{.blocks = [](const shape&) { return pieces; }, .most_bytes = 32 << 10, .slots = slots};

}  // namespace

extern const algorithm chained, exclusive_chained;

constinit const algorithm chained{
    .of = collective::scan,
    .name = "chain",
    .summary = "sums go from each rank to the next, in pieces",
    .source = "Sanders and Träff 2006 (pipelined chain)",
    .data = layout,
    .variants = variants,
    .words = words,
    .make = make_scan,
    .form = {chain, messages},
};

constinit const algorithm exclusive_chained{
    .of = collective::exscan,
    .name = "chain",
    .summary = "sums go from each rank to the next, in pieces",
    .source = "Sanders and Träff 2006 (pipelined chain)",
    .data = layout,
    .variants = variants,
    .words = words,
    .make = make_exscan,
    .form = {chain, messages},
};

}  // namespace tutti::scans

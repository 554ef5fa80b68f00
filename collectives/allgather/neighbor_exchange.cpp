// Allgather by neighbour exchange, for even n: a rank exchanges its block with one neighbour and then, by turns with the other and
// this one, the two blocks that came last: n/2 steps. Ranks 2i and 2i + 1 have the two blocks 2i and 2i + 1 after the first step,
// and from then on what goes is always such a pair. For odd n, the ring.
//
// Blocks lie in staging memory as in the result. Line t is that of step t's neighbour; each, as each block's place, has one writer
// for ever. Two sets take turns (data_layout::needs_everyone). What is sent from there stays there to the end of the run.
// Copies of each block: one into its rank's staging memory, one out of each rank's. In place: puts read staging memory alone.
#include "collectives/price.h"

namespace tutti::allgathers {

extern const algorithm ring, neighbor_exchange;

namespace {

bool exchanges(std::uint32_t size) { return size % 2 == 0; }
std::uint32_t words(const shape& s) { return exchanges(s.size) ? s.size / 2 : ring.words(s); }
std::uint32_t each(const shape& s) { return s.size; }

schedule make(const shape& s) {
  if (!exchanges(s.size)) return ring.make(s);
  schedule out;
  out.words = words(s);
  const auto at = [](std::uint32_t block) { return place{staging, 0, block}; };
  const std::uint32_t n = s.size, first = s.rank ^ 1, other = (s.rank + n + s.rank - first) % n;
  const std::uint32_t own = s.rank / 2 * 2;
  // From the first neighbour come, by every second step, the pairs 2, 4, ... ranks on, as seen from an even rank; by the steps
  // between, from the other one, those behind. An odd rank sees the mirror image.
  const auto pair_of = [&](std::uint32_t step) {
    const std::uint32_t away = (step + 1) / 2 * 2;
    return (step % 2 == 0) == (s.rank % 2 == 0) ? (own + away) % n : (own + n - away) % n;
  };
  out.local(step_kind::copy, s.rank, {data_in}, at(s.rank));
  out.put_signal(first, 0, s.rank, at(s.rank), at(s.rank));
  out.await(first, 0, first);
  std::uint32_t newest = own;
  for (std::uint32_t step = 1; step < n / 2; ++step) {
    const std::uint32_t with = step % 2 == 0 ? first : other, comes = pair_of(step);
    out.put_signal(with, step, newest, at(newest), at(newest), 2);
    out.await(with, step, comes, 2);
    newest = comes;
  }
  out.local(step_kind::copy, 0, at(0), {data_out}, n);
  out.add(step_kind::complete, any_peer);
  return out;
}

picoseconds chain(const form_input& in) {
  const picoseconds each = for_bytes(in.bytes, in.link.bytes_per_ns) + for_bytes(in.bytes, in.all.copied_bytes_per_ns);
  return in.size / 2 * hop(in, 1) + in.size * each;
}
std::int64_t messages(const form_input& in) { return std::int64_t{in.size} * (in.size / 2); }

bool few(const placement& p) { return p.ranks > 2 && p.ranks <= 64 && exchanges(p.ranks); }
constexpr variant variants[] = {{.considered = few, .reason = "neighbours alone talk, in half the ring's steps"}};

}  // namespace

constinit const algorithm neighbor_exchange{
    .of = collective::allgather,
    .name = "neighbor_exchange",
    .summary = "neighbours exchange the two blocks that came last",
    .source = "Chen et al. 2005",
    .needs = {.alike = true},
    .data = {.blocks = each, .most_bytes = 32 << 10, .slots = each, .together = [](const shape&) { return 2u; }, .needs_everyone = true},
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::allgathers

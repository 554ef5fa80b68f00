// Exchanges in which only the two ranks of a pair know how much goes between them: alltoallv, gatherv, scatterv and those of a
// neighbourhood. A pair between which nothing goes in a run says nothing.
//
// Words of a rank: r, rank r has put its block into slot r; n + r, rank r, which takes this rank's block, has begun the run. The second
// is said only where no block comes back, which would say the same. Words and slots are there twice, and take turns by the number of
// runs in which something went from the one to the other, which the two count alike (run_data::sends, takes); so other ranks' runs do
// not matter to them. Why a slot and its word are free when they are written: who gives its block number k has finished the run of
// number k - 1, so the taker had begun that one; it had finished the run of number k - 2, whose set this is. The same holds for the
// words n + r, whose writer has begun run k + 2 when it has got block k + 1, which was given by who had finished run k.
// Both lengths of the pair go with the number, and who expects others is told so.
// Copies of each block: one from the caller's memory into the other's slot, one out of it.
#include "collectives/price.h"

namespace tutti::alltoalls {
namespace {

std::uint32_t words(const shape& s) { return 2 * s.size; }
std::uint32_t each(const shape& s) { return s.size; }

schedule make(const shape& s) {
  schedule out;
  out.words = words(s);
  const auto others = [&](auto f) {
    for (std::uint32_t k = 1; k < s.size; ++k) f((s.rank + k) % s.size, (s.rank + s.size - k) % s.size);
  };
  others([&](std::uint32_t to, std::uint32_t) { out.put_signal(to, s.rank, to, {data_in}, {staging, s.rank}); });
  others([&](std::uint32_t, std::uint32_t from) { out.add(step_kind::signal, from, s.size + s.rank).about(from, data_out).one_way = true; });
  out.local(step_kind::copy, s.rank, {data_in}, {data_out});
  out.add(step_kind::complete, any_peer);
  others([&](std::uint32_t, std::uint32_t from) {
    out.await(from, from, from);
    out.local(step_kind::copy, from, {staging, from}, {data_out});
  });
  others([&](std::uint32_t to, std::uint32_t) { out.add(step_kind::wait, to, s.size + to).about(to, data_in).one_way = true; });
  return out;
}

picoseconds chain(const form_input& in) { return hop(in, in.size - 1); }
std::int64_t messages(const form_input& in) { return std::int64_t{in.size} * (in.size - 1); }

constexpr variant variants[] = {{.reason = "whoever has nothing for another sends nothing"}};

}  // namespace

extern const algorithm unlike;
constinit const algorithm unlike{
    .of = collective::alltoallv,
    .name = "linear",
    .summary = "each rank puts every other one its block, if it has one for it",
    .source = "Thakur et al. 2005",
    .data = {.blocks = each, .most_bytes = 32 << 10, .slots = each, .needs_pairs = true},
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::alltoalls

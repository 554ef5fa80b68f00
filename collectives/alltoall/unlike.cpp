// Exchanges in which only the two ranks of a pair know how much goes between them: alltoallv, gatherv, scatterv and those of a
// neighbourhood. A pair between which nothing goes in a run says nothing.
//
// Words of a rank: r, rank r has put its block into slot r; n + r, rank r has room for this rank's block. A rank gives room at the
// start of a run, when it has left the run before, so its slots are free; nobody puts before. The two of a pair count the runs in
// which something goes from one to the other (run_data::sends, takes), so other ranks' runs do not matter to them; the length goes with
// the number, and who expects another is told so.
// Copies of each block: one from the caller's memory into the other's slot, one out of it.
#include "collectives/price.h"

namespace tutti::alltoalls {
namespace {

std::uint32_t words(const shape& s) { return 2 * s.size; }
std::uint32_t each(const shape& s) { return s.size; }

schedule make(const shape& s) {
  schedule out;
  out.words = words(s);
  for (std::uint32_t k = 1; k < s.size; ++k) {
    const std::uint32_t from = (s.rank + s.size - k) % s.size;
    out.add(step_kind::signal, from, s.size + s.rank).about(from, data_out);
  }
  for (std::uint32_t k = 1; k < s.size; ++k) {
    const std::uint32_t to = (s.rank + k) % s.size;
    out.add(step_kind::wait, to, s.size + to).about(to, data_in);
    out.put_signal(to, s.rank, to, {data_in}, {staging, s.rank});
  }
  out.local(step_kind::copy, s.rank, {data_in}, {data_out});
  out.add(step_kind::complete, any_peer);
  for (std::uint32_t k = 1; k < s.size; ++k) {
    const std::uint32_t from = (s.rank + s.size - k) % s.size;
    out.await(from, from, from);
    out.local(step_kind::copy, from, {staging, from}, {data_out});
  }
  return out;
}

picoseconds chain(const form_input& in) { return 2 * hop(in, in.size - 1); }
std::int64_t messages(const form_input& in) { return 2 * std::int64_t{in.size} * (in.size - 1); }

constexpr variant variants[] = {{.reason = "whoever has nothing for another sends nothing"}};

}  // namespace

extern const algorithm unlike;
constinit const algorithm unlike{
    .of = collective::alltoallv,
    .name = "linear",
    .summary = "a rank says that it has room, and each block is put",
    .source = "Thakur et al. 2005",
    .data = {.blocks = each, .most_bytes = 32 << 10, .slots = each},
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::alltoalls

// The RGM pattern with data: reduce up the gather tree with fan-in l (fan_in_tree.h) to rank 0, and one reliable multicast down
// (collectives/bcast/reliable_broadcast.h), which begins as a part of the same operation when all is added up.
//
// Operands. A parent's children are the ranks right behind what it has, nearest first: their order is kept, so every operation will do.
//
// Lines of a rank: one for each child of rank 0, as in barrier/tree.cpp, and the last for its parent. A parent tells its children at
// the start of a run that its slots are free, having left the run before, its puts complete; no child puts before. Each line and
// slot has one writer for ever. So a rank that is ahead in the multicast of its operation disturbs nobody: that uses other memory.
// Copies: one at rank 0, and those of the multicast. In place: all puts are complete before the result comes.
#include "collectives/fan_in_tree.h"

namespace tutti::broadcasts {
extern const algorithm multicast;
}

namespace tutti::reductions {

extern const algorithm rgm;

namespace {

std::uint32_t slots(const shape& s) { return fan_in_tree(s.size, radix_of(rgm, s.radix)).children(0); }
std::uint32_t lines(const shape& s) { return slots(s) + 1; }

schedule make(const shape& s) {
  schedule out;
  const fan_in_tree links(s.size, radix_of(rgm, s.radix));
  out.words = lines(s);
  const std::uint32_t room = out.words - 1;
  links.for_each_child(s.rank, [&](std::uint32_t child, std::uint32_t) { out.signal(child, room); });
  place sum{data_in};
  links.for_each_child(s.rank, [&](std::uint32_t child, std::uint32_t line) {
    const place theirs{staging, line};
    out.await(child, line, 0);
    out.local(step_kind::reduce_left, 0, sum, theirs);
    sum = theirs;
  });
  if (s.rank == 0) {
    out.local(step_kind::copy, 0, sum, {data_out});
    return out;
  }
  const auto [parent, line] = links.parent(s.rank);
  out.wait(parent, room);
  out.put_signal(parent, line, 0, sum, {staging, line});
  out.add(step_kind::complete, any_peer);
  return out;
}

picoseconds chain(const form_input& in) {
  const std::uint64_t piece = std::min(in.piece, in.bytes);
  const auto runs = static_cast<picoseconds>(piece ? (in.bytes + piece - 1) / piece : 0);
  const std::uint32_t fan_in = radix_of(rgm, in.radix);
  const picoseconds each = for_bytes(piece, in.link.bytes_per_ns) + for_bytes(piece, in.all.reduced_bytes_per_ns);
  return runs * (gather(in, fan_in) + fan_in_tree(in.size, fan_in).children(0) * each) + broadcasts::multicast.form.chain(in);
}

constexpr variant variants[] = {
    {.radix = 1, .considered = ranks_from<3>, .reason = "n - 1 messages up a binomial tree, one multicast down"},
    {.radix = 3, .considered = ranks_from<4>, .reason = "n - 1 messages up in fewer hops, one multicast down"},
    {.radix = 7, .considered = ranks_from<8>, .reason = "n - 1 messages up in fewer hops still, one multicast down"},
};

}  // namespace

constinit const algorithm rgm{
    .of = collective::allreduce,
    .name = "multicast",
    .alias = "rgm",
    .summary = "reduce up a tree with fan-in l, one reliable multicast down",
    .source = "Kini et al. 2003, 3.3 and 8",
    .needs = {.multicast = true},
    .down_by_multicast = true,
    .default_radix = 3,
    .least_radix = 1,
    .data = {.blocks = [](const shape&) { return 1u; }, .most_bytes = 64 << 10, .slots = slots},
    .variants = variants,
    .words = lines,
    .make = make,
    .form = {chain},
};

}  // namespace tutti::reductions

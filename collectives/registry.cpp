// All algorithms, a name each. What stands earlier wins a tie.
#include <algorithm>

#include "collectives/algorithm.h"
#include "core/base/listing.h"

namespace tutti {
namespace barriers {
extern const algorithm dissemination, pairwise, nway, tree, flat, counter, multicast, hierarchical, offloaded;
}
namespace broadcasts {
extern const algorithm eager, mapped, multicast, binomial, knomial, chain, scatter_allgather;
}
namespace reductions {
extern const algorithm eager, eager_in_order, to_root, chained_to_root, ordered, rabenseifner_to_root, mapped_to_root, recursive_doubling, tree,
    mapped, ring, rabenseifner, rgm;
}
namespace gathers {
extern const algorithm linear, binomial;
}
namespace scatters {
extern const algorithm linear, binomial;
}
namespace allgathers {
extern const algorithm linear, mapped, recursive_doubling, bruck, ring, neighbor_exchange, rgm;
}
namespace alltoalls {
extern const algorithm linear, bruck, pairwise, unlike;
}
namespace reduce_scatters {
extern const algorithm linear, halving, ring;
}
namespace scans {
extern const algorithm doubling, chained, exclusive_doubling, exclusive_chained;
}
namespace direct {
extern const algorithm broadcast, gather, scatter, allgather, alltoall, alltoallv;
}
namespace hierarchical {
extern const algorithm broadcast, reduce, allreduce, gather, scatter, allgather, alltoall, reduce_scatter, scan, exscan;
}
namespace {

constexpr const algorithm* of_barrier[] = {
    &barriers::dissemination, &barriers::pairwise,  &barriers::nway,         &barriers::tree,     &barriers::flat,
    &barriers::counter,       &barriers::multicast, &barriers::hierarchical, &barriers::offloaded};
constexpr const algorithm* of_broadcast[] = {&broadcasts::eager, &broadcasts::binomial, &broadcasts::mapped, &broadcasts::knomial,
                                             &broadcasts::chain, &broadcasts::scatter_allgather, &direct::broadcast, &broadcasts::multicast,
                                             &hierarchical::broadcast};
constexpr const algorithm* of_reduce[] = {&reductions::eager, &reductions::eager_in_order, &reductions::to_root, &reductions::mapped_to_root,
                                          &reductions::chained_to_root, &reductions::ordered, &reductions::rabenseifner_to_root,
                                          &hierarchical::reduce};
constexpr const algorithm* of_allreduce[] = {&reductions::recursive_doubling, &reductions::tree, &reductions::mapped,
                                             &reductions::ring, &reductions::rabenseifner, &reductions::rgm, &hierarchical::allreduce};
constexpr const algorithm* of_gather[] = {&gathers::linear, &gathers::binomial, &direct::gather, &hierarchical::gather};
constexpr const algorithm* of_scatter[] = {&scatters::linear, &scatters::binomial, &direct::scatter, &hierarchical::scatter};
constexpr const algorithm* of_allgather[] = {&allgathers::linear, &allgathers::mapped, &allgathers::recursive_doubling, &allgathers::bruck,
                                             &allgathers::ring, &allgathers::neighbor_exchange, &allgathers::rgm,
                                             &direct::allgather, &hierarchical::allgather};
constexpr const algorithm* of_alltoall[] = {&alltoalls::linear, &alltoalls::bruck, &alltoalls::pairwise, &direct::alltoall, &hierarchical::alltoall};
constexpr const algorithm* of_alltoallv[] = {&alltoalls::unlike, &direct::alltoallv};
constexpr const algorithm* of_reduce_scatter[] = {&reduce_scatters::linear, &reduce_scatters::halving, &reduce_scatters::ring,
                                                  &hierarchical::reduce_scatter};
constexpr const algorithm* of_scan[] = {&scans::doubling, &scans::chained, &hierarchical::scan};
constexpr const algorithm* of_exscan[] = {&scans::exclusive_doubling, &scans::exclusive_chained, &hierarchical::exscan};

struct family {
  std::string_view name;
  std::span<const algorithm* const> rows;
};
constexpr family families[collectives] = {
    {"barrier", of_barrier},     {"broadcast", of_broadcast}, {"reduce", of_reduce},       {"allreduce", of_allreduce},
    {"gather", of_gather},       {"scatter", of_scatter},     {"allgather", of_allgather}, {"alltoall", of_alltoall},
    {"alltoallv", of_alltoallv}, {"reduce_scatter", of_reduce_scatter}, {"scan", of_scan}, {"exscan", of_exscan}};

const family& family_of(collective c) noexcept { return families[static_cast<unsigned>(c)]; }

}  // namespace

std::string_view name_of(collective c) noexcept { return family_of(c).name; }

std::optional<collective> find_collective(std::string_view name) noexcept {
  for (unsigned i = 0; i < collectives; ++i)
    if (families[i].name == name) return static_cast<collective>(i);
  return std::nullopt;
}

std::vector<std::string> collective_names() {
  std::vector<std::string> out;
  for (const family& f : families) out.emplace_back(f.name);
  return out;
}

std::string known_collectives() {
  std::string out;
  for (const family& f : families) add_to_list(out, f.name);
  return out;
}

algorithm_list algorithms(collective c) noexcept { return algorithm_list(family_of(c).rows); }

const algorithm* find_algorithm(collective c, std::string_view name) noexcept {
  if (name.empty()) return nullptr;
  for (const algorithm& a : algorithms(c))
    if (a.name == name || a.alias == name) return &a;
  return nullptr;
}

std::uint64_t full_slot(const algorithm& a, std::uint64_t message) noexcept {
  if (message == 0 || a.data.together) return a.data.most_bytes;
  return std::max<std::uint64_t>(1, a.data.most_bytes / message) * message;
}

run_room room_of(const algorithm& a, const shape& s, std::uint64_t most, std::uint64_t message) noexcept {
  constexpr std::uint64_t together = 4 << 20, least = 256, longest = 256 << 20;  // the last: of one operation of any fabric
  if (a.data.exposes) return {a.data.blocks(s), std::min(most, longest)};
  const std::uint64_t slots = std::uint64_t{a.data.slots(s)} * a.data.sets();
  const std::uint64_t fair = slots == 0 ? most : std::max(least, together / slots / 64 * 64);
  return {a.data.blocks(s), std::min({a.data.together ? most / a.data.together(s) : most, full_slot(a, message), fair})};
}

partition next_run(const algorithm& a, const run_room& room, std::uint64_t bytes, std::uint64_t element) noexcept {
  const std::uint64_t full = element == 1 ? room.slot_bytes : std::max(element, room.slot_bytes / element * element);
  if (has_block_each(a.of)) {
    const std::uint64_t piece = std::min(bytes, full);
    return {room.blocks * piece, piece ? piece : 1};
  }
  const std::uint64_t run = std::min(bytes, room.blocks * full);
  if (run == 0) return {};
  if (!a.data.even || run <= 64) return {run, full};
  // Whole cache lines, where elements fit in them: no two ranks write the same.
  const std::uint64_t grain = 64 % element == 0 ? 64 : element;
  const std::uint64_t share = ((run + room.blocks - 1) / room.blocks + grain - 1) / grain * grain;
  return {run, std::min(full, share)};
}

std::string known_algorithms(collective c, const std::function<bool(const algorithm&)>& keep) {
  std::string out;
  for (const algorithm& a : algorithms(c))
    if (!keep || keep(a)) add_to_list(out, a.alias.empty() ? std::string(a.name) : std::string(a.name) + " (or " + std::string(a.alias) + ")");
  return out;
}

}  // namespace tutti

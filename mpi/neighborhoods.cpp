// MPI's collectives of neighbours in a topology: exchanges of all members in which most pairs have nothing for each other (tutti_alltoallv()
// sends no message there). Where some member names another twice in one direction, as the ends of a periodic dimension of two do, the
// communicator's calls are MPI's: which of the two blocks goes where is MPI's to know.
#include <cstdint>
#include <optional>
#include <vector>

#include "mpi/collective.h"

using namespace tutti::mpi;

namespace {

// One direction's blocks, of `neighbors` in their order: `of(i)` is the i-th. Nothing: the arguments are wrong.
template <class Of>
std::optional<blocks> lay_out(const setting& s, const void* buffer, const std::vector<int>& neighbors, way w, bool apart, Of of) {
  static const type_ref& nothing = type_of(MPI_BYTE);
  std::vector<staging::block> by_member(s.members(), {0, 0, &nothing});
  for (std::size_t i = 0; i < neighbors.size(); ++i) {
    if (neighbors[i] == MPI_PROC_NULL) continue;
    const std::optional<staging::block> b = of(i);
    if (!b) return std::nullopt;
    by_member[static_cast<std::size_t>(neighbors[i])] = *b;
  }
  return s.staged.lay_out(buffer, s.on.size, w, apart, [&](int m) { return by_member[static_cast<std::size_t>(m)]; });
}

// A buffer of blocks as each function describes it: the i-th neighbour's.
struct one_block {  // the same for all
  MPI_Count count;
  MPI_Datatype type;
  std::optional<staging::block> operator()(std::size_t) const {
    const type_ref* const t = elements(count, type);
    if (!t) return std::nullopt;
    return staging::block{0, static_cast<std::size_t>(count), t};
  }
};
struct equal_blocks {
  MPI_Count count;
  MPI_Datatype type;
  std::optional<staging::block> operator()(std::size_t i) const {
    auto b = one_block{count, type}(i);
    if (b) b->offset = static_cast<std::ptrdiff_t>(i) * count * (*b->type)->extent;
    return b;
  }
};
template <class Count, class Distance>
struct unlike_blocks {
  const Count* counts;
  const Distance* distances;
  MPI_Datatype type;
  std::optional<staging::block> operator()(std::size_t i) const {
    if (!counts || !distances) return std::nullopt;
    auto b = one_block{counts[i], type}(i);
    if (b) b->offset = distances[i] * (*b->type)->extent;
    return b;
  }
};
template <class Count>
struct typed_blocks {
  const Count* counts;
  const MPI_Aint* distances;
  std::vector<type_ref> types;
  typed_blocks(const std::vector<int>& neighbors, const Count* n, const MPI_Aint* d, const MPI_Datatype* of) : counts(n), distances(d) {
    for (std::size_t i = 0; i < neighbors.size() && n && d && of; ++i)
      types.push_back(neighbors[i] != MPI_PROC_NULL && n[i] > 0 ? type_of(of[i]) : type_of(MPI_BYTE));
  }
  std::optional<staging::block> operator()(std::size_t i) const {
    if (i >= types.size() || counts[i] < 0 || !types[i]) return std::nullopt;
    if (counts[i] > 0 && !types[i]->is_committed()) return std::nullopt;
    return staging::block{distances[i], static_cast<std::size_t>(counts[i]), &types[i]};
  }
};

template <class In, class Out>
beginning exchange_with_neighbors(const setting& s, const void* in, const In& give, void* out, const Out& take) {
  const auto& t = s.on.neighbors;
  if (!t) return passed(reason::communicator);
  if (in == MPI_IN_PLACE) return passed(reason::arguments);
  return exchange(s, operation::neighbor, out, [&](bool apart) { return lay_out(s, in, t->destinations, way::read, apart, give); },
                  [&] { return lay_out(s, out, t->sources, way::write, false, take); });
}

beginning neighbor_allgather(const setting& s, const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count, MPI_Datatype out_type) {
  return exchange_with_neighbors(s, in, one_block{in_count, in_type}, out, equal_blocks{out_count, out_type});
}
beginning neighbor_allgatherv(const setting& s, const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, const auto* counts, const auto* distances,
                              MPI_Datatype out_type) {
  return exchange_with_neighbors(s, in, one_block{in_count, in_type}, out, unlike_blocks{counts, distances, out_type});
}
beginning neighbor_alltoall(const setting& s, const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count, MPI_Datatype out_type) {
  return exchange_with_neighbors(s, in, equal_blocks{in_count, in_type}, out, equal_blocks{out_count, out_type});
}
beginning neighbor_alltoallv(const setting& s, const void* in, const auto* in_counts, const auto* in_distances, MPI_Datatype in_type, void* out,
                             const auto* out_counts, const auto* out_distances, MPI_Datatype out_type) {
  return exchange_with_neighbors(s, in, unlike_blocks{in_counts, in_distances, in_type}, out, unlike_blocks{out_counts, out_distances, out_type});
}
beginning neighbor_alltoallw(const setting& s, const void* in, const auto* in_counts, const auto* in_distances, const MPI_Datatype in_types[],
                             void* out, const auto* out_counts, const auto* out_distances, const MPI_Datatype out_types[]) {
  const auto& t = s.on.neighbors;
  if (!t) return passed(reason::communicator);
  return exchange_with_neighbors(s, in, typed_blocks(t->destinations, in_counts, in_distances, in_types), out,
                                 typed_blocks(t->sources, out_counts, out_distances, out_types));
}

}  // namespace

TUTTI_MPI_COLLECTIVE(Neighbor_allgather, neighbor_allgather,
                     (const void* in, count_t in_count, MPI_Datatype in_type, void* out, count_t out_count, MPI_Datatype out_type),
                     (in, in_count, in_type, out, out_count, out_type))
TUTTI_MPI_COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv,
                     (const void* in, count_t in_count, MPI_Datatype in_type, void* out, const count_t counts[],
                      const distance_t distances[], MPI_Datatype out_type),
                     (in, in_count, in_type, out, counts, distances, out_type))
TUTTI_MPI_COLLECTIVE(Neighbor_alltoall, neighbor_alltoall,
                     (const void* in, count_t in_count, MPI_Datatype in_type, void* out, count_t out_count, MPI_Datatype out_type),
                     (in, in_count, in_type, out, out_count, out_type))
TUTTI_MPI_COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv,
                     (const void* in, const count_t in_counts[], const distance_t in_distances[], MPI_Datatype in_type, void* out,
                      const count_t out_counts[], const distance_t out_distances[], MPI_Datatype out_type),
                     (in, in_counts, in_distances, in_type, out, out_counts, out_distances, out_type))
TUTTI_MPI_COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw,
                     (const void* in, const count_t in_counts[], const MPI_Aint in_distances[], const MPI_Datatype in_types[], void* out,
                      const count_t out_counts[], const MPI_Aint out_distances[], const MPI_Datatype out_types[]),
                     (in, in_counts, in_distances, in_types, out, out_counts, out_distances, out_types))

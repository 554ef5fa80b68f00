// MPI's collectives, of all members of a communicator. What they have in common, and who decides that tutti takes a call: collective.h.
#include <optional>
#include <vector>

#include "mpi/collective.h"
#include "mpi/reduction.h"

using namespace tutti::mpi;

namespace {

// --- whole buffers -------------------------------------------------------------------------------------------------------------------

beginning barrier(const setting& s) {
  if (!takes(operation::barrier, 1)) return passed(reason::setting);
  beginning b{reason::none, tutti_ibarrier(s.team(), s.handle)};
  return b.meets = true, b;
}

beginning bcast(const setting& s, void* data, MPI_Count count, MPI_Datatype type, int root) {
  const type_ref* t = elements(count, type);
  if (!t || s.root_is_wrong(root)) return passed(reason::arguments);
  const auto n = static_cast<std::size_t>(count);
  const std::size_t bytes = n * (*t)->size;
  if (!takes(operation::bcast, bytes)) return passed(reason::setting);
  if (is_misplaced(data, bytes)) return passed(reason::arguments);
  void* const all = s.is_root(root) ? const_cast<void*>(s.staged.input(data, n, *t)) : s.staged.output(data, n, *t);
  return {reason::none, tutti_ibroadcast(s.team(), static_cast<std::uint32_t>(root), some(all, bytes), bytes, s.handle), bytes};
}

// The two buffers of a reduction, of `out_count` elements at the end.
struct operands {
  reason why = reason::none;
  reduction with;
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t bytes = 0;
};
// `result`: this member gets one. Of MPI_Reduce even Open MPI finds a buffer that is both.
operands prepare(const setting& s, operation o, const void* in, void* out, std::size_t count, std::size_t out_count, MPI_Datatype type,
                 MPI_Op op, bool result, bool copy_in_place = false) {
  operands x;
  if (!s.calls_operations && is_programs(op)) return x.why = reason::operation, x;  // first: it takes no memory
  const type_ref& t = type_of(type);
  if (!t) return x.why = reason::arguments, x;
  x.bytes = count * t->size;
  if (!takes(o, x.bytes)) return x.why = reason::setting, x;
  const bool names_result = result || o == operation::exscan;
  if (names_result && count > 0 && (are_aliased(in, out) || is_misplaced(out, x.bytes) || (in == out && o == operation::reduce)))
    return x.why = reason::arguments, x;
  x.with = reduction_of(op, *t);
  if (!x.with.type) return x.why = x.with.why, x;
  const bool in_place = in == MPI_IN_PLACE;
  const void* const source = in_place ? out : in;
  if (x.with.gapless) {
    x.in = in_place && copy_in_place ? s.staged.copy_of(source, x.bytes) : source;
    if (result) x.out = out;
  } else {
    x.in = s.staged.input_elements(source, count, *t);
    x.out = result ? s.staged.output_elements(out, out_count, t) : nullptr;
  }
  x.in = some(x.in, x.bytes);
  if (result) x.out = some(x.out, x.bytes);
  return x;
}

beginning reduce(const setting& s, const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, int root) {
  if (count < 0 || s.root_is_wrong(root)) return passed(reason::arguments);
  const auto n = static_cast<std::size_t>(count);
  const operands x = prepare(s, operation::reduce, in, out, n, n, type, op, s.is_root(root));
  if (x.why != reason::none) return passed(x.why);
  return {reason::none, tutti_ireduce(s.team(), static_cast<std::uint32_t>(root), x.in, x.out, n, x.with.type, x.with.operation, s.handle), x.bytes};
}

using reduce_all = decltype(&tutti_iallreduce);
beginning reduce_to_all(const setting& s, operation o, reduce_all start, const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op,
                        bool result) {
  if (count < 0) return passed(reason::arguments);
  const auto n = static_cast<std::size_t>(count);
  const operands x = prepare(s, o, in, out, n, n, type, op, result);
  if (x.why != reason::none) return passed(x.why);
  void* const to = result ? x.out : const_cast<void*>(x.in);  // as in place, and left alone
  return {reason::none, start(s.team(), x.in, to, n, x.with.type, x.with.operation, s.handle), x.bytes};
}
beginning allreduce(const setting& s, const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  const beginning b = reduce_to_all(s, operation::allreduce, &tutti_iallreduce, in, out, count, type, op, true);
  return met_by_all(b, in == MPI_IN_PLACE || in == out);
}
beginning scan(const setting& s, const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  return reduce_to_all(s, operation::scan, &tutti_iscan, in, out, count, type, op, true);
}
// The first member gets no result: nothing is to be copied back to it, and its `out` may be null.
beginning exscan(const setting& s, const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  return reduce_to_all(s, operation::exscan, &tutti_iexscan, in, out, count, type, op, s.on.rank != 0);
}

beginning reduce_scatter(const setting& s, const void* in, void* out, const auto* counts, MPI_Datatype type, MPI_Op op) {
  std::vector<std::size_t> blocks(s.members());
  std::size_t all = 0;
  for (std::size_t m = 0; m < blocks.size(); ++m) {
    if (!counts || counts[m] < 0) return passed(reason::arguments);
    all += blocks[m] = static_cast<std::size_t>(counts[m]);
  }
  const operands x = prepare(s, operation::reduce_scatter, in, out, all, blocks[static_cast<std::size_t>(s.on.rank)], type, op, true, true);
  if (x.why != reason::none) return passed(x.why);
  return {reason::none, tutti_ireduce_scatter(s.team(), x.in, x.out, blocks.data(), x.with.type, x.with.operation, s.handle), x.bytes};
}

beginning reduce_scatter_block(const setting& s, const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  if (count < 0) return passed(reason::arguments);
  const auto n = static_cast<std::size_t>(count);
  const operands x = prepare(s, operation::reduce_scatter_block, in, out, n * s.members(), n, type, op, true, true);
  if (x.why != reason::none) return passed(x.why);
  return met_by_all({reason::none, tutti_ireduce_scatter_block(s.team(), x.in, x.out, n, x.with.type, x.with.operation, s.handle), x.bytes},
                    in == MPI_IN_PLACE || in == out);
}

// A block and a buffer of one for each member, of which this member's may be that block. MPICH looks for it at the distance of so many elements
// of the type's size.
struct some_elements {
  const void* at;
  MPI_Count count;
  MPI_Datatype type;
};
bool is_own_block(const some_elements& mine, const some_elements& all, MPI_Count distance) noexcept {
  if (!mine.at || mine.type != all.type || mine.count == 0 || all.count == 0) return false;
  const type_ref& t = type_of(all.type);
  return t && are_aliased(mine.at, static_cast<const std::byte*>(all.at) + distance * static_cast<MPI_Count>(t->size));
}
bool is_own_block(const setting& s, const some_elements& mine, const some_elements& all) noexcept {
  return mine.count == all.count && is_own_block(mine, all, s.on.rank * all.count);
}

// --- equal blocks --------------------------------------------------------------------------------------------------------------------

beginning gather(const setting& s, const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
                 MPI_Datatype out_type, int root) {
  if (s.root_is_wrong(root)) return passed(reason::arguments);
  const bool collects = s.is_root(root), in_place = collects && in == MPI_IN_PLACE;
  const type_ref* const from = in_place ? nullptr : elements(in_count, in_type);
  const type_ref* const to = collects ? elements(out_count, out_type) : nullptr;
  if ((!in_place && !from) || (collects && !to)) return passed(reason::arguments);
  if (collects && (is_misplaced(out, 1) || is_own_block(s, {in, in_count, in_type}, {out, out_count, out_type}))) return passed(reason::arguments);
  const std::size_t bytes = collects ? bytes_of(out_count, **to) : bytes_of(in_count, **from);
  if (!takes(operation::gather, bytes)) return passed(reason::setting);
  if (collects && !in_place && bytes_of(in_count, **from) != bytes) return unlike_itself();
  void* const all = collects ? some(s.staged.output(out, s.members() * static_cast<std::size_t>(out_count), *to, in_place), bytes) : nullptr;
  const void* const mine = in_place ? s.own_block(all, bytes)
                                    : some(s.staged.input(in, static_cast<std::size_t>(in_count), *from), bytes);
  return {reason::none, tutti_igather(s.team(), static_cast<std::uint32_t>(root), mine, bytes, all, s.handle), bytes};
}

beginning scatter(const setting& s, const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
                  MPI_Datatype out_type, int root) {
  if (s.root_is_wrong(root)) return passed(reason::arguments);
  const bool gives = s.is_root(root), in_place = gives && out == MPI_IN_PLACE;
  const type_ref* const from = gives ? elements(in_count, in_type) : nullptr;
  const type_ref* const to = in_place ? nullptr : elements(out_count, out_type);
  if ((!in_place && !to) || (gives && !from)) return passed(reason::arguments);
  if (gives && (is_misplaced(in, 1) || is_own_block(s, {out, out_count, out_type}, {in, in_count, in_type}))) return passed(reason::arguments);
  const std::size_t bytes = gives ? bytes_of(in_count, **from) : bytes_of(out_count, **to);
  if (!takes(operation::scatter, bytes)) return passed(reason::setting);
  if (gives && !in_place && bytes_of(out_count, **to) != bytes) return unlike_itself();
  const void* const all = gives ? some(s.staged.input(in, s.members() * static_cast<std::size_t>(in_count), *from), bytes) : nullptr;
  void* const mine = in_place ? s.own_block(const_cast<void*>(all), bytes)
                              : some(s.staged.output(out, static_cast<std::size_t>(out_count), *to), bytes);
  return {reason::none, tutti_iscatter(s.team(), static_cast<std::uint32_t>(root), all, bytes, mine, s.handle), bytes};
}

beginning allgather(const setting& s, const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
                    MPI_Datatype out_type) {
  const bool in_place = in == MPI_IN_PLACE;
  const type_ref* const from = in_place ? nullptr : elements(in_count, in_type);
  const type_ref* const to = elements(out_count, out_type);
  if (!to || (!in_place && !from)) return passed(reason::arguments);
  const std::size_t bytes = bytes_of(out_count, **to);
  if (!takes(operation::allgather, bytes)) return passed(reason::setting);
  if (is_misplaced(out, bytes) || is_own_block(s, {in, in_count, in_type}, {out, out_count, out_type})) return passed(reason::arguments);
  if (!in_place && bytes > 0 && bytes_of(in_count, **from) != bytes) return unlike_itself();
  void* const all = some(s.staged.output(out, s.members() * static_cast<std::size_t>(out_count), *to, in_place), bytes);
  const void* const mine = in_place ? s.own_block(all, bytes)
                                    : some(s.staged.input(in, static_cast<std::size_t>(in_count), *from), bytes);
  return met_by_all({reason::none, tutti_iallgather(s.team(), mine, bytes, all, s.handle), bytes}, false);
}

beginning alltoall(const setting& s, const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
                   MPI_Datatype out_type) {
  const bool in_place = in == MPI_IN_PLACE;
  const type_ref* const from = in_place ? nullptr : elements(in_count, in_type);
  const type_ref* const to = elements(out_count, out_type);
  if (!to || (!in_place && !from)) return passed(reason::arguments);
  const std::size_t bytes = bytes_of(out_count, **to);
  if (!takes(operation::alltoall, bytes)) return passed(reason::setting);
  if (is_misplaced(out, bytes) || (are_aliased(in, out) && in_type == out_type && in_count == out_count && in_count > 0)) return passed(reason::arguments);
  if (!in_place && bytes > 0 && bytes_of(in_count, **from) != bytes) return unlike_itself();
  void* const all = some(s.staged.output(out, s.members() * static_cast<std::size_t>(out_count), *to, in_place), bytes);
  const void* const mine = in_place ? all : some(s.staged.input(in, s.members() * static_cast<std::size_t>(in_count), *from), bytes);
  return met_by_all({reason::none, tutti_ialltoall(s.team(), mine, bytes, all, s.handle), bytes}, in_place || in == out);
}

// --- unlike blocks -------------------------------------------------------------------------------------------------------------------

// Lists of MPI's, with distances in elements of one type. Nothing: they are wrong.
std::optional<blocks> lay_out(const setting& s, const void* buffer, const auto* counts, const auto* distances, MPI_Datatype type, way w, bool apart = false) {
  const type_ref& t = type_of(type);
  if (!t || !counts || !distances) return std::nullopt;
  for (std::size_t m = 0; m < s.members(); ++m)
    if (!elements(counts[m], type)) return std::nullopt;
  return s.staged.lay_out(buffer, s.on.size, w, apart, [&](int m) {
    return staging::block{distances[m] * t->extent, static_cast<std::size_t>(counts[m]), &t};
  });
}
// With distances in bytes and a type for each.
std::optional<blocks> lay_out(const setting& s, const void* buffer, const auto* counts, const auto* distances, const MPI_Datatype types[], way w,
                              bool apart = false) {
  if (!counts || !distances || !types) return std::nullopt;
  std::vector<type_ref> of(s.members());
  for (std::size_t m = 0; m < s.members(); ++m)
    if (const type_ref* const t = elements(counts[m], counts[m] == 0 ? MPI_BYTE : types[m])) of[m] = *t;  // MPICH allows no type for no data
    else return std::nullopt;
  return s.staged.lay_out(buffer, s.on.size, w, apart, [&](int m) {
    return staging::block{distances[m], static_cast<std::size_t>(counts[m]), &of[static_cast<std::size_t>(m)]};
  });
}

beginning gatherv(const setting& s, const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, const auto* counts, const auto* distances,
                  MPI_Datatype out_type, int root) {
  if (s.root_is_wrong(root)) return passed(reason::arguments);
  if (!takes(operation::gatherv, 1)) return passed(reason::setting);
  const bool collects = s.is_root(root), in_place = collects && in == MPI_IN_PLACE;
  std::optional<blocks> all;
  if (collects && (out == MPI_IN_PLACE || !(all = lay_out(s, out, counts, distances, out_type, in_place ? way::both : way::write))))
    return passed(reason::arguments);
  const auto me = static_cast<std::size_t>(s.on.rank);
  const void* mine;
  std::size_t bytes;
  if (in_place) {
    mine = all->base + all->offsets[me], bytes = all->bytes[me];
  } else {
    const type_ref* const from = elements(in_count, in_type);
    if (!from) return passed(reason::arguments);
    mine = s.staged.input(in, static_cast<std::size_t>(in_count), *from), bytes = bytes_of(in_count, **from);
    if (collects && is_own_block({in, in_count, in_type}, {out, counts[me], out_type}, distances[me])) return passed(reason::arguments);
    if (collects && all->bytes[me] != bytes) return unlike_itself();
    if (all && overlap(mine, bytes, *all)) mine = s.staged.copy_of(mine, bytes);
  }
  return {reason::none, tutti_igatherv(s.team(), static_cast<std::uint32_t>(root), some(mine, bytes), bytes, all ? some(all->base, sum(*all)) : nullptr,
                                       all ? all->bytes.data() : nullptr, all ? all->offsets.data() : nullptr, s.handle), bytes};
}

beginning scatterv(const setting& s, const void* in, const auto* counts, const auto* distances, MPI_Datatype in_type, void* out, MPI_Count out_count,
                   MPI_Datatype out_type, int root) {
  if (s.root_is_wrong(root)) return passed(reason::arguments);
  if (!takes(operation::scatterv, 1)) return passed(reason::setting);
  const bool gives = s.is_root(root), in_place = gives && out == MPI_IN_PLACE;
  std::optional<blocks> all;
  if (gives && (in == MPI_IN_PLACE || !(all = lay_out(s, in, counts, distances, in_type, way::read)))) return passed(reason::arguments);
  const auto me = static_cast<std::size_t>(s.on.rank);
  void* mine;
  std::size_t bytes;
  if (in_place) {
    mine = all->base + all->offsets[me], bytes = all->bytes[me];
  } else {
    const type_ref* const to = elements(out_count, out_type);
    if (!to) return passed(reason::arguments);
    bytes = bytes_of(out_count, **to);
    if (gives && is_own_block({out, out_count, out_type}, {in, counts[me], in_type}, distances[me])) return passed(reason::arguments);
    if (gives && all->bytes[me] != bytes) return unlike_itself();
    mine = s.staged.output(out, static_cast<std::size_t>(out_count), *to);
    if (all && overlap(mine, bytes, *all)) all = lay_out(s, in, counts, distances, in_type, way::read, true);
  }
  return {reason::none, tutti_iscatterv(s.team(), static_cast<std::uint32_t>(root), all ? some(all->base, sum(*all)) : nullptr,
                                        all ? all->bytes.data() : nullptr, all ? all->offsets.data() : nullptr, some(mine, bytes), bytes, s.handle), bytes};
}

beginning allgatherv(const setting& s, const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, const auto* counts, const auto* distances,
                     MPI_Datatype out_type) {
  const bool in_place = in == MPI_IN_PLACE;
  if (out == MPI_IN_PLACE) return passed(reason::arguments);
  const std::optional<blocks> all = lay_out(s, out, counts, distances, out_type, in_place ? way::both : way::write);
  if (!all) return passed(reason::arguments);
  if (!takes(operation::allgatherv, sum(*all))) return passed(reason::setting);
  const auto me = static_cast<std::size_t>(s.on.rank);
  const type_ref* const from = in_place ? nullptr : elements(in_count, in_type);
  if (!in_place && !from) return passed(reason::arguments);
  const void* mine = in_place ? all->base + all->offsets[me] : s.staged.input(in, static_cast<std::size_t>(in_count), *from);
  const std::size_t bytes = in_place ? all->bytes[me] : bytes_of(in_count, **from);
  if (is_own_block({in, in_count, in_type}, {out, counts[me], out_type}, distances[me])) return passed(reason::arguments);
  if (all->bytes[me] != bytes) return unlike_itself();
  if (!in_place && overlap(mine, bytes, *all)) mine = s.staged.copy_of(mine, bytes);
  return {reason::none, tutti_iallgatherv(s.team(), some(mine, bytes), bytes, some(all->base, sum(*all)), all->bytes.data(), all->offsets.data(), s.handle), bytes};
}

// MPI_Alltoallv and MPI_Alltoallw, which differ in how blocks are described. What is read in place is copied first.
template <class Types>
beginning exchange(const setting& s, operation o, const void* in, const auto* in_counts, const auto* in_distances, Types in_types, void* out,
                   const auto* out_counts, const auto* out_distances, Types out_types) {
  const bool in_place = in == MPI_IN_PLACE;
  if (are_aliased(in, out) && in_types == out_types && in_counts == out_counts) return passed(reason::arguments);
  return exchange(s, o, out, [&](bool apart) {
    return in_place ? lay_out(s, out, out_counts, out_distances, out_types, way::read, true) : lay_out(s, in, in_counts, in_distances, in_types, way::read, apart);
  }, [&] { return lay_out(s, out, out_counts, out_distances, out_types, way::write); });
}
beginning alltoallv(const setting& s, const void* in, const auto* in_counts, const auto* in_distances, MPI_Datatype in_type, void* out,
                    const auto* out_counts, const auto* out_distances, MPI_Datatype out_type) {
  return exchange(s, operation::alltoallv, in, in_counts, in_distances, in_type, out, out_counts, out_distances, out_type);
}
beginning alltoallw(const setting& s, const void* in, const auto* in_counts, const auto* in_distances, const MPI_Datatype in_types[], void* out,
                    const auto* out_counts, const auto* out_distances, const MPI_Datatype out_types[]) {
  return exchange(s, operation::alltoallw, in, in_counts, in_distances, in_types, out, out_counts, out_distances, out_types);
}

}  // namespace

// --- MPI's functions -------------------------------------------------------------------------------------------------------------------

TUTTI_MPI_ENTRY(Barrier, (MPI_Comm comm), comm, {
  return blocking(function::Barrier, comm, barrier, [&] { return real.Barrier(comm); });
})
TUTTI_MPI_ENTRY(Ibarrier, (MPI_Comm comm, MPI_Request* request), comm, {
  return nonblocking(function::Ibarrier, comm, request, barrier, [&] { return real.Ibarrier(comm, request); });
})

TUTTI_MPI_COLLECTIVE(Bcast, bcast, (void* data, count_t count, MPI_Datatype type, int root), (data, count, type, root))
TUTTI_MPI_COLLECTIVE(Reduce, reduce, (const void* in, void* out, count_t count, MPI_Datatype type, MPI_Op op, int root),
                     (in, out, count, type, op, root))
TUTTI_MPI_COLLECTIVE(Allreduce, allreduce, (const void* in, void* out, count_t count, MPI_Datatype type, MPI_Op op), (in, out, count, type, op))
TUTTI_MPI_COLLECTIVE(Scan, scan, (const void* in, void* out, count_t count, MPI_Datatype type, MPI_Op op), (in, out, count, type, op))
TUTTI_MPI_COLLECTIVE(Exscan, exscan, (const void* in, void* out, count_t count, MPI_Datatype type, MPI_Op op), (in, out, count, type, op))
TUTTI_MPI_COLLECTIVE(Reduce_scatter, reduce_scatter, (const void* in, void* out, const count_t counts[], MPI_Datatype type, MPI_Op op),
                     (in, out, counts, type, op))
TUTTI_MPI_COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, (const void* in, void* out, count_t count, MPI_Datatype type, MPI_Op op),
                     (in, out, count, type, op))
TUTTI_MPI_COLLECTIVE(Gather, gather, (const void* in, count_t in_count, MPI_Datatype in_type, void* out, count_t out_count,
                                      MPI_Datatype out_type, int root),
                     (in, in_count, in_type, out, out_count, out_type, root))
TUTTI_MPI_COLLECTIVE(Scatter, scatter, (const void* in, count_t in_count, MPI_Datatype in_type, void* out, count_t out_count,
                                        MPI_Datatype out_type, int root),
                     (in, in_count, in_type, out, out_count, out_type, root))
TUTTI_MPI_COLLECTIVE(Allgather, allgather, (const void* in, count_t in_count, MPI_Datatype in_type, void* out, count_t out_count,
                                            MPI_Datatype out_type),
                     (in, in_count, in_type, out, out_count, out_type))
TUTTI_MPI_COLLECTIVE(Alltoall, alltoall, (const void* in, count_t in_count, MPI_Datatype in_type, void* out, count_t out_count,
                                          MPI_Datatype out_type),
                     (in, in_count, in_type, out, out_count, out_type))
TUTTI_MPI_COLLECTIVE(Gatherv, gatherv,
                     (const void* in, count_t in_count, MPI_Datatype in_type, void* out, const count_t counts[],
                      const distance_t distances[], MPI_Datatype out_type, int root),
                     (in, in_count, in_type, out, counts, distances, out_type, root))
TUTTI_MPI_COLLECTIVE(Scatterv, scatterv,
                     (const void* in, const count_t counts[], const distance_t distances[], MPI_Datatype in_type, void* out,
                      count_t out_count, MPI_Datatype out_type, int root),
                     (in, counts, distances, in_type, out, out_count, out_type, root))
TUTTI_MPI_COLLECTIVE(Allgatherv, allgatherv,
                     (const void* in, count_t in_count, MPI_Datatype in_type, void* out, const count_t counts[],
                      const distance_t distances[], MPI_Datatype out_type),
                     (in, in_count, in_type, out, counts, distances, out_type))
TUTTI_MPI_COLLECTIVE(Alltoallv, alltoallv,
                     (const void* in, const count_t in_counts[], const distance_t in_distances[], MPI_Datatype in_type, void* out,
                      const count_t out_counts[], const distance_t out_distances[], MPI_Datatype out_type),
                     (in, in_counts, in_distances, in_type, out, out_counts, out_distances, out_type))
TUTTI_MPI_COLLECTIVE(Alltoallw, alltoallw,
                     (const void* in, const count_t in_counts[], const distance_t in_distances[], const MPI_Datatype in_types[], void* out,
                      const count_t out_counts[], const distance_t out_distances[], const MPI_Datatype out_types[]),
                     (in, in_counts, in_distances, in_types, out, out_counts, out_distances, out_types))

// The collectives of tutti.h, by elements. Each takes as its last argument how to begin (request.hpp): `blocking`, the default;
// `nonblocking`, which gives a request; `persistent`, which gives a request to start. In the last two, ranges must outlive the
// operation, so temporary containers are no arguments. tutti.h tells what each does; sizes that contradict each other are refused
// before anything is sent.
#pragma once
#include <tutti.h>

#include <cstddef>
#include <span>

#include <tutti/data.hpp>
#include <tutti/request.hpp>
#include <tutti/team.hpp>

namespace tutti {
inline namespace cpp {

// Lengths and places of blocks, one for each member, in bytes; without offsets block follows block.
struct blocks {
  std::span<const std::size_t> bytes;
  std::span<const std::size_t> offsets{};
};
// As above, with the element type of each block; lengths are counts of elements (tutti_alltoallw()).
struct typed_blocks {
  std::span<const std::size_t> counts;
  std::span<const std::size_t> offsets;
  std::span<const tutti_datatype_t> types;
};

namespace detail {

template <class H, class... R>
concept outlives = !H::returns_early || (std::ranges::borrowed_range<R> && ...);

template <class H, class Forms, class... A>
typename H::answer begin(team_view t, H how, const Forms& f, A... arguments) {
  return how.call(t, false, f, arguments...);
}
inline bool lists(std::span<const std::size_t> list, team_view t) noexcept { return list.size() == t.size(); }
inline bool lists(const blocks& b, team_view t) noexcept {
  return lists(b.bytes, t) && (b.offsets.empty() || lists(b.offsets, t));
}
inline const std::size_t* or_null(std::span<const std::size_t> list) noexcept { return list.empty() ? nullptr : list.data(); }

inline failure unlike_sizes() { return refused("the ranges of a collective contradict each other in their sizes"); }
inline failure unlike_lists() { return refused("a list of blocks has not one entry for each member"); }

}  // namespace detail

template <way_to_begin H = detail::blocking_t>
typename H::answer barrier(team_view t, H how = {}) {
  return detail::begin(t, how, detail::forms{tutti_barrier, tutti_ibarrier, tutti_barrier_init});
}

template <writable Data, way_to_begin H = detail::blocking_t>
  requires detail::outlives<H, Data>
typename H::answer broadcast(team_view t, std::uint32_t root, Data&& data, H how = {}) {
  return detail::begin(t, how, detail::forms{tutti_broadcast, tutti_ibroadcast, tutti_broadcast_init}, root,
                       static_cast<void*>(detail::address_of(data)), detail::bytes_of(data));
}

// --- reductions: `o` is one of op:: or an own_operation. Their `in` and `out` have elements of one type.

template <class In, class Out>
concept alike = readable<In> && writable<Out> && std::same_as<element<In>, element<Out>>;

// `out` is used in the root only, and may be empty elsewhere.
template <class In, class Out, class Op, way_to_begin H = detail::blocking_t>
  requires alike<In, Out> && detail::outlives<H, In, Out>
typename H::answer reduce(team_view t, std::uint32_t root, In&& in, Out&& out, const Op& o, H how = {}) {
  if (t.rank() == root && std::ranges::size(in) != std::ranges::size(out)) return detail::unlike_sizes();
  const auto [type, number] = detail::typed<element<In>>(o);
  return detail::begin(t, how, detail::forms{tutti_reduce, tutti_ireduce, tutti_reduce_init}, root,
                       static_cast<const void*>(detail::address_of(in)), static_cast<void*>(detail::address_of(out)),
                       std::ranges::size(in), type, number);
}

namespace detail {
template <class H, class Forms, class In, class Out, class Op>
typename H::answer reduce_to_all(team_view t, H how, const Forms& f, In&& in, Out&& out, std::size_t count, const Op& o) {
  const auto [type, number] = typed<element<In>>(o);
  return begin(t, how, f, static_cast<const void*>(address_of(in)), static_cast<void*>(address_of(out)), count, type, number);
}
}  // namespace detail

template <class In, class Out, class Op, way_to_begin H = detail::blocking_t>
  requires alike<In, Out> && detail::outlives<H, In, Out>
typename H::answer allreduce(team_view t, In&& in, Out&& out, const Op& o, H how = {}) {
  if (std::ranges::size(in) != std::ranges::size(out)) return detail::unlike_sizes();
  return detail::reduce_to_all(t, how, detail::forms{tutti_allreduce, tutti_iallreduce, tutti_allreduce_init}, in, out,
                               std::ranges::size(in), o);
}
// Of one value: allreduce(team, mine, op::max).
template <class T, class Op>
  requires(!std::ranges::range<T> && std::is_trivially_copyable_v<T>)
result<T> allreduce(team_view t, T value, const Op& o) {
  T all = value;
  if (auto done = cpp::allreduce(t, one(value), one(all), o); done.failed()) return std::move(done).error();
  return all;
}
template <class In, class Out, class Op, way_to_begin H = detail::blocking_t>
  requires alike<In, Out> && detail::outlives<H, In, Out>
typename H::answer scan(team_view t, In&& in, Out&& out, const Op& o, H how = {}) {
  if (std::ranges::size(in) != std::ranges::size(out)) return detail::unlike_sizes();
  return detail::reduce_to_all(t, how, detail::forms{tutti_scan, tutti_iscan, tutti_scan_init}, in, out, std::ranges::size(in), o);
}
template <class In, class Out, class Op, way_to_begin H = detail::blocking_t>
  requires alike<In, Out> && detail::outlives<H, In, Out>
typename H::answer exscan(team_view t, In&& in, Out&& out, const Op& o, H how = {}) {
  if (std::ranges::size(in) != std::ranges::size(out)) return detail::unlike_sizes();
  return detail::reduce_to_all(t, how, detail::forms{tutti_exscan, tutti_iexscan, tutti_exscan_init}, in, out, std::ranges::size(in), o);
}
// `counts`: elements of each member's block; `in` has the sum of them, `out` this member's.
template <class In, class Out, class Op, way_to_begin H = detail::blocking_t>
  requires alike<In, Out> && detail::outlives<H, In, Out>
typename H::answer reduce_scatter(team_view t, In&& in, Out&& out, std::span<const std::size_t> counts, const Op& o, H how = {}) {
  if (!detail::lists(counts, t)) return detail::unlike_lists();
  std::size_t sum = 0;
  for (const std::size_t c : counts) sum += c;
  if (std::ranges::size(in) != sum || std::ranges::size(out) != counts[t.rank()]) return detail::unlike_sizes();
  const auto [type, number] = detail::typed<element<In>>(o);
  return detail::begin(t, how, detail::forms{tutti_reduce_scatter, tutti_ireduce_scatter, tutti_reduce_scatter_init},
                       static_cast<const void*>(detail::address_of(in)), static_cast<void*>(detail::address_of(out)), counts.data(),
                       type, number);
}
// Blocks of one length, that of `out`.
template <class In, class Out, class Op, way_to_begin H = detail::blocking_t>
  requires alike<In, Out> && detail::outlives<H, In, Out>
typename H::answer reduce_scatter(team_view t, In&& in, Out&& out, const Op& o, H how = {}) {
  if (std::ranges::size(in) != std::ranges::size(out) * t.size()) return detail::unlike_sizes();
  return detail::reduce_to_all(
      t, how, detail::forms{tutti_reduce_scatter_block, tutti_ireduce_scatter_block, tutti_reduce_scatter_block_init}, in, out,
      std::ranges::size(out), o);
}

// --- blocks of one length

template <readable In, writable Out, way_to_begin H = detail::blocking_t>
  requires detail::outlives<H, In, Out>
typename H::answer gather(team_view t, std::uint32_t root, In&& in, Out&& out, H how = {}) {
  const std::size_t bytes = detail::bytes_of(in);
  if (t.rank() == root && detail::bytes_of(out) != bytes * t.size()) return detail::unlike_sizes();
  return detail::begin(t, how, detail::forms{tutti_gather, tutti_igather, tutti_gather_init}, root,
                       static_cast<const void*>(detail::address_of(in)), bytes, static_cast<void*>(detail::address_of(out)));
}
template <readable In, writable Out, way_to_begin H = detail::blocking_t>
  requires detail::outlives<H, In, Out>
typename H::answer scatter(team_view t, std::uint32_t root, In&& in, Out&& out, H how = {}) {
  const std::size_t bytes = detail::bytes_of(out);
  if (t.rank() == root && detail::bytes_of(in) != bytes * t.size()) return detail::unlike_sizes();
  return detail::begin(t, how, detail::forms{tutti_scatter, tutti_iscatter, tutti_scatter_init}, root,
                       static_cast<const void*>(detail::address_of(in)), bytes, static_cast<void*>(detail::address_of(out)));
}
template <readable In, writable Out, way_to_begin H = detail::blocking_t>
  requires detail::outlives<H, In, Out>
typename H::answer allgather(team_view t, In&& in, Out&& out, H how = {}) {
  const std::size_t bytes = detail::bytes_of(in);
  if (detail::bytes_of(out) != bytes * t.size()) return detail::unlike_sizes();
  return detail::begin(t, how, detail::forms{tutti_allgather, tutti_iallgather, tutti_allgather_init},
                       static_cast<const void*>(detail::address_of(in)), bytes, static_cast<void*>(detail::address_of(out)));
}
template <readable In, writable Out, way_to_begin H = detail::blocking_t>
  requires detail::outlives<H, In, Out>
typename H::answer alltoall(team_view t, In&& in, Out&& out, H how = {}) {
  const std::size_t all = detail::bytes_of(in);
  if (detail::bytes_of(out) != all || t.size() == 0 || all % t.size() != 0) return detail::unlike_sizes();
  return detail::begin(t, how, detail::forms{tutti_alltoall, tutti_ialltoall, tutti_alltoall_init},
                       static_cast<const void*>(detail::address_of(in)), all / t.size(), static_cast<void*>(detail::address_of(out)));
}

// --- blocks of unlike lengths. Whether they lie within the ranges is the caller's to see to, as in tutti.h.

template <readable In, writable Out, way_to_begin H = detail::blocking_t>
  requires detail::outlives<H, In, Out>
typename H::answer gatherv(team_view t, std::uint32_t root, In&& in, Out&& out, const blocks& b, H how = {}) {
  if (t.rank() == root && !detail::lists(b, t)) return detail::unlike_lists();
  return detail::begin(t, how, detail::forms{tutti_gatherv, tutti_igatherv, tutti_gatherv_init}, root,
                       static_cast<const void*>(detail::address_of(in)), detail::bytes_of(in),
                       static_cast<void*>(detail::address_of(out)), detail::or_null(b.bytes), detail::or_null(b.offsets));
}
template <readable In, writable Out, way_to_begin H = detail::blocking_t>
  requires detail::outlives<H, In, Out>
typename H::answer scatterv(team_view t, std::uint32_t root, In&& in, const blocks& b, Out&& out, H how = {}) {
  if (t.rank() == root && !detail::lists(b, t)) return detail::unlike_lists();
  return detail::begin(t, how, detail::forms{tutti_scatterv, tutti_iscatterv, tutti_scatterv_init}, root,
                       static_cast<const void*>(detail::address_of(in)), detail::or_null(b.bytes), detail::or_null(b.offsets),
                       static_cast<void*>(detail::address_of(out)), detail::bytes_of(out));
}
template <readable In, writable Out, way_to_begin H = detail::blocking_t>
  requires detail::outlives<H, In, Out>
typename H::answer allgatherv(team_view t, In&& in, Out&& out, const blocks& b, H how = {}) {
  if (!detail::lists(b, t)) return detail::unlike_lists();
  return detail::begin(t, how, detail::forms{tutti_allgatherv, tutti_iallgatherv, tutti_allgatherv_init},
                       static_cast<const void*>(detail::address_of(in)), detail::bytes_of(in),
                       static_cast<void*>(detail::address_of(out)), detail::or_null(b.bytes), detail::or_null(b.offsets));
}
template <readable In, writable Out, way_to_begin H = detail::blocking_t>
  requires detail::outlives<H, In, Out>
typename H::answer alltoallv(team_view t, In&& in, const blocks& from, Out&& out, const blocks& to, H how = {}) {
  if (!detail::lists(from, t) || !detail::lists(to, t)) return detail::unlike_lists();
  return detail::begin(t, how, detail::forms{tutti_alltoallv, tutti_ialltoallv, tutti_alltoallv_init},
                       static_cast<const void*>(detail::address_of(in)), detail::or_null(from.bytes), detail::or_null(from.offsets),
                       static_cast<void*>(detail::address_of(out)), detail::or_null(to.bytes), detail::or_null(to.offsets));
}
template <readable In, writable Out, way_to_begin H = detail::blocking_t>
  requires detail::outlives<H, In, Out>
typename H::answer alltoallw(team_view t, In&& in, const typed_blocks& from, Out&& out, const typed_blocks& to, H how = {}) {
  for (const typed_blocks* b : {&from, &to})
    if (!detail::lists({b->counts, b->offsets}, t) || b->types.size() != t.size()) return detail::unlike_lists();
  return detail::begin(t, how, detail::forms{tutti_alltoallw, tutti_ialltoallw, tutti_alltoallw_init},
                       static_cast<const void*>(detail::address_of(in)), from.counts.data(), detail::or_null(from.offsets),
                       from.types.data(), static_cast<void*>(detail::address_of(out)), to.counts.data(), detail::or_null(to.offsets),
                       to.types.data());
}

// --- among neighbors

struct neighbors {
  std::span<const std::uint32_t> sources, destinations;
};
namespace detail {
inline tutti_neighbors_t as_c(const neighbors& n) noexcept {
  return {n.sources.data(), n.sources.size(), n.destinations.data(), n.destinations.size()};
}
}  // namespace detail

template <readable In, writable Out, way_to_begin H = detail::blocking_t>
  requires detail::outlives<H, In, Out>
typename H::answer neighbor_allgather(team_view t, const neighbors& n, In&& in, Out&& out, H how = {}) {
  if (detail::bytes_of(out) != detail::bytes_of(in) * n.sources.size()) return detail::unlike_sizes();
  const tutti_neighbors_t list = detail::as_c(n);
  return detail::begin(t, how, detail::forms{tutti_neighbor_allgather, tutti_ineighbor_allgather, tutti_neighbor_allgather_init}, &list,
                       static_cast<const void*>(detail::address_of(in)), detail::bytes_of(in),
                       static_cast<void*>(detail::address_of(out)));
}
// `bytes`: of a block.
template <readable In, writable Out, way_to_begin H = detail::blocking_t>
  requires detail::outlives<H, In, Out>
typename H::answer neighbor_alltoall(team_view t, const neighbors& n, In&& in, std::size_t bytes, Out&& out, H how = {}) {
  if (detail::bytes_of(in) != bytes * n.destinations.size() || detail::bytes_of(out) != bytes * n.sources.size())
    return detail::unlike_sizes();
  const tutti_neighbors_t list = detail::as_c(n);
  return detail::begin(t, how, detail::forms{tutti_neighbor_alltoall, tutti_ineighbor_alltoall, tutti_neighbor_alltoall_init}, &list,
                       static_cast<const void*>(detail::address_of(in)), bytes, static_cast<void*>(detail::address_of(out)));
}

}  // namespace cpp
}  // namespace tutti

#include "api/collective_arguments.h"

#include <algorithm>

using namespace tutti;
using namespace tutti::api;

namespace {

constexpr tutti_operation_t first_handle = 4096;  // below, numbers of built-in operations

tutti_status_t check_root(tutti_team& team, std::uint32_t root, const char* call) {
  const std::uint32_t size = team.group().size();
  if (root < size) return TUTTI_OK;
  return refuse(team.ctx, "%s: root %u is not in the team of %u; use 0 to %u", call, root, size, size - 1);
}

// The arithmetic that type and operation stand for.
tutti_status_t read_operation(tutti_team& team, tutti_datatype_t data_type, tutti_operation_t which, const char* call,
                              reduction& out) {
  const auto number = static_cast<unsigned>(data_type);
  if (number == 0 || number >= datatypes)
    return refuse(team.ctx, "%s: unknown datatype %d; use TUTTI_BYTES, TUTTI_FLOAT64 and its like", call, static_cast<int>(data_type));
  const auto type = static_cast<datatype>(number);
  if (which < first_handle) {
    if (which == 0 || which >= operations)
      return refuse(team.ctx, "%s: unknown operation %llu; use TUTTI_SUM and its like, or what tutti_operation_create() gave", call,
                    static_cast<unsigned long long>(which));
    const auto found = find_reduction(type, static_cast<operation>(which));
    if (!found) return report(team.ctx, found.error().during(call));
    out = *found;
    return TUTTI_OK;
  }
  const tutti_user_operation* const made = find(reinterpret_cast<tutti_user_operation*>(which));
  if (!made) return refuse(team.ctx, "%s: the operation was freed before, or is none; use TUTTI_SUM and its like, or what "
                           "tutti_operation_create() gave", call);
  if (made->ctx != team.ctx) return refuse(team.ctx, "%s: the operation belongs to another context", call);
  out = made->op;
  if (type == datatype::bytes || size_of(type) == out.element_size) return TUTTI_OK;
  return refuse(team.ctx, "%s: the operation was made for elements of %zu bytes, and those of this type have %zu", call, out.element_size,
                size_of(type));
}

tutti_status_t read_size(tutti_team& team, std::size_t count, std::size_t element, const char* call, std::uint64_t& bytes) {
  if (!__builtin_mul_overflow(count, element, &bytes) && bytes <= PTRDIFF_MAX) return TUTTI_OK;
  return refuse(team.ctx, "%s: count %zu of elements of %zu bytes is beyond what a process can address", call, count, element);
}

struct stretch {
  const void* at;
  std::uint64_t bytes;
  bool overlaps(const stretch& o) const noexcept {
    const auto a = reinterpret_cast<std::uintptr_t>(at), b = reinterpret_cast<std::uintptr_t>(o.at);
    return bytes > 0 && o.bytes > 0 && a < b + o.bytes && b < a + bytes;
  }
};

// `in_place`: where `out` begins if the result comes in place of the operands; null: it cannot.
tutti_status_t check_memory(tutti_team& team, const char* call, const stretch& in, const stretch& out, const void* in_place) {
  for (const std::uint64_t bytes : {in.bytes, out.bytes})
    if (std::uint64_t same; read_size(team, bytes, 1, call, same) != TUTTI_OK) return TUTTI_INVALID;
  if (in.bytes > 0 && !in.at) return refuse_null(team.ctx, call, "in");
  if (out.bytes > 0 && !out.at) return refuse_null(team.ctx, call, "out");
  if (!in.overlaps(out) || (in_place && out.at == in_place)) return TUTTI_OK;
  return in_place ? refuse(team.ctx, "%s: in and out overlap, and not as in place, where out would be %p; out is %p", call, in_place, out.at)
                  : refuse(team.ctx, "%s: in and out overlap; this call has no form in place", call);
}

const void* moved(const void* p, std::int64_t bytes) noexcept {
  return p ? reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(bytes)) : nullptr;
}

// Lengths and beginnings in bytes, and the end of the last.
tutti_status_t read_list(tutti_team& team, const char* call, const char* what, const block_arguments& a, std::vector<std::uint64_t>& lengths,
                         std::vector<std::uint64_t>& begins, std::uint64_t& end) {
  const std::uint32_t n = team.group().size();
  if (!a.counts) return refuse_null(team.ctx, call, what);
  lengths.resize(n), begins.resize(n);
  std::uint64_t next = 0;
  end = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    std::size_t element = 1;
    if (a.types) {
      const auto type = static_cast<datatype>(std::min(static_cast<unsigned>(a.types[i]), datatypes));
      element = type == datatype::bytes ? 1 : size_of(type);
      if (element == 0) return refuse(team.ctx, "%s: type %d for member %u is unknown; use TUTTI_BYTES, TUTTI_FLOAT64 and its like", call, a.types[i], i);
    }
    if (const auto bad = read_size(team, a.counts[i], element, call, lengths[i]); bad != TUTTI_OK) return bad;
    begins[i] = a.offsets ? a.offsets[i] : next;
    if (__builtin_add_overflow(begins[i], lengths[i], &next) || next > PTRDIFF_MAX)
      return refuse(team.ctx, "%s: member %u's block of %zu bytes from byte %zu on is beyond what a process can address", call, i,
                    static_cast<std::size_t>(lengths[i]), static_cast<std::size_t>(begins[i]));
    if (lengths[i] > 0) end = std::max(end, next);
  }
  return TUTTI_OK;
}

std::uint64_t longest(const block_lists& l) noexcept {
  std::uint64_t most = 0;
  for (const auto* list : {&l.in_lengths, &l.out_lengths})
    for (const std::uint64_t n : *list) most = std::max(most, n);
  return most;
}

// The block that a member gives itself.
tutti_status_t check_own(tutti_team& team, const char* call, std::uint64_t given, std::uint64_t taken) {
  if (given == taken) return TUTTI_OK;
  return refuse(team.ctx, "%s: this member, %u, gives itself %zu bytes and takes %zu; they are one block", call, team.group().index(),
                static_cast<std::size_t>(given), static_cast<std::size_t>(taken));
}

collective_call with_lists(collective of, std::uint32_t root, const void* in, void* out, block_lists lists, call_kind as = call_kind::none) {
  collective_call c{.of = of, .root = root, .bytes = longest(lists), .in = static_cast<const std::byte*>(in), .out = static_cast<std::byte*>(out)};
  c.as = as;
  c.lists = std::make_shared<const block_lists>(std::move(lists));
  return c;
}

}  // namespace

tutti_status_t api::read_broadcast(tutti_team& team, std::uint32_t root, void* data, std::size_t bytes, const char* call, collective_call& out) {
  if (const auto bad = check_root(team, root, call); bad != TUTTI_OK) return bad;
  if (!data && bytes > 0) return refuse_null(team.ctx, call, "data");
  if (const auto bad = check_memory(team, call, {nullptr, 0}, {data, bytes}, nullptr); bad != TUTTI_OK) return bad;
  out = {.root = root, .bytes = bytes, .out = static_cast<std::byte*>(data)};
  return TUTTI_OK;
}

tutti_status_t api::read_reduction(tutti_team& team, collective of, std::uint32_t root, const reduce_arguments& a, const char* call,
                                   collective_call& out) {
  if (const auto bad = check_root(team, root, call); bad != TUTTI_OK) return bad;
  out = {.of = of, .root = root, .in = static_cast<const std::byte*>(a.in), .out = static_cast<std::byte*>(a.out)};
  if (const auto bad = read_operation(team, a.type, a.operation, call, out.op); bad != TUTTI_OK) return bad;
  if (const auto bad = read_size(team, a.count, out.op.element_size, call, out.bytes); bad != TUTTI_OK) return bad;
  const bool has_result = of != collective::reduce || team.group().index() == root;
  return check_memory(team, call, {a.in, out.bytes}, {a.out, has_result ? out.bytes : 0}, a.in);
}

tutti_status_t api::read_reduce_scatter(tutti_team& team, const void* in, void* out, const std::size_t* counts, tutti_datatype_t type,
                                        tutti_operation_t operation, const char* call, collective_call& c) {
  reduction op;
  if (const auto bad = read_operation(team, type, operation, call, op); bad != TUTTI_OK) return bad;
  if (!counts) return refuse_null(team.ctx, call, "counts");
  const std::uint32_t n = team.group().size(), me = team.group().index();
  block_lists lists;
  lists.in_lengths.resize(n), lists.in_begins.resize(n);
  std::uint64_t end = 0;
  bool alike = true;
  for (std::uint32_t i = 0; i < n; ++i) {
    lists.in_begins[i] = end;
    if (const auto bad = read_size(team, counts[i], op.element_size, call, lists.in_lengths[i]); bad != TUTTI_OK) return bad;
    if (__builtin_add_overflow(end, lists.in_lengths[i], &end) || end > PTRDIFF_MAX)
      return refuse(team.ctx, "%s: the counts up to member %u are beyond what a process can address", call, i);
    alike = alike && counts[i] == counts[0];
  }
  const std::uint64_t mine = lists.in_lengths[me];
  if (const auto bad = check_memory(team, call, {in, end}, {out, mine}, moved(in, static_cast<std::int64_t>(lists.in_begins[me]))); bad != TUTTI_OK)
    return bad;
  if (alike) c = {.of = collective::reduce_scatter, .bytes = mine, .in = static_cast<const std::byte*>(in), .out = static_cast<std::byte*>(out)};
  else c = with_lists(collective::reduce_scatter, 0, in, out, std::move(lists));
  c.op = op;
  return TUTTI_OK;
}

tutti_status_t api::read_blocks(tutti_team& team, collective of, std::uint32_t root, const void* in, std::size_t bytes, void* out,
                                const char* call, collective_call& c) {
  if (const auto bad = check_root(team, root, call); bad != TUTTI_OK) return bad;
  const std::uint32_t n = team.group().size(), me = team.group().index();
  std::uint64_t all;
  if (const auto bad = read_size(team, n, bytes, call, all); bad != TUTTI_OK) return bad;
  const bool gives = of != collective::scatter || me == root, takes = of != collective::gather || me == root;
  const bool gives_all = of == collective::scatter || of == collective::alltoall, takes_all = of != collective::scatter;
  const auto own = static_cast<std::int64_t>(me * bytes);
  const void* const in_place = of == collective::alltoall ? in : moved(in, gives_all ? own : -own);
  if (const auto bad = check_memory(team, call, {in, gives ? (gives_all ? all : bytes) : 0}, {out, takes ? (takes_all ? all : bytes) : 0}, in_place);
      bad != TUTTI_OK)
    return bad;
  c = {.of = of, .root = root, .bytes = bytes, .in = static_cast<const std::byte*>(in), .out = static_cast<std::byte*>(out)};
  return TUTTI_OK;
}

tutti_status_t api::read_gatherv(tutti_team& team, std::uint32_t root, const void* in, std::size_t bytes, void* out, const block_arguments& a,
                                 const char* call, collective_call& c) {
  if (const auto bad = check_root(team, root, call); bad != TUTTI_OK) return bad;
  const std::uint32_t n = team.group().size(), me = team.group().index();
  block_lists lists;
  lists.in_lengths.resize(n), lists.in_begins.resize(n), lists.in_lengths[root] = bytes;
  std::uint64_t end = 0;
  if (me == root) {
    if (const auto bad = read_list(team, call, "out_bytes", a, lists.out_lengths, lists.out_begins, end); bad != TUTTI_OK) return bad;
    if (const auto bad = check_own(team, call, bytes, lists.out_lengths[me]); bad != TUTTI_OK) return bad;
  } else {
    lists.out_lengths.resize(n), lists.out_begins.resize(n);
  }
  const void* const in_place = me == root ? moved(in, -static_cast<std::int64_t>(lists.out_begins[me])) : nullptr;
  if (const auto bad = check_memory(team, call, {in, bytes}, {out, end}, in_place); bad != TUTTI_OK) return bad;
  c = with_lists(collective::alltoallv, root, in, out, std::move(lists), kind_of_gatherv);
  return TUTTI_OK;
}

tutti_status_t api::read_scatterv(tutti_team& team, std::uint32_t root, const void* in, const block_arguments& a, void* out, std::size_t bytes,
                                  const char* call, collective_call& c) {
  if (const auto bad = check_root(team, root, call); bad != TUTTI_OK) return bad;
  const std::uint32_t n = team.group().size(), me = team.group().index();
  block_lists lists;
  lists.out_lengths.resize(n), lists.out_begins.resize(n), lists.out_lengths[root] = bytes;
  std::uint64_t end = 0;
  if (me == root) {
    if (const auto bad = read_list(team, call, "in_bytes", a, lists.in_lengths, lists.in_begins, end); bad != TUTTI_OK) return bad;
    if (const auto bad = check_own(team, call, lists.in_lengths[me], bytes); bad != TUTTI_OK) return bad;
  } else {
    lists.in_lengths.resize(n), lists.in_begins.resize(n);
  }
  const void* const in_place = me == root ? moved(in, static_cast<std::int64_t>(lists.in_begins[me])) : nullptr;
  if (const auto bad = check_memory(team, call, {in, end}, {out, bytes}, in_place); bad != TUTTI_OK) return bad;
  c = with_lists(collective::alltoallv, root, in, out, std::move(lists), kind_of_scatterv);
  return TUTTI_OK;
}

tutti_status_t api::read_allgatherv(tutti_team& team, const void* in, std::size_t bytes, void* out, const block_arguments& a, const char* call,
                                    collective_call& c) {
  const std::uint32_t me = team.group().index();
  block_lists lists;
  std::uint64_t end = 0;
  if (const auto bad = read_list(team, call, "out_bytes", a, lists.out_lengths, lists.out_begins, end); bad != TUTTI_OK) return bad;
  if (const auto bad = check_own(team, call, bytes, lists.out_lengths[me]); bad != TUTTI_OK) return bad;
  if (const auto bad = check_memory(team, call, {in, bytes}, {out, end}, moved(in, -static_cast<std::int64_t>(lists.out_begins[me])));
      bad != TUTTI_OK)
    return bad;
  c = with_lists(collective::allgather, 0, in, out, std::move(lists), kind_of_allgatherv);
  return TUTTI_OK;
}

tutti_status_t api::read_alltoallv(tutti_team& team, const void* in, const block_arguments& sends, void* out, const block_arguments& takes,
                                   const char* call, collective_call& c) {
  const std::uint32_t me = team.group().index();
  block_lists lists;
  std::uint64_t given = 0, taken = 0;
  if (const auto bad = read_list(team, call, "in_counts", sends, lists.in_lengths, lists.in_begins, given); bad != TUTTI_OK) return bad;
  if (const auto bad = read_list(team, call, "out_counts", takes, lists.out_lengths, lists.out_begins, taken); bad != TUTTI_OK) return bad;
  if (const auto bad = check_own(team, call, lists.in_lengths[me], lists.out_lengths[me]); bad != TUTTI_OK) return bad;
  if (const auto bad = check_memory(team, call, {in, given}, {out, taken}, nullptr); bad != TUTTI_OK) return bad;
  c = with_lists(collective::alltoallv, 0, in, out, std::move(lists));
  return TUTTI_OK;
}

tutti_status_t api::read_alltoallw(tutti_team& team, const void* in, const block_arguments& sends, void* out, const block_arguments& takes,
                                   const char* call, collective_call& c) {
  if (!sends.types) return refuse_null(team.ctx, call, "in_types");
  if (!takes.types) return refuse_null(team.ctx, call, "out_types");
  return read_alltoallv(team, in, sends, out, takes, call, c);
}

tutti_status_t api::read_neighbors(tutti_team& team, const tutti_neighbors_t* neighbors, bool same_to_all, const void* in, std::size_t bytes,
                                   void* out, const char* call, collective_call& c) {
  if (!neighbors) return refuse_null(team.ctx, call, "neighbors");
  const std::uint32_t n = team.group().size(), me = team.group().index();
  block_lists lists;
  const auto place = [&](const char* what, const std::uint32_t* members, std::size_t count, bool apart, std::vector<std::uint64_t>& lengths,
                         std::vector<std::uint64_t>& begins, std::uint64_t& end) -> tutti_status_t {
    if (count > 0 && !members) return refuse_null(team.ctx, call, what);
    if (const auto bad = read_size(team, apart ? count : std::min<std::size_t>(count, 1), bytes, call, end); bad != TUTTI_OK) return bad;
    lengths.resize(n), begins.resize(n);
    std::vector<bool> seen(n);
    for (std::size_t i = 0; i < count; ++i) {
      if (members[i] >= n) return refuse(team.ctx, "%s: %s names member %u of a team of %u; use 0 to %u", call, what, members[i], n, n - 1);
      if (seen[members[i]]) return refuse(team.ctx, "%s: %s names member %u twice; name each once", call, what, members[i]);
      seen[members[i]] = true;
      lengths[members[i]] = bytes, begins[members[i]] = apart ? i * bytes : 0;
    }
    return TUTTI_OK;
  };
  std::uint64_t given = 0, taken = 0;
  if (const auto bad = place("destinations", neighbors->destinations, neighbors->destination_count, !same_to_all, lists.in_lengths, lists.in_begins, given);
      bad != TUTTI_OK)
    return bad;
  if (const auto bad = place("sources", neighbors->sources, neighbors->source_count, true, lists.out_lengths, lists.out_begins, taken); bad != TUTTI_OK)
    return bad;
  if (const auto bad = check_own(team, call, lists.in_lengths[me], lists.out_lengths[me]); bad != TUTTI_OK) return bad;
  if (const auto bad = check_memory(team, call, {in, given}, {out, taken}, nullptr); bad != TUTTI_OK) return bad;
  c = with_lists(collective::alltoallv, 0, in, out, std::move(lists), same_to_all ? kind_of_neighbor_allgather : kind_of_neighbor_alltoall);
  return TUTTI_OK;
}

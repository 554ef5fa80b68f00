#include "mpi/reduction.h"

#include <limits.h>

#include <algorithm>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "mpi/world.h"

namespace tutti::mpi {

int reduce_here(const void* in, void* inout, std::size_t count, MPI_Datatype type, MPI_Op op) {
  constexpr std::size_t most = 1 << 30;  // that MPI counts at once
  MPI_Aint lower = 0, extent = 0;
  if (count > most) real.Type_get_extent(type, &lower, &extent);
  for (std::size_t n;; count -= n) {
    n = std::min(count, most);
    const int code = real.Reduce_local(in, inout, static_cast<int>(n), type, op);
    if (code != MPI_SUCCESS || n == count) return code;
    in = static_cast<const std::byte*>(in) + static_cast<std::ptrdiff_t>(n) * extent;
    inout = static_cast<std::byte*>(inout) + static_cast<std::ptrdiff_t>(n) * extent;
  }
}

namespace {

enum class kind : unsigned char { none, integer, floating, complex, logical, bytes, pair };

struct own_type {
  tutti_datatype_t type = 0;
  kind of = kind::none;
};

template <class T>
constexpr own_type integer() {
  constexpr int place = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  return {(std::is_signed_v<T> ? TUTTI_INT8 : TUTTI_UINT8) + place, kind::integer};
}

own_type sized_integer(std::size_t bytes, kind k) noexcept {
  switch (bytes) {
    case 1: return {TUTTI_INT8, k};
    case 2: return {TUTTI_INT16, k};
    case 4: return {TUTTI_INT32, k};
    case 8: return {TUTTI_INT64, k};
    default: return {};
  }
}

// Handles are no constants in every MPI, so this is no table.
own_type own(MPI_Datatype t, std::size_t size) noexcept {
  if (t == MPI_DOUBLE) return {TUTTI_FLOAT64, kind::floating};
  if (t == MPI_INT) return integer<int>();
  if (t == MPI_FLOAT) return {TUTTI_FLOAT32, kind::floating};
  if (t == MPI_LONG) return integer<long>();
  if (t == MPI_LONG_LONG) return integer<long long>();
  if (t == MPI_UNSIGNED) return integer<unsigned>();
  if (t == MPI_UNSIGNED_LONG) return integer<unsigned long>();
  if (t == MPI_UNSIGNED_LONG_LONG) return integer<unsigned long long>();
  if (t == MPI_SHORT) return integer<short>();
  if (t == MPI_UNSIGNED_SHORT) return integer<unsigned short>();
  if (t == MPI_SIGNED_CHAR) return integer<signed char>();
  if (t == MPI_UNSIGNED_CHAR) return integer<unsigned char>();
  if (t == MPI_INT8_T) return {TUTTI_INT8, kind::integer};
  if (t == MPI_INT16_T) return {TUTTI_INT16, kind::integer};
  if (t == MPI_INT32_T) return {TUTTI_INT32, kind::integer};
  if (t == MPI_INT64_T) return {TUTTI_INT64, kind::integer};
  if (t == MPI_UINT8_T) return {TUTTI_UINT8, kind::integer};
  if (t == MPI_UINT16_T) return {TUTTI_UINT16, kind::integer};
  if (t == MPI_UINT32_T) return {TUTTI_UINT32, kind::integer};
  if (t == MPI_UINT64_T) return {TUTTI_UINT64, kind::integer};
  if (t == MPI_AINT) return integer<MPI_Aint>();
  if (t == MPI_OFFSET) return integer<MPI_Offset>();
  if (t == MPI_COUNT) return integer<MPI_Count>();
  if (t == MPI_BYTE) return {TUTTI_UINT8, kind::bytes};
  if (t == MPI_C_BOOL || t == MPI_CXX_BOOL) return {TUTTI_UINT8, kind::logical};
  if (t == MPI_LOGICAL) return sized_integer(size, kind::logical);
  if (t == MPI_LONG_DOUBLE) return {TUTTI_LONG_DOUBLE, kind::floating};
  if (t == MPI_C_FLOAT_COMPLEX || t == MPI_CXX_FLOAT_COMPLEX) return {TUTTI_FLOAT32_COMPLEX, kind::complex};
  if (t == MPI_C_DOUBLE_COMPLEX || t == MPI_CXX_DOUBLE_COMPLEX) return {TUTTI_FLOAT64_COMPLEX, kind::complex};
  if (t == MPI_C_LONG_DOUBLE_COMPLEX) return {0, kind::complex};  // none of tutti's
  if (t == MPI_FLOAT_INT) return {TUTTI_FLOAT32_INT32, kind::pair};
  if (t == MPI_DOUBLE_INT) return {TUTTI_FLOAT64_INT32, kind::pair};
  if (t == MPI_LONG_INT) return {sizeof(long) == 8 ? TUTTI_INT64_INT32 : TUTTI_INT32_INT32, kind::pair};
  if (t == MPI_2INT) return {TUTTI_INT32_INT32, kind::pair};
  if (t == MPI_SHORT_INT) return {TUTTI_INT16_INT32, kind::pair};
  if (t == MPI_LONG_DOUBLE_INT) return {TUTTI_LONG_DOUBLE_INT32, kind::pair};
  // Fortran's, whose sizes a compiler's option may change.
  if (t == MPI_INTEGER || t == MPI_INTEGER1 || t == MPI_INTEGER2 || t == MPI_INTEGER4 || t == MPI_INTEGER8) return sized_integer(size, kind::integer);
  if (t == MPI_REAL || t == MPI_DOUBLE_PRECISION || t == MPI_REAL4 || t == MPI_REAL8) {
    if (size == 4) return {TUTTI_FLOAT32, kind::floating};
    if (size == 8) return {TUTTI_FLOAT64, kind::floating};
  }
  if (t == MPI_COMPLEX || t == MPI_DOUBLE_COMPLEX || t == MPI_COMPLEX8 || t == MPI_COMPLEX16) {
    if (size == 8) return {TUTTI_FLOAT32_COMPLEX, kind::complex};
    if (size == 16) return {TUTTI_FLOAT64_COMPLEX, kind::complex};
  }
  if (t == MPI_2INTEGER && size == 8) return {TUTTI_INT32_INT32, kind::pair};
  return {};
}

struct own_operation {
  tutti_operation_t operation = 0;
  unsigned kinds = 0;  // a bit for each
};
constexpr unsigned bit(kind k) { return 1u << static_cast<unsigned>(k); }

own_operation own(MPI_Op o) noexcept {
  constexpr unsigned ordered = bit(kind::integer) | bit(kind::floating), numbers = ordered | bit(kind::complex);
  constexpr unsigned truths = bit(kind::integer) | bit(kind::logical), bits = bit(kind::integer) | bit(kind::bytes);
  if (o == MPI_SUM) return {TUTTI_SUM, numbers};
  if (o == MPI_MAX) return {TUTTI_MAX, ordered};
  if (o == MPI_MIN) return {TUTTI_MIN, ordered};
  if (o == MPI_PROD) return {TUTTI_PRODUCT, numbers};
  if (o == MPI_LAND) return {TUTTI_LOGICAL_AND, truths};
  if (o == MPI_LOR) return {TUTTI_LOGICAL_OR, truths};
  if (o == MPI_LXOR) return {TUTTI_LOGICAL_XOR, truths};
  if (o == MPI_BAND) return {TUTTI_BITWISE_AND, bits};
  if (o == MPI_BOR) return {TUTTI_BITWISE_OR, bits};
  if (o == MPI_BXOR) return {TUTTI_BITWISE_XOR, bits};
  if (o == MPI_MINLOC) return {TUTTI_MINLOC, bit(kind::pair)};
  if (o == MPI_MAXLOC) return {TUTTI_MAXLOC, bit(kind::pair)};
  return {};
}

struct by_mpi {
  MPI_Op operation;
  MPI_Datatype type;
  tutti_operation_t handle = 0;
};
std::map<std::pair<MPI_Op, MPI_Datatype>, std::unique_ptr<by_mpi>> programs;

void reduce_by_mpi(const void* in, void* inout, std::size_t count, void* context) {
  const auto* const b = static_cast<const by_mpi*>(context);
  reduce_here(in, inout, count, b->type, b->operation);
}

// Handles may come again for something else: what was made for an operation or a type goes with it. No call uses it, since a call that
// does blocks, and the program has no other thread that calls MPI meanwhile.
template <class Goes>
void forget(Goes goes) {
  std::erase_if(programs, [&](auto& entry) {
    if (!entry.second) return true;  // memory was out
    if (!goes(*entry.second)) return false;
    (void)tutti_operation_free(the_world().ctx, &entry.second->handle);
    return true;
  });
}

}  // namespace

bool is_comparable(MPI_Datatype t) noexcept {
  if (t == MPI_DATATYPE_NULL) return true;  // which is found by the accumulate
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  MPI_Count size = 0;
  real.Type_get_envelope(t, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_DUP && combiner != MPI_COMBINER_F90_INTEGER) return false;
  real.Type_size_x(t, &size);
  constexpr unsigned others = bit(kind::floating) | bit(kind::complex) | bit(kind::pair);
  return !(others & bit(own(t, static_cast<std::size_t>(size)).of));
}

void reductions_forget(MPI_Datatype t) {
  forget([&](const by_mpi& of) { return of.type == t; });
}

bool is_programs(MPI_Op o) noexcept { return !own(o).operation && o != MPI_REPLACE && o != MPI_NO_OP && o != MPI_OP_NULL; }

reduction reduction_of(MPI_Op o, const datatype& t) {
  constexpr std::ptrdiff_t largest = 8192;  // elements that every algorithm takes
  const own_operation known = own(o);
  if (known.operation) {
    const own_type type = own(t.handle, t.size);
    // The bytes between the value and the index of a pair stay the program's.
    if (type.type && (known.kinds & bit(type.of))) return {type.type, known.operation, type.of != kind::pair || t.contiguous};
    return {};  // an error, or a type that only MPI knows
  }
  if (!is_programs(o)) return {};
  if (!t.within || t.extent > largest || t.size == 0) return {};
  auto& slot = programs[{o, t.handle}];
  if (!slot) {
    int commutes = 0;
    auto fresh = std::make_unique<by_mpi>(by_mpi{o, t.handle, 0});
    if (real.Op_commutative(o, &commutes) != MPI_SUCCESS) return {};
    const auto bytes = static_cast<std::size_t>(t.extent);
    const auto made = tutti_operation_create(the_world().ctx, reduce_by_mpi, bytes, commutes, fresh.get(), &fresh->handle);
    if (made == TUTTI_NO_RESOURCE) throw std::bad_alloc();
    if (made != TUTTI_OK) return {};
    slot = std::move(fresh);
  }
  return {TUTTI_BYTES, slot->handle, t.contiguous && t.first() == 0};
}

}  // namespace tutti::mpi

using namespace tutti::mpi;

TUTTI_MPI_ENTRY(Op_free, (MPI_Op* o), MPI_COMM_WORLD, {
  if (o && the_world().ctx) {
    const held h;
    forget([&](const by_mpi& of) { return of.operation == *o; });
  }
  return real.Op_free(o);
})

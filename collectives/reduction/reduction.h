// The arithmetic of reductions: which operation on which type, and the loop that does it. Pure: no network, no allocation.
//
//  1. Convention  As MPI's: `in` comes from the lower ranks, inout[i] = in[i] op inout[i]; with three operands,
//                 out[i] = left[i] op right[i], left from the lower ranks.
//  2. Memory      Any alignment. `out` is `right` or overlaps neither operand; of a built-in operation it may be `left` as well.
//                 A user's function is called upon (left, out), with a copy of `right` in `out`.
//  3. Integers    Wrap: sum and product are those of the unsigned type, modulo 2^bits.
//  4. Floats      sum and product round once each, to nearest, never fused. min and max: a NaN on either side gives a NaN; of -0
//                 and +0 either. The product of complex numbers is (ac - bd) + (ad + bc)i, without C's Annex G, so that an
//                 infinity may become NaN.
//  5. 16 bits     float16 (IEEE binary16) and bfloat16 are added and multiplied in float, and rounded to nearest even after each
//                 element.
//  6. Logical     Operands count as true if not 0, results are 0 or 1 of the same type.
//  7. Pairs       The struct {value; index;} as C lays it out. minloc and maxloc give the pair with the least or greatest
//                 value; of equal values the one with the least index. A NaN is ahead of every number. Padding has no value.
//  8. Any machine The same operands give the same bits whichever instructions the processor has, but for which NaN.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "core/base/copy.h"
#include "core/base/status.h"

namespace tutti {

// The values are part of the C ABI (tutti.h). 0 is none.
enum class datatype : std::uint8_t {
  int8 = 1, int16, int32, int64,
  uint8, uint16, uint32, uint64,
  float32, float64, long_double,
  float32_complex, float64_complex,          // real part first, as C's and std::complex
  float16, bfloat16,
  float32_int32, float64_int32, long_double_int32,            // MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_DOUBLE_INT
  int16_int32, int32_int32, int64_int32,                      // MPI_SHORT_INT, MPI_2INT, MPI_LONG_INT
  float32_int64, float64_int64, int64_int64,                  // for indices beyond 2^31
  bytes,                                                      // of a user's type, which only a user's function knows
};
inline constexpr unsigned datatypes = 26;  // with the 0

enum class operation : std::uint8_t {
  sum = 1, product, min, max,
  logical_and, logical_or, logical_xor,
  bitwise_and, bitwise_or, bitwise_xor,
  minloc, maxloc,
  user,
};
inline constexpr unsigned operations = 14;  // with the 0

std::string_view name_of(datatype) noexcept;   // as the enumerator: "float32_int32"; "unknown datatype" of other values
std::string_view name_of(operation) noexcept;  // "bitwise_and"; "unknown operation"
std::optional<datatype> find_datatype(std::string_view name) noexcept;
std::optional<operation> find_operation(std::string_view name) noexcept;

// Bytes of one element, with its padding. 0: of `bytes`, whose size the user knows, and of other values.
std::size_t size_of(datatype) noexcept;

// inout[i] = in[i] op inout[i], for `count` elements; may be called for any part of a buffer.
using user_function = void (*)(const void* in, void* inout, std::size_t count, void* context);

struct reduction {
  // out[i] = left[i] op right[i]; null: `user` does it
  using loop = void(const void* left, const void* right, void* out, std::size_t count) noexcept;

  loop* built_in = nullptr;
  user_function user = nullptr;
  void* context = nullptr;                   // passed to `user`
  std::size_t element_size = 0;              // bytes
  datatype type = datatype::bytes;
  operation op = operation::user;
  bool commutative = true;                   // a op b has the bits of b op a, but for zeros' signs and payloads of NaNs
  bool associative = true;                   // in any grouping the same bits: integers'; floats' depend on it; users' may

  void combine(const void* in, void* inout, std::size_t count) const { combine(in, inout, inout, count); }
  void combine(const void* left, const void* right, void* out, std::size_t count) const {
    if (built_in) return built_in(left, right, out, count);
    if (out != right && count != 0) copy_bytes(out, right, count * element_size);
    user(left, out, count, context);
  }
};

// invalid, naming both, if the operation makes no sense for the type.
result<reduction> find_reduction(datatype, operation);

// invalid: no function, or elements of no bytes. Order of ranks and grouping: a function that is not commutative is called
// with neighbours only, the lower on the left; every function must be associative up to what its user tolerates.
result<reduction> user_reduction(user_function, std::size_t element_size, bool commutative, void* context);

}  // namespace tutti

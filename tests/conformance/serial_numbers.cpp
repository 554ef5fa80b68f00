// Clause 6: words are compared as serial numbers, so that an epoch counter may wrap and a fast peer may be ahead.
#include <array>

#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"

namespace tutti::test {
namespace {

constexpr std::uint64_t top = ~std::uint64_t{0};
static_assert(reached(5, 5) && reached(6, 5) && !reached(4, 5));
static_assert(reached(0, top) && reached(2, top - 2) && !reached(top, 0) && !reached(top - 2, 2));
static_assert(reached(std::uint64_t{1} << 62, 0) && !reached(0, std::uint64_t{1} << 62));

void through_the_wrap(rank_env& e) {
  const area a = e.allocate(64);
  const std::uint64_t start = top - 40;
  *a.word() = start, *a.word(8) = start;
  e.barrier();
  for (std::uint64_t i = 1; i <= 100; ++i) {
    e.submit(signal(a.at(right_of(e), 0), start + i));
    e.submit(signal(a.at(left_of(e), 8), 1, signal_how::add));
    e.wait_word(a.word(0), start + i);
    e.wait_word(a.word(8), start + i);
  }
}

// The peer may be two epochs ahead when this rank looks: it must go on, not wait for equality.
void a_fast_peer_is_ahead(rank_env& e) {
  const area a = e.allocate(64);
  if (e.rank == 0) {
    for (std::uint64_t i = 1; i <= 3; ++i) e.submit(signal(a.at(1), top - 1 + i));
    e.flush(1);
  }
  e.barrier();
  if (e.rank == 1)
    for (std::uint64_t i = 1; i <= 3; ++i) e.wait_word(a.word(), top - 1 + i);
}

constexpr std::array cases{
    conformance_case{"through_the_wrap", 3, through_the_wrap},
    conformance_case{"a_fast_peer_is_ahead", 2, a_fast_peer_is_ahead},
};

}  // namespace

clause serial_numbers_clause() { return {"serial_numbers", cases}; }

}  // namespace tutti::test

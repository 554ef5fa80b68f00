// Errors keep their text, and where memory is short their code and rank.
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <limits>
#include <new>

#include "core/base/status.h"

namespace {

bool failing = false;
unsigned allocations = 0;

void* allocate(std::size_t n) noexcept { return ++allocations, failing ? nullptr : std::malloc(n ? n : 1); }

}  // namespace

void* operator new(std::size_t n) {
  if (void* const p = allocate(n)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

using namespace tutti;

status all_kinds(rank_t rank) noexcept {
  const std::string vendor = "says no";
  return {errc::fabric, worded("rank ", rank, ", ", std::int64_t{std::numeric_limits<std::int64_t>::min()}, ", ", ~std::uint64_t{0}, ": ", vendor,
                               std::string_view("!")), rank, -7};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_text_is_its_parts_in_a_row) {
  const status s = all_kinds(12);
  BOOST_TEST(s.text() == "rank 12, -9223372036854775808, 18446744073709551615: says no!");
  BOOST_TEST((s.code() == errc::fabric && s.peer() == 12 && s.native() == -7 && s.failed()));
  const status copy = s, longer = s.during(worded("barrier on team ", 3));
  BOOST_TEST(longer.text() == std::string("barrier on team 3: ") + copy.text());
  BOOST_TEST((longer.code() == errc::fabric && longer.peer() == 12 && longer.native() == -7));
  BOOST_TEST(status(errc::invalid, "a\nb\x7f\tc").text() == "a b  c");
  BOOST_TEST((status(errc::ok, "nothing").ok() && status().text() == std::string_view("success") && status().during("what").ok()));
}

BOOST_AUTO_TEST_CASE(a_long_text_loses_its_middle_between_letters) {
  for (std::size_t shift = 0; shift < 4; ++shift) {
    const std::string letters = std::string(shift, 'x');
    std::string many;
    for (int i = 0; i < 3000; ++i) many += "\xe2\x82\xac";  // of three bytes each
    const std::string text = status(errc::invalid, worded("first ", letters, many, " last")).text();
    BOOST_TEST((text.size() > 3900 && text.size() <= 4096));
    BOOST_TEST((text.starts_with("first ") && text.ends_with(" last")));
    const std::size_t gap = text.find(" [...] ");
    BOOST_REQUIRE(gap != text.npos);
    BOOST_TEST((gap - 6 - shift) % 3 == 0u);
    BOOST_TEST((text.size() - 5 - gap - 7) % 3 == 0u);
  }
}

BOOST_AUTO_TEST_CASE(without_memory_an_error_keeps_its_code_and_rank) {
  const status before(errc::peer_dead, "rank 3 died", 3);
  failing = true;
  for (const errc code : {errc::invalid, errc::no_resource, errc::unsupported, errc::unavailable, errc::timed_out, errc::peer_dead, errc::fabric,
                          errc::protocol, errc::truncated, errc::cancelled})
    for (const rank_t rank : {rank_t{0}, rank_t{7}, no_rank}) {
      const status s(code, worded("a text of more than a few bytes, about rank ", rank), rank, 5);
      const status copy = s;
      status moved = status(s);
      const status longer = s.during("while something was done");
      failing = false;
      for (const status& each : {s, copy, moved, longer}) {
        BOOST_TEST((each.code() == code && each.peer() == rank && each.failed() && !each.ok()));
        BOOST_TEST(!std::string_view(each.text()).empty());
      }
      failing = true;
    }
  const status longer = before.during("a barrier");
  failing = false;
  BOOST_TEST(longer.text() == "rank 3 died");  // rather than none
}

BOOST_AUTO_TEST_CASE(an_error_is_one_allocation) {
  const unsigned so_far = allocations;
  const status s(errc::truncated, worded("a message of ", 100, " bytes from rank ", 1, " came to a receive of ", 10), 1);
  const unsigned made = allocations - so_far;
  BOOST_TEST(made == 1u);
  BOOST_TEST(s.text() == "a message of 100 bytes from rank 1 came to a receive of 10");
}

// The arithmetic of reductions against one element at a time, written apart: every type with every operation, any count and
// alignment; what the corners give; what is refused, and in which words.
#define BOOST_TEST_MODULE reduction
#include "collectives/reduction/reduction.h"

#include <boost/test/unit_test.hpp>

using namespace tutti;

namespace {

constexpr auto type_at = [](unsigned i) { return static_cast<datatype>(i); };
constexpr auto operation_at = [](unsigned i) { return static_cast<operation>(i); };

}  // namespace

BOOST_AUTO_TEST_CASE(names_are_read_as_they_are_written) {
  for (unsigned i = 1; i < datatypes; ++i) BOOST_TEST((find_datatype(name_of(type_at(i))) == type_at(i)));
  for (unsigned i = 1; i < operations; ++i) BOOST_TEST((find_operation(name_of(operation_at(i))) == operation_at(i)));
  BOOST_TEST(name_of(datatype::float64_int32) == "float64_int32");
  BOOST_TEST(name_of(datatype::bytes) == "bytes");
  BOOST_TEST(name_of(operation::bitwise_xor) == "bitwise_xor");
  BOOST_TEST(name_of(operation::user) == "user");
  for (const char* unknown : {"", "float", "unknown datatype", "unknown operation"}) {
    BOOST_TEST(!find_datatype(unknown));
    BOOST_TEST(!find_operation(unknown));
  }
}

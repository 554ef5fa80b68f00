// Copies give what std::memcpy and std::memmove give, wherever the ends lie, those included of which string moves are slow.
#include <boost/test/unit_test.hpp>

#include <vector>

#include "core/base/copy.h"

namespace {

using namespace tutti;

constexpr std::size_t page = 4096, most = 3 * page;

std::vector<std::byte> pattern(std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 251);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(copies_as_memcpy) {
  const std::vector<std::byte> source = pattern(most + page);
  for (const std::size_t ahead : {0, 1, 8, 16, 31, 63, 64, 2000, 4095})
    for (const std::size_t at : {0, 5, 16})
      for (const std::size_t bytes : {0, 1, 63, 2048, 2049, 2111, 2112, 4096, 9999}) {
        std::vector<std::byte> target(most + 2 * page), expected = target;
        std::byte* const base = target.data() + page - reinterpret_cast<std::uintptr_t>(target.data()) % page;
        const std::byte* const from = source.data() + at;
        std::byte* const to = base + (reinterpret_cast<std::uintptr_t>(from) + ahead) % page;
        BOOST_REQUIRE_EQUAL(lies_awkwardly(to, from), ahead != 0 && ahead < 64);
        copy_bytes(to, from, bytes);
        std::memcpy(expected.data() + (to - target.data()), from, bytes);
        BOOST_TEST((target == expected), ahead << " ahead, " << bytes << " bytes");
      }
}

BOOST_AUTO_TEST_CASE(moves_as_memmove) {
  for (const std::size_t from : {0, 100, 5000})
    for (const std::size_t to : {0, 1, 16, 99, 100, 101, 116, 4999, 5000, 5016})
      for (const std::size_t bytes : {0, 1, 2049, 5000}) {
        std::vector<std::byte> moved = pattern(most), expected = moved;
        move_bytes(moved.data() + to, moved.data() + from, bytes);
        std::memmove(expected.data() + to, expected.data() + from, bytes);
        BOOST_TEST((moved == expected), "from " << from << " to " << to << ", " << bytes << " bytes");
      }
}

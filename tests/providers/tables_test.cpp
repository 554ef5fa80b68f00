// The tables that providers share: slots and segments.
#include <boost/test/unit_test.hpp>
#include <map>
#include <random>

#include "providers/common/segment_table.h"

using namespace tutti;

namespace {

enum class thing_id : std::uint32_t {};

struct view {
  std::uint64_t value = 0;
};

shared_blobs keys_of(std::initializer_list<std::size_t> sizes) {
  auto table = std::make_shared<blob_table>();
  for (const std::size_t n : sizes) table->push_back(std::vector<std::byte>(n, std::byte{static_cast<unsigned char>(n)}));
  return table;
}

const auto by_length = [](view& v, std::span<const std::byte> key) {
  v.value = key.size();
  return key.size() != 13;
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_id_does_not_name_its_successors) {
  slot_table<thing_id, int> table;
  std::map<std::uint32_t, int> there;
  std::vector<thing_id> gone;
  std::mt19937 random{7};
  for (int i = 0; i < 20000; ++i) {
    if (there.size() < 3 || (there.size() < 40 && random() % 2)) {
      BOOST_TEST_REQUIRE(table.reserve_one());
      const auto id = static_cast<std::uint32_t>(table.insert(i));
      BOOST_TEST_REQUIRE(!there.contains(id));
      there[id] = i;
    } else {
      const auto at = std::next(there.begin(), static_cast<std::ptrdiff_t>(random() % there.size()));
      table.erase(thing_id{at->first});
      table.erase(thing_id{at->first});  // which changes nothing
      gone.push_back(thing_id{at->first});
      if (gone.size() > 1000) gone.erase(gone.begin(), gone.begin() + 500);  // a slot's ids return after 4,096 uses
      there.erase(at);
    }
    if (i % 100) continue;
    for (const auto& [id, value] : there) BOOST_TEST((table.find(thing_id{id}) && *table.find(thing_id{id}) == value));
    for (const thing_id id : gone) BOOST_TEST(!table.find(id));
    std::size_t seen = 0;
    table.each([&](thing_id id, int& value) { seen += there.at(static_cast<std::uint32_t>(id)) == value; });
    BOOST_TEST(seen == there.size());
  }
}

BOOST_AUTO_TEST_CASE(what_attach_refuses) {
  segment_table<view> table;
  const auto attach = [&](const rank_map& members, const shared_blobs& keys) {
    return table.attach(members, keys, 4, "nobody", false, by_length).error().code();
  };
  BOOST_TEST((attach(rank_map::strided(0, 2), nullptr) == errc::invalid));
  BOOST_TEST((attach(rank_map::strided(0, 2), keys_of({1})) == errc::invalid));
  BOOST_TEST((attach(rank_map::strided(3, 2), keys_of({1, 1})) == errc::invalid));
  BOOST_TEST((attach(rank_map::strided(0, 2), keys_of({1, 13})) == errc::protocol));
  BOOST_TEST((attach(rank_map::strided(0, 0), keys_of({})) == errc::ok));
}

BOOST_AUTO_TEST_CASE(members_and_their_views) {
  segment_table<view> table;
  const auto members = rank_map::listed({5, 2, 7});
  const segment_id first = *table.attach(members, keys_of({3, 0, 9}), 8, "nobody", true, by_length);
  const segment_id second = *table.attach(rank_map::strided(0, 8), keys_of({1, 1, 1, 1, 1, 1, 1, 1}), 8, "nobody", false, by_length);
  BOOST_TEST(table.find(first, 5)->value == 3);
  BOOST_TEST(table.find(first, 2)->value == 0);  // exposes nothing
  BOOST_TEST(table.find(first, 7)->value == 9);
  BOOST_TEST(table.key_of(first, 7).size() == 9);
  BOOST_TEST(!table.find(first, 3));
  std::uint64_t sum = 0;
  table.each_of(7, [&](view& v) { sum += v.value; });
  BOOST_TEST(sum == 10);
  std::vector<rank_t> told;
  table.drop(first, [&](rank_t r, view&) { told.push_back(r); });
  table.drop(first, [&](rank_t r, view&) { told.push_back(r); });
  BOOST_TEST((told == std::vector<rank_t>{5, 2, 7}));
  BOOST_TEST(!table.find(first, 5));
  BOOST_TEST(table.find(second, 5)->value == 1);
  // A segment in the same slot is another one.
  const segment_id third = *table.attach(members, keys_of({4, 4, 4}), 8, "nobody", false, by_length);
  BOOST_TEST((third != first));
  BOOST_TEST(!table.find(first, 5));
  told.clear();
  table.drop_all([&](rank_t r, view&) { told.push_back(r); });
  BOOST_TEST(told.size() == 11u);
  BOOST_TEST(!table.find(second, 5));
}

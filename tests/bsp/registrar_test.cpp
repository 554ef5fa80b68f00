// Registrations without an engine: what addresses name after random pushes and pops, of processes some of which have NULL in
// several areas; and which calls cannot be.
#include <boost/test/unit_test.hpp>
#include <array>
#include <random>

#include "bsp/registrar.h"

namespace {

using tutti::bsp::registrar;

// Tells everybody's pending calls to all, as a sync does. False: someone cannot do what was told.
bool sync(std::vector<registrar>& all) {
  const auto processes = static_cast<std::uint32_t>(all.size());
  std::vector<std::vector<registrar::change>> told;
  for (const registrar& r : all) told.push_back(r.pending());
  bool right = true;
  for (std::uint32_t me = 0; me < processes; ++me) {
    for (std::uint32_t from = 0; from < processes; ++from)
      for (std::uint32_t i = 0; from != me && i < told[from].size(); ++i) {
        const auto& c = told[from][i];
        if (c.pushes) all[me].hear_push(i, from, processes, all[from].area_of(c).bytes, !c.address);
        else if (c.number != registrar::no_area) right = all[me].hear_pop(i, from, c.number) && right;
      }
    right = all[me].resolve(processes) == all[me].pending().size() && right;
  }
  if (right)
    for (registrar& r : all) r.apply();
  return right;
}

struct entry {
  std::vector<int> place;  // by process: which of its variables; -1: NULL
  std::uint64_t bytes;
};

}  // namespace

BOOST_AUTO_TEST_CASE(addresses_name_what_a_list_of_registrations_says) {
  constexpr int variables = 5;
  static std::array<char, variables> memory;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::mt19937 random(seed);
      const auto upto = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
      const auto processes = static_cast<std::size_t>(1 + upto(5));
      std::vector<registrar> all(processes);
      std::vector<entry> live;
      const auto at = [&](int place) { return place < 0 ? nullptr : &memory[static_cast<std::size_t>(place)]; };
      const auto newest = [&](std::size_t i, std::size_t process) {
        for (std::size_t k = i + 1; k < live.size(); ++k)
          if (live[k].place[process] == live[i].place[process]) return false;
        return true;
      };
      for (int superstep = 0; superstep < 20; ++superstep) {
        for (int calls = upto(6); calls > 0; --calls) {
          if (live.empty() || upto(2)) {
            entry e{{}, static_cast<std::uint64_t>(8 * upto(100))};
            const bool none = upto(6) == 0;
            for (std::size_t p = 0; p < processes; ++p) e.place.push_back(none || upto(2) ? -1 : upto(variables));
            for (std::size_t p = 0; p < processes; ++p) all[p].push(at(e.place[p]), e.place[p] < 0 ? 0 : e.bytes);
            live.push_back(e);
            continue;
          }
          const auto i = static_cast<std::size_t>(upto(static_cast<int>(live.size())));
          bool somebody = false, may = true;
          for (std::size_t p = 0; p < processes; ++p) {
            somebody = somebody || live[i].place[p] >= 0;
            may = may && (live[i].place[p] < 0 || newest(i, p));
          }
          if (!somebody)  // NULL in all: the newest of those
            for (std::size_t k = i + 1; k < live.size(); ++k)
              may = may && live[k].place != live[i].place;
          if (!may) continue;
          for (std::size_t p = 0; p < processes; ++p) BOOST_REQUIRE(all[p].pop(at(live[i].place[p])));
          live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
        }
        BOOST_REQUIRE(sync(all));
        std::array<int, variables> found;
        for (std::size_t p = 0; p < processes; ++p) {
          found.fill(-1);
          for (std::size_t i = 0; i < live.size(); ++i)
            if (live[i].place[p] >= 0) found[static_cast<std::size_t>(live[i].place[p])] = static_cast<int>(i);
          for (int v = 0; v < variables; ++v) {
            const std::uint32_t number = all[p].find(at(v));
            const int i = found[static_cast<std::size_t>(v)];
            BOOST_REQUIRE_EQUAL(number == registrar::no_area, i < 0);
            if (i < 0) continue;
            const entry& e = live[static_cast<std::size_t>(i)];
            for (std::size_t q = 0; q < processes; ++q) {  // the same area in all
              BOOST_REQUIRE(all[q].at(number));
              BOOST_REQUIRE(static_cast<void*>(all[q].at(number)->base) == at(e.place[q]));
              BOOST_REQUIRE_EQUAL(all[p].bytes_at(number, static_cast<std::uint32_t>(q)), e.place[q] < 0 ? 0 : e.bytes);
            }
          }
          BOOST_REQUIRE(!all[p].pop(&found));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(pops_that_contradict_each_other_are_found) {
  char a, b;
  const auto make = [&] {  // of two processes; the second has a part in the third area only
    std::vector<registrar> all(2);
    for (char* address : {&a, &b, static_cast<char*>(nullptr)}) all[0].push(address, address ? 1 : 0);
    for (char* address : {static_cast<char*>(nullptr), static_cast<char*>(nullptr), &b}) all[1].push(address, address ? 1 : 0);
    BOOST_REQUIRE(sync(all));
    return all;
  };
  auto all = make();  // right
  BOOST_TEST((all[0].pop(&a) && all[1].pop(nullptr) && all[0].pop(nullptr) && all[1].pop(&b) && sync(all)));
  all = make();       // two areas
  BOOST_TEST((all[0].pop(&a) && all[1].pop(&b) && !sync(all)));
  all = make();       // none has NULL in all
  BOOST_TEST((all[0].pop(nullptr) && all[1].pop(nullptr) && !sync(all)));
  all = make();       // NULL more often than it is there
  BOOST_TEST((all[1].pop(nullptr) && all[1].pop(nullptr) && !all[1].pop(nullptr)));
  all = make();       // NULL at an area in which the process has a part
  BOOST_TEST((all[0].pop(&b) && all[1].pop(nullptr) && sync(all)));
  BOOST_TEST((all[0].pop(nullptr) && all[1].pop(nullptr) && !sync(all)));
}

// Every row of the table, in every size from 1 to 64, every radix and many layouts of nodes, run in random orders.
#include <boost/test/unit_test.hpp>

#include <functional>

#include "core/transport/transport.h"
#include "tests/collectives/schedule_world.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// Every variant of every row at one size.
using visitor = std::function<void(const algorithm&, const shape&, std::string_view)>;
void for_each_variant(std::uint32_t size, std::uint64_t seed, const visitor& visit) {
  const std::vector<layout> where = layouts(size, seed);
  for (const algorithm& row : algorithms(collective::barrier)) {
    shape shape;
    shape.size = size;
    if (row.needs.nodes) {
      for (const layout& l : where)
        for (const algorithm& upper : algorithms(collective::barrier)) {
          if (upper.needs.nodes) continue;
          shape.node_of = l.node_of;
          shape.inner = upper.name;
          visit(row, shape, l.name);
        }
    } else if (row.default_radix) {
      for (const std::uint32_t radix : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 15u}) {
        shape.radix = radix;
        visit(row, shape, "");
      }
    } else {
      visit(row, shape, "");
    }
  }
}

std::string describe(const algorithm& row, const shape& s, std::string_view layout_name) {
  return std::string(row.name) + " of " + std::to_string(s.size) + ", radix " + std::to_string(s.radix) + ", leaders " +
         std::string(s.inner) + ", " + std::string(layout_name);
}

// Epochs that a program starts with, that cross the sign of the serial numbers, and that wrap.
constexpr std::uint64_t starts[] = {1, (std::uint64_t{1} << 63) - 2, std::uint64_t(-2)};

}  // namespace

BOOST_AUTO_TEST_CASE(every_size_up_to_64) {
  std::uint64_t seed = 0;
  for (std::uint32_t size = 1; size <= 64; ++size)
    for_each_variant(size, size, [&](const algorithm& row, const shape& shape, std::string_view where) {
      const std::vector<schedule> all = all_ranks(row, shape);
      const std::string what = describe(row, shape, where);
      BOOST_TEST_REQUIRE(inspect(all, row.words(shape)) == "", what << ": " << inspect(all, row.words(shape)));
      ++seed;
      const std::string wrong = run(all, {seed, starts[seed % 3], 4});
      BOOST_TEST_REQUIRE(wrong == "", what << ": " << wrong);
    });
}

BOOST_AUTO_TEST_CASE(many_orders_of_small_sizes) {
  const auto check = [](const algorithm& row, const shape& shape, std::string_view where) {
    const std::vector<schedule> all = all_ranks(row, shape);
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
      const std::string wrong = run(all, {seed, starts[seed % 3], 5});
      BOOST_TEST_REQUIRE(wrong == "", describe(row, shape, where) << ": " << wrong);
    }
  };
  for (std::uint32_t size = 1; size <= 9; ++size) for_each_variant(size, 99 + size, check);
}

BOOST_AUTO_TEST_CASE(alone_there_is_nothing_to_do) {
  for_each_variant(1, 1, [&](const algorithm& row, const shape& shape, std::string_view) {
    BOOST_TEST(row.words(shape) == 0u);
    BOOST_TEST(row.make(shape).steps.empty());
    BOOST_TEST(!row.make(shape).uses_multicast);
  });
}

BOOST_AUTO_TEST_CASE(rows_tell_what_their_schedules_need) {
  for_each_variant(12, 5, [&](const algorithm& row, const shape& shape, std::string_view where) {
    const algorithm* upper = row.needs.nodes ? find_algorithm(collective::barrier, shape.inner) : nullptr;
    bool arrives = false, casts = false;
    for (const schedule& s : all_ranks(row, shape))
      for (const step& st : s.steps) {
        arrives |= st.kind == step_kind::arrive;
        casts |= st.kind == step_kind::multicast || st.kind == step_kind::await_multicast;
        BOOST_TEST(s.uses_multicast == row.make(shape).uses_multicast);
      }
    BOOST_TEST(casts == row.make(shape).uses_multicast);
    if (!row.needs.nodes) {
      BOOST_TEST(arrives == row.needs.fetch_add);
      BOOST_TEST(casts == row.needs.multicast);
    } else {
      BOOST_TEST((!arrives || upper->needs.fetch_add), describe(row, shape, where));
      BOOST_TEST((!casts || upper->needs.multicast), describe(row, shape, where));
    }
  });
}

BOOST_AUTO_TEST_CASE(lines_are_as_few_as_the_files_say) {
  const auto words = [](std::string_view name, std::uint32_t size, std::uint32_t radix = 0) {
    shape s;
    s.size = size, s.radix = radix;
    return find_algorithm(collective::barrier, name)->words(s);
  };
  BOOST_TEST(words("dissemination", 64) == 6u);
  BOOST_TEST(words("dissemination", 65) == 7u);
  BOOST_TEST(words("pairwise", 64) == 6u);
  BOOST_TEST(words("pairwise", 48) == 6u);
  BOOST_TEST(words("nway", 64, 4) == 9u);
  BOOST_TEST(words("nway", 17, 4) == 7u);   // 3, 3 and the one rank at distance 16
  BOOST_TEST(words("tree", 64, 3) == 9u);
  BOOST_TEST(words("tree", 17, 3) == 7u);
  BOOST_TEST(words("multicast", 16, 7) == 8u);
  BOOST_TEST(words("flat", 64) == 63u);
  BOOST_TEST(words("counter", 10000) == 2u);
  BOOST_TEST(words("dissemination", 10000) == 14u);
}

// Kini 2003, figure 5: 8 processes, fan-in 3, two stages, process 0 is the root.
BOOST_AUTO_TEST_CASE(the_gather_tree_of_kini_figure_5) {
  shape s;
  s.size = 8, s.radix = 3;
  const algorithm& rgm = *find_algorithm(collective::barrier, "rgm");
  const auto parent = [&](std::uint32_t rank) {
    s.rank = rank;
    for (const step& st : rgm.make(s).steps)
      if (st.kind == step_kind::signal) return st.peer;
    return any_peer;
  };
  const std::uint32_t expected[] = {any_peer, 0, 0, 0, 0, 4, 4, 4};
  for (std::uint32_t rank = 0; rank < 8; ++rank) BOOST_TEST(parent(rank) == expected[rank]);
}

BOOST_AUTO_TEST_CASE(names) {
  for (const algorithm& row : algorithms(collective::barrier)) {
    BOOST_TEST(find_algorithm(collective::barrier, row.name) == &row);
    BOOST_TEST(!row.summary.empty());
    BOOST_TEST(!row.source.empty());
  }
  BOOST_TEST(find_algorithm(collective::barrier, "rds") == find_algorithm(collective::barrier, "dissemination"));
  BOOST_TEST(find_algorithm(collective::barrier, "rpe") == find_algorithm(collective::barrier, "pairwise"));
  BOOST_TEST(find_algorithm(collective::barrier, "rgm") == find_algorithm(collective::barrier, "multicast"));
  BOOST_TEST(find_algorithm(collective::barrier, "") == nullptr);
  BOOST_TEST(find_algorithm(collective::barrier, "RDS") == nullptr);
}

BOOST_AUTO_TEST_CASE(schedules_print) {
  shape s;
  s.rank = 1, s.size = 3;
  BOOST_TEST(to_string(find_algorithm(collective::barrier, "dissemination")->make(s)) ==
             "signal 2 word 0\nwait 0 word 0\nsignal 0 word 1\nwait 2 word 1\n");
  BOOST_TEST(to_string(find_algorithm(collective::barrier, "counter")->make(s)) ==
             "arrive 0 word 0 epoch*3, unless last skip 3\nsignal 2 word 1\nsignal 0 word 1\nsignal 1 word 1\n"
             "wait anyone word 1\n");
}

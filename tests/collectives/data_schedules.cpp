// Every algorithm that moves data by schedules, in every size from 2 to 33 and 64, run in random orders without a network; and with
// one mistake each, which the checker has to find.
#include <boost/test/unit_test.hpp>

#include <functional>

#include "tests/collectives/data_world.h"

using namespace tutti;
using namespace tutti::test;

namespace {

using visitor = std::function<void(data_schedules&, const std::string&)>;
void for_each_algorithm(std::uint32_t size, const visitor& visit) {
  for (unsigned c = 1; c < collectives; ++c)
    for (const algorithm& row : algorithms(static_cast<collective>(c))) {
      if (!row.make) continue;
      for (const std::uint32_t radix : {0u, 1u, 2u, 15u}) {
        if (radix && (!row.default_radix || radix < row.least_radix)) continue;
        data_schedules all(row, {.size = size, .radix = radix});
        visit(all, std::string(name_of(row.of)) + " by " + std::string(row.name) + ":" + std::to_string(radix) + ", " +
                       std::to_string(size) + " ranks");
      }
    }
}

bool may_be_unlike(const algorithm& row) {
  return row.of == collective::alltoallv || ((row.of == collective::allgather || row.of == collective::reduce_scatter) && !row.needs.alike);
}

// Blocks that are full, with a rest, with more than one byte, of unlike lengths, and some that are empty.
std::vector<data_options> loads(const algorithm& row, std::uint32_t blocks) {
  if (may_be_unlike(row)) return {{.bytes = 1}, {.bytes = 3}, {.bytes = 2, .unlike = true}};
  if (has_block_each(row.of)) return {{.bytes = 1}, {.bytes = 3}};
  return {{.bytes = 2 * blocks, .most = 2}, {.bytes = 3 * blocks - 1, .most = 3}, {.bytes = blocks / 2 + 1, .most = 1}, {.bytes = 1, .most = 1}};
}

void check(data_schedules& all, const std::string& what, std::uint64_t seeds) {
  const std::uint32_t n = all.where.size;
  std::uint64_t seed = n;
  for (data_options o : loads(all.row, all.row.data.blocks(all.where)))
    for (const bool in_place : {false, true})
      for (std::uint64_t k = 0; k < seeds; ++k) {
        o.seed = ++seed, o.in_place = in_place, o.commutative = all.row.needs.commutative;
        const std::string wrong = run(all, o);
        BOOST_TEST_REQUIRE(wrong == "", what << ", " << (o.unlike ? "up to " : "") << o.bytes << " bytes" << (in_place ? ", in place: " : ": ") << wrong);
      }
}

// The first complaint within so many seeds.
std::string hunt(data_schedules& all, std::uint64_t bytes, bool unlike = false) {
  data_options o{.bytes = bytes, .unlike = unlike};
  for (o.seed = 1; o.seed <= 3000; ++o.seed) {
    o.in_place = o.seed % 2, o.commutative = all.row.needs.commutative;
    if (const std::string wrong = run(all, o); !wrong.empty()) return wrong;
  }
  return "nothing found";
}

std::uint64_t full(data_schedules& all) {
  return has_block_each(all.row.of) ? 1 : 2 * all.row.data.blocks(all.where);
}

// Changes one step of one rank in all its schedules; false: there is no such step.
bool harm(data_schedules& all, std::uint32_t rank, const std::function<bool(const step&)>& which, const std::function<void(step&)>& how,
          std::uint32_t nth) {
  bool any = false;
  for (const bool first : {false, true}) {
    std::uint32_t seen = 0;
    for (step& s : all.of(0, first)[rank].steps)
      if (which(s) && seen++ == nth) how(s), any = true;
  }
  return any;
}
void nothing(step& s) { s = {.kind = step_kind::copy, .block = 0}; }  // a copy of no blocks

constexpr std::uint32_t size_of_mutants = 5;

}  // namespace

BOOST_AUTO_TEST_CASE(every_size) {
  for (std::uint32_t size = 2; size <= 64; size += size == 33 ? 31 : 1)
    for_each_algorithm(size, [&](data_schedules& all, const std::string& what) {
      for (const bool first : {false, true})
        for (const std::uint32_t root : {0u, size / 2, size - 1})
          BOOST_TEST_REQUIRE(inspect(all, root, first) == "", what << ": " << inspect(all, root, first));
      check(all, what, 1);
    });
}

BOOST_AUTO_TEST_CASE(many_orders_of_small_sizes) {
  for (std::uint32_t size = 2; size <= 8; ++size)
    for_each_algorithm(size, [](data_schedules& all, const std::string& what) { check(all, what, 20); });
}

BOOST_AUTO_TEST_CASE(no_operation_is_longer_than_the_fabric_takes) {
  for (const std::uint32_t size : {2u, 3u, 16u, 64u})
    for_each_algorithm(size, [](data_schedules& all, const std::string& what) {
      for (const std::uint64_t most : {64ull, 1ull << 10, 8ull << 20, 1ull << 40})
        for (const std::uint64_t message : {0ull, 4096ull}) {
          const std::uint64_t together = all.row.data.together ? all.row.data.together(all.where) : 1;
          const std::uint64_t longest = together * room_of(all.row, all.where, most, message).slot_bytes;
          BOOST_TEST(longest <= most, what << ": " << longest << " bytes at once, at most " << most);
          BOOST_TEST(longest < 1ull << 32, what);
        }
    });
}

// All rows of a collective that are canonical group operands alike, whatever is reduced in whatever pieces; scans have a tree each.
BOOST_AUTO_TEST_CASE(canonical_rows_group_operands_alike) {
  for (std::uint32_t size = 2; size <= 64; size += size == 33 ? 31 : 1) {
    std::uint64_t common = 0;
    for_each_algorithm(size, [&](data_schedules& all, const std::string& what) {
      if (!all.row.canonical || all.row.of == collective::scan || all.row.of == collective::exscan) return;
      for (data_options o : loads(all.row, all.row.data.blocks(all.where)))
        for (o.seed = 1; o.seed <= 3; ++o.seed) {
          std::uint64_t grouping = 0;
          BOOST_TEST_REQUIRE(run(all, o, &grouping) == "", what);
          if (common == 0) common = grouping;
          BOOST_TEST(grouping == common, what);
        }
    });
    BOOST_TEST(common != 0u);
  }
}

// A wait for data that is left out: the step after it reads too early.
BOOST_AUTO_TEST_CASE(any_wait_for_data_dropped) {
  for_each_algorithm(size_of_mutants, [](data_schedules& good, const std::string& what) {
    const auto waits = [](const step& s) { return s.kind == step_kind::wait && s.block != no_block && s.from.buffer != data_in; };
    for (std::uint32_t rank = 0; rank < size_of_mutants; ++rank)
      for (std::uint32_t nth = 0; nth < 4; ++nth) {
        data_schedules bad(good.row, good.where);
        bad.one_root = true;
        if (!harm(bad, rank, waits, nothing, nth)) break;
        const std::string complaint = hunt(bad, full(bad));
        BOOST_TEST(complaint != "nothing found", what << ", rank " << rank << ", wait " << nth);
      }
  });
}

BOOST_AUTO_TEST_CASE(any_signal_of_data_dropped) {
  for_each_algorithm(size_of_mutants, [](data_schedules& good, const std::string& what) {
    const auto puts = [](const step& s) { return s.kind == step_kind::put_signal; };
    for (std::uint32_t rank = 0; rank < size_of_mutants; ++rank)
      for (std::uint32_t nth = 0; nth < 4; ++nth) {
        data_schedules bad(good.row, good.where);
        bad.one_root = true;
        if (!harm(bad, rank, puts, [](step& s) { s.kind = step_kind::put; }, nth)) break;
        const std::string complaint = hunt(bad, full(bad));
        BOOST_TEST(complaint.starts_with("stuck:"), what << ", rank " << rank << ", put " << nth << ": " << complaint);
      }
  });
}

BOOST_AUTO_TEST_CASE(any_put_to_another_slot) {
  for_each_algorithm(size_of_mutants, [](data_schedules& good, const std::string& what) {
    if (good.row.of == collective::reduce && good.row.data.needs_everyone) return;  // what comes back to all but the root is dropped
    const auto puts = [](const step& s) { return s.kind == step_kind::put_signal; };
    for (std::uint32_t rank = 0; rank < size_of_mutants; ++rank)
      for (std::uint32_t nth = 0; nth < 4; ++nth) {
        data_schedules bad(good.row, good.where);
        bad.one_root = true;
        if (!harm(bad, rank, puts, [](step& s) { ++s.to.slot; }, nth)) break;
        const std::string complaint = hunt(bad, full(bad));
        BOOST_TEST(complaint != "nothing found", what << ", rank " << rank << ", put " << nth);
      }
  });
}

// Without their last `complete`, or any of several, ranks that put leave too early.
BOOST_AUTO_TEST_CASE(all_completes_dropped) {
  for_each_algorithm(size_of_mutants, [](data_schedules& good, const std::string& what) {
    if (good.row.needs.mapped) return;  // it puts nothing
    data_schedules bad(good.row, good.where);
    bad.one_root = true;
    for (std::uint32_t rank = 0; rank < size_of_mutants; ++rank)
      while (harm(bad, rank, [](const step& s) { return s.kind == step_kind::complete; }, nothing, 0)) {}
    BOOST_TEST(hunt(bad, full(bad)) != "nothing found", what);
  });
}

// Memory that others read: told of, and kept until they have said that they have read it.
BOOST_AUTO_TEST_CASE(exposed_memory_that_is_not_told_or_not_kept) {
  std::uint32_t rows = 0;
  for_each_algorithm(size_of_mutants, [&](data_schedules& good, const std::string& what) {
    if (!good.row.data.exposes) return;
    ++rows;
    const auto about_release = [](const step& s) { return s.word >= size_of_mutants; };
    const struct {
      std::function<bool(const step&)> which;
      bool stuck;
    } mutants[] = {{[](const step& s) { return s.kind == step_kind::expose; }, true},
                   {[&](const step& s) { return s.kind == step_kind::signal && about_release(s); }, true},
                   {[&](const step& s) { return s.kind == step_kind::wait && about_release(s); }, false}};
    for (const auto& m : mutants)
      for (std::uint32_t rank = 0; rank < size_of_mutants; ++rank)
        for (std::uint32_t nth = 0; nth < 4; ++nth) {
          data_schedules bad(good.row, good.where);
          bad.one_root = true;
          if (!harm(bad, rank, m.which, nothing, nth)) break;
          const std::string complaint = hunt(bad, full(bad));
          BOOST_TEST((m.stuck ? complaint.starts_with("stuck:") : complaint != "nothing found"),
                     what << ", rank " << rank << ", step " << nth << ": " << complaint);
        }
  });
  BOOST_TEST(rows == 6u);
}

// One set of lines and slots where two take turns, and turns of sets that begin without a barrier.
BOOST_AUTO_TEST_CASE(no_flow_control) {
  for_each_algorithm(size_of_mutants, [](data_schedules& good, const std::string& what) {
    if (good.row.data.sets() == 1) return;
    // One set would do: nobody writes for the second half of a run before all have read what came in the one before.
    const std::string_view name = good.row.name;
    if (good.row.of == collective::allreduce && (name == "ring" || name == "rabenseifner")) return;
    if (reduces(good.row.of) && name == "mapped") return;
    data_schedules bad(good.row, good.where);
    if (good.row.data.needs_everyone || good.row.data.needs_pairs) bad.sets = 1;
    else
      for (std::uint32_t root = 0; root < size_of_mutants; ++root) bad.of(root, true) = bad.of(root, false);
    BOOST_TEST(hunt(bad, full(bad)) != "nothing found", what);
  });
}

// Rows that move several blocks at once take them to be alike.
BOOST_AUTO_TEST_CASE(rows_that_need_blocks_alike) {
  std::uint32_t rows = 0;
  for_each_algorithm(8, [&](data_schedules& all, const std::string& what) {
    if (!all.row.needs.alike || all.row.of == collective::alltoall) return;  // whose lengths would be of pairs
    ++rows;
    BOOST_TEST(hunt(all, 2, true) != "nothing found", what);
  });
  BOOST_TEST(rows >= 6u);
}

// Who waits for a block as if it went the other way: only unlike blocks tell the two apart.
BOOST_AUTO_TEST_CASE(waits_about_the_wrong_direction) {
  std::uint32_t harmed = 0;
  for_each_algorithm(size_of_mutants, [&](data_schedules& good, const std::string& what) {
    if (!good.row.data.needs_pairs) return;
    const auto for_data = [](const step& s) { return s.kind == step_kind::wait && s.block != no_block && s.from.buffer == data_out && !s.one_way; };
    for (std::uint32_t rank = 0; rank < size_of_mutants; ++rank)
      for (std::uint32_t nth = 0; nth < size_of_mutants - 1; ++nth) {
        data_schedules bad(good.row, good.where);
        if (!harm(bad, rank, for_data, [](step& s) { s.from.buffer = data_in; }, nth)) break;
        ++harmed;
        BOOST_TEST(hunt(bad, 2, true) != "nothing found", what << ", rank " << rank << ", wait " << nth);
      }
  });
  BOOST_TEST(harmed == size_of_mutants * (size_of_mutants - 1));
}

// What a taker says where nothing goes the other way: not said, not waited for.
BOOST_AUTO_TEST_CASE(one_way_steps_dropped) {
  std::uint32_t rows = 0;
  for_each_algorithm(size_of_mutants, [&](data_schedules& good, const std::string& what) {
    if (!good.row.data.needs_pairs) return;
    ++rows;
    for (const step_kind kind : {step_kind::signal, step_kind::wait})
      for (std::uint32_t rank = 0; rank < size_of_mutants; ++rank)
        for (std::uint32_t nth = 0; nth < size_of_mutants - 1; ++nth) {
          data_schedules bad(good.row, good.where);
          BOOST_REQUIRE(harm(bad, rank, [&](const step& s) { return s.kind == kind && s.one_way; }, nothing, nth));
          const std::string complaint = hunt(bad, 1, true);
          BOOST_TEST((kind == step_kind::signal ? complaint.starts_with("stuck:") : complaint != "nothing found"),
                     what << ", rank " << rank << ", step " << nth << ": " << complaint);
        }
  });
  BOOST_TEST(rows == 1u);
}

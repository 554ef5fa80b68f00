// What reduces (reduce, allreduce, reduce_scatter, scan, exscan): every algorithm, in any size of team, with operands in the order of the ranks where the operation needs
// it, in place and not, several under way; what they need is made without blocking, and what is wrong is named.
// reduce [Boost.Test's options] [-- --fabric NAME --ranks N]: on_every_fabric on this one alone, in teams of N.
#include <boost/test/unit_test.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/job/window.h"
#include "tests/collectives/affine.h"
#include "tests/collectives/rows.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// Both operations look at the same data, elements of so many operands: as affine maps, or as two integers each.
struct calls {
  explicit calls(std::size_t operands = 1) : in_each(operands) {}
  calls(const calls&) = delete;
  calls& operator=(const calls&) = delete;
  std::size_t in_each;
  reduction ordered = take(user_reduction(compose, sizeof(affine) * in_each, false, &in_each), "user");
  reduction sum = in_each == 1 ? take(find_reduction(datatype::uint64, operation::sum), "sum")
                               : take(user_reduction(add_up, sizeof(affine) * in_each, true, &in_each), "user's sum");

  // Of the first `ranks` ranks' operands from `first` on.
  static std::vector<affine> expected(bool commutes, std::uint64_t call, std::uint32_t ranks, std::size_t count, std::size_t first = 0) {
    std::vector<affine> out(count);
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = operand(call, 0, first + i);
      for (std::uint32_t r = 1; r < ranks; ++r) {
        const affine next = operand(call, r, first + i);
        out[i] = commutes ? plus(out[i], next) : then(out[i], next);
      }
    }
    return out;
  }
};

constexpr collective all_that_reduce[] = {collective::reduce, collective::allreduce, collective::reduce_scatter, collective::scan,
                                          collective::exscan};

// Where a rank finds the result of a call of so many elements, of each block if there are several.
struct outcome {
  bool any;
  std::uint32_t ranks;   // whose operands are in it
  std::size_t first;     // of each one's elements
  outcome(collective of, std::uint32_t rank, std::uint32_t size, std::uint32_t root, std::size_t count)
      : any(of == collective::reduce ? rank == root : of != collective::exscan || rank > 0),
        ranks(of == collective::scan ? rank + 1 : of == collective::exscan ? rank : size),
        first(of == collective::reduce_scatter ? rank * count : 0) {}
};

collective_call call_of(collective of, const reduction& op, std::uint32_t root, std::vector<affine>& in, std::vector<affine>& out) {
  return {.of = of, .root = root, .bytes = std::min(in.size(), out.size()) * sizeof(affine), .in = reinterpret_cast<const std::byte*>(in.data()),
          .out = reinterpret_cast<std::byte*>(out.data()), .op = op};
}

void play(rank_env& env, communicator& team, collective of, const std::string& name, std::span<const std::size_t> counts, std::size_t in_each = 1) {
  if (row_of(of, name).data.together && in_each * sizeof(affine) > short_element) return;
  const calls ops(in_each);
  std::uint64_t number = in_each;
  for (const std::size_t elements : counts)
    for (const bool commutes : {true, false}) {
      if (!commutes && row_of(of, name).needs.commutative) continue;
      for (const bool in_place : {false, true}) {
        const std::size_t count = elements * in_each;
        const auto root = static_cast<std::uint32_t>(++number * 5 % env.size);
        const outcome wanted(of, env.rank, env.size, root, count);
        std::vector<affine> in(of == collective::reduce_scatter ? count * env.size : count), out(count, affine{77, 78});
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = operand(number, env.rank, i);
        if (env.random() % 4 == 0) env.pause(std::chrono::microseconds(env.random() % 100));
        const std::vector<affine> given = in;
        collective_call c = call_of(of, commutes ? ops.sum : ops.ordered, root, in, out);
        affine* const result = in_place ? in.data() + wanted.first : out.data();
        c.out = reinterpret_cast<std::byte*>(result);
        require(team.run(c), "call");
        if (wanted.any && count > 0)
          require(std::vector<affine>(result, result + count) == calls::expected(commutes, number, wanted.ranks, count, wanted.first),
                  "result of call " + std::to_string(number) + ", " + std::to_string(count) + " elements");
        else require(out == std::vector<affine>(count, affine{77, 78}), "no result here");
        if (!in_place || !wanted.any) require(in == given, "operands are left alone");
      }
    }
}

void play(rank_env& env, collective of, const std::string& name, std::span<const std::size_t> counts,
          std::span<const std::size_t> in_each = std::array<std::size_t, 1>{1}) {
  auto j = open_job(env);
  if (!can_run(row_of(of, name), env, *j)) return env.barrier();
  auto team = take(communicator::world(*j, using_algorithm(of, name)), "world");
  for (const std::size_t n : in_each) play(env, *team, of, name, counts, n);
  require(team->group().settle(), "leaving");
  team.reset();
  env.barrier();
}

constexpr std::size_t few[] = {1, 0, 3, 100, 1, 4097};
constexpr std::size_t many[] = {2, 0, 7, 1000, 4096, 4097, 70000, 1};

}  // namespace

BOOST_AUTO_TEST_CASE(on_simulated_fabrics) {
  on_simulated_fabrics_by_each(all_that_reduce, [](rank_env& env, collective of, const std::string& name) { play(env, of, name, few); });
}

BOOST_AUTO_TEST_CASE(on_every_fabric) {
  on_every_fabric_by_each(all_that_reduce, [](rank_env& env, collective of, const std::string& name) { play(env, of, name, many); });
}

// A program's own elements may be longer than an algorithm's slots: 16 to 96,000 bytes.
BOOST_AUTO_TEST_CASE(elements_of_any_length) {
  constexpr std::size_t counts[] = {1, 3}, in_each[] = {2, 1500, 6000, 2};
  for (const char* fabric : {"shm", "sim:wild"})
    for (const collective of : all_that_reduce) {
      const in_turn each(names(of));
      const auto report = try_ranks({fabric}, 5, [&](rank_env& env) {
        each(env, [&](const std::string& name) { play(env, of, name, counts, in_each); });
      }, {.timeout = std::chrono::seconds(100) * time_scale});
      BOOST_TEST(report.passed(), name_of(of) << ", " << fabric << ", last begun: \"" << each.begun() << "\"\n" << report.text());
    }
}

// --- reproducible results ----------------------------------------------------------------------------------------------

namespace {

// Operands whose sums depend on the grouping of the additions.
template <class T>
struct addends {
  reduction op;
  T (*of)(std::uint32_t rank, std::size_t i);
  T sum(T left, T right) const { return op.combine(&left, &right, 1), right; }
};

std::uint64_t draw(std::uint32_t rank, std::size_t i) { return (rank * 10007 + i + 1) * 0x9e3779b97f4a7c15u; }
template <class T>
T scattered(std::uint32_t rank, std::size_t i) {
  const std::uint64_t z = draw(rank, i);
  return std::ldexp(static_cast<T>(static_cast<std::int32_t>(z >> 32)), static_cast<int>(z % 41) - 20);
}
template <class T>
addends<T> floats(datatype type) { return {take(find_reduction(type, operation::sum), "sum"), scattered<T>}; }

struct half {  // by its bits: 2^-5 to 2^6, of either sign
  std::uint16_t bits;
};
addends<half> halves() {
  return {take(find_reduction(datatype::float16, operation::sum), "sum"), [](std::uint32_t rank, std::size_t i) {
            const std::uint64_t z = draw(rank, i);
            return half{static_cast<std::uint16_t>((z >> 63) << 15 | (10 + (z >> 40) % 11) << 10 | (z >> 20 & 0x3ff))};
          }};
}

// x -> ax + b with rounding: the order of the ranks shows as well.
struct rounded_map {
  float a, b;
};
void compose_rounded(const void* in, void* inout, std::size_t count, void*) {
  for (std::size_t i = 0; i < count; ++i) {
    const rounded_map first = static_cast<const rounded_map*>(in)[i];
    rounded_map& second = static_cast<rounded_map*>(inout)[i];
    second = {first.a * second.a, first.b * second.a + second.b};
  }
}
addends<rounded_map> maps() {
  return {take(user_reduction(compose_rounded, sizeof(rounded_map), false, nullptr), "user"), [](std::uint32_t rank, std::size_t i) {
            return rounded_map{1 + std::ldexp(static_cast<float>(draw(rank, i) >> 40), -24), scattered<float>(rank, i)};
          }};
}

// The canonical tree, as collectives/doubling.h describes it: pairs of the first ranks, and then groups of 1, 2, 4, ...
template <class T>
T canonical_sum(const addends<T>& a, std::uint32_t n, std::size_t i) {
  const std::uint32_t pairs = n - std::bit_floor(n);
  std::vector<T> sums;
  for (std::uint32_t rank = 0; rank < n; ++rank)
    if (rank < 2 * pairs && rank % 2 == 1) sums.back() = a.sum(sums.back(), a.of(rank, i));
    else sums.push_back(a.of(rank, i));
  for (; sums.size() > 1; sums.resize(sums.size() / 2))
    for (std::size_t k = 0; 2 * k < sums.size(); ++k) sums[k] = a.sum(sums[2 * k], sums[2 * k + 1]);
  return sums[0];
}

// Hillis and Steele's: of the 1, 2, 4, ... ranks up to each, and of those before it.
template <class T>
T canonical_scan(const addends<T>& a, std::uint32_t n, std::uint32_t rank, bool inclusive, std::size_t i) {
  std::vector<T> sums(n);
  for (std::uint32_t r = 0; r < n; ++r) sums[r] = a.of(r, i);
  T before{};
  for (std::uint32_t distance = 1; distance < n; distance *= 2) {
    if (rank >= distance) before = distance == 1 ? sums[rank - 1] : a.sum(sums[rank - distance], before);
    for (std::uint32_t r = n; r-- > distance;) sums[r] = a.sum(sums[r - distance], sums[r]);
  }
  return inclusive ? sums[rank] : before;
}

// Empty where this rank has no result.
template <class T>
std::vector<T> sums_on(communicator& team, const addends<T>& a, collective of, std::size_t count) {
  const std::uint32_t me = team.group().index(), n = team.group().size();
  const outcome wanted(of, me, n, 1 % n, count);
  std::vector<T> in(of == collective::reduce_scatter ? count * n : count), out(count);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = a.of(me, i);
  require(team.run({.of = of, .root = 1 % n, .bytes = count * sizeof(T), .in = reinterpret_cast<const std::byte*>(in.data()),
                    .out = reinterpret_cast<std::byte*>(out.data()), .op = a.op}), "call");
  if (!wanted.any) out.clear();
  return out;
}

template <class T>
void expect_canonical(communicator& team, const addends<T>& a, collective of, std::size_t count) {
  const std::uint32_t me = team.group().index(), n = team.group().size();
  const std::vector<T> sums = sums_on(team, a, of, count);
  const std::size_t first = of == collective::reduce_scatter ? me * count : 0;
  const bool scans = of == collective::scan || of == collective::exscan;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const T expected = scans ? canonical_scan(a, n, me, of == collective::scan, i) : canonical_sum(a, n, first + i);
    require(std::memcmp(&sums[i], &expected, sizeof expected) == 0, std::string(name_of(of)) + " of " + std::string(name_of(a.op.type)) +
                ", element " + std::to_string(i) + " of " + std::to_string(count));
  }
}

void add_reproducibly(rank_env& env) {
  auto j = open_job(env);
  for (const collective of : all_that_reduce)
    for (const std::string& name : names(of)) {
      const algorithm* const a = find_algorithm(of, name);
      if (!name.empty() && !(a && a->canonical)) continue;
      communicator_options o = using_algorithm(of, name);
      o.reproducible = true;
      auto team = take(communicator::world(*j, o), "world");
      for (const std::size_t count : {1u, 3000u}) expect_canonical(*team, floats<float>(datatype::float32), of, count);
      expect_canonical(*team, floats<double>(datatype::float64), of, 40);
      expect_canonical(*team, halves(), of, 40);
      expect_canonical(*team, maps(), of, 40);
      require(team->group().settle(), "leaving");
      team.reset();
      env.barrier();
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(reproducible_sums_have_the_same_bits_everywhere) {
  const run_options limits{.timeout = std::chrono::seconds(60) * time_scale};
  for (const std::uint32_t n : {2u, 3u, 4u, 5u, 7u, 8u, 12u, 16u, 21u})
    for (const std::uint32_t per_node : {1u, 2u, n}) {
      sim::parameters p;
      p.ranks = n, p.ranks_per_node = per_node, p.maps_node = per_node == n;
      const auto report = try_ranks_simulated(p, add_reproducibly, limits);
      BOOST_TEST(report.passed(), n << " ranks, " << per_node << " a node: " << report.text());
    }
  for (const fabric_spec& f : wanted_fabrics()) run_ranks(f, 5, add_reproducibly, limits);
}

// What the test above would say of a row that groups operands in a way of its own, and that such a row is refused.
BOOST_AUTO_TEST_CASE(rows_of_another_order_are_not_reproducible) {
  const auto report = try_ranks_simulated(sim_parameters({"sim"}, 5, 5), [](rank_env& env) {
    auto j = open_job(env);
    auto by_ring = take(communicator::world(*j, using_algorithm(collective::allreduce, "ring")), "world");
    const addends<float> a = floats<float>(datatype::float32);
    const std::vector<float> sums = sums_on(*by_ring, a, collective::allreduce, 3000);
    require(by_ring->group().settle(), "leaving");
    by_ring.reset();
    env.barrier();
    std::size_t differ = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) differ += sums[i] != canonical_sum(a, 5, i);
    require(differ > 100, "sums that differ");
    communicator_options o = using_algorithm(collective::allreduce, "ring");
    o.reproducible = true;
    auto team = take(communicator::world(*j, o), "world");
    const float in = 1;
    float out = 0;
    const status s = team->run({.of = collective::allreduce, .bytes = sizeof in, .in = reinterpret_cast<const std::byte*>(&in),
                                .out = reinterpret_cast<std::byte*>(&out), .op = take(find_reduction(datatype::float32, operation::sum), "sum")});
    require(s.code() == errc::unsupported && std::string(s.text()).find("TUTTI_REPRODUCIBLE") != std::string::npos, s.text());
    require(team->group().settle(), "leaving");
    env.barrier();
  }, {.timeout = std::chrono::seconds(60) * time_scale});
  BOOST_TEST(report.passed(), report.text());
}

// All under way at once, of both kinds and with broadcasts between, in a team and in one of its parts.
BOOST_AUTO_TEST_CASE(many_at_once) {
  for (const std::uint32_t n : {1u, 2u, 5u, 8u}) {
    const auto report = try_ranks_simulated(sim_parameters({"sim:wild"}, n, n), [&](rank_env& env) {
      auto j = open_job(env);
      auto world = take(communicator::world(*j, {}), "world");
      auto part = take(world->split(static_cast<std::int32_t>(env.rank % 2), 0, {}), "split");
      const calls ops;
      struct under_way {
        communicator* team;
        std::uint64_t request;
        std::vector<affine> in, out, expected;
      };
      constexpr std::size_t counts[] = {1, 5000, 0, 40, 20000, 3};
      for (std::uint64_t round = 0; round < 3; ++round) {
        std::vector<std::unique_ptr<under_way>> all;
        for (std::uint64_t k = 0; k < 18; ++k) {
          communicator* const team = k % 3 ? world.get() : part.get();
          const std::uint32_t size = team->group().size(), me = team->group().index();
          const std::size_t count = counts[(k + round) % std::size(counts)];
          const auto root = static_cast<std::uint32_t>((k * 3 + round) % size);
          auto& u = *all.emplace_back(std::make_unique<under_way>());
          u.team = team, u.in.resize(count), u.out.resize(count);
          for (std::size_t i = 0; i < count; ++i) u.in[i] = operand(k, me, i);
          if (env.random() % 3 == 0) env.pause(std::chrono::microseconds(env.random() % 50));
          const bool commutes = k % 2;
          if (k % 5 == 4) {
            u.out = u.in, u.expected = calls::expected(true, k, 1, count);
            for (std::size_t i = 0; i < count; ++i) u.expected[i] = operand(k, root, i);
            u.request = take(team->start({.root = root, .bytes = count * sizeof(affine), .out = reinterpret_cast<std::byte*>(u.out.data())}), "start");
            continue;
          }
          const collective of = k % 4 == 0 ? collective::reduce : collective::allreduce;
          if (of == collective::allreduce || root == me) u.expected = calls::expected(commutes, k, size, count);
          else u.expected = u.out;
          u.request = take(team->start(call_of(of, commutes ? ops.sum : ops.ordered, root, u.in, u.out)), "start");
        }
        for (std::size_t k = 0; k < all.size(); ++k) {
          under_way& u = *all[env.rank % 2 ? k : all.size() - 1 - k];
          require(u.team->data().wait(u.request), "wait");
          require(u.out == u.expected, "result");
        }
      }
      require(part->finish(), "all of the part");
      require(world->finish(), "all");
      require(part->group().settle(), "leaving the part");
      require(world->group().settle(), "leaving");
    }, {.timeout = std::chrono::seconds(60) * time_scale, .seed = n});
    BOOST_TEST(report.passed(), n << " ranks: " << report.text());
  }
}

// Rank 0 starts its first operation of each kind long before anybody else calls, and is not held up by what is made for it.
BOOST_AUTO_TEST_CASE(the_first_use_does_not_block) {
  for (const char* fabric : {"sim", "shm"}) {
    const auto first = [](rank_env& env) {
      auto j = open_job(env);
      auto team = take(communicator::world(*j, {}), "world");
      const calls ops;
      std::vector<affine> in(10), out(10);
      std::vector<std::byte> data(100000);
      std::vector<std::uint64_t> requests;
      const auto start = [&] {
        requests.push_back(take(team->start({.bytes = data.size(), .out = data.data()}), "broadcast"));
        requests.push_back(take(team->start(call_of(collective::allreduce, ops.sum, 0, in, out)), "allreduce"));
        requests.push_back(take(team->start(call_of(collective::reduce, ops.ordered, 1, in, out)), "reduce"));
      };
      if (env.rank == 0) start();
      require(env.rank != 0 || !team->data().test(requests[0]), "nobody else has called");
      env.barrier();  // which rank 0 would not reach
      if (env.rank != 0) start();
      for (const std::uint64_t r : requests) require(team->data().wait(r), "wait");
      require(team->group().settle(), "leaving");
      env.barrier();
    };
    const run_options limits{.timeout = std::chrono::seconds(20) * time_scale};
    const auto report = std::string(fabric) == "shm" ? try_ranks({"shm"}, 4, first, limits)
                                                     : try_ranks_simulated(sim_parameters({fabric}, 4, 4), first, limits);
    BOOST_TEST(report.passed(), fabric << ": " << report.text());
  }
}

// A call that is given up while it is prepared ends by its deadline in each, and no later one takes its messages for its own.
BOOST_AUTO_TEST_CASE(a_deadline_while_it_is_prepared) {
  const auto report = try_ranks_simulated(sim_parameters({"sim"}, 4, 4), [](rank_env& env) {
    auto j = open_job(env);
    auto team = take(communicator::world(*j, {}), "world");
    const calls ops;
    std::vector<affine> in(10), out(10);
    const auto call = call_of(collective::allreduce, ops.sum, 0, in, out);
    if (env.rank == 3) env.pause(std::chrono::seconds(2));
    const status s = team->run(call, env.net().now() + (std::chrono::seconds(env.rank == 3 ? 10 : 1)));
    require(s.failed(), "given up");
    require(env.rank == 3 || s.code() == errc::timed_out || s.peer() != no_rank, s.text());
    require(team->run(call).failed(), "for ever");
    require(window::open(team->group(), {nullptr, 64}).error().failed(), "and so the team");
    env.barrier();
  }, {.timeout = std::chrono::seconds(60) * time_scale});
  BOOST_TEST(report.passed(), report.text());
}

// One member gives another operation, type, number of bytes, root or collective: all are told who and what.
BOOST_AUTO_TEST_CASE(what_differs_is_named) {
  const calls ops;
  const reduction greatest = take(find_reduction(datatype::uint64, operation::max), "max");
  const reduction signed_sum = take(find_reduction(datatype::int64, operation::sum), "sum");
  struct difference {
    const char* what;
    collective of;
    const reduction& op;
    std::uint32_t root;
    std::size_t count;
  };
  const difference usual{"(sum of uint64)", collective::reduce, ops.sum, 1, 8};
  const difference others[] = {{"(max of uint64)", collective::reduce, greatest, 1, 8},
                               {"(sum of int64)", collective::reduce, signed_sum, 1, 8},
                               {"with root 2", collective::reduce, ops.sum, 2, 8},
                               {"1600 bytes", collective::reduce, ops.sum, 1, 100},
                               {"an allreduce", collective::allreduce, ops.sum, 1, 8}};
  for (const difference& other : others)
    for (const bool later : {false, true})
      for (const char* fabric : {"sim", "shm"}) {
        const auto differ = [&](rank_env& env) {
          auto j = open_job(env);
          auto team = take(communicator::world(*j, {}), "world");
          std::vector<affine> in(100), out(100);
          const auto made = [&](const difference& d) {
            in.resize(d.count), out.resize(d.count);
            return team->run(call_of(d.of, d.op, d.root, in, out), env.net().now() + std::chrono::seconds(30) * time_scale);
          };
          if (later) require(made(usual), "while all agree");
          status s = made(env.rank == 3 ? other : usual);
          for (int i = 0; i < 100 && s.ok(); ++i) s = made(usual);
          const std::string text = s.text();
          require(s.code() == errc::protocol && text.find(other.what) != std::string::npos, "no error, or another: " + text);
          env.barrier();
        };
        const run_options limits{.timeout = std::chrono::seconds(60) * time_scale};
        const auto report = std::string(fabric) == "shm" ? try_ranks({"shm"}, 5, differ, limits)
                                                         : try_ranks_simulated(sim_parameters({fabric}, 5, 5), differ, limits);
        BOOST_TEST(report.passed(), other.what << (later ? ", later" : "") << ", " << fabric << ": " << report.text());
      }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused) {
  choice_inputs in;
  in.ranks = 4, in.bytes = 8, in.commutative = false;
  in.network = in.node = {1, 0.2, 0.1, 10};
  for (const candidate& c : take(choose(collective::allreduce, in), "choice"))
    BOOST_TEST(c.runnable == (!c.row->needs.commutative && !c.row->needs.mapped && !c.row->needs.multicast), c.row->name);
  in.wanted.name = "ring";
  const auto forced = choose(collective::allreduce, in);
  BOOST_TEST((forced.error().code() == errc::unsupported));
  BOOST_TEST(std::string(forced.error().text()).find("not commutative") != std::string::npos);

  run_ranks({"shm"}, 3, [](rank_env& env) {
    auto j = open_job(env);
    auto team = take(communicator::world(*j, {}), "world");
    constexpr std::size_t longest = 1 << 30;  // that one operation of this fabric moves
    std::byte unused[1];
    const auto first = [](const void*, void*, std::size_t, void*) {};
    const collective_call c{.of = collective::allreduce, .bytes = longest + 1, .in = unused, .out = unused,
                            .op = take(user_reduction(first, longest + 1, true, nullptr), "user")};
    const status s = team->run(c);
    require(s.code() == errc::unsupported && std::string(s.text()).find("1073741825 bytes") != std::string::npos, s.text());
    env.barrier();
  });
}

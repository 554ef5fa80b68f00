// What has a block for each member (gather, scatter, allgather, alltoall, and with unlike lengths alltoallv with what it carries
// out): every algorithm, in any size of team, in place and not; random programs of all collectives, several under way on teams
// that overlap, against a sequential model; and deaths in the middle of every collective.
// blocks [Boost.Test's options] [-- --fabric NAME --ranks N]: on_every_fabric on this one alone, in teams of N.
// blocks --run_test=random_programs -- [--seeds K] [--from S] [--fabric NAME]: K of them, the first of seed S, on the simulated fabrics or
// on this one.
#include <boost/test/unit_test.hpp>

#include <numeric>

#include "core/engine/move_watch.h"
#include "core/transport/forwarding_transport.h"
#include "tests/collectives/affine.h"
#include "tests/collectives/rows.h"
#include "tests/harness/lists.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr collective with_blocks[] = {collective::gather, collective::scatter, collective::allgather, collective::alltoall,
                                      collective::alltoallv};
// Of an alltoallv.
constexpr call_kind names_of_v[] = {call_kind::none, kind_of_gatherv, kind_of_scatterv, kind_of_neighbor_alltoall, kind_of_neighbor_allgather};

// Which bytes a member gives another in a call. What goes to several of them is the same for all.
std::byte given(std::uint64_t call, std::uint32_t from, std::uint32_t to, std::size_t i) {
  return static_cast<std::byte>(((call * 131 + from) * 31 + to) * 7 + i * 13 + (i >> 8) * 5);
}
constexpr std::byte untouched{0xa5};

// Any grouping of operands gives the same bits; floats are small integers. The last one is not commutative.
struct arithmetic_case {
  datatype type;
  operation op;
};
constexpr arithmetic_case arithmetics[] = {
    {datatype::uint64, operation::sum},        {datatype::int32, operation::min},   {datatype::uint8, operation::bitwise_xor},
    {datatype::int16, operation::product},     {datatype::float64, operation::sum}, {datatype::float32, operation::max},
    {datatype::int32_int32, operation::minloc}, {datatype::float16, operation::sum}, {datatype::bytes, operation::user}};

reduction reduction_of(const arithmetic_case& a) {
  if (a.op == operation::user) return take(user_reduction(compose, sizeof(affine), false, nullptr), "user's operation");
  return take(find_reduction(a.type, a.op), "operation");
}

void put_operand(const arithmetic_case& a, std::uint64_t call, std::uint32_t rank, std::size_t i, std::byte* at) {
  constexpr std::uint16_t small_float16[] = {0, 0x3c00, 0x4000, 0x4200};  // 0 to 3
  const affine map = operand(call, rank, i);
  const std::uint64_t z = map.b;
  const auto put = [&](const auto& v) { std::memcpy(at, &v, sizeof v); };
  switch (a.type) {
    case datatype::bytes: return put(map);
    case datatype::float16: return put(small_float16[z % 4]);
    case datatype::float32: return put(static_cast<float>(z % 1000));
    case datatype::float64: return put(static_cast<double>(z % 1000));
    case datatype::int32_int32: return put(std::array{static_cast<std::int32_t>(z % 3), static_cast<std::int32_t>(z >> 40)});
    default: std::memcpy(at, &z, size_of(a.type));
  }
}

// Who gives whom how much. Lengths are a function of what all members know, so each can tell its own.
struct traffic {
  collective of;
  std::uint64_t call;
  std::uint32_t size, root;
  std::size_t bytes;             // of a block
  call_kind as = call_kind::none;
  bool unlike = false;
  arithmetic_case arithmetic = arithmetics[0];

  std::size_t drawn(std::uint32_t pair, std::size_t usual) const {
    const std::uint64_t z = (call * 1000003 + pair + 1) * 0x9e3779b97f4a7c15u;
    return (z >> 60) < 5 ? 0 : (z >> 33) % (2 * usual + 1);
  }
  std::size_t length(std::uint32_t from, std::uint32_t to) const {
    if (of == collective::gather || as == kind_of_gatherv) { if (to != root) return 0; }
    if (of == collective::scatter || as == kind_of_scatterv) { if (from != root) return 0; }
    if ((as == kind_of_neighbor_alltoall || to_all_neighbors()) && (from + 1) % size != to && (to + 1) % size != from) return 0;
    if (!unlike || to_all_neighbors()) return bytes;
    return drawn(of == collective::allgather ? from : from * size + to, bytes);
  }
  std::size_t elements_to(std::uint32_t to, std::size_t usual) const { return unlike ? drawn(to, usual) : usual; }
  bool to_all_neighbors() const { return as == kind_of_neighbor_allgather; }
  std::uint32_t content_to(std::uint32_t to) const { return of == collective::allgather || to_all_neighbors() ? 0 : to; }
};

struct member_call {
  std::vector<std::byte> in, out, expected;
  collective_call call;
};

member_call make_call(const traffic& t, std::uint32_t me, bool in_place) {
  member_call m;
  const bool one_in = t.of == collective::gather || t.of == collective::allgather, one_out = t.of == collective::scatter;
  block_lists lists;
  const auto add = [&](std::vector<std::byte>& to, std::uint32_t a, std::uint32_t b, std::size_t room) {
    const std::size_t n = t.length(a, b), at = to.size();
    to.resize(at + std::max(n, room), untouched);
    for (std::size_t i = 0; i < n; ++i) to[at + i] = given(t.call, a, t.content_to(b), i);
  };
  const std::size_t room = t.unlike || t.of == collective::alltoallv ? 0 : t.bytes;
  if (one_in) {
    add(m.in, me, t.of == collective::gather ? t.root : 0, 0);
  } else if (t.of != collective::scatter || me == t.root) {
    for (std::uint32_t to = 0; to < t.size; ++to) {
      const bool again = t.to_all_neighbors() && !m.in.empty();  // the one block
      lists.in_begins.push_back(again ? 0 : m.in.size()), lists.in_lengths.push_back(t.length(me, to));
      if (!again) add(m.in, me, to, room);
      if (t.unlike && !t.to_all_neighbors()) m.in.resize(m.in.size() + to % 3, untouched);
    }
  }
  if (one_out) add(m.expected, t.root, me, 0);
  else if (t.of != collective::gather || me == t.root)
    for (std::uint32_t from = 0; from < t.size; ++from) {
      lists.out_begins.push_back(m.expected.size()), lists.out_lengths.push_back(t.length(from, me));
      add(m.expected, from, me, room);
      if (t.unlike) m.expected.resize(m.expected.size() + from % 2, untouched);
    }
  m.out.assign(m.expected.size(), untouched);
  m.call = {.of = t.of, .root = t.root, .bytes = t.bytes, .in = m.in.data(), .out = m.out.data(), .as = t.as};
  if (in_place && (one_in || t.as == kind_of_gatherv) && (t.of == collective::allgather || me == t.root)) {
    const std::size_t at = lists.out_begins[me], from = one_in ? 0 : lists.in_begins[me];
    std::copy_n(m.in.begin() + static_cast<std::ptrdiff_t>(from), t.length(me, me), m.out.begin() + static_cast<std::ptrdiff_t>(at));
    m.call.in = m.out.data() + at;
    lists.in_begins.assign(t.size, 0);
  } else if (in_place && (one_out || t.as == kind_of_scatterv) && me == t.root) {
    m.call.out = m.in.data() + lists.in_begins[me];
    m.out = m.expected;
    lists.out_begins.assign(t.size, 0);
  } else if (in_place && t.of == collective::alltoall) {
    m.out = m.in;
    m.call.in = m.out.data();
  }
  if (!t.unlike && t.of != collective::alltoallv) return m;
  if (one_in) lists.in_lengths.clear(), lists.in_begins.clear();
  m.call.bytes = 0;
  for (const auto* list : {&lists.in_lengths, &lists.out_lengths})
    for (const std::uint64_t n : *list) m.call.bytes = std::max(m.call.bytes, n);
  m.call.lists = std::make_shared<const block_lists>(std::move(lists));
  return m;
}

// The result is what the operation makes of the operands, one rank's after the other's.
member_call make_reduction(const traffic& t, std::uint32_t me, bool in_place) {
  member_call m;
  const reduction op = reduction_of(t.arithmetic);
  const std::size_t element = op.element_size, count = t.bytes / element;
  const bool scatters = t.of == collective::reduce_scatter;
  block_lists lists;
  std::size_t whole = 0, first = 0, mine = count, longest = 0;
  for (std::uint32_t to = 0; scatters && to < t.size; ++to) {
    const std::size_t n = t.elements_to(to, count);
    lists.in_begins.push_back(whole * element), lists.in_lengths.push_back(n * element);
    longest = std::max(longest, n);
    if (to == me) first = whole, mine = n;
    whole += n + (t.unlike ? to % 2 : 0);
  }
  if (!scatters) whole = longest = count;
  const auto operands = [&](std::uint32_t rank, std::size_t from, std::size_t n) {
    std::vector<std::byte> out(n * element);
    for (std::size_t i = 0; i < n; ++i) put_operand(t.arithmetic, t.call, rank, from + i, &out[i * element]);
    return out;
  };
  const std::uint32_t ranks = t.of == collective::scan ? me + 1 : t.of == collective::exscan ? me : t.size;
  const bool any = ranks > 0 && (t.of != collective::reduce || me == t.root);
  m.in = operands(me, 0, whole);
  if (in_place) m.out = m.in;
  else m.out.assign(mine * element, untouched);
  m.expected = m.out;
  const std::size_t at = in_place ? first * element : 0;
  for (std::uint32_t r = ranks; any && r-- > 0;) {
    const std::vector<std::byte> next = operands(r, first, mine);
    std::byte* const sum = m.expected.data() + at;
    if (r + 1 == ranks) std::ranges::copy(next, sum);
    else op.combine(next.data(), sum, mine);
  }
  m.call = {.of = t.of, .root = t.root, .bytes = longest * element, .in = in_place ? m.out.data() : m.in.data(),
            .out = m.out.data() + at, .op = op};
  if (t.unlike) m.call.lists = std::make_shared<const block_lists>(std::move(lists));
  return m;
}

// The same of what has no blocks, and of what reduces.
member_call any_call(const traffic& t, std::uint32_t me, bool in_place) {
  if (reduces(t.of)) return make_reduction(t, me, in_place);
  if (has_block_each(t.of)) return make_call(t, me, in_place);
  member_call m;
  for (std::size_t i = 0; i < t.bytes; ++i) m.expected.push_back(given(t.call, t.root, 0, i));
  m.out = me == t.root ? m.expected : std::vector<std::byte>(t.bytes, untouched);
  m.call = {.root = t.root, .bytes = t.bytes, .out = m.out.data()};
  return m;
}

void play(rank_env& env, collective of, const std::string& name, std::span<const std::size_t> lengths) {
  auto j = open_job(env);
  if (!can_run(row_of(of, name), env, *j)) return env.barrier();
  auto team = take(communicator::world(*j, using_algorithm(of, name)), "world");
  std::uint64_t number = 0;
  for (int again = 0; again < 2; ++again)
    for (const std::size_t bytes : lengths)
      for (const bool unlike : {false, true})
        for (const bool in_place : {false, true})
          for (const call_kind as : names_of_v) {
            if (of != collective::alltoallv && as != call_kind::none) continue;
            if (unlike && ((of != collective::alltoallv && of != collective::allgather) || row_of(of, name).needs.alike)) continue;
            if (of == collective::alltoallv && in_place && as != kind_of_gatherv && as != kind_of_scatterv) continue;
            const traffic t{of, ++number, env.size, static_cast<std::uint32_t>(number * 5 % env.size), bytes, as, unlike};
            member_call m = make_call(t, env.rank, in_place);
            const std::vector<std::byte> before = m.in;
            if (env.random() % 4 == 0) env.pause(std::chrono::microseconds(env.random() % 100));
            require(team->run(m.call), "call");
            require(m.out == m.expected, "result of call " + std::to_string(number) + ", blocks of " + std::to_string(bytes) + " bytes");
            require(m.in == before, "what was given is left alone");
          }
  require(team->group().settle(), "leaving");
  team.reset();
  env.barrier();
}

constexpr std::size_t few[] = {1, 0, 48, 49, 100, 5000, 3};
constexpr std::size_t many[] = {8, 0, 40000, 300000, 7};

}  // namespace

BOOST_AUTO_TEST_CASE(on_simulated_fabrics) {
  on_simulated_fabrics_by_each(with_blocks, [](rank_env& env, collective of, const std::string& name) { play(env, of, name, few); });
}

BOOST_AUTO_TEST_CASE(on_every_fabric) {
  on_every_fabric_by_each(with_blocks, [](rank_env& env, collective of, const std::string& name) { play(env, of, name, many); });
}

namespace {

// A member dies right after any of the operations that it submits, those of the first use included. A call of a survivor that
// succeeds has its result; one of the next calls, and each after that, names the dead. The survivors' own team goes on.
struct doing {
  const char* name;
  collective of;
  call_kind as = call_kind::none;
};
constexpr doing every_kind[] = {{"broadcast", collective::broadcast}, {"reduce", collective::reduce}, {"allreduce", collective::allreduce},
                                {"reduce_scatter", collective::reduce_scatter}, {"scan", collective::scan},
                                {"exscan", collective::exscan}, {"gather", collective::gather}, {"scatter", collective::scatter},
                                {"allgather", collective::allgather}, {"alltoall", collective::alltoall},
                                {"alltoallv", collective::alltoallv}, {"gatherv", collective::alltoallv, kind_of_gatherv},
                                {"scatterv", collective::alltoallv, kind_of_scatterv},
                                {"neighbor_alltoall", collective::alltoallv, kind_of_neighbor_alltoall}};

class mortal_transport final : public forwarding_transport {
 public:
  mortal_transport(std::unique_ptr<transport> inner, rank_env& env) : forwarding_transport(std::move(inner)), env_(env) {}
  std::size_t submit(std::span<const rma_op> ops) noexcept override {
    const std::size_t taken = inner().submit(ops.first(std::min<std::size_t>(ops.size(), last - done)));
    if ((done += taken) == last) env_.die();
    return taken;
  }
  std::uint64_t done = 0, last = ~std::uint64_t{0};

 private:
  rank_env& env_;
};

// The victim dies after `step` operations in the middle of some calls; 0: it lives. Gives how many it submitted in these.
std::uint64_t run_until_death(const doing& d, const std::string& name, std::uint32_t victim, std::uint64_t step) {
  constexpr std::uint32_t n = 5, root = 1;
  constexpr std::uint64_t calls = 3, of_survivors = 30;
  sim::parameters p;
  p.ranks = n, p.notice_us = 100, p.maps_node = true, p.ranks_per_node = n;
  const shared_words submitted(1);
  const auto report = try_ranks_simulated(p, [&](rank_env& env) {
    mortal_transport* net = nullptr;
    env.wrap([&](auto inner) {
      auto made = std::make_unique<mortal_transport>(std::move(inner), env);
      return net = made.get(), std::move(made);
    });
    auto j = open_job(env);
    auto world = take(communicator::world(*j, using_algorithm(d.of, name)), "world");
    auto others = take(world->split(env.rank == victim, 0, {}), "split");
    const std::uint64_t before = net->done;
    if (env.rank == victim && step > 0) net->last = before + step;
    status s;
    for (std::uint64_t call = 1; s.ok() && call <= (step > 0 ? of_survivors : calls); ++call) {
      member_call m = any_call({d.of, call, n, root, call % 2 ? 40u : 200000u, d.as}, env.rank, false);
      s = world->run(m.call);
      require(s.failed() || m.out == m.expected, "result of call " + std::to_string(call));
    }
    if (step == 0) {
      require(s, "while all live");
      if (env.rank == victim) submitted[0] = net->done - before;
      return env.barrier();
    }
    if (env.rank == victim) env.die();
    member_call m = any_call({d.of, 1, n, root, 40, d.as}, env.rank, false);
    require(s.code() == errc::peer_dead && s.peer() == victim, "a call names the dead: " + std::string(s.text()));
    require(world->run(m.call).code() == errc::peer_dead, "from then on");
    m = any_call({d.of, 2, n - 1, root, 30000, d.as}, others->group().index(), false);
    require(others->run(m.call), "without the dead");
    require(m.out == m.expected, "result without the dead");
  }, {.to_die = step > 0 ? std::vector<rank_t>{victim} : std::vector<rank_t>{}});
  BOOST_TEST(report.passed(), d.name << " by " << name << ", " << victim << " dies after " << step << " operations: " << report.text());
  return submitted[0];
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_death_is_named) {
  std::uint64_t turn = 0;
  one_in some(3);
  for (const doing& d : every_kind)
    for (const std::string& name : names(d.of))
      for (const std::uint32_t victim : {1u, 0u, 2u, 4u}) {
        if (!some()) continue;
        const std::uint64_t steps = run_until_death(d, name, victim, 0);
        const std::uint64_t stride = std::max<std::uint64_t>(1, steps / 4);
        for (std::uint64_t step = 1 + turn++ % stride; step <= steps; step += stride) run_until_death(d, name, victim, step);
      }
}

namespace {

class copy_count final : public move_watch {
 public:
  copy_count() { watching_moves = this; }
  ~copy_count() { watching_moves = nullptr; }
  void moved(std::uint64_t n, bool) noexcept override { bytes += n; }
  std::uint64_t bytes = 0;
};

}  // namespace

// In one call some pairs exchange blocks of an alltoallv out of each other's own memory, where that pays, and others through slots.
BOOST_AUTO_TEST_CASE(long_blocks_come_out_of_the_givers_memory_and_short_ones_through_slots) {
  constexpr std::size_t long_bytes = 1 << 20, short_bytes = 100'000;
  const auto report = try_ranks({"shm"}, 4, [](rank_env& env) {
    auto j = open_job(env);
    auto team = take(communicator::world(*j, {}), "world");
    const auto length = [](std::size_t from, std::size_t to) { return (from + to) % 2 ? long_bytes : from < to ? short_bytes : 0; };
    block_lists lists;
    std::vector<std::byte> in, expected;
    std::uint64_t through_slots = 0;
    for (rank_t other = 0; other < env.size; ++other) {
      lists.in_begins.push_back(in.size()), lists.in_lengths.push_back(length(env.rank, other));
      for (std::size_t i = 0; i < length(env.rank, other); ++i) in.push_back(given(1, env.rank, other, i));
      lists.out_begins.push_back(expected.size()), lists.out_lengths.push_back(length(other, env.rank));
      for (std::size_t i = 0; i < length(other, env.rank); ++i) expected.push_back(given(1, other, env.rank, i));
      if (length(other, env.rank) < long_bytes) through_slots += length(other, env.rank);
    }
    std::vector<std::byte> out(expected.size());
    const collective_call call{.of = collective::alltoallv, .bytes = long_bytes, .in = in.data(), .out = out.data(),
                               .lists = std::make_shared<const block_lists>(std::move(lists))};
    for (int again = 0; again < 20; ++again) {
      std::ranges::fill(out, untouched);
      const copy_count copied;
      require(team->run(call), "call");
      require(out == expected, "result");
      const auto best = take(team->data().choices().candidates(call.of, long_bytes), "candidates").front();
      require_equal(copied.bytes, best.row->data.exposes ? through_slots : expected.size(), "bytes that were copied here");
    }
    require(team->group().settle(), "leaving");
    env.barrier();
  });
  BOOST_TEST(report.passed(), report.text());
}

// Two members of a pair that expect unlike lengths of each other are told so.
BOOST_AUTO_TEST_CASE(unlike_lengths_of_a_pair_are_named) {
  const auto report = try_ranks_simulated(sim_parameters({"sim"}, 3, 3), [](rank_env& env) {
    auto j = open_job(env);
    auto team = take(communicator::world(*j, {}), "world");
    const traffic t{collective::alltoallv, 1, env.size, 0, 100};
    member_call m = make_call(t, env.rank, false);
    if (env.rank == 2) {
      block_lists lists = *m.call.lists;
      lists.out_lengths[1] = 60;
      m.call.lists = std::make_shared<const block_lists>(lists);
    }
    const status s = team->run(m.call);
    require(env.rank == 0 || s.code() == errc::protocol, "an error: " + std::string(s.text()));
    env.barrier();
  }, {.timeout = std::chrono::seconds(60) * time_scale});
  BOOST_TEST(report.passed(), report.text());
}

// Also where one of them alone takes the block for a long one, and no block comes back that would tell.
BOOST_AUTO_TEST_CASE(a_block_that_is_long_to_one_member_alone_is_named) {
  for (const bool root_errs : {false, true}) {
    const auto report = try_ranks({"shm"}, 4, [&](rank_env& env) {
      auto j = open_job(env);
      auto team = take(communicator::world(*j, {}), "world");
      for (std::uint64_t call = 1; call <= 3; ++call) {
        member_call m = make_call({collective::alltoallv, call, env.size, 0, 1 << 20, kind_of_scatterv}, env.rank, false);
        if (call == 3 && env.rank == (root_errs ? 0u : 2u)) {
          block_lists lists = *m.call.lists;
          (root_errs ? lists.in_lengths[2] : lists.out_lengths[0]) = 60;
          m.call.lists = std::make_shared<const block_lists>(lists);
        }
        const status s = team->run(m.call);
        if (call < 3) require(s, "call");
        else require(s.code() == errc::protocol || (env.rank % 2 == 1 && s.ok()), "an error: " + std::string(s.text()));
      }
      env.barrier();
    }, {.timeout = std::chrono::seconds(60) * time_scale});
    BOOST_TEST(report.passed(), (root_errs ? "the root errs: " : "rank 2 errs: ") << report.text());
  }
}

namespace {

// Calls of all kinds, blocking and not, some of them made several times with the same arguments, on a team and on one of its halves: a
// function of the seed that all members go through alike. Each result is compared with the model, and what was given is left alone. In
// some programs algorithms are asked for by name, results are reproducible, calls try candidates by turns, or the job takes a few
// ranks for a node.
void play_program(rank_env& env, std::uint32_t seed) {
  constexpr std::size_t lengths[] = {0, 1, 8, 48, 49, 400, 3000, 70000};
  std::mt19937 program(seed);
  const auto pick = [&](std::size_t many_of) { return program() % many_of; };
  host_id host{};
  host[0] = static_cast<std::byte>(1 + env.rank / (1 + pick(env.size)));
  auto j = open_job(env, {}, host);
  communicator_options o;
  const bool by_name = pick(2);
  for (unsigned c = 1; c < collectives; ++c) {
    const auto of = static_cast<collective>(c);
    const std::vector<std::string> all = names(of);
    const std::string& name = all[pick(all.size())];
    if (by_name && can_run(row_of(of, name), env, *j)) o.wanted(of) = name;
  }
  o.reproducible = !by_name && pick(4) == 0;
  if (pick(3) == 0) o.online = tuning::online_settings{.one_in = 1, .setup = 0, .exchange = 0};
  auto world = take(communicator::world(*j, o), "world");
  auto part = take(world->split(static_cast<std::int32_t>(env.rank % 2), -static_cast<std::int32_t>(env.rank), {}), "split");
  struct under_way {
    communicator* team;
    std::string what;
    std::uint64_t request;
    member_call m;
    std::vector<std::byte> in, out;   // as they were before
    void check() const {
      require(m.out == m.expected, "result of " + what);
      require(m.in == in, "what was given is left alone by " + what);
    }
  };
  std::vector<std::unique_ptr<under_way>> open;
  const auto finish = [&](under_way& u) {
    require(u.team->data().wait(u.request), "wait");
    u.check();
  };
  for (std::uint64_t call = 1; call <= 60; ++call) {
    communicator& team = pick(3) ? *world : *part;
    const std::uint32_t size = team.group().size(), me = team.group().index();
    const auto of = static_cast<collective>(pick(collectives));
    if (of == collective::barrier) {
      require(team.barrier().enter(), "barrier");
      continue;
    }
    const std::size_t bytes = lengths[pick(std::size(lengths))];
    const auto& needs = row_of(of, team.options().wanted(of)).needs;
    const bool lists = of == collective::alltoallv || ((of == collective::allgather || of == collective::reduce_scatter) && !needs.alike);
    const call_kind as = of == collective::alltoallv ? names_of_v[pick(std::size(names_of_v))] : call_kind::none;
    const bool unlike = pick(2) && lists, blocking = pick(2), in_place = pick(2);
    const auto root = static_cast<std::uint32_t>(pick(1000) % size);
    const arithmetic_case& arithmetic = arithmetics[pick(std::size(arithmetics) - (needs.commutative ? 1 : 0))];
    auto u = std::make_unique<under_way>();
    u->team = &team;
    u->what = "call " + std::to_string(call) + ", " + std::string(name_of(of)) + (unlike ? " of unlike blocks" : "") +
              (in_place ? " in place" : "");
    u->m = any_call({of, call, size, root, bytes, as, unlike, arithmetic}, me, in_place);
    u->in = u->m.in, u->out = u->m.out;
    if (env.random() % 6 == 0) env.pause(std::chrono::microseconds(env.random() % 50));
    if (blocking) {
      for (std::size_t again = pick(3); ; --again) {
        require(team.run(u->m.call), u->what);
        u->check();
        if (again == 0) break;
        std::ranges::copy(u->out, u->m.out.begin());
      }
      continue;
    }
    u->request = take(team.start(u->m.call), "start");
    open.push_back(std::move(u));
    if (open.size() > 5) {
      const std::size_t which = env.random() % open.size();
      finish(*open[which]);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
  for (const auto& u : open) finish(*u);
  require(part->finish(), "all of the part");
  require(world->finish(), "all");
  require(part->group().settle(), "leaving the part");
  require(world->group().settle(), "leaving");
  part.reset(), world.reset();
  env.barrier();
}

void play_programs(std::uint32_t first, std::uint32_t count, const std::string& fabric) {
  for (std::uint32_t seed = first; seed < first + count; ++seed) {
    const std::uint32_t n = 1 + seed % 9;
    const run_options limits{.timeout = std::chrono::seconds(60) * time_scale, .seed = seed};
    const auto each = [&](rank_env& env) { play_program(env, seed); };
    if (!fabric.empty()) {
      BOOST_TEST_CONTEXT("seed " << seed << ", " << n << " ranks") run_ranks({fabric}, n, each, limits);
      continue;
    }
    sim::parameters p = sim_parameters({seed % 2 ? "sim:wild" : "sim"}, n, n);
    if (seed % 5 == 0) p.maps_node = true, p.ranks_per_node = n;
    const auto report = try_ranks_simulated(p, each, limits);
    BOOST_TEST(report.passed(), "seed " << seed << ", " << n << " ranks: " << report.text());
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(random_programs) {
  const auto number = [](const char* name, const char* otherwise) { return static_cast<std::uint32_t>(std::stoul(argument(name, otherwise))); };
  play_programs(number("--from", "1"), number("--seeds", whole_list() ? "400" : "40"), argument("--fabric"));
}

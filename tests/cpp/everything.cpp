// tutti.hpp but for messages: results, teams, windows, collectives in their three forms, and who frees what.
#include "tests/cpp/expect.h"

#include <array>
#include <numeric>
#include <vector>

using namespace test;
using tutti::one;
namespace op = tutti::op;

namespace {

void results_hold_either() {
  tutti::result<std::string> good(std::string("text"));
  expect(good.ok() && !good.failed() && *good == "text" && good->size() == 4);
  tutti::result<std::string> bad(tutti::failure{TUTTI_TIMED_OUT, "late", 3, 4});
  expect(bad.failed() && bad.error().code == TUTTI_TIMED_OUT && bad.error().peer == 3 && bad.error().native == 4);
  tutti::result<> none;
  expect(none.ok());
  try {
    (void)std::move(bad).or_throw();
    expect(false, "nothing is thrown");
  } catch (const tutti::failed_call& e) {
    expect(std::string(e.what()) == "late" && e.why().code == TUTTI_TIMED_OUT);
  }
}

void types() {
  static_assert(tutti::datatype_of<char> == (std::is_signed_v<char> ? TUTTI_INT8 : TUTTI_UINT8));
  static_assert(tutti::datatype_of<std::int16_t> == TUTTI_INT16 && tutti::datatype_of<std::uint32_t> == TUTTI_UINT32);
  static_assert(tutti::datatype_of<long long> == TUTTI_INT64 && tutti::datatype_of<unsigned long> == TUTTI_UINT64);
  static_assert(tutti::datatype_of<const float> == TUTTI_FLOAT32 && tutti::datatype_of<std::complex<double>> == TUTTI_FLOAT64_COMPLEX);
  static_assert(tutti::datatype_of<bool> == 0 && tutti::datatype_of<std::string> == 0);
  static_assert(!std::is_copy_constructible_v<tutti::context> && !std::is_copy_constructible_v<tutti::team> &&
                !std::is_copy_constructible_v<tutti::window<int>> && !std::is_copy_constructible_v<tutti::request>);
  static_assert(tutti::readable<const std::vector<int>&> && tutti::writable<std::span<int>> && !tutti::writable<const std::vector<int>&>);
  static_assert(!tutti::readable<std::vector<std::string>&>);
}

// A temporary container is an argument of calls that block, and of no others.
template <class Data, class H>
concept broadcasts = requires(tutti::team_view t, H how) { tutti::broadcast(t, 0, Data(), how); };
static_assert(broadcasts<std::vector<int>, tutti::detail::blocking_t> && broadcasts<std::span<int>, decltype(tutti::nonblocking)>);
static_assert(!broadcasts<std::vector<int>, decltype(tutti::nonblocking)> && !broadcasts<std::vector<int>, decltype(tutti::persistent)>);

void teams(tutti::team_view world) {
  const auto n = world.size();
  tutti::team odd_even = take(world.split(me % 2 == 0 ? 0 : 1));
  expect(odd_even && odd_even.size() == (n + 1 - me % 2) / 2 && odd_even.rank() == me / 2);
  expect(take(odd_even.translate(odd_even.rank(), world)) == me);
  const auto none = take(world.split(-1));
  expect(!none && none.size() == 0 && none.rank() == TUTTI_NO_RANK);
  std::vector<std::uint32_t> upside_down(n);
  for (std::uint32_t i = 0; i < n; ++i) upside_down[i] = n - 1 - i;
  tutti::team reversed = take(world.create(upside_down));
  expect(reversed.rank() == n - 1 - me);
  tutti::team moved = std::move(reversed);
  expect(!reversed && moved.rank() == n - 1 - me);
  const auto agreed = take(moved.agree(me == 0 ? 6 : 3));
  expect(agreed.all_alive && agreed.flags == (n == 1 ? 6u : 2u) && moved.dead().empty());
  tutti::team all = take(moved.shrink());
  expect(all.size() == n);
  const tutti::team_view stale = moved;
  take(all.free()), take(moved.free()), take(odd_even.free());
  refused(tutti::barrier(stale), TUTTI_INVALID, "team");
  refused(world.create(std::vector<std::uint32_t>{me, me}), TUTTI_INVALID, "twice");
}

void collectives(const tutti::context& ctx, tutti::team_view t) {
  const auto n = t.size();
  take(tutti::barrier(t));
  std::vector<int> data(1000, me == 0 ? 7 : 0);
  take(tutti::broadcast(t, 0, data));
  expect(data == std::vector<int>(1000, 7));
  const double mine = me + 1;
  expect(take(tutti::allreduce(t, mine, op::sum)) == n * (n + 1) / 2.0);
  const std::vector<std::int64_t> in{1, static_cast<std::int64_t>(me)};
  std::array<std::int64_t, 2> out{-1, -1};
  take(tutti::reduce(t, 0, in, out, op::max));
  if (me == 0) expect(out[0] == 1 && out[1] == n - 1);
  take(tutti::scan(t, in, out, op::sum));
  expect(out[0] == me + 1 && out[1] == me * (me + 1) / 2);
  out[0] = -5;
  take(tutti::exscan(t, in, out, op::sum));
  expect(out[0] == (me == 0 ? -5 : static_cast<std::int64_t>(me)));
  const tutti::located<double, std::int32_t> here{static_cast<double>((me + 1) % n), static_cast<std::int32_t>(me)};
  expect(take(tutti::allreduce(t, here, op::max_at)).index == static_cast<std::int32_t>(n == 1 ? 0 : n - 2));

  // An operation that does not commute: matrices of 2 by 2.
  using matrix = std::array<std::int64_t, 4>;
  const auto product = take(ctx.make_operation<matrix>([](const matrix& a, const matrix& b) {
    return matrix{a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
  }));
  const matrix factor{1, me + 1, 0, 2};
  matrix all{};
  take(tutti::allreduce(t, one(factor), one(all), product));
  std::int64_t corner = 0;
  for (std::uint32_t i = 0; i < n; ++i) corner = (i + 1) + corner * 2;
  expect(all == matrix{1, corner, 0, std::int64_t{1} << n}, "the product of matrices");

  std::vector<int> each(n, static_cast<int>(me)), ranks(n);
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> got(n, -1);
  take(tutti::allgather(t, one(each[0]), got));
  expect(got == ranks);
  take(tutti::alltoall(t, each, got));
  expect(got == ranks);
  int block = -1;
  take(tutti::scatter(t, n - 1, ranks, one(block)));
  expect(block == static_cast<int>(me));
  got.assign(n, -1);
  take(tutti::gather(t, 0, one(block), got));
  if (me == 0) expect(got == ranks);
  take(tutti::reduce_scatter(t, ranks, one(block), op::sum));
  expect(block == static_cast<int>(me * n));
  std::vector<std::size_t> counts(n, 0);
  counts[n - 1] = n;
  std::vector<int> sums(counts[me]);
  take(tutti::reduce_scatter(t, ranks, sums, counts, op::sum));
  for (std::size_t i = 0; i < sums.size(); ++i) expect(sums[i] == static_cast<int>(i * n));

  // Member m has m + 1 elements of value m.
  std::vector<std::size_t> bytes(n), to_all(n, (me + 1) * sizeof(int));
  for (std::uint32_t i = 0; i < n; ++i) bytes[i] = (i + 1) * sizeof(int);
  const std::vector<int> several(me + 1, static_cast<int>(me)), row((me + 1) * n, static_cast<int>(me));
  std::vector<int> together(n * (n + 1) / 2, -1), sorted;
  for (std::uint32_t i = 0; i < n; ++i) sorted.insert(sorted.end(), i + 1, static_cast<int>(i));
  take(tutti::allgatherv(t, several, together, {bytes}));
  expect(together == sorted);
  together.assign(together.size(), -1);
  take(tutti::gatherv(t, 0, several, together, {bytes}));
  if (me == 0) expect(together == sorted);
  std::vector<int> back(me + 1, -1);
  take(tutti::scatterv(t, 0, sorted, {bytes}, back));
  expect(back == several);
  together.assign(together.size(), -1);
  take(tutti::alltoallv(t, row, {to_all}, together, {bytes}));
  expect(together == sorted);
  const std::vector<tutti_datatype_t> ints(n, TUTTI_INT32);
  std::vector<std::size_t> sent(n, me + 1), taken(n), no_offsets;
  for (std::uint32_t i = 0; i < n; ++i) taken[i] = i + 1;
  together.assign(together.size(), -1);
  take(tutti::alltoallw(t, row, {sent, no_offsets, ints}, together, {taken, no_offsets, ints}));
  expect(together == sorted);
  const std::uint32_t left = (me + n - 1) % n, right = (me + 1) % n;
  const tutti::neighbors ring{one(left), one(right)};
  int from_left = -1;
  const int my_number = static_cast<int>(me);
  take(tutti::neighbor_allgather(t, ring, one(my_number), one(from_left)));
  expect(from_left == static_cast<int>(left));
  from_left = -1;
  take(tutti::neighbor_alltoall(t, ring, one(my_number), sizeof(int), one(from_left)));
  expect(from_left == static_cast<int>(left));

  // Sizes that contradict each other are refused before anything is sent.
  refused(tutti::allgather(t, each, std::vector<int>(n * n + 1)), TUTTI_INVALID, "sizes");
  refused(tutti::allreduce(t, in, one(out[0]), op::sum), TUTTI_INVALID, "sizes");
  refused(tutti::allgatherv(t, several, together, {std::span(bytes).first(n - 1)}), TUTTI_INVALID, "entry for each member");
  refused(tutti::broadcast(t, n, data), TUTTI_INVALID, "root");
}

void requests(tutti::team_view t) {
  const auto n = t.size();
  std::vector<int> in(3, 1), out(3), more(3);
  tutti::request first = take(tutti::allreduce(t, in, out, op::sum, tutti::nonblocking));
  tutti::request second = take(tutti::allreduce(t, in, more, op::sum, tutti::nonblocking));
  expect(first.pending());
  while (!take(first.test())) {}
  expect(!first.pending() && take(first.test()));
  take(second.wait());
  expect(out == std::vector<int>(3, static_cast<int>(n)) && more == out);
  {
    tutti::request dropped = take(tutti::allreduce(t, in, more, op::product, tutti::nonblocking));  // its end is waited for
  }
  expect(more == in);

  tutti::persistent_request again = take(tutti::allreduce(t, in, out, op::sum, tutti::persistent));
  for (int round = 1; round <= 3; ++round) {
    in.assign(3, round);
    take(again.start());
    take(again.wait());
    expect(out == std::vector<int>(3, round * static_cast<int>(n)));
  }
  tutti::requests all;
  std::vector<std::vector<int>> results(5, std::vector<int>(3));
  for (auto& r : results) take(all.add(tutti::allreduce(t, in, r, op::max, tutti::nonblocking)));
  expect(all.size() == 5 && take(all.wait_any()).has_value());
  take(all.wait_all());
  expect(all.size() == 0 && !take(all.wait_any()).has_value());
  for (const auto& r : results) expect(r == in);
  refused(all.add(tutti::broadcast(t, n, in, tutti::nonblocking)), TUTTI_INVALID, "root");
}

void windows(const tutti::context& ctx, tutti::team_view t) {
  const auto n = t.size();
  const std::uint32_t left = (me + n - 1) % n, right = (me + 1) % n;
  auto w = take(tutti::window<std::uint64_t>::create(t, 8));
  expect(w.local().size() == 8 && w.size(right) == 8 && w.members().size() == n);
  const std::array<std::uint64_t, 2> data{me, me + 100};
  take(w.put_signal(right, 1, data, w, 0, 1));
  take(w.wait_signal(0, tutti::until::reached, 1, left));
  expect(w.local()[1] == left && w.local()[2] == left + 100 && take(w.load_signal(0)) == 1 && take(w.test_signal(0, tutti::until::equal, 1)));
  take(w.put(right, 3, one(data[1])));
  take(w.flush(right));
  take(tutti::barrier(t));
  std::uint64_t read = 0, old = 77;
  take(take(w.get(right, 3, one(read), tutti::nonblocking)).wait());
  expect(read == me + 100);
  take(take(w.put(left, 5, one(data[0]), tutti::nonblocking)).wait());
  take(take(w.fetch_add(0, 6, 1, old)).wait());
  expect(old < n);
  take(w.signal(right, 7, 5, tutti::signal_kind::add));
  take(w.wait_signal(7, tutti::until::not_equal, 0));  // which the left neighbour may have swapped since
  take(take(w.swap(right, 7, 9, old)).wait());
  expect(old == 5);
  take(take(w.compare_swap(right, 7, 9, 11, old)).wait());
  expect(old == 9);
  take(ctx.quiet());
  take(tutti::barrier(t));
  expect(w.local()[5] == right && w.local()[7] == 11 && (me != 0 || w.local()[6] == n));
  refused(w.put(right, 8, data), TUTTI_INVALID, "behind the window");
  refused(w.wait_signal(0, tutti::until::reached, 99, left, tutti::seconds(0)), TUTTI_TIMED_OUT, "");
  take(w.free());
  refused(w.put(right, 0, data), TUTTI_INVALID, "window");

  std::vector<double> mine(4, 0.5);
  auto over = take(tutti::window<double>::over(t, mine));
  expect(over.local().data() == mine.data() && over.local().size() == 4);
  take(take(tutti::window<>::create(t, 8)).free());
  // `over` is not freed: it is left to the context, and what is done at this scope's end waits for nobody.
}

}  // namespace

int main() {
  results_hold_either();
  types();
  tutti::context ctx = begin();
  expect(ctx.world().size() == ctx.size() && ctx.capabilities().max_bytes > 0 && ctx.nodes() == 1 && ctx.node_of(me) == 0 &&
         ctx.local_rank() == me && ctx.local_size() == ctx.size() && ctx.fabric());
  teams(ctx.world());
  collectives(ctx, ctx.world());
  requests(ctx.world());
  windows(ctx, ctx.world());
  take(ctx.progress());
  tutti::context moved = std::move(ctx);
  take(tutti::barrier(moved.world()));
  refused(tutti::context::init({{"barier", "flat"}}), TUTTI_INVALID, "barrier");
  take(moved.finalize());
}

// Messages and active messages by tutti.hpp, blocking and awaited.
#include "tests/cpp/expect.h"

#include <array>
#include <deque>
#include <map>
#include <numeric>
#include <tutti/coroutine.hpp>
#include <vector>

using namespace test;
using tutti::on;
using tutti::one;

namespace {

void tagged(tutti::team_view t) {
  const auto n = t.size();
  const std::uint32_t left = (me + n - 1) % n, right = (me + 1) % n;
  std::vector<int> out(100, static_cast<int>(me)), in(100, -1);
  const auto swapped = take(tutti::sendrecv(t, right, 7, out, left, 7, in));
  expect(swapped.source == left && swapped.tag == 7 && swapped.bytes == 400 && in == std::vector<int>(100, static_cast<int>(left)));

  tutti::request receive = take(tutti::recv(t, tutti::any_source, {0x100, 0xf00}, in, tutti::nonblocking));
  take(tutti::send(t, right, 0x123, std::span(out).first(3)));
  take(receive.wait());
  expect(!receive.pending());

  // Longer than the receive: what fits, and the whole length in the envelope.
  tutti::envelope found{};
  std::array<int, 2> few{};
  tutti::request short_receive = take(tutti::recv(t, left, 9, few, &found, tutti::nonblocking));
  take(tutti::send(t, right, 9, out));
  refused(short_receive.wait(), TUTTI_TRUNCATED, "");
  expect(found.bytes == 400 && found.source == left && few[1] == static_cast<int>(left));

  // One that is complete at once, or not begun.
  while (!take(tutti::try_send(t, right, 19, std::span(out).first(2)))) (void)tutti_progress(t.context_handle());
  take(tutti::recv(t, left, 19, few));
  expect(few[0] == static_cast<int>(left));

  // A long one, synchronously.
  std::vector<double> much(1 << 17), got(1 << 17);
  std::iota(much.begin(), much.end(), me);
  tutti::request back = take(tutti::recv(t, left, 10, got, tutti::nonblocking));
  take(tutti::ssend(t, right, 10, much));
  take(back.wait());
  expect(got[0] == left && got.back() == left + (1 << 17) - 1.0);

  // Taken back: by hand, and by the end of the request.
  std::array<int, 4> never{};
  tutti::request unmatched = take(tutti::recv(t, left, 11, never, tutti::nonblocking));
  expect(take(unmatched.cancel()) && !unmatched.pending());
  { tutti::request dropped = take(tutti::recv(t, left, 11, never, tutti::nonblocking)); }

  // Looked for, then received.
  expect(!take(tutti::iprobe(t, left, 12)).has_value() && !take(tutti::improbe(t, left, 12)).has_value());
  take(tutti::barrier(t));
  take(tutti::send(t, right, 12, one(me)));
  const auto seen = take(tutti::probe(t, left, tutti::any_tag));
  expect(seen.tag == 12 && seen.bytes == sizeof me);
  tutti::message taken = take(tutti::mprobe(t, left, 12));
  std::uint32_t value = 99;
  expect(taken.envelope().source == left);
  take(taken.recv(one(value)));
  expect(value == left);

  tutti::persistent_request sends = take(tutti::send(t, right, 13, out, tutti::persistent));
  tutti::persistent_request receives = take(tutti::recv(t, left, 13, in, tutti::persistent));
  for (int round = 0; round < 3; ++round) {
    out.assign(100, round);
    take(receives.start()), take(sends.start());
    take(sends.wait()), take(receives.wait());
    expect(in == out);
  }
  refused(tutti::send(t, n, 0, out), TUTTI_INVALID, "rank");
}

// Every second column of a matrix goes into a row.
void layouts(tutti::team_view t) {
  const auto n = t.size();
  std::array<int, 12> matrix{}, row{};
  for (std::size_t i = 0; i < 12; ++i) matrix[i] = static_cast<int>(i + 100 * me);  // 3 rows of 4
  const std::size_t counts[] = {3, 2};
  const std::ptrdiff_t strides[] = {4 * sizeof(int), 2 * sizeof(int)};
  auto sent = take(tutti::send(t, (me + 1) % n, 20, matrix.data(), tutti::layout::strided(sizeof(int), counts, strides)));
  take(tutti::recv(t, (me + n - 1) % n, 20, row));
  take(sent.wait());
  const int base = static_cast<int>(100 * ((me + n - 1) % n));
  expect(row[0] == base && row[1] == base + 2 && row[2] == base + 4 && row[5] == base + 10 && row[6] == 0);
}

template <class S>
tutti::task<std::uint64_t> pass_on(S& s, tutti::team_view t, std::uint64_t tag, std::uint64_t token) {
  const auto n = t.size();
  if (me == 0) take(co_await on(s, tutti::send(t, 1 % n, tag, one(token), tutti::nonblocking)));
  std::uint64_t got = 0;
  tutti::envelope e{};
  take(co_await on(s, tutti::recv(t, tutti::any_source, tag, one(got), &e, tutti::nonblocking)));
  expect(e.source == (me + n - 1) % n && e.tag == tag);
  ++got;
  if (me != 0) take(co_await on(s, tutti::send(t, (me + 1) % n, tag, one(got), tutti::nonblocking)));
  co_return got;
}

void many_tokens(tutti::loop& l, tutti::team_view t) {
  int finished = 0;
  for (std::uint64_t tag = 0; tag < 40; ++tag)
    l.spawn([](tutti::loop& of, tutti::team_view among, std::uint64_t number, int& done) -> tutti::task<> {
      const std::uint64_t last = co_await pass_on(of, among, number, 1000 * number);
      expect(last == 1000 * number + (me == 0 ? among.size() : me));
      ++done;
    }(l, t, tag, finished));
  l.run();
  expect(finished == 40);
}

// A remote call: a coroutine asks the next rank and awaits what the handler of the reply tells.
void active(const tutti::context& ctx, tutti::loop& l) {
  const auto n = ctx.size();
  struct call {
    tutti::event answered;
    std::uint64_t sum = 0;
    std::vector<char> echo;
  };
  std::map<std::uint64_t, call> calls;
  const auto add = take(ctx.handle(1, [](tutti::active_message m) {
    take(m.reply(2, std::array{m.arguments()[0], m.arguments()[1] + m.arguments()[2] + me}, m.payload()));
  }));
  const auto answer = take(ctx.handle(2, [&](tutti::active_message m) {
    call& c = calls.at(m.arguments()[0]);
    c.sum = m.arguments()[1];
    const auto text = m.payload_as<char>();
    c.echo.assign(text.begin(), text.end());
    c.answered.set();
  }));
  std::uint64_t notes = 0;
  const auto note = take(ctx.handle(3, [&](tutti::active_message m) { notes += m.arguments()[0]; }));
  refused(ctx.handle(1, [](tutti::active_message) {}), TUTTI_INVALID, "1");
  take(tutti::barrier(ctx.world()));
  for (std::uint64_t number = 0; number < 20; ++number) calls[number];
  for (std::uint64_t number = 0; number < 20; ++number)
    l.spawn([](const tutti::context& c, tutti::loop& of, std::uint64_t i, call& mine) -> tutti::task<> {
      const std::uint32_t to = (me + 1) % c.size();
      take(c.request(to, 1, std::array<std::uint64_t, 3>{i, 2 * i, 5}, std::string("text")));
      co_await mine.answered.on(of);
      expect(mine.sum == 2 * i + 5 + to && std::string(mine.echo.begin(), mine.echo.end()) == "text");
    }(ctx, l, number, calls[number]));
  l.run();
  for (std::uint32_t to = 0; to < n; ++to) take(ctx.notify(to, note.number(), std::array<std::uint64_t, 1>{me + 1}));
  while (notes < n * (n + 1) / 2) take(ctx.progress());

  auto w = take(tutti::window<double>::create(ctx.world(), 4));
  bool came = false;
  const auto landed = take(ctx.handle(4, [&](tutti::active_message m) {
    came = m.payload_as<double>().data() == w.local().data() + 1 && w.local()[1] == (me + n - 1) % n + 0.5;
  }));
  take(tutti::barrier(ctx.world()));
  const std::array<double, 2> data{me + 0.5, 0};
  take(take(ctx.request(w, (me + 1) % n, 1, data, 4, {})).wait());
  while (!came) take(ctx.progress());
  take(tutti::barrier(ctx.world()));
  take(w.free());
}

// Objects that own operations, dropped in every state: a destructor waits for nothing that may never come.
void dropped(tutti::team_view world) {
  const std::uint32_t n = world.size(), right = (me + 1) % n, left = (me + n - 1) % n;
  std::array<int, 1> in{}, out{static_cast<int>(me)};
  {
    auto again = take(tutti::recv(world, left, 77, in, tutti::persistent));
    take(again.start());
  }
  {
    auto started = take(tutti::recv(world, left, 77, in, tutti::persistent));
    auto assigned = take(tutti::recv(world, left, 78, in, tutti::persistent));
    take(started.start());
    assigned = std::move(started);
  }
  {
    tutti::requests all;
    take(all.add(tutti::recv(world, left, 77, in, tutti::nonblocking)));
    take(all.add(tutti::send(world, right, 79, out, tutti::nonblocking)));
    take(all.add(tutti::recv(world, left, 77, in, tutti::nonblocking)));
    tutti::requests moved = std::move(all);
  }
  take(tutti::recv(world, left, 79, in));
  // A synchronous send of a matched message that its receiver drops ends.
  const std::array<char, 100'000> large{};
  auto sent = take(tutti::ssend(world, right, 80, large, tutti::nonblocking));
  {
    auto matched = take(tutti::mprobe(world, left, 80));
    expect(matched.envelope().bytes == large.size());
  }
  take(sent.wait());
  take(tutti::barrier(world));
}

template <class W, class Data>
concept puts = requires(W w, Data&& d) { w.put(0, 0, std::forward<Data>(d)); };
template <class W, class Data>
concept puts_with_signal = requires(W w, Data&& d) { w.put_signal(0, 0, std::forward<Data>(d), w, 0, 1); };
using words = tutti::window<std::uint64_t>;
using list = std::vector<std::uint64_t>;
static_assert(puts<words, list&> && puts<words, const list&> && puts<words, std::span<const std::uint64_t>>);
static_assert(puts_with_signal<words, list&> && puts_with_signal<words, std::span<std::uint64_t>>);
static_assert(!puts<words, list> && !puts_with_signal<words, list>, "the call may return before the source was read");

}  // namespace

int main() {
  tutti::context ctx = begin();
  tagged(ctx.world());
  dropped(ctx.world());
  layouts(ctx.world());
  tutti::loop l(ctx);
  many_tokens(l, ctx.world());
  active(ctx, l);
  take(ctx.finalize());
}

// Coroutines that wait for requests, by the loop of tutti/coroutine.hpp and by a scheduler of the program's own.
#include "tests/cpp/expect.h"

#include <list>
#include <memory>
#include <tutti/coroutine.hpp>
#include <vector>

using namespace test;
using tutti::on;
namespace op = tutti::op;

namespace {

// Without the loop's tutti_wait_any(): polls whoever waits.
struct round_robin {
  std::list<tutti::pending*> all;
  void add(tutti::pending& p) { all.push_back(&p); }
  void remove(tutti::pending& p) { all.remove(&p); }
  void run(tutti::task<>& t) {
    for (t.start(); !t.done();) {
      tutti::pending* p = all.front();
      all.pop_front();
      if (p->poll()) p->resume();
      else all.push_back(p);
    }
    t.outcome();
  }
};
static_assert(tutti::scheduler<round_robin> && tutti::scheduler<tutti::loop>);

template <class S>
tutti::task<int> sum_of(S& s, tutti::team_view t, int value) {
  int all = 0;
  take(co_await on(s, tutti::allreduce(t, tutti::one(value), tutti::one(all), op::sum, tutti::nonblocking)));
  co_return all;
}

template <class S>
tutti::task<> several_sums(S& s, tutti::team_view t, int& done) {
  for (int i = 1; i <= 20; ++i) expect(co_await sum_of(s, t, i) == i * static_cast<int>(t.size()));
  tutti::persistent_request barrier = take(tutti::barrier(t, tutti::persistent));
  for (int i = 0; i < 3; ++i) {
    take(barrier.start());
    take(co_await on(s, barrier));
  }
  refused(co_await on(s, tutti::broadcast(t, t.size(), tutti::one(done), tutti::nonblocking)), TUTTI_INVALID, "root");
  tutti::request none;
  take(co_await on(s, std::move(none)));
  ++done;
}

void one_team_each(tutti::loop& l, tutti::team_view world) {
  int done = 0;
  std::vector<tutti::team> teams;
  for (int i = 0; i < 5; ++i) teams.push_back(take(world.split(0)));
  for (const auto& t : teams) l.spawn(several_sums(l, t, done));
  l.run();
  expect(done == 5);
  for (auto& t : teams) take(t.free());
}

tutti::task<> throws(tutti::loop& l, tutti::team_view t) {
  take(co_await on(l, tutti::barrier(t, tutti::nonblocking)));
  throw std::runtime_error("thrown");
}
tutti::task<> passes_on(tutti::loop& l, tutti::team_view t) { co_await throws(l, t); }

void exceptions(tutti::loop& l, tutti::team_view t) {
  try {
    l.run(passes_on(l, t));
    expect(false, "nothing is thrown");
  } catch (const std::runtime_error& e) {
    expect(std::string(e.what()) == "thrown");
  }
}

tutti::task<> wait_for(tutti::loop& l, tutti::event& e, int& woken) {
  co_await e.on(l);
  ++woken;
}
tutti::task<> set_after_barrier(tutti::loop& l, tutti::team_view t, tutti::event& e) {
  take(co_await on(l, tutti::barrier(t, tutti::nonblocking)));
  e.set();
}

void events(tutti::loop& l, tutti::team_view t) {
  int woken = 0;
  tutti::event e;
  l.spawn(wait_for(l, e, woken));
  expect(woken == 0);
  l.spawn(set_after_barrier(l, t, e));
  l.run();
  expect(woken == 1 && e.is_set());
  l.run(wait_for(l, e, woken));  // set already
  expect(woken == 2);
  e.reset();
  { auto never = std::make_unique<tutti::task<>>(wait_for(l, e, woken)); never->start(); }  // destroyed while it waits
  e.set();
  l.run(sum_of(l, t, 1));
  expect(woken == 2);
}

// A coroutine that is destroyed while it waits: its request is waited for, and the loop forgets it.
void destroyed(tutti::loop& l, tutti::team_view t) {
  int in = 1, out = 0;
  {
    auto waits = [](tutti::loop& of, tutti::team_view among, int& a, int& b) -> tutti::task<> {
      take(co_await on(of, tutti::allreduce(among, tutti::one(a), tutti::one(b), op::sum, tutti::nonblocking)));
    }(l, t, in, out);
    waits.start();  // what was complete at once is done
  }
  expect(out == static_cast<int>(t.size()));
  expect(l.run(sum_of(l, t, 2)) == 2 * static_cast<int>(t.size()));
}

}  // namespace

int main() {
  tutti::context ctx = begin();
  tutti::loop l(ctx);
  one_team_each(l, ctx.world());
  exceptions(l, ctx.world());
  events(l, ctx.world());
  round_robin own;
  int done = 0;
  auto t = several_sums(own, ctx.world(), done);
  own.run(t);
  expect(done == 1 && own.all.empty());
  destroyed(l, ctx.world());
  take(ctx.finalize());
}

#include "tests/harness/rank_env.h"

#include <sched.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

constexpr auto nap = 1ms;
constexpr int yields = 50;  // before the first sleep: ranks outnumber cores

// The out-of-band exchange in the shape that core knows.
class meeting_bootstrap final : public bootstrap {
 public:
  explicit meeting_bootstrap(rank_env& env) : env_(env) {}
  rank_t rank() const noexcept override { return env_.rank; }
  std::uint32_t size() const noexcept override { return env_.size; }
  const std::string& job_id() const noexcept override { return env_.place().name(); }
  host_id host() const noexcept override { return {}; }  // ranks of a test are always on one
  result<shared_blobs> allgather(std::span<const std::byte> mine, time_point) override {
    try {
      return env_.exchange(mine);
    } catch (const failure& f) {
      return status{errc::peer_dead, f.text};
    }
  }

 private:
  rank_env& env_;
};

}  // namespace

rank_env::rank_env(meeting& m, rank_t r, std::uint64_t s, std::chrono::nanoseconds time_limit)
    : meeting_(m),
      own_boot_(std::make_unique<meeting_bootstrap>(*this)),
      rank(r),
      size(m.size()),
      seed(s),
      random(s * 0x9E3779B97F4A7C15u + r + 1),
      boot(*own_boot_),
      time_limit_(time_limit) {}

void rank_env::open(std::unique_ptr<transport> net) {
  net_ = std::move(net);
  give_up_ = net_->now() + time_limit_;
  const auto address = take(net_->address(), "address");
  require(net_->connect(exchange(address), give_up_), "connect");
}

shared_blobs rank_env::exchange(std::span<const std::byte> mine) {
  require(meeting_.contribute(rank, mine), "the harness carries blobs up to 64 KiB");
  rank_t absent = no_rank;
  const auto met = [&] { return meeting_.complete(rank, absent) || absent != no_rank; };
  if (net_) {
    const waiting_for w(meeting_, rank, "the other ranks, out of band");
    const bool ours = net_->caps().virtual_clock;
    // Peers' operations may need this rank's progress. What ends the wait rings the bell of the meeting, not the
    // fabric's, so naps are short; on a virtual clock only the fabric may pass the time.
    for (int turn = 0;; ++turn) {
      const std::uint32_t bell = meeting_.bell();
      if (met()) break;
      if (net_->progress()) continue;
      if (net_->now() > give_up_) fail("time limit in an exchange out of band");
      if (ours) {
        net_->sleep(net_->arm(), net_->now() + (turn < 20 ? 2us : 200us));
      } else if (turn < yields) {
        sched_yield();
      } else {
        meeting_.nap(bell, net_->caps().target_must_progress ? 200us : 2000us);
      }
    }
  } else {
    const waiting_for w(meeting_, rank, "the other ranks, out of band, without a transport");
    for (;;) {
      const std::uint32_t bell = meeting_.bell();
      if (met()) break;
      if (pass_time) pass_time();
      else meeting_.nap(bell, 100ms);
    }
  }
  if (absent != no_rank) fail("rank " + std::to_string(absent) + " is gone");
  return meeting_.collect(rank);
}

void rank_env::barrier_without_progress() {
  require(meeting_.contribute(rank, {}), "contribute");
  const waiting_for w(meeting_, rank, "the other ranks, without progress");
  rank_t absent = no_rank;
  for (;;) {
    const std::uint32_t bell = meeting_.bell();
    if (meeting_.complete(rank, absent)) break;
    if (absent != no_rank) fail("rank " + std::to_string(absent) + " is gone");
    if (pass_time) pass_time();
    else meeting_.nap(bell, 2ms);
  }
  meeting_.collect(rank);
}

void rank_env::die() {
  if (on_death) on_death();
  raise(SIGKILL);
  std::abort();
}

std::uint64_t rank_env::sum(std::uint64_t mine) {
  const auto all = exchange(std::as_bytes(std::span{&mine, 1}));
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < all->size(); ++i) {
    std::uint64_t v = 0;
    std::memcpy(&v, (*all)[i].data(), std::min((*all)[i].size(), sizeof v));
    total += v;
  }
  return total;
}

segment_id rank_env::attach(const rank_map& members, region_id mine) {
  std::vector<std::byte> key;
  if (members.index_of(rank) != members.size()) key = take(net_->key(mine), "key");
  const auto all = exchange(key);
  auto keys = std::make_shared<blob_table>();
  for (std::uint32_t i = 0; i < members.size(); ++i) keys->push_back((*all)[members[i]]);
  return take(net_->attach(members, std::move(keys)), "attach");
}

area rank_env::share(area a, const rank_map& members) {
  a.segment = attach(members, a.region);
  barrier();  // nobody operates upon memory before its owner is ready to look at it
  return a;
}

area rank_env::allocate(std::size_t bytes, const rank_map& members) {
  area a;
  if (members.index_of(rank) != members.size()) a.region = take(net_->allocate(bytes, a.memory), "allocate");
  return share(a, members);
}

area rank_env::add(std::span<std::byte> memory, const rank_map& members) {
  area a;
  if (members.index_of(rank) != members.size()) a.region = take(net_->add(memory), "add"), a.memory = memory;
  return share(a, members);
}

void rank_env::drop(area& a) noexcept {
  net_->drop(a.segment);
  if (!a.memory.empty()) net_->drop(a.region);
  a = {};
}

void rank_env::submit(std::span<const rma_op> ops) {
  std::size_t taken = net_->submit(ops);
  if (taken < ops.size())
    until("room in the queue of operations", [&] { return (taken += net_->submit(ops.subspan(taken))) == ops.size(); });
  require(taken == ops.size(), "submit took more operations than it was offered");
}

void rank_env::wait_idle(completion& c) {
  until_arrival("a completion of mine", [&] { return c.idle(); });
}

void rank_env::wait(completion& c, where at) {
  wait_idle(c);
  require(c.outcome(), "an operation", at);
}

void rank_env::flush(rank_t peer, where at) {
  completion c;
  until("room for a flush", [&] { return net_->flush(peer, &c); });
  wait_idle(c);
  require(c.outcome(), "flush", at);
}

void rank_env::run(const rma_op& op, where at) {
  completion c;
  rma_op with = op;
  with.done = &c;
  submit(with);
  wait(c, at);
}

void rank_env::wait_word(const std::uint64_t* word, std::uint64_t value) {
  if (reached(load(word), value)) return;
  until_arrival("a word to reach " + std::to_string(value) + ", which was " + std::to_string(load(word)),
                [&] { return reached(load(word), value); });
}

void rank_env::until_arrival(std::string_view what, const std::function<bool()>& holds) {
  wait_until(what, holds, net_->caps().can_sleep ? time_limit_ : nap);
}

void rank_env::until(std::string_view what, const std::function<bool()>& holds) { wait_until(what, holds, nap); }

void rank_env::wait_until(std::string_view what, const std::function<bool()>& holds,
                          std::chrono::nanoseconds longest_sleep) {
  if (holds()) return;
  const waiting_for w(meeting_, rank, what);
  for (int turn = 0;; ++turn) {
    if (net_->progress()) turn = std::min(turn, yields);
    if (holds()) return;
    if (net_->now() > give_up_) fail("time limit, waiting for " + std::string{what});
    if (turn < yields && !net_->caps().virtual_clock) {
      sched_yield();
      continue;
    }
    armed open = net_->arm();
    if (!open) continue;
    // Arrivals after arm() end the sleep; this look catches those before it.
    if (holds()) {
      net_->disarm();
      return;
    }
    net_->sleep(std::move(open), std::min(net_->now() + longest_sleep, give_up_ + 1ms));
  }
}

void rank_env::pause(std::chrono::nanoseconds time) {
  const waiting_for w(meeting_, rank, "time to pass");
  const time_point end = net_->now() + time;
  while (net_->now() < end) {
    net_->progress();
    net_->sleep(net_->arm(), std::min(end, net_->now() + nap));
  }
}

void rank_env::progress_for_a_moment() {
  for (int i = 0; i < 20; ++i) {
    net_->progress();
    if (!net_->caps().virtual_clock) sched_yield();
  }
}

}  // namespace tutti::test

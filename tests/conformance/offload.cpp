// The optional offload: schedules that the fabric runs by itself. Barriers of two shapes at many sizes, with every start
// written down in memory that all ranks share before it is made, and looked up after the epoch's end.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>

#include "core/schedule/schedule.h"
#include "core/transport/offload.h"
#include "tests/conformance/clause.h"
#include "tests/harness/time_scale.h"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t most_ranks = 16;

// Shared by the ranks of a case however they are run. A case's ranks clear it before they use it.
std::atomic<std::uint64_t>* const books = static_cast<std::atomic<std::uint64_t>*>(
    ::mmap(nullptr, most_ranks * 64, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
std::atomic<std::uint64_t>& entered(rank_t r) { return books[r * 8]; }

offload& offload_of(rank_env& e) {
  if (!e.net().offloader()) skip("no offload");
  entered(e.rank) = 0;
  e.barrier();
  return *e.net().offloader();
}

// In round m to the one 2^m after me, from the one 2^m before.
schedule ring_of_powers(std::uint32_t rank, std::uint32_t size) {
  schedule s;
  s.words = size > 1 ? static_cast<std::uint32_t>(std::bit_width(size - 1)) : 0;
  for (std::uint32_t round = 0; round < s.words; ++round) {
    s.signal((rank + (1u << round)) % size, round);
    s.wait((rank + size - (1u << round) % size) % size, round);
  }
  return s;
}

// All to the first, who waits for all of them and then signals all: waits that come before any signal, several at once.
schedule star(std::uint32_t rank, std::uint32_t size) {
  schedule s;
  s.words = size;
  if (rank == 0) {
    for (std::uint32_t r = 1; r < size; ++r) s.wait(r, r);
    for (std::uint32_t r = 1; r < size; ++r) s.signal(r, 0);
  } else {
    s.signal(0, rank);
    s.wait(0, 0);
  }
  return s;
}

using shape = schedule (*)(std::uint32_t, std::uint32_t);

// A barrier of some ranks, and its books.
class nic_barrier {
 public:
  nic_barrier(rank_env& e, shape make, rank_map members, std::uint64_t first_epoch = 1)
      : e_(e), off_(*e.net().offloader()), members_(members) {
    std::vector<std::byte> blob;
    const std::uint32_t index = members.index_of(e.rank);
    mine_ = index != members.size();
    if (mine_) id_ = take(off_.prepare(make(index, members.size()), members, first_epoch, blob), "prepare");
    const auto all = e.exchange(blob);
    if (mine_) {
      auto blobs = std::make_shared<blob_table>();
      for (std::uint32_t i = 0; i < members.size(); ++i) blobs->push_back((*all)[members[i]]);
      require(off_.connect(id_, blobs), "connect");
    }
    for (rank_t r = 0; r < e.size; ++r) base_ = std::max(base_, entered(r).load());  // nobody starts anything here
    e.barrier();
  }
  ~nic_barrier() {
    if (mine_) off_.drop(id_);
  }
  nic_barrier(const nic_barrier&) = delete;
  nic_barrier& operator=(const nic_barrier&) = delete;

  bool mine() const noexcept { return mine_; }
  offload::plan_id id() const noexcept { return id_; }
  std::uint64_t started() const noexcept { return started_; }
  std::uint64_t finished() noexcept { return off_.finished(id_); }
  bool try_start() {
    const std::uint64_t before = entered(e_.rank).exchange(base_ + started_ + 1);
    if (off_.start(id_)) return ++started_, true;
    entered(e_.rank) = before;
    return false;
  }
  void start() {
    e_.until("room for an epoch", [&] { return try_start(); });
  }
  void look(where at = where::current()) {  // everyone has entered what has finished here
    const std::uint64_t done = finished();
    require(done <= started_, "an epoch finished that was not started", at);
    for (std::uint32_t i = 0; i < members_.size(); ++i)
      if (const auto seen = entered(members_[i]).load(); seen < base_ + done)
        fail("epoch " + std::to_string(done) + " finished while rank " + std::to_string(members_[i]) + " is in " +
                 std::to_string(seen - base_), at);
  }
  void wait() {
    e_.until_arrival("the end of an offloaded epoch", [&] { return finished() >= started_; });
    look();
  }

 private:
  rank_env& e_;
  offload& off_;
  rank_map members_;
  offload::plan_id id_{};
  std::uint64_t base_ = 0, started_ = 0;
  bool mine_ = false;
};

void pause_at_random(rank_env& e) {
  if (e.random() % 4 == 0) e.pause(std::chrono::microseconds{e.random() % 2000});
}

// Nobody's plan is dropped while a peer may be in an epoch that needs it, though a barrier by itself would see to that.
void of_every_size(rank_env& e, shape make) {
  offload_of(e);
  for (std::uint32_t n = 1; n <= e.size; ++n) {
    nic_barrier b(e, make, rank_map::strided(0, n));
    if (!b.mine()) continue;
    for (int k = 0; k < 6; ++k) {
      pause_at_random(e);
      b.start();
      b.wait();
    }
  }
}

void every_size_by_powers(rank_env& e) { of_every_size(e, ring_of_powers); }
void every_size_by_a_star(rank_env& e) { of_every_size(e, star); }

void started_ahead(rank_env& e) {
  offload& off = offload_of(e);
  for (const shape make : {ring_of_powers, star}) {
    nic_barrier b(e, make, rank_map::strided(0, e.size));
    for (int round = 0; round < 40; ++round) {
      const auto burst = 1 + e.random() % (2 * off.query().ahead);
      for (std::uint64_t k = 0; k < burst && b.started() < 100; ++k) {
        b.start();
        if (e.random() % 8 == 0) b.look();
      }
      pause_at_random(e);
      b.look();
    }
    while (b.started() < 100) b.start();
    b.wait();
  }
}

// The last one comes late; until then nothing finishes, however many epochs the others have started.
void a_late_rank_holds_all(rank_env& e) {
  offload_of(e);
  nic_barrier b(e, ring_of_powers, rank_map::strided(0, e.size));
  for (rank_t late = 0; late < e.size; ++late) {
    const std::uint64_t before = b.finished();
    if (e.rank != late) {
      b.start();
      b.try_start();
      e.pause(5ms);
      require_equal(b.finished(), before, "finished without the late rank");
      require(e.net().offloader()->awaits(b.id()) < e.size, "a signal is missing");
    }
    e.barrier();
    while (b.started() < before + 2) b.start();
    b.wait();
    e.barrier();
  }
}

void many_queued_ahead(rank_env& e) {
  offload& off = offload_of(e);
  nic_barrier b(e, ring_of_powers, rank_map::strided(0, e.size));
  const std::uint32_t most = off.query().queued;
  require(most >= 1 && off.query().ahead >= 1 && off.query().max_plans >= 1, "limits of at least one");
  require_equal(off.queue(b.id(), most), most, "epochs that wait in the fabric");
  require_equal(off.queue(b.id(), most), most, "they still do");
  e.barrier();
  for (std::uint32_t k = 0; k < most; ++k) {
    b.start();
    b.wait();
  }
  require_equal(off.queue(b.id(), 0), 0u, "all were started");
  e.until("room for more", [&] { return off.queue(b.id(), 3) == 3; });
}

// Ranks start and then call nothing: no rank's progress is needed until all have found their epochs finished.
void without_the_program(rank_env& e) {
  offload_of(e);
  nic_barrier b(e, ring_of_powers, rank_map::strided(0, e.size));
  for (int k = 0; k < 5; ++k) {
    b.start();
    e.barrier_without_progress();
    for (int naps = 0; b.finished() < b.started(); ++naps) {
      require(naps < 100000 * time_scale, "an epoch does not run by itself");
      if (e.pass_time) e.pass_time();
      else ::usleep(100);
    }
    b.look();
    e.barrier_without_progress();
  }
}

void the_end_of_an_epoch_ends_a_sleep(rank_env& e) {
  offload_of(e);
  if (!e.net().caps().can_sleep) skip("it cannot sleep");
  nic_barrier b(e, star, rank_map::strided(0, e.size));
  for (int k = 0; k < 40; ++k) {
    if (k % static_cast<int>(e.size) == static_cast<int>(e.rank)) e.pause(std::chrono::microseconds{e.random() % 3000});
    b.start();
    const waiting_for w(e.place(), e.rank, "the end of an epoch, asleep");
    while (b.finished() < b.started()) {
      armed open = e.net().arm();
      if (!open) {
        e.net().progress();
      } else if (b.finished() == b.started()) {
        e.net().disarm();
      } else {
        e.net().sleep(std::move(open), e.net().now() + 1h);
        e.net().progress();
      }
    }
    b.look();
  }
}

void epochs_wrap(rank_env& e) {
  offload_of(e);
  nic_barrier b(e, ring_of_powers, rank_map::strided(0, e.size), ~std::uint64_t{0} - 9);
  for (int k = 0; k < 30; ++k) {
    pause_at_random(e);
    b.start();
    b.wait();
  }
}

// More than any counter of an implementation is let count without being taken back.
void thousands_of_epochs(rank_env& e) {
  offload& off = offload_of(e);
  nic_barrier b(e, ring_of_powers, rank_map::strided(0, e.size));
  const std::uint64_t epochs = 1200;
  while (b.started() < epochs) {
    b.start();
    if (b.started() % 16 == 0) off.queue(b.id(), 16);
    if (e.random() % 64 == 0) b.look();
  }
  b.wait();
}

void plans_do_not_meet(rank_env& e) {
  offload_of(e);
  nic_barrier all(e, ring_of_powers, rank_map::strided(0, e.size));
  nic_barrier same(e, star, rank_map::strided(0, e.size));
  nic_barrier some(e, ring_of_powers, rank_map::listed({2, 0}));
  std::vector<nic_barrier*> mine{&all, &same};
  if (some.mine()) mine.push_back(&some);
  for (int k = 0; k < 30; ++k) {
    std::shuffle(mine.begin(), mine.end(), e.random);
    for (nic_barrier* b : mine) b->start();
    std::shuffle(mine.begin(), mine.end(), e.random);
    for (nic_barrier* b : mine) e.until_arrival("an epoch of a plan", [&] { return b->finished() == b->started(); });
    for (nic_barrier* b : mine) require_equal(e.net().offloader()->awaits(b->id()), any_peer, "nobody is awaited");
  }
}

void made_and_dropped(rank_env& e) {
  offload& off = offload_of(e);
  for (std::uint32_t k = 0; k < 2 * off.query().max_plans && k < 40; ++k) {
    nic_barrier b(e, k % 2 ? star : ring_of_powers, rank_map::strided(0, e.size));
    off.queue(b.id(), off.query().queued);
    b.start();
    b.wait();  // the rest is dropped as it is queued
  }
}

void what_cannot_be_offloaded(rank_env& e) {
  offload& off = offload_of(e);
  std::vector<std::byte> blob;
  const auto refused = [&](const schedule& s, const char* word) {
    const auto r = off.prepare(s, rank_map::strided(0, e.size), 1, blob);
    require(!r.ok() && r.error().code() == errc::unsupported, "refused");
    require(std::string{r.error().text()}.find(word) != std::string::npos, r.error().text());
  };
  schedule s;
  s.words = 1;
  s.add(step_kind::arrive, 0, 0, e.size);
  refused(s, "arrive");
  s.steps.clear();
  s.add(step_kind::multicast, any_peer);
  refused(s, "multicast");
  s.steps.clear();
  s.add(step_kind::signal, 0, 0, 2);
  refused(s, "signal");
}

// The others' epoch never finishes; they learn of the death as of any, and what goes by submit() goes on. Plans need not (a
// fabric may keep the work for the dead in front of all other), until the dead is in none of them.
void a_death(rank_env& e) {
  offload_of(e);
  constexpr rank_t victim = 1;
  {
    nic_barrier b(e, ring_of_powers, rank_map::strided(0, e.size));
    area words = e.allocate(64);
    b.start();
    b.wait();
    e.barrier();
    if (e.rank == victim) e.die();
    e.until("room for an epoch, or a reason", [&] {  // whoever starts towards the dead may be told at once
      return b.try_start() || e.net().offloader()->outcome(b.id()).failed() || e.net().health(victim).failed();
    });
    e.until("the victim's death to show", [&] { return e.net().health(victim).failed(); });
    require_equal(b.finished(), std::uint64_t{1}, "epochs finished without the victim");
    const rank_t other = 2 - e.rank;
    for (std::uint64_t k = 1; k <= 10; ++k) {
      e.submit(signal(words.at(other), k));
      e.wait_word(words.word(), k);
    }
  }
  for (int again = 0; again < 2; ++again) {
    nic_barrier survivors(e, ring_of_powers, rank_map::listed({0, 2}));
    for (int k = 0; k < 10; ++k) {
      survivors.start();
      survivors.wait();
    }
    e.barrier();
  }
}

constexpr std::array cases{
    conformance_case{"every_size_by_powers", 9, every_size_by_powers},
    conformance_case{"every_size_by_a_star", 6, every_size_by_a_star},
    conformance_case{"started_ahead", 3, started_ahead},
    conformance_case{"a_late_rank_holds_all", 3, a_late_rank_holds_all},
    conformance_case{"many_queued_ahead", 3, many_queued_ahead},
    conformance_case{"without_the_program", 3, without_the_program},
    conformance_case{"the_end_of_an_epoch_ends_a_sleep", 3, the_end_of_an_epoch_ends_a_sleep},
    conformance_case{"epochs_wrap", 3, epochs_wrap},
    conformance_case{"thousands_of_epochs", 2, thousands_of_epochs},
    conformance_case{"plans_do_not_meet", 3, plans_do_not_meet},
    conformance_case{"made_and_dropped", 2, made_and_dropped},
    conformance_case{"what_cannot_be_offloaded", 2, what_cannot_be_offloaded},
    conformance_case{"a_death", 3, a_death, 1},
};

}  // namespace

clause offload_clause() { return {"offload", cases}; }

}  // namespace tutti::test

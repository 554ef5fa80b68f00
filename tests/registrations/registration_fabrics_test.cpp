// registration_fabrics_test [Boost.Test's options] [-- --fabric NAME]
// The caches over every fabric, by real puts and gets: each rank offers memory of its own, the next one reaches it.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/job/attachment_cache.h"
#include "core/job/bootstrap_alone.h"
#include "core/job/job.h"
#include "core/job/registration_cache.h"
#include "core/job/team.h"
#include "tests/conformance/patterns.h"
#include "tests/harness/arguments.h"

namespace tutti::test {
namespace {

constexpr std::size_t bytes = 300'000;

struct both_caches {
  rank_env& env;
  registration_cache mine{env.net(), registrations_kept::automatic, {}};
  attachment_cache theirs{env.net()};

  // My memory with its offset and key, to the one on my left; what comes from the right.
  struct offer {
    std::uint64_t offset;
    std::vector<std::byte> key;
  };
  offer trade(const registration_cache::use& u) {
    std::vector<std::byte> blob(8);
    const std::uint64_t offset = u.offset();
    std::memcpy(blob.data(), &offset, 8);
    blob.insert(blob.end(), u.key().begin(), u.key().end());
    const auto all = env.exchange(blob);
    const auto right = (*all)[right_of(env)];
    offer o;
    std::memcpy(&o.offset, right.data(), 8);
    o.key.assign(right.begin() + 8, right.end());
    return o;
  }
  // Gets the right one's memory and puts it to the second half of that; all meet twice.
  void reach(std::span<std::byte> memory, std::uint64_t seed) {
    const std::size_t half = memory.size() / 2;
    const auto n = static_cast<std::uint32_t>(half);
    fill(memory.first(half), seed + env.rank);
    auto u = take(mine.acquire(memory), "acquire");
    const offer from = trade(u);
    auto there = take(theirs.acquire(right_of(env), from.key), "attach");
    std::vector<std::byte> copy(half);
    env.run(get(plain(copy.data()), {right_of(env), there.segment(), from.offset}, n));
    check(copy, seed + right_of(env), "a get from memory that is kept registered");
    env.submit(put(plain(copy.data()), {right_of(env), there.segment(), from.offset + half}, n));
    env.flush(right_of(env));
    env.barrier();
    check(memory.subspan(half, half), seed + env.rank, "a put to memory that is kept registered");
    env.barrier();
    theirs.release(there);
    mine.release(u);
  }
};

std::byte* map(void* at = nullptr) {
  void* const p = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);
  require(p != MAP_FAILED && (!at || p == at), "mmap");
  return static_cast<std::byte*>(p);
}

void used_again(rank_env& env) {
  both_caches c{env};
  std::vector<std::byte> own(bytes);
  for (std::uint64_t i = 0; i < 5; ++i) c.reach(std::span{own}.subspan(i * 100, 200'000), env.seed + 10 * i);
  if (!c.mine.keeps()) skip(c.mine.why());
  require_equal(c.theirs.misses(), c.mine.counted().misses, "one attachment for each registration");
  for (std::uint64_t i = 0; i < 5; ++i) c.reach(std::span{own}.subspan(300, 100'000), env.seed + 77 * i);
  require(c.mine.counted().hits >= 5, "the same memory again is found");
  require(c.theirs.hits() >= 5, "the same key again is found");
}

// The address comes back with other memory behind it. What is kept must not show what was there before.
void mapped_anew(rank_env& env) {
  both_caches c{env};
  std::byte* const p = map();
  for (std::uint64_t i = 0; i < 4; ++i) {
    c.reach({p, bytes}, env.seed + 10 * i);
    munmap(p, bytes);
    map(p);
    require(p[0] == std::byte{} && p[bytes - 1] == std::byte{}, "new memory is zero");
  }
  // Without an unmapping: the pages alone go.
  c.reach({p, bytes}, env.seed + 100);
  madvise(p, bytes, MADV_DONTNEED);
  c.reach({p, bytes}, env.seed + 200);
  munmap(p, bytes);
}

// A child that writes to its copy of what the parent has registered, and ends; the parent goes on.
void after_a_fork(rank_env& env) {
  if (!env.own_process) skip("its ranks are no processes");
  both_caches c{env};
  std::byte* const p = map();
  c.reach({p, bytes}, env.seed);
  auto held = take(c.mine.acquire({p, bytes}), "acquire");
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = c.mine.acquire({p, bytes}).error().code() == errc::invalid;
    std::memset(p, 0xEE, bytes);
    munmap(p, bytes);
    _exit(refused ? 0 : 1);
  }
  int outcome = -1;
  require(waitpid(child, &outcome, 0) == child && outcome == 0, "the child is refused");
  c.mine.release(held);
  c.reach({p, bytes}, env.seed + 9);
  munmap(p, bytes);
}

// Who still has the key of what was given back gets an error and no data.
void given_back(rank_env& env) {
  both_caches c{env};
  registration_cache once{env.net(), registrations_kept::off, {}};
  std::vector<std::byte> own(bytes, std::byte{7}), copy(1000, std::byte{1});
  auto u = take(once.acquire(own), "acquire");
  const auto from = c.trade(u);
  env.barrier();
  once.release(u);
  env.barrier();
  auto there = take(c.theirs.acquire(right_of(env), from.key), "attach");
  completion done;
  env.submit(get(plain(copy.data()), {right_of(env), there.segment(), from.offset}, 1000, &done));
  env.wait_idle(done);
  require(done.outcome().failed(), "a get by the key of what was given back");
  check_painted(copy, 1, "what came of it");
  env.barrier();
  c.theirs.release(there);
}

// The memory of a process that has ended: an error that names it, and no data.
void of_an_ended_rank(rank_env& env) {
  both_caches c{env};
  std::vector<std::byte> own(bytes, std::byte{7}), copy(1000, std::byte{1});
  auto u = take(c.mine.acquire(own), "acquire");
  const auto from = c.trade(u);
  auto there = take(c.theirs.acquire(right_of(env), from.key), "attach");
  env.run(get(plain(copy.data()), {right_of(env), there.segment(), from.offset}, 1000));
  env.barrier();
  if (env.rank == 1) env.die();
  env.until("the death of rank 1", [&] { return env.net().health(1).failed(); });
  c.theirs.release(there);
  there = take(c.theirs.acquire(1, from.key), "attach");
  paint(copy, 1);
  completion done;
  env.submit(get(plain(copy.data()), {1, there.segment(), from.offset}, 1000, &done));
  env.wait_idle(done);
  require(done.outcome().code() == errc::peer_dead && done.outcome().peer() == 1, "a get from a rank that has ended");
  check_painted(copy, 1, "what came of it");
  c.theirs.release(there);
  c.mine.release(u);
}

void run(std::uint32_t ranks, void (*body)(rank_env&), const run_options& options = {}) {
  const auto all = wanted([] {
    auto found = fabrics();
    for (const char* more : {"sim", "checked(shm)"}) found.push_back({more});
    return found;
  });
  for (const fabric_spec& f : all) run_ranks(f, ranks, body, options);
}

}  // namespace

// As the settings say; and a job that ends gives back what nobody has released.
BOOST_AUTO_TEST_CASE(a_job_has_both) {
  for (const char* how : {"auto", "off"}) {
    const config_option set{"registration_cache", how};
    const config settings = *config::load({&set, 1}, {}, {});
    auto j = job::open(make_alone_bootstrap(), settings, options_from(settings));
    BOOST_TEST_REQUIRE(j.ok(), j.error().text());
    std::vector<std::byte> own(10'000);
    job& mine = **j;
    auto u = take(mine.registrations().acquire(own), "acquire");
    auto there = take(mine.attachments().acquire(0, u.key()), "attach");
    std::vector<std::byte> sent(100, std::byte{5});
    completion done;
    BOOST_TEST(mine.net().submit(std::array{put(plain(sent.data()), {0, there.segment(), u.offset() + 50}, 100, &done)}) == 1u);
    BOOST_TEST(mine.wait(done, "a put").ok());
    check_painted(std::span{own}.subspan(50, 100), 5, "what was put");
    BOOST_TEST(mine.registrations().keeps() == (std::string_view{how} == "auto"));
  }
}

BOOST_AUTO_TEST_CASE(memory_used_again) { run(3, used_again); }
BOOST_AUTO_TEST_CASE(memory_mapped_anew) { run(2, mapped_anew); }
BOOST_AUTO_TEST_CASE(memory_after_a_fork) { run(2, after_a_fork); }
BOOST_AUTO_TEST_CASE(memory_given_back) { run(2, given_back); }
BOOST_AUTO_TEST_CASE(memory_of_an_ended_rank) { run(2, of_an_ended_rank, {.to_die = {1}}); }

}  // namespace tutti::test

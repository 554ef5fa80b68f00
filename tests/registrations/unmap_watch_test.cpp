// That nothing unmapped goes untold: every way in which memory leaves its addresses, and the moment between an munmap() and its news.
#include "core/base/unmap_watch.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "core/base/mappings.h"
#include "core/job/registration_cache.h"
#include "tests/core/fake_transport.h"
#include "tests/harness/time_scale.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::size_t page = 4096, bytes = 16 * page;
constexpr int private_memory = MAP_PRIVATE | MAP_ANONYMOUS;

std::byte* map(std::size_t n = bytes, int how = private_memory, void* at = nullptr, int fd = -1) {
  void* const p = ::mmap(at, n, PROT_READ | PROT_WRITE, how, fd, 0);
  BOOST_TEST_REQUIRE((p != MAP_FAILED));
  std::memset(p, 1, n);
  return static_cast<std::byte*>(p);
}

unmap_watch::range range_of(const std::byte* p, std::size_t n = bytes) {
  return {reinterpret_cast<std::uintptr_t>(p), reinterpret_cast<std::uintptr_t>(p) + n};
}

bool tells_of(const unmap_watch::listener::news& news, unmap_watch::range r) {
  if (news.all || !news.sure) return true;
  return std::any_of(news.gone.begin(), news.gone.end(), [&](unmap_watch::range g) { return g.begin < r.end && r.begin < g.end; });
}

bool can_watch(std::string* why = nullptr) {
  const auto watch = unmap_watch::open(unmap_watch::by::userfaultfd);
  if (!watch && why) *why = watch.error().text();
  return watch.ok();
}

boost::test_tools::assertion_result here(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result may{true};
  std::string why;
  if (!can_watch(&why)) may = false, may.message() << why;
  return may;
}

struct watched {
  unmap_watch::listener listener{*unmap_watch::open(unmap_watch::by::userfaultfd)};
};

const auto where_userfaultfd_is = boost::unit_test::precondition(here);

}  // namespace

BOOST_FIXTURE_TEST_CASE(every_way_to_go, watched, *where_userfaultfd_is) {
  const std::pair<const char*, std::function<void(std::byte*)>> ways[] = {
      {"munmap", [](std::byte* p) { ::munmap(p, bytes); }},
      {"munmap of a page", [](std::byte* p) { ::munmap(p + 3 * page, page); }},
      {"mmap over it", [](std::byte* p) { map(bytes, private_memory | MAP_FIXED, p); }},
      {"mremap", [](std::byte* p) { ::mremap(p, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, map()); }},
      {"mremap onto it", [](std::byte* p) { ::mremap(map(), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, p); }},
      {"mremap to less", [](std::byte* p) { ::mremap(p, bytes, page, 0); }},
      {"MADV_DONTNEED", [](std::byte* p) { ::madvise(p + page, page, MADV_DONTNEED); }},
      {"MADV_FREE", [](std::byte* p) { ::madvise(p, bytes, MADV_FREE); }},
      {"another thread", [](std::byte* p) { std::thread{[p] { ::munmap(p, bytes); }}.join(); }},
  };
  for (const auto& [name, go] : ways) {
    std::byte* const p = map();
    BOOST_TEST(listener.watch(range_of(p + page, page)).ok());
    (void)listener.settle();
    go(p);
    BOOST_TEST(tells_of(listener.settle(), range_of(p)), name);
    const auto news = listener.settle();
    BOOST_TEST((news.sure && news.gone.empty() && !news.all), name << ": told twice");
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose allocators keep it for a while
// By the C library itself, which calls no function that could be interposed.
BOOST_FIXTURE_TEST_CASE(freed_by_the_c_library, watched, *where_userfaultfd_is) {
  constexpr std::size_t much = 64u << 20;  // has a mapping of its own
  auto* const p = static_cast<std::byte*>(std::malloc(much));
  BOOST_TEST_REQUIRE(p);
  BOOST_TEST(listener.watch(range_of(p, 1000)).ok());
  (void)listener.settle();
  const auto was = range_of(p, much);
  std::free(p);
  BOOST_TEST(tells_of(listener.settle(), was));
}
#endif

BOOST_FIXTURE_TEST_CASE(what_the_program_may_still_do, watched, *where_userfaultfd_is) {
  std::byte* p = map();
  BOOST_TEST(listener.watch(range_of(p + 2 * page, page)).ok());
  std::memset(p, 2, bytes);
  BOOST_TEST(::mprotect(p, page, PROT_READ) == 0);
  BOOST_TEST(::mprotect(p, page, PROT_READ | PROT_WRITE) == 0);
  void* const moved = ::mremap(p, bytes, 2 * bytes, MREMAP_MAYMOVE);  // of a mapping that is watched for a part of it
  BOOST_TEST((moved != MAP_FAILED));
  ::munmap(moved, 2 * bytes);
}

BOOST_FIXTURE_TEST_CASE(what_cannot_be_watched_is_refused, watched, *where_userfaultfd_is) {
  std::byte* const shared = map(bytes, MAP_SHARED | MAP_ANONYMOUS);
  BOOST_TEST((listener.watch(range_of(shared)).code() == errc::unsupported));
  const int file = ::memfd_create("unmap_watch_test", MFD_CLOEXEC);
  BOOST_TEST_REQUIRE(::ftruncate(file, bytes) == 0);
  std::byte* const of_file = map(bytes, MAP_PRIVATE, nullptr, file);
  BOOST_TEST((listener.watch(range_of(of_file)).code() == errc::unsupported));
  std::byte* const p = map();
  ::munmap(p + page, page);
  BOOST_TEST((listener.watch(range_of(p)).code() == errc::unsupported));
  ::close(file);
}

BOOST_FIXTURE_TEST_CASE(more_than_there_is_room_for, watched, *where_userfaultfd_is) {
  std::byte* const p = map(200 * page);
  BOOST_TEST(listener.watch(range_of(p, 200 * page)).ok());
  for (int i = 0; i < 200; i += 2) ::munmap(p + i * page, page);
  BOOST_TEST(listener.settle().all);
  ::munmap(p + page, page);
  BOOST_TEST(!listener.settle().all);
}

BOOST_FIXTURE_TEST_CASE(each_listener_is_told, watched, *where_userfaultfd_is) {
  unmap_watch::listener other{*unmap_watch::open(unmap_watch::by::userfaultfd)};
  std::byte* const p = map();
  BOOST_TEST(other.watch(range_of(p)).ok());
  ::munmap(p, bytes);
  BOOST_TEST(tells_of(listener.settle(), range_of(p)));
  BOOST_TEST(tells_of(other.settle(), range_of(p)));
}

BOOST_FIXTURE_TEST_CASE(a_child_unmaps_its_own, watched, *where_userfaultfd_is) {
  std::byte* const p = map();
  BOOST_TEST(listener.watch(range_of(p)).ok());
  const pid_t child = fork();
  if (child == 0) {
    ::munmap(p, bytes);  // nobody of the child's reads events: it must not wait for that
    _exit(0);
  }
  int outcome = -1;
  BOOST_TEST_REQUIRE(waitpid(child, &outcome, 0) == child);
  BOOST_TEST(outcome == 0);
  BOOST_TEST(!tells_of(listener.settle(), range_of(p)));
  ::munmap(p, bytes);
  BOOST_TEST(tells_of(listener.settle(), range_of(p)));
}

// With it ends who reads the events, in a forked child as well, that has its descriptors.
BOOST_AUTO_TEST_CASE(nobody_waits_when_it_has_ended, *where_userfaultfd_is) {
  for (int round = 0; round < 20; ++round) {
    std::byte* const p = map();
    std::thread other;  // whose stack may be beside p, as that of the watch's own thread may
    pid_t child = 0;
    {
      unmap_watch::listener listener{*unmap_watch::open(unmap_watch::by::userfaultfd)};
      BOOST_TEST(listener.watch(range_of(p)).ok());
      int on_the_stack = 0;
      BOOST_TEST(listener.watch(range_of(reinterpret_cast<std::byte*>(&on_the_stack), 4)).ok());
      other = std::thread{[&] { int here = 0; BOOST_TEST(listener.watch(range_of(reinterpret_cast<std::byte*>(&here), 4)).ok()); }};
      other.join();
      // The stacks of all threads, this class's own among them.
      each_private_mapping([](void* l, std::uintptr_t begin, std::uintptr_t end) {
        (void)static_cast<unmap_watch::listener*>(l)->watch({begin, end});
      }, &listener);
      child = fork();
      if (child == 0) {
        if (round % 2) listener.~listener();  // what it has inherited ends there too
        ::pause();
      }
    }
    ::munmap(p, bytes);
    std::thread{[] {}}.join();
    ::kill(child, SIGKILL);
    int outcome = 0;
    waitpid(child, &outcome, 0);
  }
}

// The address may come back to one thread while the other, which unmapped it, is still inside munmap() and its news unread.
BOOST_FIXTURE_TEST_CASE(the_address_comes_back_before_munmap_returns, watched, *where_userfaultfd_is) {
  std::byte* p = map();
  std::atomic<int> turn = 0;
  constexpr int rounds = 4000 / time_scale;
  std::thread unmaps{[&] {
    for (int i = 1; i <= rounds; ++i) {
      while (turn.load() < i) std::this_thread::yield();
      ::munmap(p, bytes);
    }
  }};
  int untold = 0, early = 0;
  for (int i = 1; i <= rounds; ++i) {
    if (!listener.watch(range_of(p)).ok()) ++untold;
    (void)listener.settle();
    turn.store(i);
    while (::mmap(p, bytes, PROT_READ | PROT_WRITE, private_memory | MAP_FIXED_NOREPLACE, -1, 0) != p) std::this_thread::yield();
    const auto news = listener.settle();
    early += !news.sure;
    untold += !tells_of(news, range_of(p));
  }
  unmaps.join();
  BOOST_TEST(untold == 0);
  BOOST_TEST_MESSAGE(early << " of " << rounds << " times the address came back before munmap() had returned");
  ::munmap(p, bytes);
}

// --- the cache over a transport that pins --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(mapped_anew_is_registered_anew, *where_userfaultfd_is) {
  fake_transport net{"fake"};
  registration_cache cache{net, registrations_kept::automatic, {}};
  BOOST_TEST(cache.why() == "kept: userfaultfd tells what is unmapped");
  std::byte* const p = map();
  const auto use = [&](std::size_t from, std::size_t n) {
    auto u = *cache.acquire({p + from, n});
    const region_id r = u.region();
    cache.release(u);
    return r;
  };
  const region_id first = use(100, 5000);
  BOOST_TEST(net.regions.at(static_cast<std::uint32_t>(first)).size() == 2 * page);  // whole pages
  BOOST_TEST((use(0, 2 * page) == first));
  BOOST_TEST((use(5 * page, page) != first));
  auto held = *cache.acquire({p, 8});
  ::munmap(p, bytes);
  map(bytes, private_memory | MAP_FIXED, p);
  const region_id second = use(100, 5000);
  BOOST_TEST((second != first));
  BOOST_TEST(net.regions.size() == 2u);  // the first is in use
  cache.release(held);
  BOOST_TEST(net.regions.size() == 1u);
  BOOST_TEST((use(100, 5000) == second));
  BOOST_TEST(cache.counted().stale == 2u);
  ::munmap(p, bytes);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_watched_is_registered_for_one_use, *where_userfaultfd_is) {
  fake_transport net{"fake"};
  registration_cache cache{net, registrations_kept::automatic, {}};
  std::byte* const shared = map(bytes, MAP_SHARED | MAP_ANONYMOUS);
  auto u = *cache.acquire({shared, bytes});
  BOOST_TEST(net.regions.size() == 1u);
  cache.release(u);
  BOOST_TEST(net.regions.empty());
  ::munmap(shared, bytes);
}

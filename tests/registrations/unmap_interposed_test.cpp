// A program that is linked with libtutti-unmap: what its calls take away is told before it goes.
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <functional>

#include "core/job/registration_cache.h"
#include "tests/core/fake_transport.h"

extern "C" void tutti_unmapped(const void* begin, std::size_t bytes);

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::size_t page = 4096, bytes = 16 * page;
constexpr int private_memory = MAP_PRIVATE | MAP_ANONYMOUS;

std::byte* map(void* at = nullptr) {
  void* const p = ::mmap(at, bytes, PROT_READ | PROT_WRITE, private_memory | (at ? MAP_FIXED : 0), -1, 0);
  BOOST_TEST_REQUIRE((p != MAP_FAILED));
  return static_cast<std::byte*>(p);
}

struct interposed {
  fake_transport net{"fake"};  // which pins
  registration_cache cache{net, registrations_kept::interpose, {}};
  region_id use(std::byte* p, std::size_t n = bytes) {
    auto u = *cache.acquire({p, n});
    const region_id r = u.region();
    cache.release(u);
    return r;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(every_way_to_go, interposed) {
  BOOST_TEST(cache.why() == "kept: libtutti-unmap tells what is unmapped");
  const std::pair<const char*, std::function<void(std::byte*)>> ways[] = {
      {"munmap", [](std::byte* p) { ::munmap(p + page, page); }},
      {"mmap over it", [](std::byte* p) { map(p); }},
      {"mremap", [](std::byte* p) { ::mremap(p, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, map()); }},
      {"mremap onto it", [](std::byte* p) { ::mremap(map(), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, p); }},
      {"MADV_DONTNEED", [](std::byte* p) { ::madvise(p, page, MADV_DONTNEED); }},
      {"malloc_trim", [](std::byte*) { ::malloc_trim(0); }},
      {"said by the program", [](std::byte* p) { tutti_unmapped(p + bytes - 1, 1); }},
  };
  for (const auto& [name, go] : ways) {
    std::byte* const p = map();
    const region_id first = use(p);
    BOOST_TEST((use(p) == first));
    go(p);
    BOOST_TEST((use(p) != first), name);  // an adapter would find what lies there now; this one only writes it down
    ::munmap(p, bytes);
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose allocators unmap by bare system calls
BOOST_FIXTURE_TEST_CASE(the_c_library_unmaps_nothing, interposed) {
  constexpr std::size_t much = 40u << 20;
  auto* const p = static_cast<std::byte*>(std::malloc(much));
  BOOST_TEST_REQUIRE(p);
  p[much / 2] = std::byte{1};
  const region_id first = use(p, much);
  std::free(p);
  unsigned char there = 0;
  BOOST_TEST(::mincore(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(p + much / 2) & ~(page - 1)), page, &there) == 0);
  BOOST_TEST(there == 1);
  BOOST_TEST((use(p, much) == first));
}
#endif

BOOST_AUTO_TEST_CASE(who_has_gone_is_told_no_more) {
  std::byte* const p = map();
  {
    interposed one;
    one.use(p);
  }
  ::munmap(p, bytes);
}

// What joining over libfabric's tcp costs a process: libfabric starts once in each, so every case has one of its own.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>

#include "providers/ofi/link.h"
#include "providers/ofi/quirks.h"
#include "tests/harness/time_scale.h"

namespace {
bool memory_is_short = false;
}

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const at = memory_is_short ? nullptr : std::malloc(bytes);
  if (!at) throw std::bad_alloc{};
  return at;
}
[[gnu::noinline]] void operator delete(void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t) noexcept { std::free(at); }

namespace {

using namespace tutti;

std::uint64_t bytes_read() {
  std::ifstream counters{"/proc/self/io"};
  std::string name;
  std::uint64_t bytes = 0;
  return counters >> name >> bytes && name == "rchar:" ? bytes : 0;
}

// Nothing of libfabric may have been called in this process before.
template <class F>
int in_a_child(F&& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int how = -1;
  ::waitpid(child, &how, 0);
  return WIFEXITED(how) ? WEXITSTATUS(how) : 255;
}

constexpr long limit = 56 << 10;  // KiB: what ofi_rxm takes by itself is 85 MiB, and 35 with fewer buffers

// By how much an endpoint of tcp's makes this process grow, once what is given has been done.
template <class F>
bool grows(F&& before, long least, long most) {
  const int answer = in_a_child([&] {
    const auto resident = [] {
      rusage used{};
      ::getrusage(RUSAGE_SELF, &used);
      return used.ru_maxrss;
    };
    before();
    const long begin = resident();
    const auto link = ofi::ofi_link::open("tcp");
    const long grown = resident() - begin;
    return link && grown >= least && grown < most ? 0 : 1;
  });
  return answer == 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_kernels_symbols_are_not_read) {
  std::error_code none;
  const bool adapters = !std::filesystem::is_empty("/sys/class/infiniband", none) && !none;
  if (bytes_read() == 0 || adapters) {
    BOOST_TEST_MESSAGE("skipped: there is an adapter, or nobody counts what is read");
    return;
  }
  for (const char* device : {"tcp", ""}) {
    const int answer = in_a_child([&] {
      const std::uint64_t before = bytes_read();
      (void)ofi::describe_device(device);
      return bytes_read() - before < 1 << 20 ? 0 : 1;  // they are some ten
    });
    BOOST_TEST(answer == 0, "looking for \"" << device << "\" reads more than a megabyte");
  }
}

// It is made where nothing can be thrown.
BOOST_AUTO_TEST_CASE(it_needs_no_memory) {
  const int answer = in_a_child([] {
    memory_is_short = true;
    const ofi::quirks::first_call cheaper{"tcp"};
    return 0;
  });
  BOOST_TEST(answer == 0);
}

BOOST_AUTO_TEST_CASE(an_endpoint_takes_fewer_buffers) {
  if (test::time_scale > 1) {
    BOOST_TEST_MESSAGE("skipped: sanitizers need memory of their own");
    return;
  }
  BOOST_TEST(grows([] {}, 0, limit), "libfabric has as many buffers as ever");
  BOOST_TEST(grows([] { ::setenv("FI_OFI_RXM_MSG_RX_SIZE", "4096", 1); }, limit, 1 << 30), "the user's number is not taken");
  BOOST_TEST(grows([] { (void)ofi::find_devices(); }, limit, 1 << 30), "its own number is gone where all devices are looked for");
}

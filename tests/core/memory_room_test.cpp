// How much memory there is: read from a made-up /proc and /sys; and whether requests fit, together.
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/base/memory_room.h"

using namespace tutti;

namespace {

constexpr std::uint64_t mib = 1 << 20, gib = 1 << 30;

// A root with a /proc/meminfo of 16 GiB available and 1 GiB of swap, until more is put in.
class machine {
 public:
  machine() {
    char name[] = "/tmp/tutti-memory-XXXXXX";
    root_ = ::mkdtemp(name);
    put("proc/meminfo", "MemTotal:       25165824 kB\nMemFree:         1000 kB\nMemAvailable:   16777216 kB\n"
                        "SwapCached:            7 kB\nSwapTotal:       2097152 kB\nSwapFree:        1048576 kB\n");
  }
  ~machine() { std::filesystem::remove_all(root_); }
  machine& put(const std::string& file, const std::string& text) {
    const auto at = std::filesystem::path{root_} / file;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream{at} << text;
    return *this;
  }
  std::uint64_t room() const { return memory_room(root_.c_str()); }
  const char* root() const { return root_.c_str(); }

 private:
  std::string root_;
};

std::string number(std::uint64_t n) { return std::to_string(n) + "\n"; }

}  // namespace

BOOST_AUTO_TEST_CASE(without_cgroups_it_is_the_machines) {
  BOOST_TEST(machine{}.room() == 17 * gib);
  BOOST_TEST(memory_room("/nowhere") == room_unknown);
}

BOOST_AUTO_TEST_CASE(version_2_the_tightest_on_the_way_up_counts) {
  machine m;
  m.put("proc/self/cgroup", "0::/slice/job\n");
  m.put("sys/fs/cgroup/slice/job/memory.max", "max\n").put("sys/fs/cgroup/slice/job/memory.current", number(50 * mib));
  BOOST_TEST(m.room() == 17 * gib);
  m.put("sys/fs/cgroup/slice/memory.max", number(2 * gib)).put("sys/fs/cgroup/slice/memory.current", number(gib));
  BOOST_TEST(m.room() == gib);
  m.put("sys/fs/cgroup/slice/job/memory.max", number(100 * mib));
  BOOST_TEST(m.room() == 50 * mib);
  m.put("sys/fs/cgroup/slice/job/memory.stat", "anon 1\ninactive_anon 5\ninactive_file 1048576\n");
  BOOST_TEST(m.room() == 51 * mib);  // what the cache of files gives back
  m.put("sys/fs/cgroup/slice/job/memory.current", number(101 * mib)).put("sys/fs/cgroup/slice/job/memory.stat", "anon 1\n");
  BOOST_TEST(m.room() == 0u);
}

// In a container without a namespace of cgroups the path names what is not mounted; its own cgroup is the top.
BOOST_AUTO_TEST_CASE(a_path_that_is_not_mounted_leaves_the_top) {
  machine m;
  m.put("proc/self/cgroup", "4:memory:/docker/1234\n1:cpu:/\n0::/docker/1234\n");
  m.put("sys/fs/cgroup/memory/memory.limit_in_bytes", number(3 * gib)).put("sys/fs/cgroup/memory/memory.usage_in_bytes", number(gib));
  BOOST_TEST(m.room() == 2 * gib);
  m.put("sys/fs/cgroup/memory.max", number(2 * gib)).put("sys/fs/cgroup/memory.current", number(gib));
  BOOST_TEST(m.room() == gib);
}

BOOST_AUTO_TEST_CASE(version_1_up_to_the_top_and_among_other_controllers) {
  for (const char* line : {"4:memory:/a/b\n", "9:cpu:/\n4:cpuset,memory:/a/b\n"}) {
    machine m;
    m.put("proc/self/cgroup", std::string{line} + "0::/\n");
    const std::string top = "sys/fs/cgroup/memory/";
    m.put(top + "memory.limit_in_bytes", "9223372036854771712\n").put(top + "memory.usage_in_bytes", number(gib));
    BOOST_TEST(m.room() == 17 * gib);
    m.put(top + "a/memory.limit_in_bytes", number(5 * gib)).put(top + "a/memory.usage_in_bytes", number(gib));
    BOOST_TEST(m.room() == 4 * gib);
    m.put(top + "a/b/memory.limit_in_bytes", number(gib)).put(top + "a/b/memory.usage_in_bytes", number(gib / 2));
    m.put(top + "a/b/memory.stat", "inactive_file 0\ntotal_inactive_file 4096\n");
    BOOST_TEST(m.room() == gib / 2 + 4096);
  }
}

// A reading serves small requests for a while, less what they ask for, and no large one.
BOOST_AUTO_TEST_CASE(small_requests_share_a_reading) {
  using namespace std::chrono_literals;
  machine m;
  memory_readings readings(m.root());
  const time_point start = std::chrono::steady_clock::now();
  const auto put = [&](std::uint64_t bytes) { m.put("proc/meminfo", "MemAvailable: " + std::to_string(bytes / 1024) + " kB\n"); };
  constexpr std::uint64_t kib = 1024;
  put(8 * gib);
  BOOST_TEST(readings.room_for(mib, start) == 8 * gib);
  put(4 * gib);
  BOOST_TEST(readings.room_for(512 * kib, start) == 8 * gib - mib);
  BOOST_TEST(readings.room_for(512 * kib, start + 100ms) == 8 * gib - mib - 512 * kib);
  BOOST_TEST(readings.room_for(512 * kib, start + 101ms) == 4 * gib);  // old
  put(2 * gib);
  BOOST_TEST(readings.room_for(mib, start + 102ms) == 2 * gib);  // more than 4 GiB / 4096 together
  put(gib);
  BOOST_TEST(readings.room_for(0, start + 103ms) == gib);  // the one before asked for much
  BOOST_TEST(readings.room_for(~std::uint64_t{0}, start + 104ms) == gib);
  BOOST_TEST(readings.room_for(1, start + 105ms) == gib);
  memory_readings blind("/nowhere");
  BOOST_TEST(blind.room_for(gib, start) == room_unknown);
  BOOST_TEST(blind.room_for(gib, start) == room_unknown);
}

BOOST_AUTO_TEST_CASE(requests_of_one_node_are_summed) {
  const std::vector<rank_t> ranks{4, 5, 6, 7};
  const auto ask = [&](std::vector<memory_request> requests) { return fits_together(requests, ranks); };
  BOOST_TEST(ask({{0, 5 * gib, 16 * gib}, {0, 5 * gib, 16 * gib}, {0, 5 * gib, 16 * gib}, {}}).ok());
  const status much = ask({{0, 0, room_unknown}, {0, 8 * gib, 16 * gib}, {0, 8 * gib, 16 * gib}, {0, 1, 15 * gib}});
  BOOST_TEST((much.code() == errc::no_resource));
  BOOST_TEST(much.text() == std::string{"3 ranks on the node of rank 5 ask together for 16 GiB, of which rank 5 asks for 8 GiB, "
                                        "and 16 GiB are available there; ask for less, spread the ranks over more nodes, or raise the memory limit of the "
                                        "container or cgroup"});
  BOOST_TEST(ask({{0, 8 * gib, 16 * gib}, {1, 8 * gib, 16 * gib}, {0, 4 * gib, 15 * gib}, {1, 4 * gib, 16 * gib}}).ok());
  const status there = ask({{0, 8 * gib, 16 * gib}, {1, 8 * gib, 9 * gib}, {0, 4 * gib, 16 * gib}, {1, 4 * gib, 10 * gib}});
  BOOST_TEST(std::string{there.text()}.starts_with("2 ranks on the node of rank 5 ask together for 12 GiB, of which rank 5 asks for 8 GiB, and 10"));
  BOOST_TEST(there.peer() == 5u);
  const status alone = ask({{0, 1, 16 * gib}, {1, ~std::uint64_t{0}, 16 * gib}, {}, {}});
  BOOST_TEST(std::string{alone.text()}.starts_with("rank 5 asks for "));
  const status wraps = ask({{0, ~std::uint64_t{0}, gib}, {0, ~std::uint64_t{0}, gib}, {}, {}});
  BOOST_TEST((wraps.code() == errc::no_resource));
  BOOST_TEST(ask({{0, ~std::uint64_t{0} / 2, room_unknown}, {}, {}, {}}).ok());  // nobody could tell
}

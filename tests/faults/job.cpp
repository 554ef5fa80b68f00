#include "tests/faults/job.h"

#include <dirent.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tests/faults/injection.h"
#include "tests/harness/waited.h"
#include "tutti.h"

namespace tutti::test {
namespace {

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::int32_t entries(const char* folder) {
  DIR* d = opendir(folder);
  std::int32_t n = 0;
  while (d && readdir(d)) ++n;
  if (d) closedir(d);
  return n;
}

struct member {
  meeting* at;
  std::uint32_t rank;
  std::uint64_t round = 0;
};

int allgather(void* context, const void* mine, std::size_t bytes, void* all, double timeout_s) {
  auto& me = *static_cast<member*>(context);
  if (bytes > meeting::most_bytes) return E2BIG;
  const double end = now() + timeout_s;
  const std::uint64_t round = ++me.round;
  std::memcpy(me.at->blob[round % 2][me.rank], mine, bytes);
  me.at->entered[me.rank].store(round);
  for (std::uint32_t r = 0; r < job_ranks; ++r) {
    while (me.at->entered[r].load() < round) {
      if (me.at->gone[r].load()) return EOWNERDEAD;
      if (now() > end) return ETIMEDOUT;
      const timespec nap{0, 50'000};
      nanosleep(&nap, nullptr);
    }
    std::memcpy(static_cast<unsigned char*>(all) + r * bytes, me.at->blob[round % 2][r], bytes);
  }
  return 0;
}

// Makes calls until one fails, and keeps the error.
class script {
 public:
  explicit script(rank_report& out) : out_(out) {}
  template <class F>
  bool call(const char* name, F&& f) {
    if (out_.code != TUTTI_OK) return false;
    out_.during = name;
    const tutti_status_t s = f();
    if (s != TUTTI_OK) keep(s, ctx);
    return s == TUTTI_OK;
  }
  void keep(tutti_status_t s, tutti_t where) {
    out_.code = s;
    out_.peer = tutti_error_peer(where);
    std::snprintf(out_.text, sizeof out_.text, "%s", tutti_error_text(where));
  }
  void expect(bool truth, const char* what) {
    if (!truth && out_.code == TUTTI_OK && !*out_.wrong) std::snprintf(out_.wrong, sizeof out_.wrong, "%s", what);
  }
  tutti_t ctx = nullptr;

 private:
  rank_report& out_;
};

void everything(script& does, std::uint32_t me) {
  const std::uint32_t other = 1 - me;
  const tutti_team_t world = tutti_world(does.ctx);
  tutti_team_t team = nullptr, rest = nullptr;
  tutti_window_t window = nullptr, over = nullptr;
  void* base = nullptr;
  alignas(8) static unsigned char own[2][256];
  std::memset(own[me], 0, sizeof own[me]);
  does.call("tutti_barrier", [&] { return tutti_barrier(world); });
  does.call("tutti_team_split", [&] { return tutti_team_split(world, 0, static_cast<std::int32_t>(other), &team); });
  std::uint64_t flags = 6;
  does.call("tutti_team_agree", [&] { return tutti_team_agree(world, &flags); });
  does.expect(flags == 6, "an agreement brought something else");
  does.call("tutti_team_shrink", [&] { return tutti_team_shrink(world, &rest); });
  does.call("tutti_window_create", [&] { return tutti_window_create(world, 1 << 17, &base, &window); });
  does.call("tutti_window_over", [&] { return tutti_window_over(world, own[me], sizeof own[me], &over); });
  std::uint64_t word = 40 + me, back = 0, old = 9;
  tutti_request_t request{};
  does.call("tutti_put_signal", [&] { return tutti_put_signal(window, other, 64, &word, 8, window, 0, 1, TUTTI_SET, nullptr); });
  does.call("tutti_wait_signal", [&] { return tutti_wait_signal(window, 0, TUTTI_REACHED, 1, other, -1); });
  if (base) {
    std::memcpy(&back, static_cast<unsigned char*>(base) + 64, 8);
    does.expect(back == 40 + other, "the word of a put_signal was not there behind its signal");
  }
  does.call("tutti_get", [&] { return tutti_get(window, other, 64, &back, 8, &request); });
  does.call("tutti_wait", [&] { return tutti_wait(&request, -1); });
  does.expect(back == 40 + me, "a get brought something else");
  does.call("tutti_put (over)", [&] { return tutti_put(over, other, 128, &word, 8, nullptr); });
  does.call("tutti_fetch_add", [&] { return tutti_fetch_add(window, 0, 1024, 1, &old, nullptr); });
  does.call("tutti_flush", [&] { return tutti_flush(window, TUTTI_ALL, -1); });
  does.expect(old < 2, "fetch_add brought something else");
  static unsigned char large[2][1 << 16];
  does.call("tutti_put (large)", [&] { return tutti_put(window, other, 4096, large[me], sizeof large[me], nullptr); });
  does.call("tutti_quiet", [&] { return tutti_quiet(does.ctx, -1); });
  does.call("tutti_ibarrier", [&] { return tutti_ibarrier(world, &request); });
  does.call("tutti_wait (barrier)", [&] { return tutti_wait(&request, -1); });
  if (team) does.call("tutti_barrier (team)", [&] { return tutti_barrier(team); });
  for (std::uint32_t root = 0; root < job_ranks; ++root) {
    std::memset(large[me], static_cast<int>(me == root ? 7 + root : 0), sizeof large[me]);
    does.call("tutti_broadcast", [&] { return tutti_broadcast(world, root, large[me], 100); });
    does.expect(large[me][99] == 7 + root, "a broadcast of 100 bytes brought something else");
    does.call("tutti_broadcast (large)", [&] { return tutti_broadcast(world, root, large[me], sizeof large[me]); });
    does.expect(large[me][sizeof large[me] - 1] == 7 + root, "a broadcast of 64 KiB brought something else");
  }
  does.call("tutti_window_free (over)", [&] { return tutti_window_free(&over); });
  does.call("tutti_window_free", [&] { return tutti_window_free(&window); });
  does.call("tutti_team_free", [&] { return tutti_team_free(&team); });
  does.call("tutti_team_free (of survivors)", [&] { return tutti_team_free(&rest); });
}

}  // namespace

void run_rank(std::uint32_t rank, const char* job_id, const char* provider, meeting& at, injection* page,
              rank_report& out) {
  const std::int32_t descriptors = entries("/proc/self/fd"), threads = entries("/proc/self/task");
  member me{&at, rank};
  tutti_bootstrap_t boot{};
  boot.context = &me, boot.rank = rank, boot.size = job_ranks, boot.job_id = job_id, boot.allgather = allgather;
  const tutti_setting_t settings[] = {{"provider", provider}, {"timeout_s", "8"}};
  tutti_options_t options{};
  options.struct_size = sizeof options, options.settings = settings, options.setting_count = 2, options.bootstrap = &boot;

  const double begun = now(), waited = 1e-9 * static_cast<double>(waited_for_core(getpid()));
  script does(out);
  if (page) arm(page);
  out.during = "tutti_init";
  const tutti_status_t s = tutti_init(&options, &does.ctx);
  if (s != TUTTI_OK) {
    does.keep(s, nullptr);
  } else {
    everything(does, rank);
    const bool well = out.code == TUTTI_OK;
    if (well) {
      out.during = "tutti_finalize";
      if (const tutti_status_t end = tutti_finalize(&does.ctx); end != TUTTI_OK) does.keep(end, nullptr);
    } else {
      out.during = "tutti_abandon";
      tutti_abandon(&does.ctx);
    }
  }
  if (page) arm(nullptr);
  out.seconds = now() - begun, out.waited = 1e-9 * static_cast<double>(waited_for_core(getpid())) - waited;
  out.descriptors = entries("/proc/self/fd") - descriptors;
  out.threads = entries("/proc/self/task") - threads;
  out.ended = true;
}

}  // namespace tutti::test

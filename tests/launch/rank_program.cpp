// What a rank of the launch tests does: joins the job as any program would, exchanges blobs, and then behaves, or not,
// as its arguments say. Prints one line a fact, for the scripts to compare.
//
//   rank_program [exchange ROUNDS] [die RANK SIGNAL|exitN] [end RANK STATUS] [idle SECONDS] [fence SECONDS] [insist SECONDS] [job]
//                [joined]
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "core/job/bootstrap_find.h"

using namespace tutti;

namespace {

time_point in(double seconds) {
  return std::chrono::steady_clock::now() + std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

std::vector<std::byte> blob_of(rank_t r, unsigned round) {
  std::vector<std::byte> b((r * 371 + round * 101) % 3000);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<std::byte>(r * 7 + round * 13 + i);
  return b;
}

int exchange(bootstrap& b, unsigned rounds) {
  for (unsigned k = 0; k < rounds; ++k) {
    const auto all = b.allgather(blob_of(b.rank(), k), in(30));
    if (!all) {
      printf("rank %u: exchange %u: %s\n", b.rank(), k, all.error().text());
      return 1;
    }
    for (rank_t r = 0; r < b.size(); ++r) {
      const auto expected = blob_of(r, k);
      if (!std::equal((**all)[r].begin(), (**all)[r].end(), expected.begin(), expected.end())) {
        printf("rank %u: exchange %u: wrong bytes from rank %u\n", b.rank(), k, r);
        return 1;
      }
    }
  }
  printf("exchanged %u\n", rounds);
  return 0;
}

[[noreturn]] void die(const std::string& how) {
  fflush(stdout);
  if (how.starts_with("exit")) _exit(atoi(how.c_str() + 4));
  signal(atoi(how.c_str()), SIG_DFL);
  raise(atoi(how.c_str()));
  pause();
  _exit(99);
}

}  // namespace

int main(int argc, char** argv) {
  const auto began = std::chrono::steady_clock::now();
  const auto settings = config::load();
  if (!settings) {
    fprintf(stderr, "%s\n", settings.error().text());
    return 2;
  }
  auto found = find_bootstrap(*settings);
  if (!found) {
    fprintf(stderr, "%s\n", found.error().text());
    return 3;
  }
  bootstrap& b = **found;
  const std::chrono::duration<double, std::milli> joined = std::chrono::steady_clock::now() - began;
  printf("rank %u of %u\n", b.rank(), b.size());
  for (int i = 1; i < argc; ++i) {
    const std::string what = argv[i];
    const auto next = [&] { return i + 1 < argc ? argv[++i] : const_cast<char*>(""); };
    if (what == "exchange") {
      if (const int code = exchange(b, static_cast<unsigned>(atoi(next()))); code != 0) return code;
    } else if (what == "die") {
      const auto who = static_cast<rank_t>(atoi(next()));
      const std::string how = next();
      if (b.rank() == who) die(how);
    } else if (what == "end") {  // having left the job in order
      const auto who = static_cast<rank_t>(atoi(next()));
      const int how = atoi(next());
      if (b.rank() == who) return how;
    } else if (what == "idle") {
      fflush(stdout);
      std::this_thread::sleep_until(in(atof(next())));
    } else if (what == "fence") {  // with what became of it, and how soon
      const double limit = atof(next());
      const auto t = std::chrono::steady_clock::now();
      const auto all = b.allgather({}, in(limit));
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - t;
      printf("rank %u fence: %s (%s)\n", b.rank(), std::string{errc_name(all.error().code())}.c_str(),
             took.count() < limit / 2 ? "soon" : "late");
      if (!all) fprintf(stderr, "%s\n", all.error().text());
    } else if (what == "insist") {  // upon an exchange
      if (!b.allgather({}, in(atof(next())))) return 5;
    } else if (what == "job") {
      printf("job %s\n", b.job_id().c_str());
    } else if (what == "joined") {
      fprintf(stderr, "rank %u joined in %.1f ms\n", b.rank(), joined.count());
    } else {
      fprintf(stderr, "rank_program: what is \"%s\"?\n", what.c_str());
      return 2;
    }
    fflush(stdout);
  }
  return 0;
}

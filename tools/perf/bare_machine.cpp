#include "tools/perf/bare_machine.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "core/transport/wait.h"
#include "tools/perf/series.h"

namespace tutti::tools {
namespace {

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> out;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) out.push_back(i);
  return out;
}

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// Two processes pass a word to and fro; one way, in microseconds: the median over chunks. Both are children, so that this
// process stays where it is, and end with it.
double pass_word(int first_core, int second_core) {
  constexpr int chunks = 21, trips = 2000;
  struct page {
    alignas(64) std::atomic<int> word;
    alignas(64) double us[chunks];
  };
  void* const memory = mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory for the bare figures");
  auto* const shared = static_cast<page*>(memory);
  const bool one_core = first_core == second_core;
  const auto play = [&](int me) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin(me == 0 ? first_core : second_core);
    for (int c = 0; c < chunks; ++c) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < trips; ++i) {
        for (int looks = 0; shared->word.load(std::memory_order_acquire) % 2 != me; ++looks)
          if (one_core || looks > 100000) sched_yield();
          else cpu_relax();
        shared->word.fetch_add(1, std::memory_order_release);
      }
      if (me == 0) shared->us[c] = seconds_since(start) * 1e6 / (2 * trips);
    }
    _exit(0);
  };
  pid_t children[2];
  bool good = true;
  for (int me = 0; me < 2; ++me)
    if ((children[me] = fork()) == 0) play(me);
  for (const pid_t child : children) {
    if (child < 0) {  // the other one would wait for ever
      good = false;
      if (children[0] > 0) kill(children[0], SIGKILL);
      continue;
    }
    int status = 0;
    good = waitpid(child, &status, 0) == child && status == 0 && good;
  }
  series all;
  for (const double us : shared->us) all.add(us);
  munmap(memory, sizeof(page));
  if (!good) throw std::runtime_error("no processes for the bare figures");
  return all.median();
}

}  // namespace

bare_machine measure_bare_machine() {
  const auto cores = usable_cores();
  bare_machine m;
  m.cores = static_cast<int>(cores.size());
  m.yield_us = pass_word(cores[0], cores[0]);
  m.flag_us = cores.size() > 1 ? pass_word(cores[0], cores[1]) : m.yield_us;
  return m;
}

double copy_rate(std::uint64_t bytes) {
  // Half a page apart: some processors copy ten times slower where the target lies a few bytes behind the source in its page, as two
  // allocations in turn do.
  constexpr std::size_t page = 4096;
  std::vector<std::byte> memory(2 * bytes + 3 * page, std::byte{1});
  std::byte* const from = memory.data() + (page - reinterpret_cast<std::uintptr_t>(memory.data()) % page);
  std::byte* const to = from + (bytes + page - 1) / page * page + page / 2;
  const auto took = [&](int times) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) {
      std::memcpy(to, from, bytes);
      asm volatile("" ::"r"(to) : "memory");
    }
    return seconds_since(start);
  };
  const int times = times_for(1e-3, 1, 1 << 20, took);
  series rates;
  for (int i = 0; i < 9; ++i) rates.add(static_cast<double>(bytes) * times / (took(times) * 1e6));
  return rates.median();
}

double copies_of(collective c, std::uint32_t ranks) {
  const double n = ranks;
  switch (c) {
    case collective::barrier: return 0;
    case collective::broadcast: case collective::reduce: case collective::gather: case collective::scatter:
    case collective::scan: case collective::exscan: return n - 1;
    case collective::allreduce: return 2 * (n - 1);
    case collective::allgather: case collective::alltoall: case collective::alltoallv: case collective::reduce_scatter: break;
  }
  return n * (n - 1);
}

double floor_us(const bare_machine& m, collective c, std::uint32_t ranks, std::uint64_t bytes, double rate) {
  const double n = ranks, used = std::min(n, static_cast<double>(m.cores));
  const double turns = n > m.cores ? std::ceil(n / m.cores) * m.yield_us : m.flag_us;
  return turns + copies_of(c, ranks) * static_cast<double>(bytes) / used / rate;
}

}  // namespace tutti::tools

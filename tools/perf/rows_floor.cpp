// What the machine itself allows, by bare loads and stores upon memory that all ranks map: nothing of the library runs
// inside these loops. Everything else in the table is read against them.
#include <sched.h>

#include <algorithm>
#include <cstring>

#include "core/transport/wait.h"
#include "tools/perf/measured_provider.h"

namespace tutti::tools {
namespace {

// Spin a little, then hand the core on: the best raw waiting where ranks outnumber cores, and harmless where not.
template <class Ready>
void wait_raw(bool oversubscribed, Ready ready) {
  for (int spins = 0; !ready();) {
    if (!oversubscribed || spins < 32) cpu_relax(), ++spins;
    else sched_yield();
    if (!oversubscribed && spins > 100000) sched_yield();
  }
}

}  // namespace

void measured_provider::add_floors(std::vector<row>& rows, bool by_size) {
  std::byte* const base = job_->net().map(segment_, 0);
  // A rank may map its own memory where its peers do not: all ranks measure the floors, or none.
  const std::byte mapped{base != nullptr && (job_->size() < 2 || job_->net().map(segment_, 1))};
  const auto all = world_->group().exchange_values(mapped);
  require(all.error());
  if (std::ranges::find(*all, std::byte{0}) != all->end()) return;
  const bool oversubscribed = job_->ranks_per_core() > 1;
  const std::uint32_t n = job_->size();
  const rank_t me = job_->rank();
  auto line = [base, this](std::uint32_t i) {
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(base + line_offset(i)));
  };
  auto floor = [&](std::string group, std::string name, auto run) -> row& {
    row& r = add(rows, std::move(group), std::move(name), run);
    r.what.provider = "floor";
    return r;
  };
  auto counter = [&] { return counters_.emplace_back(std::make_unique<std::uint64_t>(0)).get(); };
  if (n > 1) {
    floor("one-sided", "flag in one line", [=, epoch = counter()](int iterations) {
      if (me > 1) return;
      auto flag = line(8);  // even: rank 0's turn
      for (int i = 0; i < iterations; ++i, *epoch += 2) {
        wait_raw(oversubscribed, [&] { return flag.load(std::memory_order_acquire) == *epoch + me; });
        flag.store(*epoch + me + 1, std::memory_order_release);
      }
      // Rank 0 leaves only when the last answer is there, so that a chunk is whole round trips.
      if (me == 0) wait_raw(oversubscribed, [&] { return flag.load(std::memory_order_acquire) == *epoch; });
    }).halves = 2;
    floor("barrier", "flat counter", [=, epoch = counter()](int iterations) {
      auto arrived = line(10), released = line(12);
      for (int i = 0; i < iterations; ++i) {
        const std::uint64_t e = ++*epoch;
        if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == e * n) released.store(e, std::memory_order_release);
        else wait_raw(oversubscribed, [&] { return released.load(std::memory_order_acquire) >= e; });
      }
    });
  }
  // Into the peer's memory: what every put and get over shared memory costs at least.
  auto copying = [&](std::uint32_t bytes) {
    return [=, this](int iterations) {
      if (me != 0) return;
      std::byte* const to = (n > 1 ? job_->net().map(segment_, 1) : memory_.data()) + data;
      for (int i = 0; i < iterations; ++i) {
        std::memcpy(to, memory_.data() + data, bytes);
        asm volatile("" ::: "memory");
      }
    };
  };
  row& r = floor("bandwidth", "memcpy 1 MiB", copying(mebibyte));
  r.what.in = unit::gigabytes_per_s;
  r.work = mebibyte;
  if (!by_size) return;
  for (const std::uint32_t bytes : curve_sizes(bytes_))
    for (const char* what : {"put", "get"})
      for (const char* how : {" latency by size", " bandwidth by size"}) {
        row& each = floor(std::string(what) + how, {}, copying(bytes));
        each.what.bytes = bytes;
        if (how[1] == 'l') continue;
        each.what.in = unit::gigabytes_per_s;
        each.work = bytes;
      }
}

}  // namespace tutti::tools

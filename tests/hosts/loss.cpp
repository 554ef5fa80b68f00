// Kini's barrier and broadcasts over IP multicast while hosts lose datagrams (the script `lossy` makes them): loss PERCENT
// BARRIER... broadcast:BYTES... Each one named is correct at any loss; what it takes, and what was sent for it, is
// printed. Where nothing is lost nothing is sent but one datagram a barrier, by the counts of the ranks and of the kernel;
// for each fragment of a broadcast there is one datagram at any loss.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "collectives/communicator.h"
#include "core/job/bootstrap_find.h"
#include "core/transport/ops.h"
#include "core/job/window.h"
#include "tests/harness/expect.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr int checked = 100, with_loss = 400, without = 50, tries = 60;

struct counts {
  double us = 0;
  std::uint64_t datagrams = 0, queries = 0, repairs = 0, again = 0, kernel = 0, lost = 0;
};

// Of this host, by its kernel.
std::uint64_t packets(const std::string& name) {
  const std::string command = "nft list counter inet lossy " + name;
  std::unique_ptr<FILE, int (*)(FILE*)> out(popen(command.c_str(), "r"), pclose);
  require(out != nullptr, "nft runs");
  unsigned long long n = 0;
  char word[64];
  while (std::fscanf(out.get(), "%63s", word) == 1)
    if (!std::strcmp(word, "packets") && std::fscanf(out.get(), "%llu", &n) == 1) return n;
  fail("nft has no counter " + name);
}

std::vector<counts> all_of(team& t, const counts& mine) {
  const auto all = take(t.exchange(std::as_bytes(std::span(&mine, 1))), "counts");
  std::vector<counts> out(t.size());
  for (std::uint32_t r = 0; r < t.size(); ++r) std::memcpy(&out[r], (*all)[r].data(), sizeof(counts));
  return out;
}

counts snapshot(communicator& c) {
  const reliable_multicast* m = c.barrier().mcast();  // none in members that only their host's leader releases
  const auto s = m ? m->statistics() : reliable_multicast::counts{};
  return {0, s.datagrams, s.queries, s.repairs, s.second_multicasts, packets("sent"), packets("lost")};
}

// Of all ranks, and of all hosts' kernels; the time is rank 0's.
counts sum_of(job& j, communicator& c, const counts& mine) {
  counts sum;
  std::vector<bool> counted(j.where().nodes());
  const auto all = all_of(c.group(), mine);
  sum.us = all[0].us;
  for (std::uint32_t r = 0; r < all.size(); ++r) {
    sum.datagrams += all[r].datagrams, sum.queries += all[r].queries, sum.repairs += all[r].repairs, sum.again += all[r].again;
    const std::uint32_t node = j.where().node_of[r];
    if (counted[node]) continue;
    counted[node] = true;
    sum.kernel += all[r].kernel, sum.lost += all[r].lost;
  }
  return sum;
}

// Before its barrier each rank tells everyone which round it is in; after it nobody may be behind, nor two ahead.
void check(job& j, communicator& c) {
  team& t = c.group();
  auto w = take(window::open(t, {nullptr, 8 * t.size()}), "window");
  for (std::uint64_t round = 1; round <= checked; ++round) {
    for (std::uint32_t r = 0; r < t.size(); ++r) {
      const rma_op op = signal_op({t.rank_of(r), w->segment(), 8 * t.index()}, round);
      while (j.net().submit({&op, 1}) == 0) j.progress();
    }
    completion done;
    while (!j.net().flush(no_rank, &done)) j.progress();
    require(j.wait(done, "flush"), "signals");
    require(c.barrier().enter(), "barrier");
    for (std::uint32_t r = 0; r < t.size(); ++r) {
      auto* const word = reinterpret_cast<std::uint64_t*>(w->base()) + r;
      const std::uint64_t seen = std::atomic_ref(*word).load(std::memory_order_acquire);
      require(seen == round || seen == round + 1, "rank " + std::to_string(r) + " is in round " + std::to_string(seen) +
                                                      " when round " + std::to_string(round) + " is left");
    }
  }
  require(w->close(), "closing the window");
}

// Bare barriers; the sums over all ranks and hosts.
counts measure(job& j, communicator& c, int timed) {
  const counts before = snapshot(c);
  require(c.group().exchange({}).error(), "beginning");
  const time_point start = j.net().now();
  for (int i = 0; i < timed; ++i) require(c.barrier().enter(), "barrier");
  counts mine;
  mine.us = static_cast<double>((j.net().now() - start).count()) * 1e-3 / timed;
  require(c.group().exchange({}).error(), "all are out");
  const counts after = snapshot(c);
  mine.datagrams = after.datagrams - before.datagrams, mine.queries = after.queries - before.queries;
  mine.repairs = after.repairs - before.repairs, mine.again = after.again - before.again;
  mine.kernel = after.kernel - before.kernel, mine.lost = after.lost - before.lost;
  return sum_of(j, c, mine);
}

void survive(job& j, communicator& world, int percent, const char* barrier) {
  communicator_options options;
  options.barrier = barrier;
  auto c = take(world.split(0, 0, options), barrier);
  require(c->barrier().mcast() != nullptr || j.rank() != 0, "the root multicasts");
  check(j, *c);
  // A rank that its host did not run for a while may take a datagram for lost: where none is, a time without any such
  // doubt must be among the tries.
  const int timed = percent > 0 ? with_loss : without;
  for (int turn = 1; turn <= tries; ++turn) {
    const counts n = measure(j, *c, timed);
    require(n.kernel == n.datagrams, "the ranks counted what their kernels sent");
    require(n.datagrams == static_cast<std::uint64_t>(timed) + n.again, "one datagram a barrier, and others only to repair");
    require(percent > 0 || n.lost == 0, "nothing is lost but where the test wants it");
    if (percent == 0 ? n.queries + n.repairs + n.again > 0 : n.lost == 0) {
      require(turn < tries, percent == 0 ? "nothing is sent but what is needed" : "something is lost");
      continue;
    }
    if (j.rank() == 0)
      std::printf("%s, %d %% lost (%ju): %.1f us a barrier, %ju datagrams for %d, %ju queries, %ju repairs, %ju second multicasts"
                  "%s\n", barrier, percent, std::uintmax_t{n.lost}, n.us, std::uintmax_t{n.kernel}, timed,
                  std::uintmax_t{n.queries}, std::uintmax_t{n.repairs}, std::uintmax_t{n.again},
                  turn > 1 ? (", at try " + std::to_string(turn)).c_str() : "");
    break;
  }
  require(c->group().settle(), "leaving");
}

// Broadcasts from every rank in turn, whole at all others; the sums over all ranks and hosts.
void survive_broadcasts(job& j, communicator& world, int percent, std::size_t bytes) {
  auto c = take(world.split(0, 0, {.bcast = "multicast"}), "a team");
  std::vector<std::byte> data(bytes);
  const auto broadcast = [&](std::uint32_t turn) {
    const std::uint32_t root = turn % j.size();
    for (std::size_t i = 0; i < bytes; ++i) data[i] = j.rank() == root ? std::byte(i * 31 + (i >> 8) + turn) : std::byte{0xee};
    require(c->broadcast(root, data), "broadcast");
    for (std::size_t i = 0; i < bytes; ++i)
      require(data[i] == std::byte(i * 31 + (i >> 8) + turn), "byte " + std::to_string(i) + " of a broadcast");
  };
  for (std::uint32_t turn = 0; turn < 2 * j.size(); ++turn) broadcast(turn);
  const reliable_broadcast& b = *c->data().by_multicast();
  const auto count = [&] {
    const auto s = b.statistics();
    return counts{0, s.datagrams, s.queries, s.repairs, s.reads - s.repairs, packets("sent"), packets("lost")};
  };
  for (int turn = 1; turn <= tries; ++turn) {
    require(c->group().exchange({}).error(), "beginning");
    const counts before = count();
    require(c->group().exchange({}).error(), "all have counted");
    const std::uint32_t times = j.size();
    const time_point start = j.net().now();
    for (std::uint32_t i = 0; i < times; ++i) require(c->broadcast(i, data), "broadcast");
    const double us = static_cast<double>((j.net().now() - start).count()) * 1e-3;
    require(c->group().exchange({}).error(), "all are out");
    const counts after = count();
    const counts mine{us / times, after.datagrams - before.datagrams, after.queries - before.queries, after.repairs - before.repairs,
                      after.again - before.again, after.kernel - before.kernel, after.lost - before.lost};
    const counts sum = sum_of(j, *c, mine);
    const std::uint64_t needed = times * ((bytes + b.fragment() - 1) / b.fragment());
    require(sum.datagrams == needed, "one datagram a fragment");
    // Members may read what is still on its way: a kernel short of processor time delivers a datagram after others have
    // told of it, so reads in vain are printed and not judged. A fragment that all have read meanwhile leaves its host's
    // leader some time: kernels count it now or next time.
    const bool quiet = sum.kernel == sum.datagrams;
    if (percent == 0 ? !quiet : sum.lost == 0) {
      require(turn < tries, percent == 0 ? "the kernels sent what the ranks counted" : "something is lost");
      continue;
    }
    if (j.rank() == 0)
      std::printf("broadcast of %zu bytes, %d %% lost (%ju): %.0f us a broadcast, %ju datagrams, %ju queries, %ju fragments read, "
                  "%ju more in vain%s\n",
                  bytes, percent, std::uintmax_t{sum.lost}, sum.us, std::uintmax_t{sum.kernel}, std::uintmax_t{sum.queries},
                  std::uintmax_t{sum.repairs}, std::uintmax_t{sum.again}, turn > 1 ? (", at try " + std::to_string(turn)).c_str() : "");
    break;
  }
  require(c->group().settle(), "leaving");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    require(argc >= 3, "usage: loss PERCENT BARRIER... broadcast:BYTES...");
    const config settings = take(config::load(), "configuration");
    job_options options = options_from(settings);
    options.world_lines = communicator::world_lines;
    auto j = take(job::open(take(find_bootstrap(settings), "launcher"), settings, std::move(options)), "job");
    auto world = take(communicator::world(*j, {}), "world");
    require(j->where().nodes() > 1, "a job over several hosts");
    for (int i = 2; i < argc; ++i) {
      constexpr std::string_view broadcast = "broadcast:";
      const std::string_view what = argv[i];
      if (what.starts_with(broadcast))
        survive_broadcasts(*j, *world, std::atoi(argv[1]), std::strtoul(argv[i] + broadcast.size(), nullptr, 10));
      else
        survive(*j, *world, std::atoi(argv[1]), argv[i]);
    }
    require(world->group().settle(), "leaving the world");
  } catch (const failure& f) {
    std::fprintf(stderr, "FAILED: %s\n", f.text.c_str());
    return 1;
  }
  std::printf("loss: fine\n");
  return 0;
}

// What a put_signal of 8 bytes costs its origin towards a member of a team that is a list of 1,000 ranks in no order, half way
// through it: over messages by a link that sends nothing, over verbs upon an adapter that is made up, and through the checking
// decorator above each. Prints the least of many repetitions, in ns, beside the same towards a member of a run of ranks.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <random>

#include "core/transport/checked_transport.h"
#include "providers/verbs/transport.h"
#include "tests/harness/ops.h"
#include "tests/messages/fake_link.h"
#include "tests/verbs/fake/fake.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::uint32_t members = 1000, job_size = 4000;
constexpr rank_t peer = 1;

// One in four ranks of the job, in no order, with `peer` in the middle.
rank_map list() {
  std::vector<rank_t> ranks(job_size);
  std::iota(ranks.begin(), ranks.end(), 0);
  std::shuffle(ranks.begin() + 2, ranks.end(), std::mt19937{1});
  ranks.resize(members);
  std::swap(ranks[peer], ranks[members / 2]);
  return rank_map::listed(std::move(ranks));
}

struct row {
  const char* name;
  std::unique_ptr<transport> net, other;  // of rank 0, and of the peer where there must be one
  segment_id of_run{}, of_list{};
  double run_ns = 1e9, list_ns = 1e9;

  row(const char* called, std::unique_ptr<transport> mine, std::unique_ptr<transport> theirs, bool check)
      : name(called), net(std::move(mine)), other(std::move(theirs)) {
    const auto address = *net->address(), there = other ? *other->address() : address;
    auto all = std::make_shared<blob_table>();
    for (rank_t r = 0; r < job_size; ++r) all->push_back(r == 0 ? address : there);
    if (check) net = make_checked(std::move(net));
    if (check && other) other = make_checked(std::move(other));
    const auto soon = net->now() + std::chrono::seconds(5);
    demand(net->connect(all, soon));
    if (other) demand(other->connect(all, soon));
    std::span<std::byte> memory;
    const auto mine_key = *net->key(*net->allocate(4096, memory));
    const auto key = other ? *other->key(*other->allocate(4096, memory)) : mine_key;
    const auto attach = [&](const rank_map& group) {
      auto keys = std::make_shared<blob_table>();
      for (std::uint32_t i = 0; i < group.size(); ++i) keys->push_back(group[i] == 0 ? mine_key : key);
      auto s = net->attach(group, keys);
      demand(s.error());
      return *s;
    };
    of_run = attach(rank_map::strided(0, members));
    of_list = attach(list());
  }
  static void demand(const status& s) {
    if (s.failed()) std::fprintf(stderr, "%s\n", s.text()), std::exit(1);
  }

  double once(segment_id s) {
    using clock = std::chrono::steady_clock;
    constexpr int times = 256;
    std::uint64_t payload = 1;
    rma_op op = put_signal({unregistered_memory, reinterpret_cast<std::uintptr_t>(&payload)}, {peer, s, 8}, 8, s, 0, 1);
    completion done;
    op.done = &done;
    double ns = 0;
    for (int sent = 0; sent < times;) {
      const auto begin = clock::now();
      int n = 0;
      while (n < 16 && net->submit({&op, 1}) == 1) ++n;
      ns += std::chrono::duration<double, std::nano>(clock::now() - begin).count();
      sent += n;
      while (!done.idle() || n == 0) {
        net->progress(), n = 1;
        if (other) other->progress();
      }
    }
    demand(done.outcome());
    return ns / times;
  }
  void measure() { run_ns = std::min(run_ns, once(of_run)), list_ns = std::min(list_ns, once(of_list)); }
};

std::unique_ptr<transport> by_messages(bool keeps) {
  auto traits = fake_traits();
  traits.keeps = keeps, traits.reorders = !keeps;
  auto link = std::make_unique<fake_link>(traits);
  link->forgets = true;
  open_params p{.job_id = "listed", .rank = 0, .size = job_size};
  p.key = siphash_key{1, 2}, p.one_host = true, p.multicast_interface = "none";
  return std::move(*messages::message_transport::open(p, std::move(link)));
}

std::unique_ptr<transport> by_verbs(rank_t rank, const char* job) {
  open_params p;
  p.device = "fake" + std::to_string(rank), p.job_id = job, p.rank = rank, p.size = job_size;
  auto net = verbs::verbs_transport::open(p);
  row::demand(net.error());
  return std::move(*net);
}

}  // namespace

int main() {
  fake::install({{.name = "fake0"}, {.name = "fake1"}});
  std::vector<row> rows;
  rows.emplace_back("messages, as ucx", by_messages(true), nullptr, false);
  rows.emplace_back("messages, as ofi", by_messages(false), nullptr, false);
  rows.emplace_back("messages, checked", by_messages(true), nullptr, true);
  rows.emplace_back("verbs", by_verbs(0, "a"), by_verbs(1, "a"), false);
  rows.emplace_back("verbs, checked", by_verbs(0, "b"), by_verbs(1, "b"), true);
  for (int repetition = 0; repetition < 200; ++repetition)
    for (row& r : rows) r.measure();
  std::printf("%-20s%10s%10s\n", "put_signal, ns", "run", "list");
  for (const row& r : rows) std::printf("%-20s%10.0f%10.0f\n", r.name, r.run_ns, r.list_ns);
}

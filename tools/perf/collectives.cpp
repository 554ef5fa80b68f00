#include "tools/perf/collectives.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "collectives/communicator.h"
#include "core/base/listing.h"
#include "tools/perf/require.h"
#include "tools/perf/series.h"
#include "tools/perf/topic.h"
#include "tools/process.h"

namespace tutti::tools {
namespace {

constexpr double chunk_seconds = 4e-3;
constexpr int most_iterations = 20000;

class collectives_bench {
 public:
  collectives_bench(job& j, const communicator_options& options, std::uint64_t most_bytes) : ranks_(j.size()) {
    auto world = communicator::world(j, options);
    require(world.error());
    upwards_ = std::move(*world);
    auto reversed = upwards_->split(0, -static_cast<std::int32_t>(j.rank()), options);
    require(reversed.error());
    downwards_ = std::move(*reversed);
    in_.resize(most_bytes * ranks_ + 64), out_.resize(in_.size());
  }

  // Microseconds: the median over chunks, for about `seconds`.
  double median(const collective_cell& cell, double seconds) {
    collective_call call{.of = cell.of, .bytes = cell.bytes, .in = in_.data(), .out = out_.data()};
    if (reduces(cell.of)) call.op = *find_reduction(datatype::float64, operation::sum);
    if (cell.of == collective::alltoallv) {
      auto lists = std::make_shared<block_lists>();
      for (std::uint32_t i = 0; i < ranks_; ++i) {
        for (auto* lengths : {&lists->in_lengths, &lists->out_lengths}) lengths->push_back(cell.bytes);
        for (auto* begins : {&lists->in_begins, &lists->out_begins}) begins->push_back(i * cell.bytes);
      }
      call.lists = std::move(lists);
    }
    chunk(call, 1);
    const int iterations = times_for(chunk_seconds, 1, most_iterations, [&](int times) { return chunk(call, times); });
    series result;
    for (double past = 0; result.count() < 3 || past < seconds;) {
      const double took = chunk(call, iterations);
      result.add(took / iterations * 1e6);
      past += took;
    }
    return result.median();
  }

  void leave() { require(upwards_->group().settle()); }

 private:
  void one(collective_call& call) {
    const std::uint32_t turn = calls_++;
    if (call.of == collective::barrier) return require(upwards_->barrier().enter());
    const bool scans = call.of == collective::scan || call.of == collective::exscan;
    if (has_root(call.of)) call.root = ranks_ - 1 - turn % ranks_;
    require((scans && turn % 2 ? *downwards_ : *upwards_).run(call));
  }

  // Seconds until the last rank is through, the same in all ranks.
  double chunk(collective_call& call, int iterations) {
    require(upwards_->barrier().enter());
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < iterations; ++i) one(call);
    const double mine = seconds_since(start);
    const auto all = upwards_->group().exchange_values(mine);
    require(all.error());
    return *std::ranges::max_element(*all);
  }

  const std::uint32_t ranks_;
  std::unique_ptr<communicator> upwards_, downwards_;
  std::vector<std::byte> in_, out_;
  std::uint32_t calls_ = 0;
};

std::vector<collective> named(const std::vector<std::string>& names) {
  std::vector<collective> out;
  for (const auto& n : names) out.push_back(*find_collective(n));
  return out;
}

struct choices {
  perf_topic topic;
  std::vector<std::uint64_t> sizes{8, 1024, 64 << 10, 1 << 20};
  std::vector<std::uint64_t> ranks;  // default 4; 2, 4, 8, 16 with --peers
  std::vector<std::string> providers;
  std::string json;
  bool peers = false;
};

void measure(const choices& c, job& j, const config& settings) {
  if (j.size() < 2) throw std::runtime_error("a collective among one rank moves nothing; start 2 or more");
  const auto cells = cells_of(named(c.topic.parts), c.sizes);
  collectives_bench b(j, communicator_options_from(settings), *std::ranges::max_element(c.sizes));
  for (const collective_cell& cell : cells) {
    const double us = b.median(cell, c.topic.seconds);
    if (j.rank() == 0)
      std::printf("%s %llu %.4f\n", std::string(name_of(cell.of)).c_str(), static_cast<unsigned long long>(cell.bytes), us), std::fflush(stdout);
  }
  b.leave();
}

}  // namespace

std::vector<collective_cell> cells_of(const std::vector<collective>& what, const std::vector<std::uint64_t>& sizes) {
  std::vector<collective_cell> out;
  for (const collective c : what)
    for (const std::uint64_t bytes : sizes) {
      out.push_back({c, c == collective::barrier ? 0 : bytes});
      if (c == collective::barrier) break;
    }
  return out;
}

std::function<int()> declare_collectives(options perf) {
  auto c = std::make_shared<choices>();
  c->topic = {.name = "collectives", .parts = collective_names(), .seconds = 0};
  options app = perf.subcommand("collectives", "every collective, by bytes, until the last rank has the result; beside MPI's with --peers");
  app.add("-n,--ranks", c->ranks, "ranks to start, when not inside a job already (default 4; with --peers each of 2,4,8,16)").by_commas();
  app.add("--parts", c->topic.parts, "collectives to measure; default all").by_commas().one_of(collective_names());
  app.add("--bytes", c->sizes, "of the data, or of a block for each rank: multiples of 8, to 4 MiB (default 8,1k,64k,1M)").by_commas().sizes();
  app.add("--peers", c->peers, "beside Open MPI and MPICH at 2, 4, 8 and 16 ranks, by whole jobs in turn: ratios, floors, geometric means");
  app.add("--providers,--provider", c->providers, "with --peers: of shm, ucx:tcp; default both").by_commas().one_of({"shm", "ucx:tcp"});
  app.add("--seconds", c->topic.seconds, "how long to measure each line (default 0.2); with --peers, everything (default 900)").between(0.001, 36000.0);
  app.add("--json", c->json, "with --peers: write the numbers with their provenance to this file");
  c->topic.prepare = [](job_options& o, const config& settings) {
    o.world_lines = communicator::world_lines_with(communicator_options_from(settings));
  };
  c->topic.measure = [self = c.get()](job& j, const config& settings) { tools::measure(*self, j, settings); };
  return [c] {
    for (const std::uint64_t bytes : c->sizes)
      if (bytes == 0 || bytes % 8 != 0 || bytes > 4 << 20)
        throw std::runtime_error("--bytes " + std::to_string(bytes) + ": write multiples of 8, to 4 MiB");
    for (const std::uint64_t n : c->ranks)
      if (n < 2 || n > 1024) throw std::runtime_error("-n " + std::to_string(n) + ": write numbers from 2 to 1024");
    if (c->peers) {
      collectives_plan plan{.self = own_path(), .what = named(c->topic.parts), .sizes = c->sizes, .json = c->json};
      if (!c->ranks.empty()) plan.ranks.assign(c->ranks.begin(), c->ranks.end());
      if (!c->providers.empty()) plan.providers = c->providers;
      if (c->topic.seconds > 0) plan.seconds = c->topic.seconds;
      return compare_collectives_with_peers(plan);
    }
    if (c->ranks.size() > 1 || !c->json.empty() || !c->providers.empty())
      throw std::runtime_error("several numbers of ranks, --providers and --json are for --peers; TUTTI_PROVIDER names one job's");
    if (!c->ranks.empty()) c->topic.ranks = static_cast<int>(c->ranks[0]);
    if (c->topic.seconds == 0) c->topic.seconds = 0.2;
    std::string sizes;
    for (const std::uint64_t bytes : c->sizes) add_to_list(sizes, std::to_string(bytes), ",");
    c->topic.arguments = {"--bytes", sizes};
    return run_topic(c->topic);
  };
}

}  // namespace tutti::tools

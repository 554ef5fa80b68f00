// The topics of `tutti perf` that are commands by themselves: `tutti perf bsp`, `tutti perf collectives` and their like.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/job/config.h"
#include "core/job/job.h"
#include "tools/options.h"

namespace tutti::tools {

// Each declares its subcommand upon `perf`; the result runs it.
std::function<int()> declare_bsp(options perf);
std::function<int()> declare_collectives(options perf);
std::function<int()> declare_messages(options perf);
std::function<int()> declare_mpi(options perf);
std::function<int()> declare_overlap(options perf);
std::function<int()> declare_reductions(options perf);
std::function<int()> declare_startup(options perf);

// A topic that is one job, whose ranks measure some parts of it.
struct perf_topic {
  std::string name;                                         // "bsp"
  std::vector<std::string> parts;                           // to measure
  double seconds = 1;                                       // for each part
  int ranks = 4;                                            // to start, where this is no job already
  std::vector<std::string> arguments;                       // further ones, for the ranks that are started
  std::function<void(job_options&, const config&)> prepare; // before the job is opened; may be empty
  std::function<void(job&, const config&)> measure;         // in each rank; throws std::exception
  std::function<void()> take_part;                          // instead of these two, where it joins the job by itself

  bool wants(const char* part) const;
  void declare(options, const char* seconds_meaning, const char* parts_meaning);  // -n, --parts, --seconds
};

// Takes part in the job that this process belongs to, or starts one; what to exit with.
int run_topic(const perf_topic&);

// "2,4,8" or "1..15", or both. Throws std::runtime_error.
std::vector<int> numbers(const std::string& text, const char* option, int least, int most);

// Every device that can be used here, as TUTTI_PROVIDER names it; of networks only, each also with shared memory inside
// nodes, where the job has several.
std::vector<std::string> every_provider(bool several_nodes = false);

}  // namespace tutti::tools

// A topic of `tutti perf` that is a job by itself: `tutti perf bsp`, `tutti perf overlap`.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/job/config.h"
#include "core/job/job.h"

namespace tutti::tools {

struct perf_topic {
  std::string name;                                         // "bsp"
  int ranks = 1;                                            // to start, where this is no job already
  std::vector<std::string> arguments;                       // for the ranks that are started
  std::function<void(job_options&, const config&)> prepare; // before the job is opened; may be empty
  std::function<void(job&, const config&)> measure;         // in each rank; throws std::exception
};

// Takes part in the job that this process belongs to, or starts one; what to exit with.
int run_topic(const perf_topic&);

// The file that this process runs.
std::string own_path();

}  // namespace tutti::tools

// What `tutti tune` measures inside a job.
#pragma once
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "collectives/tuning/table.h"
#include "core/job/bootstrap.h"
#include "tools/perf/measured_provider.h"

namespace tutti::tools {

struct measuring_plan {
  std::vector<std::string> providers;
  std::vector<collective> collectives;  // empty: all
  std::vector<std::uint64_t> sizes;     // empty: sizes_to_measure()
  double seconds = 180;                 // for all, about
};

// Where a long measurement tells what it is at: a line each time. An empty path: nobody listens.
class progress_file {
 public:
  explicit progress_file(const std::string& path) : file_(path.empty() ? nullptr : std::fopen(path.c_str(), "w"), std::fclose) {}
  void say(const std::string& line) const {
    if (file_) std::fprintf(file_.get(), "%s\n", line.c_str()), std::fflush(file_.get());
  }

 private:
  std::unique_ptr<FILE, int (*)(FILE*)> file_;
};

// Collective over the job. Successive halving (Jamieson and Talwalkar 2016): each candidate gets a short chunk, then those that may
// still be the best get longer ones, by turns. Only rank 0's table is of use. Throws std::runtime_error.
tuning::table measure_table(bootstrap&, const measuring_plan&, const progress_file&);

// Adds what another job has measured; its calibrations fill what is missing.
void merge(tuning::table& all, tuning::table part);

}  // namespace tutti::tools

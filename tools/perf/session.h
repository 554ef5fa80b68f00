// All lanes and rows of one comparison, measured interleaved: a chunk of every row in turn, then again, so that
// whatever else the machine does falls upon all of them alike.
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tools/perf/lane.h"

namespace tutti::tools {

struct session_plan {
  std::vector<std::string> lanes;       // provider specs
  std::string only_barrier;             // "" all algorithms; "chosen"; a name
  bool barriers_only = false;
  double seconds = 20;                  // of measuring, about
  bool progress = false;                // a line on stderr while it runs
};

class session {
 public:
  session(bootstrap& boot, const config& settings, session_plan plan);
  // Collective. Throws std::runtime_error.
  void open();
  void measure();

  const std::vector<row>& rows() const noexcept { return rows_; }
  const std::vector<std::pair<std::string, std::string>>& missing() const noexcept { return missing_; }
  double ranks_per_core() const noexcept { return lanes_.empty() ? 0 : lanes_.front()->of().ranks_per_core(); }

 private:
  lane& lane_of(const row&);
  double chunk(row&, int iterations);   // seconds, as rank 0 sees it; the same in all ranks
  void gather(lane&);                   // all ranks here, driving every lane
  void calibrate(row&);
  double share(lane&, double value);    // rank 0's value

  bootstrap& boot_;
  const config& settings_;
  session_plan plan_;
  std::vector<std::unique_ptr<lane>> lanes_;
  std::vector<row> rows_;
  std::vector<std::pair<std::string, std::string>> missing_;  // spec, why
};

}  // namespace tutti::tools

// All providers and rows of one comparison, measured interleaved: a chunk of every row in turn, then again, so that
// whatever else the machine does falls upon all of them alike.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/perf/measured_provider.h"

namespace tutti::tools {


struct session_plan {
  std::vector<std::string> providers;   // provider specs; rank 0's hold for all
  std::optional<collective> only;  // none: barriers, broadcasts, allreduces and one-sided operations
  std::string only_barrier;             // "" all algorithms; "chosen"; a name
  std::vector<int> fan_ins;             // barriers that have one are measured with each of these; empty: their own
  bool by_size = false;                 // put and get over sizes as well
  double seconds = 20;                  // of measuring, about
  std::function<void(const std::string&)> progress;  // told now and then how far it is; may be empty
};

class session {
 public:
  session(bootstrap& boot, session_plan plan);
  // Collective. Throws std::runtime_error.
  void open();
  void measure();
  perf_run outcome() const;

 private:
  measured_provider& provider_of(const row&);
  double chunk(row&, int iterations);   // seconds, as rank 0 sees it; the same in all ranks
  void gather(measured_provider&);      // all ranks here, before they do anything together on this provider
  void calibrate(row&);
  void say(const char* format, ...) const __attribute__((format(printf, 2, 3)));

  bootstrap& boot_;
  session_plan plan_;
  driven_jobs driven_;
  std::vector<std::unique_ptr<measured_provider>> providers_;
  std::vector<row> rows_;
  std::vector<text_pair> left_out_;
};

}  // namespace tutti::tools

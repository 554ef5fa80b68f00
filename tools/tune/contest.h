// Candidates of one collective measured against each other, by turns: a chunk of each, then again, so that whatever else the
// machine does falls upon all of them alike.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/perf/measured_provider.h"
#include "tools/perf/series.h"

namespace tutti::tools {

// What other processes of the machine add falls upon some chunks only, so the lower quartile tells more of a candidate than the
// median does.
inline double typical(const series& us) { return us.quantile(0.25); }

struct timed_candidate {
  bool chosen = false;                      // no candidate: whatever a job would run
  candidate what;
  std::function<void(int iterations)> run;  // collective
  bool in = true;
  int iterations = 0;                       // of a chunk; 0: not calibrated
  bool long_calls = false;                  // too long for caches to matter
  int warming = 0;                          // calls at least before each chunk, which are not timed
  series us;                                // of a call, a value for each chunk, until the last rank has finished
};

// All that can run at one size, in the order of the chooser: the first one is what it would take.
struct size_contest {
  std::uint64_t bytes = 0;
  std::vector<timed_candidate> all;

  // The fastest candidate among those that stayed longest.
  const timed_candidate& best() const;
  // Microseconds, as if all had been measured as often as the best: of the rounds that both were in, the ratio is kept.
  double us(const timed_candidate&) const;
  // Of what add_chosen_twice() added: the mean of both, and the larger one's over the smaller one's.
  std::pair<double, double> chosen() const;
};

// The contests of one collective over one provider, a size each. They run in teams of their own, which end with this.
class tournament {
 public:
  // Collective. What cannot run is noted in left_out. There are no contests where there is nothing to choose. Sizes at which the
  // data of all members would be too long are left out.
  tournament(measured_provider&, collective, std::span<const std::uint64_t> sizes, std::vector<text_pair>& left_out);

  // To every contest, what a job would run: in the world, twice.
  void add_chosen_twice();
  // Collective: three chunks of every candidate that is in, of some such seconds for each rank that shares a core; one call of
  // those whose calls are long. `told` hears
  // of each contest before. No candidate begins for which rank 0 sees too little time until `end`; one that was never measured is
  // out then. Sizes come far apart first, so a round that ends early has seen some of everything.
  void round(double seconds, std::chrono::steady_clock::time_point end, const std::function<void(const size_contest&)>& told = {});
  // Collective: leaves in what rank 0 has seen within `margin` of the best, but at most half of those that were in; at least two
  // anyway. Whether anything is left to decide.
  bool halve(double margin);

  std::vector<size_contest>& contests() noexcept { return contests_; }

 private:
  void enter_barriers(std::vector<text_pair>& left_out);
  void enter_data(std::span<const std::uint64_t> sizes, std::vector<text_pair>& left_out);
  int warming(std::uint64_t bytes);
  bool in_time(std::chrono::steady_clock::time_point end, double us);
  void calibrate(timed_candidate&, double seconds);
  double chunk(timed_candidate&, int iterations);  // seconds, as rank 0 sees it

  measured_provider& p_;
  collective of_;
  std::unique_ptr<communicator> team_;
  std::vector<std::unique_ptr<communicator>> barriers_;
  std::vector<size_contest> contests_;
};

// 8 B to 4 MiB.
std::span<const std::uint64_t> sizes_to_measure() noexcept;

}  // namespace tutti::tools

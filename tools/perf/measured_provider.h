// One provider under measurement: a job of its own over the bootstrap that all of them share, memory to move data in, and
// the rows that it offers, a kind in each rows_*.cpp.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "collectives/tuning/calibration.h"
#include "tools/perf/require.h"
#include "tools/perf/row.h"

namespace tutti::tools {

double share(team&, double value);  // that of its first rank; collective

inline constexpr std::uint32_t mebibyte = 1 << 20;
std::vector<std::uint32_t> curve_sizes(std::uint32_t most);  // 8 B, 32 B, 128 B, ... and `most`

// The jobs of all measured providers. A rank that comes out of a collective may still owe its peers progress there: where a
// connection is only being made, what the rank sent last may not have left yet. So a rank drives every provider's job
// whenever it waits for something outside the provider that it last worked on.
class driven_jobs {
 public:
  void add(job& j) { jobs_.push_back(&j); }
  void remove(job& j) { std::erase(jobs_, &j); }
  bool empty() const noexcept { return jobs_.empty(); }
  void progress() const {
    for (job* j : jobs_) j->progress();
  }

 private:
  std::vector<job*> jobs_;
};

// A bootstrap that outlives the jobs opened over it, and drives them while the launcher gathers.
class shared_bootstrap final : public bootstrap {
 public:
  shared_bootstrap(bootstrap& b, const driven_jobs& driven) : b_(b), driven_(driven) {}
  rank_t rank() const noexcept override { return b_.rank(); }
  std::uint32_t size() const noexcept override { return b_.size(); }
  const std::string& job_id() const noexcept override { return b_.job_id(); }
  host_id host() const noexcept override { return b_.host(); }
  result<shared_blobs> allgather(std::span<const std::byte> mine, time_point deadline) override;

 private:
  bootstrap& b_;
  const driven_jobs& driven_;
};

class measured_provider {
 public:
  // `spec` as in TUTTI_PROVIDER; `bytes` for ranks 0 and 1 to move. Every rank gets a provider or every rank gets an error:
  // they agree before they return. `by_table` false: what was measured
  // before plays no part. Its job is among those `driven` from then on.
  static result<std::unique_ptr<measured_provider>> open(bootstrap&, driven_jobs&, const std::string& spec,
                                                         std::uint32_t bytes, bool by_table = true);
  ~measured_provider();

  const std::string& name() const noexcept { return name_; }
  job& of() noexcept { return *job_; }
  communicator& world() noexcept { return *world_; }

  // A row for each algorithm that can run here: all, the named one, or the `chosen`; those with a fan-in or radix once
  // for each given, if any are. What cannot run is noted in left_out.
  void add_barriers(std::vector<row>&, const std::string& only, const std::vector<int>& fan_ins,
                    std::vector<text_pair>& left_out);
  // A call that moves `bytes`, or blocks of so many, with root 0, of sums of doubles; there has to be room for them. Memory stays where
  // it is until more room is made. Not of an alltoallv.
  std::uint64_t room_for(collective, std::uint64_t bytes) const noexcept;
  void make_room(std::uint64_t bytes);
  collective_call call_of(collective, std::uint64_t bytes);
  // Each algorithm that can run here, from rank 0: 8 B and 1 MiB, or sizes between and beyond as well.
  void add_data(std::vector<row>&, collective, bool all_sizes, std::vector<text_pair>& left_out);
  // Collective: what the evaluator reckons with, as rank 0 sees it; in the other ranks nothing of it is of use.
  tuning::calibration calibrate(const std::string& when);
  void add_one_sided(std::vector<row>&);            // between ranks 0 and 1
  void add_by_size(std::vector<row>&);              // put and get of 8 bytes and more, between ranks 0 and 1
  void add_floors(std::vector<row>&, bool by_size); // raw loads and stores; needs map()

 private:
  static constexpr std::uint32_t lines = 64;           // of 64 bytes, for words
  static constexpr std::uint32_t data = lines * 64;    // where the bytes to move begin
  measured_provider() = default;
  status set_up(std::uint32_t bytes, communicator_options);
  communicator* team_with(const std::string& barrier, std::string& why_not);  // of all ranks; null: it cannot run
  row& add(std::vector<row>&, std::string group, std::string name, std::function<void(int)> run);
  void wait_word(std::uint32_t line, std::uint64_t value, rank_t from);
  void submit(const rma_op&);
  void flush(rank_t);
  void move(op_kind kind, std::uint32_t bytes, int depth, int times) { move_to(1, kind, bytes, depth, times); }
  void move_to(rank_t, op_kind, std::uint32_t bytes, int depth, int times);  // rank 0 only: in flights of `depth`
  rank_t beyond_the_node() const noexcept;  // the first rank on another node than rank 0; no_rank: there is none
  void calibrate_link(tuning::calibration&, const std::string& name, rank_t peer, const std::string& when);
  void calibrate_multicast(tuning::calibration&, const std::string& when);
  std::uint64_t line_offset(std::uint32_t line) const noexcept { return line * 64; }
  std::uint64_t* my_line(std::uint32_t line) noexcept {
    return reinterpret_cast<std::uint64_t*>(memory_.data() + line_offset(line));
  }

  std::string name_;
  driven_jobs* driven_ = nullptr;
  std::unique_ptr<job> job_;
  std::unique_ptr<communicator> world_;
  std::vector<std::unique_ptr<communicator>> teams_;
  std::vector<std::byte> payload_, result_;           // of collectives
  region_id region_{};
  segment_id segment_{};
  std::span<std::byte> memory_;                       // lines, then, in ranks 0, 1 and beyond_the_node(), bytes to move
  std::uint32_t bytes_ = 0;
  std::uint64_t ping_ = 0;                            // epochs used on line 0
  std::vector<std::unique_ptr<std::uint64_t>> counters_;  // that rows keep between their runs
};

}  // namespace tutti::tools

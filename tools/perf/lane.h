// One provider under measurement: a job of its own over the bootstrap that all lanes share, memory to move data in,
// and its rows.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "tools/perf/row.h"

namespace tutti::tools {

void require(const status&);  // throws std::runtime_error with the text

// A bootstrap that outlives the jobs opened over it.
class borrowed_bootstrap final : public bootstrap {
 public:
  explicit borrowed_bootstrap(bootstrap& b) : b_(b) {}
  rank_t rank() const noexcept override { return b_.rank(); }
  std::uint32_t size() const noexcept override { return b_.size(); }
  const std::string& job_id() const noexcept override { return b_.job_id(); }
  host_id host() const noexcept override { return b_.host(); }
  result<shared_blobs> allgather(std::span<const std::byte> mine, time_point deadline) override {
    return b_.allgather(mine, deadline);
  }

 private:
  bootstrap& b_;
};

class lane {
 public:
  static constexpr std::uint32_t big = 1 << 20;

  // `spec` as in TUTTI_PROVIDER. Every rank gets a lane or every rank gets an error: they agree before they return.
  static result<std::unique_ptr<lane>> open(bootstrap&, const config&, const std::string& spec);
  ~lane();

  const std::string& name() const noexcept { return name_; }
  job& of() noexcept { return *job_; }
  communicator& world() noexcept { return *world_; }
  double fixed_cost_us() const noexcept { return job_->net().caps().cost.latency_us; }

  void add_barriers(std::vector<row>&, const std::string& only = {});  // a row for each algorithm that can run here
  void add_one_sided(std::vector<row>&);                               // between ranks 0 and 1
  void add_floors(std::vector<row>&);                                  // raw loads and stores; needs map()

 private:
  lane() = default;
  status set_up();
  void wait_word(std::uint32_t line, std::uint64_t value, rank_t from);
  void submit(const rma_op&);
  void flush(rank_t);
  std::uint64_t line_offset(std::uint32_t line) const noexcept { return 2ull * big + line * 64; }
  std::uint64_t* my_line(std::uint32_t line) noexcept {
    return reinterpret_cast<std::uint64_t*>(memory_.data() + line_offset(line));
  }

  std::string name_;
  std::unique_ptr<job> job_;
  std::unique_ptr<communicator> world_;
  std::vector<std::unique_ptr<communicator>> teams_;  // one an algorithm
  region_id region_{};
  segment_id segment_{};
  std::span<std::byte> memory_;                       // two big buffers, then lines
  std::uint64_t ping_ = 0;                            // epochs used on line 0
  std::vector<std::unique_ptr<std::uint64_t>> floor_epochs_;
};

}  // namespace tutti::tools

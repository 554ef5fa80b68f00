// Where a paper's curves are measured again: the engines of tutti, over the simulated machines of the paper or over a real fabric.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "providers/sim/sim.h"

namespace tutti::tools::papers {

// One machine of a paper: the simulator's parameters, and other numbers by name (what its processors take for what is no message).
struct machine {
  sim::parameters fabric;
  std::map<std::string, double> other;
  double number(const std::string& name) const;  // throws std::runtime_error where the file has none
};

// A loop of barriers, and what each rank does before each.
struct barrier_loop {
  // As TUTTI_BARRIER names it, a barrier of tutti; "messages:pairwise" or "messages:dissemination": made of two-sided messages, as
  // message-passing libraries make theirs.
  std::string barrier;
  std::function<double(rank_t, std::uint64_t turn)> compute;  // us; empty: nothing
  std::uint64_t turns = 40;
};

class lab {
 public:
  virtual ~lab() = default;
  virtual bool simulated() const noexcept = 0;
  virtual std::uint32_t most_ranks() const noexcept = 0;
  virtual const machine& at(const std::string& name) const = 0;  // of the paper
  // Microseconds of a turn of each loop, by all ranks together, when it has run for a while. 0: not to be had here.
  virtual std::vector<double> turns(const machine&, std::uint32_t ranks, std::span<const barrier_loop>) = 0;
  double turn(const machine& m, std::uint32_t ranks, const barrier_loop& l) { return turns(m, ranks, {&l, 1})[0]; }
};

class simulated_lab final : public lab {
 public:
  explicit simulated_lab(const std::map<std::string, machine>& machines) : machines_(machines) {}
  bool simulated() const noexcept override { return true; }
  std::uint32_t most_ranks() const noexcept override { return 1024; }
  const machine& at(const std::string& name) const override;
  std::vector<double> turns(const machine&, std::uint32_t ranks, std::span<const barrier_loop>) override;

 private:
  const std::map<std::string, machine>& machines_;
};

// Jobs of this command on this machine, all loops in turn within each. What the papers' machines are plays no part.
class live_lab final : public lab {
 public:
  explicit live_lab(std::string provider) : provider_(std::move(provider)) {}
  bool simulated() const noexcept override { return false; }
  std::uint32_t most_ranks() const noexcept override { return 8; }
  const machine& at(const std::string&) const override { return none_; }
  std::vector<double> turns(const machine&, std::uint32_t ranks, std::span<const barrier_loop>) override;

 private:
  std::string provider_;
  machine none_;
  std::map<std::pair<std::uint32_t, std::vector<std::string>>, std::vector<double>> known_;  // by ranks and loops: clusters do not differ here
};

// Within such a job: measures these barriers, rank 0 prints a line each. Throws std::runtime_error.
void measure_as_rank(const std::vector<std::string>& barriers, double seconds);

}  // namespace tutti::tools::papers

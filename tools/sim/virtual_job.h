// One job of all the ranks of a simulated world, in one thread and without stacks: each rank is a member of the job with
// its world team and its barrier, or its communicator, exactly as a process has them, and a step that the world calls when something
// may have happened to it. Set up by exchange in two halves (job::offer and accept, and likewise for the barrier or the communicator);
// what all members know alike (who lives where, keys, the choice of the algorithm) exists once. A rank that only runs barriers costs
// a few KiB.
//
// Virtual ranks have a core each, or as many as the parameters say, whatever machine they are simulated on.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "collectives/pick.h"
#include "collectives/communicator.h"
#include "core/job/job.h"
#include "providers/sim/sim.h"

namespace tutti::tools {

// By node.
std::vector<std::uint32_t> virtual_cores(const sim::parameters&, const layout&);

class virtual_job {
 public:
  // What the world's job would run: the algorithm and the control memory that it needs.
  static result<picked_barrier> pick(sim::world&, const communicator_options&);
  // `w` outlives the job. Errors: as pick(); those of setting up, naming the rank.
  static result<std::unique_ptr<virtual_job>> open(sim::world& w, const picked_barrier&,
                                                   std::uint64_t first_epoch = 1);

  // For whatever collective a script names.
  static result<std::unique_ptr<virtual_job>> open(sim::world& w, const picked_barrier&, const communicator_options&);

  // What the ranks do: `epochs` operations of one kind, one after the other. Epochs count from 1 here, whatever `first_epoch` is.
  struct script {
    std::uint64_t epochs = 1;
    const collective_call* call = nullptr;                           // of a job opened for collectives; null: the barrier
    std::function<double(rank_t, std::uint64_t epoch)> compute;      // us of work before it enters; empty: none
    std::function<void(rank_t, std::uint64_t epoch)> enters, leaves;  // told at that moment of virtual time
  };
  // Returns when every rank has done all its operations, or died, or one ended with an error: see outcome(). An
  // error of its own only if the world is stuck, as sim::world::drive.
  status run(const script&);

  const status& outcome(rank_t r) const noexcept { return members_[r].operations->outcome(); }  // of what the last run ran
  std::uint64_t epochs_left(rank_t r) const noexcept { return members_[r].done; }  // operations it has left in this run
  job& at(rank_t r) noexcept { return *members_[r].home; }
  team_barrier& barrier(rank_t r) noexcept { return members_[r].world ? members_[r].world->barrier() : *members_[r].barrier; }
  communicator& world(rank_t r) noexcept { return *members_[r].world; }  // of a job opened for collectives
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(members_.size()); }

 private:
  struct member {
    std::unique_ptr<job> home;
    std::unique_ptr<team_barrier> barrier;   // on the home's world team
    std::unique_ptr<communicator> world;     // or this, with a barrier of its own
    operation_sequence* operations = nullptr;  // of the present run
    std::uint64_t request = 0, done = 0;     // the operation it is in; how many it has left
    time_point busy_until{};                 // computes
    time_point look_at = time_point::max();  // asks next whether its peers live
    bool inside = false, computed = false, ended = false;
  };

  explicit virtual_job(sim::world& w) : world_(w), members_(w.size()) {}
  status join(std::uint32_t lines, bool gathers = false);
  template <class Part, class Offer>
  status equip(std::unique_ptr<Part> member::* part, Offer);
  void start(rank_t, const script&);
  bool step(rank_t, const script&);
  bool waits(rank_t);
  bool linger(rank_t, const script&);

  sim::world& world_;
  std::vector<member> members_;
  rank_t still_ = 0;                         // of this run: the ranks before it have ended or died
};

}  // namespace tutti::tools

// The barrier of one team: an algorithm bound to it, and its epochs. Blocking, nonblocking and split-phase are the same
// run of the same program; a barrier in the steady state allocates and registers nothing.
//
// Several nonblocking barriers may be outstanding on a team. They complete in the order in which they were started: an
// epoch's program begins when the one before has finished here, driven by any progress of this rank. A request is just
// its epoch.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collectives/choose.h"
#include "collectives/barrier/offloaded_run.h"
#include "core/engine/executor.h"
#include "core/transport/multicast.h"

namespace tutti {

class team_barrier final : public background {
 public:
  // Collective over the team, whose control segment must have lines_for() lines. `first_epoch` is for tests of the wrap.
  // Unavailable, in all members alike: the algorithm multicasts and a member could not form or join the group; or the
  // fabric is to run it, and a member's cannot.
  static result<std::unique_ptr<team_barrier>> open(team&, const candidate&, std::uint64_t first_epoch = 1);
  // The same in two halves, for virtual ranks of one thread: offer() gives this rank's blob, accept() takes those of
  // all. Nobody may start before all have accepted. An error of offer() is alike in all members.
  static result<std::unique_ptr<team_barrier>> offer(team&, const candidate&, std::uint64_t first_epoch,
                                                     std::vector<std::byte>& blob);
  status accept(const shared_blobs& all);
  static std::uint32_t lines_for(const candidate&, std::span<const std::uint32_t> node_of, std::uint32_t size);
  ~team_barrier() override;

  // Blocks until every member has entered. Errors: peer_dead (named), timed_out; after peer_dead the team is broken and
  // every later call gives the same error.
  status enter(time_point deadline = time_point::max()) noexcept;

  std::uint64_t start() noexcept;                  // the request
  bool test(std::uint64_t request) noexcept;       // complete or failed; does not progress the transport
  status wait(std::uint64_t request, time_point deadline = time_point::max()) noexcept;
  std::uint64_t started() const noexcept { return started_; }  // the newest request
  const status& outcome() const noexcept { return error_; }  // of the team's barriers so far

  const algorithm& row() const noexcept { return *choice_.row; }
  const candidate& choice() const noexcept { return choice_; }
  const schedule& plan() const noexcept { return plan_; }
  std::size_t bytes() const noexcept;              // memory of this object, without control lines
  reliable_multicast* mcast() noexcept { return mc_.get(); }
  void advance() noexcept override;

 private:
  team_barrier(team& t, const candidate& c) : team_(t), choice_(c) {}
  void begin_next() noexcept;
  void push_offloaded() noexcept;                  // starts what was asked for, as far as it can be; sees what is finished
  wait_note waiting_for(const char* what) const noexcept;

  team& team_;
  candidate choice_;
  schedule plan_;                                  // kept for reports in teams of a printable size
  std::unique_ptr<reliable_multicast> mc_;
  program program_;
  std::unique_ptr<run> run_;
  std::unique_ptr<offloaded_run> offloaded_;       // instead of program_ and run_
  std::uint64_t started_ = 0, completed_ = 0;      // newest epoch asked for; newest finished
  bool running_ = false;                           // run_ works on completed_ + 1
  status error_;
};

}  // namespace tutti

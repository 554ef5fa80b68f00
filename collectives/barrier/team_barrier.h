// The barrier of one team: an algorithm bound to it, and its epochs, which are the numbers of its operations (sequence.h).
// Blocking, nonblocking and split-phase are the same run of the same program; a barrier in the steady state allocates and
// registers nothing.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collectives/choose.h"
#include "collectives/barrier/offloaded_run.h"
#include "collectives/sequence.h"
#include "core/engine/executor.h"
#include "core/transport/multicast.h"

namespace tutti {

class team_barrier final : public operation_sequence {
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

  // Blocks until every member has entered. Errors: peer_dead (named), timed_out; after peer_dead the team is broken and
  // every later call gives the same error.
  status enter(time_point deadline = time_point::max()) noexcept;
  std::uint64_t start() noexcept;                  // the request: its epoch

  void consult(call_record* record) noexcept { record_ = record; }  // whoever waits looks there: all members, or none
  const algorithm& row() const noexcept { return *choice_.row; }
  const candidate& choice() const noexcept { return choice_; }
  const schedule& plan() const noexcept { return plan_; }
  std::size_t bytes() const noexcept;              // memory of this object, without control lines
  reliable_multicast* mcast() noexcept { return mc_.get(); }

 private:
  team_barrier(team& t, const candidate& c, std::uint64_t first_epoch) : operation_sequence(t, first_epoch, nullptr), choice_(c) {}
  friend class operation_sequence;
  void begin(std::uint64_t epoch) noexcept override;
  bool go_on(std::uint32_t looks, status& error) noexcept override;
  status look() noexcept override;
  wait_note waiting_for() const noexcept override;

  candidate choice_;
  schedule plan_;                                  // kept for reports in teams of a printable size
  std::unique_ptr<reliable_multicast> mc_;
  program program_;
  std::unique_ptr<tutti::run> position_;
  std::unique_ptr<offloaded_run> offloaded_;       // instead of program_ and position_
};

}  // namespace tutti

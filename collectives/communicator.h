// A team with the engines that its members use on it: what tutti_team is in the C API.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "collectives/barrier/team_barrier.h"
#include "collectives/bcast/team_bcast.h"
#include "core/job/team.h"

namespace tutti {

struct communicator_options {
  std::string barrier;           // as TUTTI_BARRIER; empty or "auto": chosen
  std::uint32_t radix = 0;       // 0: as `barrier` says, or the algorithm's default
  std::string bcast;             // as TUTTI_BCAST; empty or "auto": chosen
  std::uint64_t first_epoch = 1; // for tests of the wrap
  bool multicast = true;         // false: no algorithm that multicasts, though the transport has it

  bool forced() const noexcept { return !barrier.empty() && barrier != "auto"; }
};

// What TUTTI_BARRIER, TUTTI_BARRIER_RADIX and TUTTI_BCAST say.
communicator_options communicator_options_from(const config&);

class communicator {
 public:
  // Over all ranks of the job, which must have been opened with world_lines() below. Collective.
  static result<std::unique_ptr<communicator>> world(job&, communicator_options);
  // Lines of control memory that any algorithm the world might use can need: O(log n), or O(n) for small n.
  static std::uint32_t world_lines(std::uint32_t size);
  // The same when these options are to be used for the world; as job_options::world_lines.
  static std::function<std::uint32_t(std::uint32_t)> world_lines_with(communicator_options);

  // Collective over this communicator, as team::create and team::split; null where this rank joins none. Options:
  // as given, or those of this one.
  result<std::unique_ptr<communicator>> create(std::span<const std::uint32_t> list, const communicator_options&);
  result<std::unique_ptr<communicator>> split(std::int32_t color, std::int32_t key, const communicator_options&);

  team& group() noexcept { return *team_; }
  team_barrier& barrier() noexcept { return *barrier_; }
  // As team_bcast::run(). The engine is made by the first call.
  status broadcast(std::uint32_t root, std::span<std::byte> data, time_point deadline = time_point::max());
  result<std::uint64_t> start_broadcast(std::uint32_t root, std::span<std::byte> data);  // as team_bcast::start()
  // Blocks until all that was started on this team is complete here.
  status finish();
  team_bcast* broadcaster() noexcept { return bcast_.get(); }  // null before the first broadcast
  const communicator_options& options() const noexcept { return options_; }

 private:
  communicator() = default;
  status prepare_broadcasts();
  static result<std::unique_ptr<communicator>> equip(team*, std::unique_ptr<team> owned, communicator_options);

  communicator_options options_;
  std::unique_ptr<team> owned_;
  team* team_ = nullptr;
  std::unique_ptr<team_barrier> barrier_;
  std::unique_ptr<team_bcast> bcast_;
};

}  // namespace tutti

// A team with the engines that its members use on it: what tutti_team is in the C API.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "collectives/barrier/team_barrier.h"
#include "collectives/data_collectives.h"
#include "core/job/job.h"
#include "core/job/team.h"

namespace tutti {

struct communicator_options {
  std::string barrier;           // as TUTTI_BARRIER; empty or "auto": chosen
  std::uint32_t radix = 0;       // 0: as `barrier` says, or the algorithm's default
  std::string bcast;             // as TUTTI_BCAST; empty or "auto": chosen
  std::array<std::string, collectives> others;  // likewise, by collective
  std::uint64_t first_epoch = 1; // for tests of the wrap
  bool multicast = true;         // false: no algorithm that multicasts, though the transport has it
  std::shared_ptr<const tuning::table> measured;  // alike in all ranks (job_options::tuning); null: prices decide

  std::optional<tuning::online_settings> online;  // as TUTTI_TUNE=online; none: no call tries anything

  bool reproducible = false;     // as TUTTI_REPRODUCIBLE

  std::shared_ptr<common_choices> common;  // of virtual ranks that live in one thread, without `online`; null elsewhere

  std::string& wanted(collective) noexcept;
  const std::string& wanted(collective c) const noexcept { return const_cast<communicator_options*>(this)->wanted(c); }
  bool forced() const noexcept { return !barrier.empty() && barrier != "auto"; }
};

// Reads the table that the settings name. What is wrong with it becomes the trouble of the job, which is to be opened with these
// options all the same: the other ranks hear of it there.
void choose_by_settings(const config&, job_options&, communicator_options&);

// For what moves data. invalid: an algorithm's name is unknown.
result<choice_settings> choice_settings_from(const communicator_options&);

// What TUTTI_BARRIER, TUTTI_BARRIER_RADIX, TUTTI_BCAST, TUTTI_REDUCE and so on say.
communicator_options communicator_options_from(const config&);

class communicator {
 public:
  // Over all ranks of the job, which must have been opened with world_lines() below. Collective.
  static result<std::unique_ptr<communicator>> world(job&, communicator_options);
  // The same in two halves, for virtual ranks of one thread, with a barrier that was picked once for all of them: as
  // team_barrier::offer() and accept().
  static result<std::unique_ptr<communicator>> offer_world(job&, communicator_options, const candidate& barrier, std::vector<std::byte>& blob);
  status accept(const shared_blobs& all) { return barrier_->accept(all); }
  // Lines of control memory that any algorithm the world might use can need: O(log n), or O(n) for small n.
  static std::uint32_t world_lines(std::uint32_t size);
  // The same when these options are to be used for the world; as job_options::world_lines.
  static std::function<std::uint32_t(std::uint32_t)> world_lines_with(communicator_options);

  // Collective over this communicator, as team::create and team::split; null where this rank joins none. Options:
  // as given, or those of this one.
  result<std::unique_ptr<communicator>> create(std::span<const std::uint32_t> list, const communicator_options&);
  // Collective over the list's members alone, as team::create_group.
  result<std::unique_ptr<communicator>> create_group(std::span<const std::uint32_t> list, bootstrap& meeting, const communicator_options&);
  result<std::unique_ptr<communicator>> split(std::int32_t color, std::int32_t key, const communicator_options&);

  // Collective over the members that live, also where a death has broken the team: a communicator of them, in order. Either all
  // of them get one or none does. Errors: peer_dead (this rank was taken for dead); a rank's own, and no_resource in the others.
  result<std::unique_ptr<communicator>> shrink(const communicator_options&);

  team& group() noexcept { return *team_; }
  team_barrier& barrier() noexcept { return *barrier_; }
  data_collectives& data();  // made when it is first asked for
  // Before what is collective upon the team and not called here (windows, leaving): enters it in the record, and waits for the
  // operations under way, whose own exchanges would come between. The error is theirs; the call may still be made.
  status enter(call_kind);

  // Runs what all members do together: where memory is out in this one, the others are to hear of it, for they wait.
  template <class F>
  auto with_the_others(F&& body) {
    try {
      return body();
    } catch (const std::bad_alloc&) {
      record_->has_no_memory();
      throw;
    }
  }

  // Errors: invalid (no such root; nothing happened), and as data_collectives::run().
  status run(const collective_call&, time_point deadline = time_point::max());
  result<std::uint64_t> start(const collective_call&);  // a request of data()
  status broadcast(std::uint32_t root, std::span<std::byte> data, time_point deadline = time_point::max()) {
    return run({.root = root, .bytes = data.size(), .out = data.data()}, deadline);
  }
  // Blocks until all that was started on this team is complete here.
  status finish();
  const communicator_options& options() const noexcept { return options_; }

 private:
  communicator() = default;
  static result<std::unique_ptr<communicator>> upon(team*, communicator_options);
  static result<std::unique_ptr<communicator>> equip(team*, communicator_options, const communicator* parent);
  communicator_options inherited(const communicator_options&) const;
  result<std::unique_ptr<communicator>> made(result<std::unique_ptr<team>>, const communicator_options&);

  communicator_options options_;
  std::unique_ptr<team> owned_;
  team* team_ = nullptr;
  std::unique_ptr<call_record> record_;
  std::unique_ptr<team_barrier> barrier_;
  std::optional<payload_facts> payload_;  // agreed in the team of which this one was made, if it was
  std::unique_ptr<data_collectives> data_;
};

}  // namespace tutti

// The communicators that tutti serves: each has a team of the same ranks in the same order. Those of MPI alone (between groups, with
// processes that were spawned, or made by MPI_Comm_idup) have none, and all their calls are MPI's.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "api/tutti.h"
#include "mpi/real.h"
#include "mpi/world.h"

namespace tutti::mpi {

struct communicator {
  MPI_Comm handle = MPI_COMM_NULL;      // null: freed
  tutti_team_t team = nullptr;
  int rank = 0, size = 0;
  std::int64_t number = 0;              // alike in all members, and like that of no other one in which any of them is
  std::vector<std::uint32_t> members;   // in their order, as ranks in MPI_COMM_WORLD; empty: all, or this one alone
  std::uint32_t generation = 0;         // communicators that had this team before, part of every tag: what those left unreceived is not taken here
  // Of its collectives, by what members know so far: no call has failed; members' calls differed, and collectives fail until all members
  // know of it (collective.h); they do, and MPI has them from then on; one was lost, and all fail.
  enum class fate : std::uint8_t { sound, differed, mpis, lost } fate = fate::sound;
  void failed(tutti_status_t) noexcept;  // one of them
  void takes_no_part() noexcept;         // in one of them, for want of memory
  // Collective, by MPI, in a call that all members have come to after one that differed: can all of them give it to MPI?
  bool meet(bool can_begin_again);
  int begun_collectives = 0;            // nonblocking ones under way
  // Requests of the program that are not complete, or may be started again, and messages that were matched and not received.
  // MPI_Comm_free leaves them to end by themselves.
  int under_way = 0;
  MPI_Errhandler kept = MPI_ERRHANDLER_NULL;  // of one that is freed: for errors of what is under way
  handler_of errors() const noexcept { return handle == MPI_COMM_NULL ? handler_of(MPI_COMM_WORLD, kept) : handler_of(handle); }
  // Of the communicator's topology, MPI_PROC_NULL where a Cartesian one ends.
  struct topology {
    std::vector<int> sources, destinations;
  };
  std::uint64_t tag(int of_program) const noexcept { return std::uint64_t{generation} << 32 | static_cast<std::uint32_t>(of_program); }
  std::optional<topology> neighbors;  // none also where some member names another twice in one direction
};

// No collective begins by tutti any more.
inline bool is_over(const communicator& c) noexcept { return c.fate == communicator::fate::differed || c.fate == communicator::fate::mpis; }

// Null: MPI's own. Valid until the communicator is freed.
communicator* taken(MPI_Comm) noexcept;
communicator* served(MPI_Comm);  // the same, for those who do not hold the right
bool collectives_differed(MPI_Comm);

// By member of `group`: its rank in the other one, or MPI_UNDEFINED.
std::vector<int> ranks_in(MPI_Group other, MPI_Group group);

// The ranks in MPI_COMM_WORLD of a communicator's members. Nothing: some process is not there, for it was spawned.
std::vector<std::uint32_t> members_of(MPI_Comm);

// Collective over the communicator, whose members hold the right all at once: a team of these members, with no handle. It is one that is
// idle, or a new one. Null, in all members: some member is not `able`, or cannot make its part, or has few files left, which is said.
std::unique_ptr<communicator> make_together(MPI_Comm, std::vector<std::uint32_t> members, bool able);
// What members tell each other of something that they make, the least of which counts.
enum class making : int { failed, no_files, whole, goes_on };
// Collective over the communicator, by which all have made something, each with that outcome: the least of all. If that is not `whole`, some
// could not make it or has few files left, and it is nobody's; rank 0 says why, once.
making made_in_all(MPI_Comm, tutti_status_t) noexcept;
// For the next ones of the same members. What is under way there goes on.
void leave_idle(std::unique_ptr<communicator>);

// Collective, by MPI; `ctx` as of reduce_to_all().
bool all_are(bool mine, MPI_Comm, tutti_t ctx = the_world().ctx) noexcept;

// True: done. False: memory is out. For what must not keep this member from what all members do together.
template <class Body>
bool has_memory_for(Body body) {
  try {
    return body(), true;
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const std::length_error&) {
    return false;
  }
}

// The right to call a function of tutti's that blocks until all members of the communicator have called it. Where threads of a rank make
// such calls at once, two ranks could hold their rights for different ones, each waiting for a member that waits for the other's. So the
// members take their rights one after the other, in the order of their ranks in MPI_COMM_WORLD: each lets the next one know. Who holds its
// right then waits for ranks above its own alone, be it for a member that is to take its right or for one that has gone on, and so
// no ring of them can close. Nobody takes a right before all members have come. Collective, where there are threads.
class held_by_all {
 public:
  explicit held_by_all(MPI_Comm fresh);      // one that the program does not have yet
  explicit held_by_all(const communicator&);
  held_by_all(const held_by_all&) = delete;
  held_by_all& operator=(const held_by_all&) = delete;

 private:
  void take(MPI_Comm, int tag, int before, int after);
  std::optional<held> held_;
};

// MPI_COMM_WORLD and MPI_COMM_SELF. False: tutti_error_text() tells why not.
bool take_first_communicators();
void forget_communicators() noexcept;

}  // namespace tutti::mpi

#include "mpi/communicator.h"

#include <unistd.h>

#include <memory>
#include <unordered_map>

#include "mpi/world.h"

namespace tutti::mpi {
namespace {

std::unordered_map<MPI_Comm, std::unique_ptr<communicator>> all;
communicator* last = nullptr;  // found

bool add(MPI_Comm handle, tutti_team_t team) {
  auto c = std::make_unique<communicator>();
  c->handle = handle, c->team = team;
  real.Comm_rank(handle, &c->rank);
  real.Comm_size(handle, &c->size);
  return all.insert_or_assign(handle, std::move(c)).second;
}

// Where in `parent` rank 0 of `fresh` is: a number that new communicators of one call do not share, for they have no member in common.
int first_member_in(MPI_Comm parent, MPI_Comm fresh) {
  MPI_Group of_parent, of_fresh;
  real.Comm_group(parent, &of_parent);
  real.Comm_group(fresh, &of_fresh);
  const int zero = 0;
  int first = -1;
  real.Group_translate_ranks(of_fresh, 1, &zero, of_parent, &first);
  real.Group_free(&of_parent);
  real.Group_free(&of_fresh);
  return first;
}

// Called by all members of `parent` after MPI has made a communicator of some of them, or several; this rank's may be MPI_COMM_NULL.
int follow(MPI_Comm parent, int made, const MPI_Comm* fresh, const char* call) {
  if (made != MPI_SUCCESS || !serves(parent)) return made;
  const held_by_all h(parent);
  communicator* const from = taken(parent);
  int color = -1, rank = 0, between_groups = 0;
  if (*fresh != MPI_COMM_NULL) {
    real.Comm_test_inter(*fresh, &between_groups);
    if (between_groups) return made;
    color = first_member_in(parent, *fresh);
    real.Comm_rank(*fresh, &rank);
  }
  tutti_team_t team = nullptr;
  if (const tutti_status_t s = tutti_team_split(from->team, color, rank, &team); s != TUTTI_OK) return raise(parent, call, s);
  if (team) add(*fresh, team);
  return made;
}

// Collective over the communicator, before MPI's part goes.
tutti_status_t let_go(MPI_Comm comm) {
  if (!serves(comm)) return TUTTI_OK;
  const held_by_all h(comm);
  communicator* const c = taken(comm);
  tutti_team_t team = c->team;
  const std::int32_t mine = c->under_way;
  std::int32_t most = 0;
  const tutti_status_t s = tutti_allreduce(team, &mine, &most, 1, TUTTI_INT32, TUTTI_MAX);
  last = nullptr;
  if (mine > 0) all.find(comm)->second.release();  // its requests name it
  all.erase(comm);
  return s == TUTTI_OK && most == 0 ? tutti_team_free(&team) : s;  // else it lives until MPI_Finalize
}

int freed(MPI_Comm* comm, int (*function)(MPI_Comm*)) {
  if (!comm || *comm == MPI_COMM_WORLD || *comm == MPI_COMM_SELF) return function(comm);  // an error
  const tutti_status_t end = let_go(*comm);
  int s;
  {
    const passing by_mpi;
    s = function(comm);
  }
  return s == MPI_SUCCESS && end != TUTTI_OK ? raise(MPI_COMM_WORLD, "MPI_Comm_free", end) : s;
}

}  // namespace

bool serves(MPI_Comm comm) {
  const held h;
  return taken(comm) != nullptr;
}

held_by_all::held_by_all(MPI_Comm comm) {
  world& w = the_world();
  if (!w.threaded()) {
    held_.emplace();
    return;
  }
  {
    const passing by_mpi;  // nobody holds a right while others are yet to call
    real.Barrier(comm);
  }
  int rank = 0;
  real.Comm_rank(comm, &rank);
  for (int turn = 1;; ++turn) {
    int mine = locked_ = w.try_lock(), all_have = 0;
    real.Allreduce(&mine, &all_have, 1, MPI_INT, MPI_MIN, comm);
    if (all_have) return;
    if (locked_) w.unlock();
    usleep(static_cast<useconds_t>((rank * 131 + turn * 37) % 500));  // not all at the same pace
  }
}

held_by_all::~held_by_all() {
  if (locked_) the_world().unlock();
}

communicator* taken(MPI_Comm handle) noexcept {
  if (last && last->handle == handle) [[likely]] return last;
  const auto at = all.find(handle);
  return at == all.end() ? nullptr : last = at->second.get();
}

bool take_first_communicators() {
  tutti_t ctx = the_world().ctx;
  tutti_team_t alone = nullptr;
  const bool made = tutti_team_split(tutti_world(ctx), static_cast<std::int32_t>(tutti_rank(ctx)), 0, &alone) == TUTTI_OK;
  if (made) add(MPI_COMM_WORLD, tutti_world(ctx)), add(MPI_COMM_SELF, alone);
  return made;
}

void forget_communicators() noexcept {
  all.clear();
  last = nullptr;
}

}  // namespace tutti::mpi

using namespace tutti::mpi;

// A function that makes a communicator of members of `comm`, which all call it.
#define TUTTI_MPI_MAKES(name, parameters, arguments, comm, fresh)        \
  extern "C" int MPI_##name parameters {                                 \
    int made;                                                            \
    {                                                                    \
      const passing by_mpi;                                              \
      made = real.name arguments;                                        \
    }                                                                    \
    return follow(comm, made, fresh, "MPI_" #name);                      \
  }                                                                      \
  TUTTI_MPI_ALSO(name)

TUTTI_MPI_MAKES(Comm_dup, (MPI_Comm comm, MPI_Comm* fresh), (comm, fresh), comm, fresh)
TUTTI_MPI_MAKES(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* fresh), (comm, info, fresh), comm, fresh)
TUTTI_MPI_MAKES(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* fresh), (comm, color, key, fresh), comm, fresh)
TUTTI_MPI_MAKES(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* fresh), (comm, type, key, info, fresh), comm, fresh)
TUTTI_MPI_MAKES(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* fresh), (comm, group, fresh), comm, fresh)
TUTTI_MPI_MAKES(Cart_create, (MPI_Comm comm, int dimensions, const int sizes[], const int periods[], int reorder, MPI_Comm* fresh),
                (comm, dimensions, sizes, periods, reorder, fresh), comm, fresh)
TUTTI_MPI_MAKES(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm* fresh), (comm, remain, fresh), comm, fresh)
TUTTI_MPI_MAKES(Graph_create, (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder, MPI_Comm* fresh),
                (comm, nodes, index, edges, reorder, fresh), comm, fresh)
TUTTI_MPI_MAKES(Dist_graph_create,
                (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[], const int weights[],
                 MPI_Info info, int reorder, MPI_Comm* fresh),
                (comm, n, sources, degrees, destinations, weights, info, reorder, fresh), comm, fresh)
TUTTI_MPI_MAKES(Dist_graph_create_adjacent,
                (MPI_Comm comm, int in, const int sources[], const int source_weights[], int out, const int destinations[],
                 const int destination_weights[], MPI_Info info, int reorder, MPI_Comm* fresh),
                (comm, in, sources, source_weights, out, destinations, destination_weights, info, reorder, fresh), comm, fresh)

extern "C" int MPI_Comm_free(MPI_Comm* comm) { return freed(comm, real.Comm_free); }
TUTTI_MPI_ALSO(Comm_free)

extern "C" int MPI_Comm_disconnect(MPI_Comm* comm) { return freed(comm, real.Comm_disconnect); }
TUTTI_MPI_ALSO(Comm_disconnect)

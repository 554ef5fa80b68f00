#include "mpi/communicator.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mpi/request.h"
#include "mpi/world.h"

namespace tutti::mpi {
namespace {

std::unordered_map<MPI_Comm, std::unique_ptr<communicator>> communicators;
communicator* last = nullptr;  // found

// Freed by the program while some member had something under way there, in the order in which they were. That order is alike for any
// two in all members of both, since each is freed by a collective call. So is what is left by such a call of a communicator whose members
// include theirs: then those go in which nothing is under way any more.
struct leaving {
  std::unique_ptr<communicator> of;
  std::vector<std::uint32_t> members;  // ranks in MPI_COMM_WORLD, sorted
};
std::vector<leaving> left;

communicator& add(MPI_Comm handle, tutti_team_t team) {
  auto c = std::make_unique<communicator>();
  c->handle = handle, c->team = team;
  real.Comm_rank(handle, &c->rank);
  real.Comm_size(handle, &c->size);
  return *(communicators[handle] = std::move(c));
}

// The ranks in MPI_COMM_WORLD of a communicator's members. Nothing: some process is not there, for it was spawned.
std::vector<std::uint32_t> members_of(MPI_Comm comm) {
  MPI_Group of_world, members;
  real.Comm_group(MPI_COMM_WORLD, &of_world);
  real.Comm_group(comm, &members);
  const std::vector<int> there = ranks_in(of_world, members);
  real.Group_free(&of_world);
  real.Group_free(&members);
  if (std::ranges::find(there, MPI_UNDEFINED) != there.end()) return {};
  return {there.begin(), there.end()};
}

bool names_twice(std::vector<int> ranks) {
  std::erase(ranks, MPI_PROC_NULL);
  std::ranges::sort(ranks);
  return std::ranges::adjacent_find(ranks) != ranks.end();
}

// Collective, where there is a topology.
std::optional<communicator::topology> topology_of(const communicator& c) {
  int kind = MPI_UNDEFINED, in = 0, out = 0, weighted = 0;
  real.Topo_test(c.handle, &kind);
  if (kind == MPI_UNDEFINED) return std::nullopt;
  communicator::topology t;
  if (kind == MPI_CART) {
    real.Cartdim_get(c.handle, &in);
    for (int d = 0; d < in; ++d) {
      int before, after;
      real.Cart_shift(c.handle, d, 1, &before, &after);
      t.sources.insert(t.sources.end(), {before, after});
    }
    t.destinations = t.sources;
  } else if (kind == MPI_GRAPH) {
    real.Graph_neighbors_count(c.handle, c.rank, &in);
    t.sources.resize(static_cast<std::size_t>(in));
    real.Graph_neighbors(c.handle, c.rank, in, t.sources.data());
    t.destinations = t.sources;
  } else {
    real.Dist_graph_neighbors_count(c.handle, &in, &out, &weighted);
    t.sources.resize(static_cast<std::size_t>(in)), t.destinations.resize(static_cast<std::size_t>(out));
    std::vector<int> weights(static_cast<std::size_t>(std::max({in, out, 1})));
    real.Dist_graph_neighbors(c.handle, in, t.sources.data(), weights.data(), out, t.destinations.data(), weights.data());
  }
  int mine = names_twice(t.sources) || names_twice(t.destinations), some = 0;
  real.Allreduce(&mine, &some, 1, MPI_INT, MPI_MAX, c.handle);
  if (some) return std::nullopt;
  return t;
}

// Collective over its members. What any of them has under way there: the most of all.
tutti_status_t most_under_way(const communicator& c, std::int32_t& most) {
  const std::int32_t mine = c.under_way;
  return tutti_allreduce(c.team, &mine, &most, 1, TUTTI_INT32, TUTTI_MAX);
}

// Collective over these members, who hold the right all at once.
void free_left(std::vector<std::uint32_t> members) {
  std::ranges::sort(members);
  std::erase_if(left, [&](leaving& l) {
    if (!std::ranges::includes(members, l.members)) return false;
    std::int32_t most = 0;
    if (most_under_way(*l.of, most) != TUTTI_OK || most > 0) return false;
    release(l.of->kept);
    return (void)tutti_team_free(&l.of->team), true;
  });
}

// Files that this process may still open. A team has some, its first collectives add more, and the program has its own.
bool leaves_files() noexcept {
  constexpr rlim_t for_others = 64;
  rlimit files;
  const int lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (lowest < 0 || ::getrlimit(RLIMIT_NOFILE, &files)) return false;
  ::close(lowest);
  return static_cast<rlim_t>(lowest) + for_others < files.rlim_cur;
}

// A team that not all members could make is nobody's.
bool is_made(MPI_Comm comm, tutti_status_t s, tutti_team_t team) {
  enum { failed, no_files, made };
  int mine = s != TUTTI_OK ? failed : leaves_files() ? made : no_files, all_members = made, rank = 0;
  real.Allreduce(&mine, &all_members, 1, MPI_INT, MPI_MIN, comm);
  if (all_members == made) return true;
  real.Comm_rank(comm, &rank);
  static bool said = false;
  if (rank == 0 && !std::exchange(said, true))
    std::fprintf(stderr, "tutti: %s; this communicator is MPI's alone, as others may be that are made later\n",
                 all_members == no_files ? "a rank has too many open files (raise the limit: ulimit -n)"
                 : mine == failed        ? tutti_error_text(the_world().ctx)
                                         : "another rank cannot make its part of a team");
  if (team) (void)tutti_team_free(&team);
  return false;
}

// Collective over a communicator that MPI has just made, of which this rank is a member or not.
int follow(int made, const MPI_Comm* fresh) {
  world& w = the_world();
  if (!w.ctx || made != MPI_SUCCESS || *fresh == MPI_COMM_NULL) return made;
  int between_groups = 0;
  real.Comm_test_inter(*fresh, &between_groups);
  if (between_groups) return made;
  const std::vector<std::uint32_t> members = members_of(*fresh);
  if (members.empty()) return made;
  MPI_Comm comm = *fresh;
  const held_by_all h(comm);
  if (!left.empty()) drop_finished(), free_left(members);
  tutti_bootstrap_t meeting{};
  int rank = 0;
  real.Comm_rank(comm, &rank);
  meeting.context = &comm, meeting.rank = static_cast<std::uint32_t>(rank), meeting.size = static_cast<std::uint32_t>(members.size());
  meeting.allgather = gather_for_tutti;
  tutti_team_t team = nullptr;
  const tutti_status_t s = tutti_team_create_group(tutti_world(w.ctx), members.data(), members.size(), &meeting, &team);
  if (!is_made(comm, s, team)) return made;
  communicator& c = add(comm, team);
  c.neighbors = topology_of(c);
  return made;
}

// Collective over the communicator, before MPI's part goes.
tutti_status_t let_go(MPI_Comm comm) {
  if (!serves(comm)) return TUTTI_OK;
  const held_by_all h(comm);
  drop_finished();
  if (!left.empty()) free_left(members_of(comm));
  last = nullptr;
  std::unique_ptr<communicator> c = std::move(communicators.extract(comm).mapped());
  std::int32_t most = 0;
  const tutti_status_t s = most_under_way(*c, most);
  if (s == TUTTI_OK && most == 0) return tutti_team_free(&c->team);
  std::vector<std::uint32_t> members = members_of(comm);
  std::ranges::sort(members);
  real.Comm_get_errhandler(comm, &c->kept);
  c->handle = MPI_COMM_NULL;
  left.push_back({std::move(c), std::move(members)});
  return s;
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

std::vector<int> ranks_in(MPI_Group other, MPI_Group group) {
  int n = 0;
  real.Group_size(group, &n);
  std::vector<int> here(static_cast<std::size_t>(n)), there(here.size());
  std::iota(here.begin(), here.end(), 0);
  real.Group_translate_ranks(group, n, here.data(), other, there.data());
  return there;
}

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
  const auto at = communicators.find(handle);
  return at == communicators.end() ? nullptr : last = at->second.get();
}

bool take_first_communicators() {
  tutti_t ctx = the_world().ctx;
  tutti_team_t alone = nullptr;
  const bool made = tutti_team_split(tutti_world(ctx), static_cast<std::int32_t>(tutti_rank(ctx)), 0, &alone) == TUTTI_OK;
  if (made) add(MPI_COMM_WORLD, tutti_world(ctx)), add(MPI_COMM_SELF, alone);
  return made;
}

void forget_communicators() noexcept {
  for (leaving& l : left) release(l.of->kept);
  left.clear();
  communicators.clear();
  last = nullptr;
}

}  // namespace tutti::mpi

using namespace tutti::mpi;

// A function that makes a communicator, which all its members call.
#define TUTTI_MPI_MAKES(name, parameters, arguments)                     \
  extern "C" int MPI_##name parameters {                                 \
    int made;                                                            \
    {                                                                    \
      const passing by_mpi;                                              \
      made = real.name arguments;                                        \
    }                                                                    \
    return follow(made, fresh);                                          \
  }                                                                      \
  TUTTI_MPI_ALSO(name)

TUTTI_MPI_MAKES(Comm_dup, (MPI_Comm comm, MPI_Comm* fresh), (comm, fresh))
TUTTI_MPI_MAKES(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* fresh), (comm, info, fresh))
TUTTI_MPI_MAKES(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* fresh), (comm, color, key, fresh))
TUTTI_MPI_MAKES(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* fresh), (comm, type, key, info, fresh))
TUTTI_MPI_MAKES(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* fresh), (comm, group, fresh))
TUTTI_MPI_MAKES(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* fresh), (comm, group, tag, fresh))
TUTTI_MPI_MAKES(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm* fresh), (comm, high, fresh))
TUTTI_MPI_MAKES(Cart_create, (MPI_Comm comm, int dimensions, const int sizes[], const int periods[], int reorder, MPI_Comm* fresh),
                (comm, dimensions, sizes, periods, reorder, fresh))
TUTTI_MPI_MAKES(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm* fresh), (comm, remain, fresh))
TUTTI_MPI_MAKES(Graph_create, (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder, MPI_Comm* fresh),
                (comm, nodes, index, edges, reorder, fresh))
TUTTI_MPI_MAKES(Dist_graph_create,
                (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[], const int weights[],
                 MPI_Info info, int reorder, MPI_Comm* fresh),
                (comm, n, sources, degrees, destinations, weights, info, reorder, fresh))
TUTTI_MPI_MAKES(Dist_graph_create_adjacent,
                (MPI_Comm comm, int in, const int sources[], const int source_weights[], int out, const int destinations[],
                 const int destination_weights[], MPI_Info info, int reorder, MPI_Comm* fresh),
                (comm, in, sources, source_weights, out, destinations, destination_weights, info, reorder, fresh))

extern "C" int MPI_Comm_free(MPI_Comm* comm) { return freed(comm, real.Comm_free); }
TUTTI_MPI_ALSO(Comm_free)

extern "C" int MPI_Comm_disconnect(MPI_Comm* comm) { return freed(comm, real.Comm_disconnect); }
TUTTI_MPI_ALSO(Comm_disconnect)

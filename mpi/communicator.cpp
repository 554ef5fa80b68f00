#include "mpi/communicator.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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

// Freed by the program, which waits for nobody: a member may free early what another still uses. So nothing is done together then. When
// members make a communicator, they find out which of these all of them have here with nothing under way. One of just the same members in
// the same order gives the new communicator its team; of others, once there are many, the teams go.
std::vector<std::unique_ptr<communicator>> idle;  // by number
constexpr std::size_t most_idle = 64;
std::int64_t newest_number = 0;

// A communicator becomes idle without an allocation.
void space_for_idle() {
  if (idle.size() == idle.capacity()) idle.reserve(2 * idle.size() + 8);
}

using entry = std::unordered_map<MPI_Comm, std::unique_ptr<communicator>>::iterator;

// MPI has freed it. What is under way there goes on.
void let_go(entry at) {
  last = nullptr;
  at->second->handle = MPI_COMM_NULL;
  leave_idle(std::move(at->second));
  communicators.erase(at);
}

// A place among them, taken before members do anything together: after that no memory is needed.
using new_node = decltype(communicators);
new_node place_for(MPI_Comm handle) {
  new_node made;
  made.emplace(handle, nullptr);
  communicators.reserve(communicators.size() + 1);
  space_for_idle();
  return made;
}
communicator& add(MPI_Comm handle, new_node at, std::unique_ptr<communicator> c) noexcept {
  if (const auto old = communicators.find(handle); old != communicators.end()) let_go(old);  // a thread that frees has yet to come so far
  communicator& added = *c;
  at.begin()->second = std::move(c);
  added.handle = handle;
  real.Comm_rank(handle, &added.rank);
  real.Comm_size(handle, &added.size);
  communicators.merge(at);
  return added;
}

// The same question where memory is out: are all of them there?
bool within_world(MPI_Comm comm) {
  MPI_Group of_world, members;
  int n = 0, there = 0;
  real.Comm_group(MPI_COMM_WORLD, &of_world);
  real.Comm_group(comm, &members);
  real.Group_size(members, &n);
  for (int i = 0; i < n && there != MPI_UNDEFINED; ++i) real.Group_translate_ranks(members, 1, &i, of_world, &there);
  real.Group_free(&of_world);
  real.Group_free(&members);
  return there != MPI_UNDEFINED;
}

bool names_twice(std::vector<int> ranks) {
  std::erase(ranks, MPI_PROC_NULL);
  std::ranges::sort(ranks);
  return std::ranges::adjacent_find(ranks) != ranks.end();
}

// Of this member; false: it names another twice in one direction.
bool find_neighbors(const communicator& c, int kind, communicator::topology& t) {
  int in = 0, out = 0, weighted = 0;
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
  return !names_twice(t.sources) && !names_twice(t.destinations);
}

// Collective, where there is a topology.
std::optional<communicator::topology> topology_of(const communicator& c) {
  int kind = MPI_UNDEFINED;
  real.Topo_test(c.handle, &kind);
  if (kind == MPI_UNDEFINED) return std::nullopt;
  communicator::topology t;
  bool good = false;
  const bool found = has_memory_for([&] { good = find_neighbors(c, kind, t); });
  int mine = !(found && good), some = 0;
  reduce_to_all(&mine, &some, 1, MPI_INT, MPI_MAX, c.handle);
  if (some) return std::nullopt;
  return t;
}

// Whether there are files that this process may still open. A team has some, its first collectives and windows add more, and the program
// has its own.
bool leaves_files() noexcept {
  constexpr rlim_t for_others = 64;
  rlimit files;
  const int lowest = ::open("/", O_PATH | O_CLOEXEC);
  if (lowest < 0 || ::getrlimit(RLIMIT_NOFILE, &files)) return false;
  ::close(lowest);
  return static_cast<rlim_t>(lowest) + for_others < files.rlim_cur;
}

making least_of_all(making of_mine, MPI_Comm comm) {
  int mine = static_cast<int>(of_mine), least = static_cast<int>(making::failed);
  reduce_to_all(&mine, &least, 1, MPI_INT, MPI_MIN, comm);
  return static_cast<making>(least);
}

// The meeting in which members make a team. A member that has failed, for want of memory perhaps, comes to no further exchange of it, but
// tells how it ended. So before each exchange all tell that they go on, and who hears of an end instead has heard that end.
struct team_meeting {
  MPI_Comm comm;
  bool over = false;
  static int gather(void* meeting, const void* mine, std::size_t bytes, void* all, double timeout_s) {
    auto& m = *static_cast<team_meeting*>(meeting);
    m.over = m.over || least_of_all(making::goes_on, m.comm) != making::goes_on;
    return m.over ? EIO : gather_for_tutti(&m.comm, mine, bytes, all, timeout_s);
  }
};

// What members tell each other of an idle communicator: no two that have a member in common are alike in this.
struct mark {
  std::int64_t number, first_member;
  auto operator<=>(const mark&) const = default;
};
mark mark_of(const communicator& c) { return {c.number, c.members.front()}; }

bool is_quiet(const std::unique_ptr<communicator>& c) { return c->under_way == 0; }

std::unique_ptr<communicator> take_idle(std::vector<std::unique_ptr<communicator>>::iterator at) {
  std::unique_ptr<communicator> c = std::move(*at);
  idle.erase(at);
  release(std::exchange(c->kept, MPI_ERRHANDLER_NULL));
  return c;
}

// Collective over the communicator, whose members hold the right all at once. The first idle one of these members that all of them have, or
// null; `too_many`: some member has many idle ones, or few files left; `able` becomes false if it is so in some member.
std::unique_ptr<communicator> find_idle(MPI_Comm comm, const std::vector<std::uint32_t>& members, bool& too_many, bool& able) {
  constexpr std::int64_t none = INT64_MAX;  // signed: MPICH 4.0.2 has the most of MPI_UINT64_T as if it were
  for (std::int64_t from = 0;;) {
    const auto fits = [&](const auto& c) { return c->number >= from && c->fate == communicator::fate::sound && is_quiet(c) && c->members == members; };
    const auto mine = std::ranges::find_if(idle, fits);
    const std::int64_t number = mine == idle.end() ? none : (*mine)->number;
    enum { latest, less_earliest, newest, excess, unable, terms };
    std::int64_t told[terms] = {number, -number, newest_number, idle.size() > most_idle || !leaves_files(), !able};
    std::int64_t most[terms] = {none};  // as it stays if MPI fails
    reduce_to_all(told, most, terms, MPI_INT64_T, MPI_MAX, comm);
    newest_number = most[newest], too_many = most[excess], able = !most[unable];
    if (most[latest] == none || !able) return nullptr;
    if (most[latest] == -most[less_earliest]) return take_idle(mine);
    from = most[latest];
  }
}

// The same. Frees the teams of idle communicators of some of these members, where all members of such a one have it here.
void free_idle(MPI_Comm comm, const std::vector<std::uint32_t>& of_comm) {
  std::vector<mark> mine, all;
  const bool able = has_memory_for([&] {
    std::vector<std::uint32_t> members = of_comm;
    std::ranges::sort(members);
    for (const auto& c : idle) {
      if (mine.size() == most_idle) break;
      std::vector<std::uint32_t> of = c->members;
      std::ranges::sort(of);
      if (is_quiet(c) && std::ranges::includes(members, of)) mine.push_back(mark_of(*c));
    }
    mine.resize(most_idle, {});  // no communicator's number is 0
    all.resize(most_idle * members.size());
  });
  if (!all_are(able, comm)) return;
  (void)gather_from_all(mine.data(), most_idle * sizeof(mark), all.data(), comm);
  std::ranges::sort(all);
  std::ranges::sort(mine);
  for (const mark& m : mine) {
    const auto at = std::ranges::find_if(idle, [&](const auto& c) { return mark_of(*c) == m; });
    if (at == idle.end() || std::ranges::equal_range(all, m).size() != (*at)->members.size()) continue;
    (void)tutti_team_free(&take_idle(at)->team);
  }
}

// Collective over a communicator that MPI has just made, of which this rank is a member or not.
int follow(int made, const MPI_Comm* fresh) {
  world& w = the_world();
  if (!w.ctx || made != MPI_SUCCESS || *fresh == MPI_COMM_NULL) return made;
  int between_groups = 0;
  real.Comm_test_inter(*fresh, &between_groups);
  if (between_groups) return made;
  std::vector<std::uint32_t> members;
  new_node place;
  bool able = has_memory_for([&] { members = members_of(*fresh); });
  if (able ? members.empty() : !within_world(*fresh)) return made;
  const held_by_all h(*fresh);
  able = able && has_memory_for([&] { place = place_for(*fresh); });
  std::unique_ptr<communicator> c = make_together(*fresh, std::move(members), able);
  if (!c) return made;
  communicator& added = add(*fresh, std::move(place), std::move(c));
  added.neighbors = topology_of(added);
  return made;
}

// Whom MPI still shows to callbacks that it calls while it frees: what was sent there before can be received in them. Another thread may
// get the handle as soon as MPI has freed it; so the entry that goes is known by more than that.
int freed(MPI_Comm* comm, int (*function)(MPI_Comm*)) {
  const MPI_Comm handle = comm ? *comm : MPI_COMM_NULL;
  communicator* c = nullptr;
  std::uint32_t generation = 0;
  if (comm && handle != MPI_COMM_WORLD && handle != MPI_COMM_SELF) {
    const held h;
    c = taken(handle);
    if (c) space_for_idle(), generation = c->generation, real.Comm_get_errhandler(handle, &c->kept);
  }
  int code;
  {
    const passing by_mpi;
    code = function(comm);
  }
  if (!c) return code;
  const held h;
  const auto at = communicators.find(handle);
  if (at == communicators.end() || at->second.get() != c || c->generation != generation) return code;  // gone: the handle came again
  if (code != MPI_SUCCESS) return release(std::exchange(c->kept, MPI_ERRHANDLER_NULL)), code;
  let_go(at);
  return code;
}

void start_together(MPI_Comm comm) {
  const passing by_mpi;
  real.Barrier(comm);
}

// The indices of those members whose ranks in MPI_COMM_WORLD are next to that of one.
std::pair<int, int> beside(const std::vector<std::uint32_t>& members, std::uint32_t index) {
  int before = MPI_PROC_NULL, after = MPI_PROC_NULL;
  const auto closer = [&](int than, std::uint32_t rank, bool above) {
    return than == MPI_PROC_NULL || (above ? rank < members[static_cast<std::size_t>(than)] : rank > members[static_cast<std::size_t>(than)]);
  };
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i] < members[index] && closer(before, members[i], false)) before = static_cast<int>(i);
    if (members[i] > members[index] && closer(after, members[i], true)) after = static_cast<int>(i);
  }
  return {before, after};
}

}  // namespace

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

making made_in_all(MPI_Comm comm, tutti_status_t s) noexcept {
  const making mine = s != TUTTI_OK ? making::failed : leaves_files() ? making::whole : making::no_files;
  const making all_members = least_of_all(mine, comm);
  if (all_members == making::whole) return all_members;
  int rank = 0;
  real.Comm_rank(comm, &rank);
  static bool said = false;
  if (rank == 0 && !std::exchange(said, true))
    std::fprintf(stderr, "tutti: %s; this communicator or window is MPI's alone, as others may be that are made later\n",
                 all_members == making::no_files ? "a rank has too many open files (raise the limit: ulimit -n)"
                 : mine == making::failed        ? tutti_error_text(the_world().ctx)
                                         : "another rank cannot make its part");
  return all_members;
}

std::unique_ptr<communicator> make_together(MPI_Comm comm, std::vector<std::uint32_t> members, bool able) {
  drop_finished();
  bool too_many = false;
  std::unique_ptr<communicator> fresh;
  able = able && has_memory_for([&] { fresh = std::make_unique<communicator>(); });
  std::unique_ptr<communicator> c = find_idle(comm, members, too_many, able);
  if (!able) return nullptr;
  if (c) return ++c->generation, std::move(c);
  if (too_many) free_idle(comm, members);
  tutti_bootstrap_t meeting{};
  int rank = 0;
  real.Comm_rank(comm, &rank);
  team_meeting here{comm};
  meeting.context = &here, meeting.rank = static_cast<std::uint32_t>(rank), meeting.size = static_cast<std::uint32_t>(members.size());
  meeting.allgather = team_meeting::gather;
  tutti_team_t team = nullptr;
  const tutti_status_t s = tutti_team_create_group(tutti_world(the_world().ctx), members.data(), members.size(), &meeting, &team);
  if (here.over || made_in_all(comm, s) != making::whole) return (void)(team && tutti_team_free(&team)), nullptr;
  fresh->team = team, fresh->number = ++newest_number, fresh->rank = rank, fresh->size = static_cast<int>(members.size()), fresh->members = std::move(members);
  return fresh;
}

void leave_idle(std::unique_ptr<communicator> c) {
  idle.insert(std::ranges::upper_bound(idle, c->number, {}, [](const auto& i) { return i->number; }), std::move(c));
}

std::vector<int> ranks_in(MPI_Group other, MPI_Group group) {
  int n = 0;
  real.Group_size(group, &n);
  std::vector<int> here(static_cast<std::size_t>(n)), there(here.size());
  std::iota(here.begin(), here.end(), 0);
  real.Group_translate_ranks(group, n, here.data(), other, there.data());
  return there;
}

bool all_are(bool mine, MPI_Comm comm, tutti_t ctx) noexcept {
  int is = mine, all = 0;
  reduce_to_all(&is, &all, 1, MPI_INT, MPI_MIN, comm, ctx);
  return all != 0;
}

communicator* served(MPI_Comm comm) {
  const held h;
  return taken(comm);
}

bool collectives_differed(MPI_Comm comm) {
  const held h;
  const communicator* const c = taken(comm);
  return c && is_over(*c);
}

void communicator::failed(tutti_status_t s) noexcept {
  if (fate != fate::sound || s == TUTTI_INVALID) return;  // invalid: nothing has happened
  if (s == TUTTI_NO_RESOURCE && size == 1) return;
  fate = s == TUTTI_PROTOCOL || s == TUTTI_UNSUPPORTED || s == TUTTI_NO_RESOURCE ? fate::differed : fate::lost;
}

// The text of the member's own error stays: tutti_ibroadcast() of nothing has none, or that of the collective which broke the team.
void communicator::takes_no_part() noexcept {
  if (fate != fate::sound || size == 1) return;
  tutti_request_t none{};
  (void)tutti_ibroadcast(team, 0, nullptr, 0, &none);
  failed(TUTTI_NO_RESOURCE);
}

bool communicator::meet(bool can_begin_again) {
  int mine = can_begin_again, all = 0;
  const passing by_mpi;
  if (real.Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, handle) != MPI_SUCCESS) all = 0;
  fate = fate::mpis;
  return all != 0;
}

held_by_all::held_by_all(MPI_Comm fresh) {
  if (!the_world().threaded()) {
    held_.emplace();
    return;
  }
  const std::vector<std::uint32_t> members = members_of(fresh);
  int rank = 0;
  real.Comm_rank(fresh, &rank);
  start_together(fresh);
  const auto [before, after] = beside(members, static_cast<std::uint32_t>(rank));
  take(fresh, 0, before, after);
}

held_by_all::held_by_all(const communicator& c) {
  world& w = the_world();
  if (!w.threaded() || c.size == 1) {
    held_.emplace();
    return;
  }
  if (c.handle != MPI_COMM_NULL) start_together(c.handle);
  const auto rank_of = [&](int index) { return index == MPI_PROC_NULL || c.members.empty() ? index : static_cast<int>(c.members[static_cast<std::size_t>(index)]); };
  std::vector<std::uint32_t> everyone;
  if (c.members.empty()) everyone.resize(static_cast<std::size_t>(c.size)), std::iota(everyone.begin(), everyone.end(), 0u);
  const auto [before, after] = beside(c.members.empty() ? everyone : c.members, static_cast<std::uint32_t>(c.rank));
  take(w.for_words, static_cast<int>(c.number % w.largest_tag), rank_of(before), rank_of(after));
}

void held_by_all::take(MPI_Comm comm, int tag, int before, int after) {
  receive_word(before, tag, comm);
  held_.emplace();
  send_word(after, tag, comm);
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
  for (const auto& [handle, team] : {std::pair{MPI_COMM_WORLD, tutti_world(ctx)}, {MPI_COMM_SELF, alone}})
    if (made) add(handle, place_for(handle), std::make_unique<communicator>()).team = team;
  return made;
}

void forget_communicators() noexcept {
  for (const auto& c : idle) release(c->kept);
  idle.clear();
  communicators.clear();
  last = nullptr;
}

}  // namespace tutti::mpi

using namespace tutti::mpi;

// A function that makes a communicator, which all its members call.
#define TUTTI_MPI_MAKES(name, parameters, arguments)                     \
  TUTTI_MPI_ENTRY(name, parameters, MPI_COMM_WORLD, {                                                                                \
    int made;                                                            \
    {                                                                    \
      const passing by_mpi;                                              \
      made = real.name arguments;                                        \
    }                                                                    \
    return follow(made, fresh);                                          \
  })

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

TUTTI_MPI_ENTRY(Comm_free, (MPI_Comm* comm), comm ? *comm : MPI_COMM_WORLD, { return freed(comm, real.Comm_free); })

TUTTI_MPI_ENTRY(Comm_disconnect, (MPI_Comm* comm), comm ? *comm : MPI_COMM_WORLD, { return freed(comm, real.Comm_disconnect); })

#include <algorithm>
#include <utility>

#include "api/options.h"
#include "api/use.h"
#include "core/base/listing.h"
#include "core/job/agreement.h"

using namespace tutti;
using namespace tutti::api;

namespace {

// The handle of a team that was just made, or NULL where this rank joined none.
tutti_status_t adopt(tutti_context* ctx, result<std::unique_ptr<communicator>> made, const char* call,
                     tutti_team_t* out) {
  if (!made) return report(ctx, made.error().during(call));
  *out = nullptr;
  if (!*made) return TUTTI_OK;
  try {
    ctx->teams.push_back(make_owned<tutti_team>());
  } catch (const std::bad_alloc&) {  // the others have it: nobody is to wait for this rank there
    (*made)->group().fail({errc::no_resource, "out of memory"});
    throw;
  }
  tutti_team& t = *ctx->teams.back();
  t.ctx = ctx;
  t.comm = std::move(*made);
  *out = handle_of(&t);
  return TUTTI_OK;
}

// Requests for collectives of a team that goes: they keep what became of them.
void detach_requests(tutti_team* team) {
  team->ctx->requests.each_in_use([&](request_slot& s) {
    if (s.again && s.again->comm == team->comm.get()) s.again->comm = nullptr;
    if (!s.of || &s.of->group() != &team->group()) return;
    const status end = std::exchange(s.of, nullptr)->outcome();
    if (end.ok()) return;
    s.done.begin();
    s.done.finish(end);
  });
}

}  // namespace

uint32_t tutti_team_rank(tutti_team_t handle) {
  tutti_team* team = find(handle);
  return team ? team->group().index() : TUTTI_NO_RANK;
}

uint32_t tutti_team_size(tutti_team_t handle) {
  tutti_team* team = find(handle);
  return team ? team->group().size() : 0;
}

tutti_status_t tutti_team_create(tutti_team_t handle, const uint32_t* members, size_t count, tutti_team_t* team) {
  const use parent(handle, "tutti_team_create");
  if (!parent) return parent.refuse("the parent team");
  tutti_context* ctx = parent->ctx;
  if (!team) return refuse_null(ctx, "tutti_team_create", "team, where the new team goes,");
  if (!members && count > 0) return refuse(ctx, "tutti_team_create: members is NULL but count is %zu", count);
  return guarded(ctx, "tutti_team_create", [&] {
    // More than all are some listed twice: enough of them are passed on for that to be found.
    const std::size_t some = std::min<std::size_t>(count, std::size_t{parent->group().size()} + 1);
    return adopt(ctx, parent->comm->create({members, some}, parent->comm->options()), "tutti_team_create", team);
  });
}

tutti_status_t tutti_team_create_group(tutti_team_t handle, const uint32_t* members, size_t count, const tutti_bootstrap_t* meeting,
                                       tutti_team_t* team) {
  const use parent(handle, "tutti_team_create_group");
  if (!parent) return parent.refuse("the parent team");
  tutti_context* ctx = parent->ctx;
  if (!team) return refuse_null(ctx, parent.call(), "team, where the new team goes,");
  if (!meeting) return refuse_null(ctx, parent.call(), "meeting");
  if (!members || count == 0)
    return refuse(ctx, "%s: %s; list the members, of which the caller is one", parent.call(), members ? "count is 0" : "members is NULL");
  return guarded(ctx, parent.call(), [&] {
    tutti_bootstrap_t of_members = *meeting;
    of_members.job_id = "team";  // not read
    auto met = bootstrap_of(of_members);
    if (!met) return report(ctx, met.error().during(parent.call()));
    return adopt(ctx, parent->comm->create_group({members, count}, **met, parent->comm->options()), parent.call(), team);
  });
}

tutti_status_t tutti_team_split(tutti_team_t handle, int32_t color, int32_t key, tutti_team_t* team) {
  const use parent(handle, "tutti_team_split");
  if (!parent) return parent.refuse("the parent team");
  if (!team) return refuse_null(parent->ctx, "tutti_team_split", "team, where the new team goes,");
  return guarded(parent->ctx, "tutti_team_split", [&] {
    return adopt(parent->ctx, parent->comm->split(color, key, parent->comm->options()), "tutti_team_split", team);
  });
}

const char* tutti_team_algorithm(tutti_team_t handle, const char* name, size_t bytes) {
  const use team(handle, "tutti_team_algorithm");
  const char* found = nullptr;
  if (!team) return (void)team.refuse("the team"), found;
  if (!name) return (void)refuse_null(team->ctx, team.call(), "collective"), found;
  const auto of = find_collective(name);
  if (!of) return (void)refuse(team->ctx, "%s: there is no collective %s; `tutti info --explain` lists them", team.call(), name), found;
  if (*of == collective::barrier) return team->comm->barrier().row().name.data();
  (void)guarded(team->ctx, team.call(), [&] {
    collective_choices& choices = team->comm->data().choices();
    if (!choices.facts())
      return report(team->ctx, status{errc::unavailable, worded(team.call(), ": the team has not moved data yet; call a collective first")});
    const auto best = choices.candidates(*of, bytes);
    if (!best) return report(team->ctx, best.error().during(team.call()));
    found = best->front().row->name.data();
    return TUTTI_OK;
  });
  return found;
}

tutti_status_t tutti_team_free(tutti_team_t* team) {
  if (!team) return refuse_null(nullptr, "tutti_team_free", "team");
  if (!*team) return TUTTI_OK;
  const use held(*team, "tutti_team_free");
  if (!held) return held.refuse("the team");
  tutti_team* t = held.get();
  tutti_context* ctx = t->ctx;
  if (t == ctx->world.get()) return refuse(ctx, "tutti_team_free: the world team ends with its context; call tutti_finalize");
  const auto windows = std::count_if(ctx->windows.begin(), ctx->windows.end(), [&](auto& w) { return w->team == t; });
  if (windows > 0)
    return refuse(ctx, "tutti_team_free: the team still has %td window(s); free them first with tutti_window_free",
                  windows);
  return guarded(ctx, "tutti_team_free", [&] {
    (void)t->comm->enter(call_kind::leave);
    status s = t->comm->finish();
    if (s.ok()) s = t->group().settle();
    if (ctx->messages) ctx->messages->forget(t->group());
    detach_requests(t);
    *team = nullptr;
    const resting agreed{ctx->job->net(), s.ok()};
    std::erase_if(ctx->teams, [&](auto& p) { return p.get() == t; });
    return finish(ctx, s.during("tutti_team_free"));
  });
}

tutti_status_t tutti_team_agree(tutti_team_t handle, uint64_t* flags) {
  constexpr const char* call = "tutti_team_agree";
  const use held(handle, call);
  if (!held) return held.refuse("the team");
  tutti_context* ctx = held->ctx;
  if (!flags) return refuse_null(ctx, call, "flags");
  return guarded(ctx, call, [&] {
    team& t = held->group();
    const auto said = t.survivors().agree(*flags);
    if (!said) return report(ctx, said.error().during(call));
    *flags = said->flags;
    if (said->dead.empty()) return TUTTI_OK;
    const auto dead = [&](rank_t r) { return std::ranges::binary_search(said->dead, t.members().index_of(r)); };
    const std::string who = list_of_ranks(ctx->job->size(), dead);
    return report(ctx, {errc::peer_dead, worded("tutti_team_agree: dead are, of the job's ranks, ", who),
                                                t.rank_of(said->dead.front())});
  });
}

tutti_status_t tutti_team_dead(tutti_team_t handle, uint32_t* ranks, size_t room, size_t* count) {
  constexpr const char* call = "tutti_team_dead";
  const use held(handle, call, by_handlers_too);
  if (!held) return held.refuse("the team");
  if (!count) return refuse_null(held->ctx, call, "count");
  if (!ranks && room > 0) return refuse(held->ctx, "tutti_team_dead: ranks is NULL but room is %zu", room);
  return guarded(held->ctx, call, [&] {
    const auto dead = held->group().survivors().dead();
    std::copy_n(dead.begin(), std::min(room, dead.size()), ranks);
    *count = dead.size();
    return TUTTI_OK;
  });
}

tutti_status_t tutti_team_shrink(tutti_team_t handle, tutti_team_t* survivors) {
  const use held(handle, "tutti_team_shrink");
  if (!held) return held.refuse("the team");
  if (!survivors) return refuse_null(held->ctx, "tutti_team_shrink", "survivors, where the new team goes,");
  return guarded(held->ctx, "tutti_team_shrink", [&] {
    return adopt(held->ctx, held->comm->shrink(held->comm->options()), "tutti_team_shrink", survivors);
  });
}

tutti_status_t tutti_team_translate(tutti_team_t from_handle, uint32_t rank, tutti_team_t to_handle, uint32_t* out) {
  const use from(from_handle, "tutti_team_translate", by_handlers_too);
  if (!from) return from.refuse("the team `from`");
  tutti_context* ctx = from->ctx;
  tutti_team* to = find(to_handle);
  if (!to_handle) return refuse_null(ctx, "tutti_team_translate", "the team `to`");
  if (!to) return refuse(ctx, "tutti_team_translate: the team `to` was freed before, or is none");
  if (!out) return refuse_null(ctx, "tutti_team_translate", "out");
  if (to->ctx != ctx) return refuse(nullptr, "tutti_team_translate: the teams belong to different contexts");
  team &a = from->group(), &b = to->group();
  if (rank >= a.size())
    return refuse(ctx, "tutti_team_translate: rank %u is not in the team of %u; use 0 to %u", rank, a.size(),
                  a.size() - 1);
  const std::uint32_t index = b.members().index_of(a.rank_of(rank));
  *out = index < b.size() ? index : TUTTI_NO_RANK;
  return TUTTI_OK;
}

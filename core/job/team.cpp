#include "core/job/team.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/transport/first_death.h"
#include "core/base/hash.h"
#include "core/base/listing.h"
#include "core/job/agreement.h"
#include "core/job/bootstrap.h"
#include "core/transport/ops.h"
#include "core/transport/wait_out.h"

namespace tutti {
namespace {

// What a member of a new team tells the others: which list it took the team to be, on which terms, and its key.
struct member_blob {
  std::uint64_t list = 0;  // hash of the list; 0: in no team
  std::uint64_t terms = 0; // hash of the agreement and the lines
  std::uint64_t id = 0;    // of member 0: the team's number
};

std::vector<std::byte> pack(const member_blob& head, std::span<const std::byte> key) {
  std::vector<std::byte> out(sizeof head + key.size());
  std::memcpy(out.data(), &head, sizeof head);
  std::copy(key.begin(), key.end(), out.begin() + sizeof head);
  return out;
}

// In a poison word: that rank is there, but not all that went to or from it has arrived.
constexpr std::uint64_t lives = std::uint64_t{1} << 40;

}  // namespace

team::team(job& j, rank_map members, std::uint32_t index) : job_(j), members_(std::move(members)), index_(index), memory_(j.net()) {}

team::~team() {
  if (id_ != 0) job_.teams().remove(id_);
  wait_out(job_.net(), {&sending_, &crediting_, &flushing_});
}

std::vector<std::uint32_t> team::nodes() const {
  constexpr std::uint32_t unseen = ~std::uint32_t{0};
  const auto& all = job_.where().node_of;
  std::vector<std::uint32_t> number(job_.where().nodes(), unseen), out(size());
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < size(); ++i) {
    std::uint32_t& node = number[all[members_[i]]];
    if (node == unseen) node = next++;
    out[i] = node;
  }
  return out;
}

void team::set_own(std::uint32_t line, std::uint64_t value) noexcept {
  auto* w = reinterpret_cast<std::uint64_t*>(memory_.base() + control::offset(line));
  std::atomic_ref<std::uint64_t>(*w).store(value, std::memory_order_release);
}

result<std::vector<std::byte>> team::allocate(std::uint32_t engine_lines, std::uint32_t behind_all) {
  const std::size_t all = std::size_t{control::engine} + engine_lines + agreement::lines(size()) + behind_all;
  auto key = memory_.expose(nullptr, all * control::line_bytes);
  if (!key) return key.error().during("control memory of a team");
  lines_ = engine_lines;
  return key;
}

status team::attach(shared_blobs keys) {
  return memory_.attach(members_, std::move(keys)).during("control segment of a team");
}

// What a member brings when a team is made.
struct team::offer {
  std::unique_ptr<team> made;  // null: it joins none
  member_blob head;
  std::vector<std::byte> key;
  status trouble;
};

team::offer team::prepare(rank_map members, std::uint32_t index, plan want, void* context) {
  offer mine;
  if (members.size() == 0) return mine;
  const team_request request = want(context, members);
  mine.made.reset(new team(job_, members, index));
  auto allocated = mine.made->allocate(request.lines);
  mine.trouble = allocated.error();
  if (!allocated) return mine;
  mine.key = std::move(*allocated);
  mine.head.list = hash::start;
  for (std::uint32_t i = 0; i < members.size(); ++i) mine.head.list = hash::add(mine.head.list, members[i]);
  mine.head.terms = hash::add(hash::text(request.agreement), request.lines);
  if (index == 0) mine.head.id = job_.teams().next_id(job_.rank());
  return mine;
}

// `blobs`: of the members of the new team, by index there.
status team::unite(offer& mine, const blob_table& blobs) const {
  const rank_map& members = mine.made->members_;
  std::uint64_t id = 0;
  auto keys = std::make_shared<blob_table>();
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    member_blob other;
    if (blobs[i].size() < sizeof other) return called_another(members_.index_of(members[i]));
    std::memcpy(&other, blobs[i].data(), sizeof other);
    const std::string rank = "rank " + std::to_string(members[i]);
    if (other.list != mine.head.list)
      return {errc::invalid,
              worded(rank, (other.list == 0 ? " failed or passed no list; every member must pass the same list"
                                      : " passed another list of members; every member must pass the same list")),
              members[i]};
    if (other.terms != mine.head.terms)
      return {errc::protocol, worded(rank, " uses other settings (TUTTI_BARRIER and its parameters must be alike in all ranks)"),
                                     members[i]};
    if (i == 0) id = other.id;
    keys->push_back(blobs[i].subspan(sizeof other));
  }
  if (team_book::leader_of(id) != members[0] || team_book::count_of(id) == 0 || job_.teams().find(id))
    return {errc::protocol, worded("rank ", members[0], " gives the team a number that is not its own; install one version of tutti on all hosts"), members[0]};
  if (status s = mine.made->attach(std::move(keys)); s.failed()) return s;
  job_.teams().enter(id, *mine.made);
  mine.made->id_ = id;
  return {};
}

resumable<result<std::unique_ptr<team>>> team::assembling(rank_map members, std::uint32_t index, plan want, void* context,
                                                          time_point deadline) {
  // Every member of the parent takes part in the exchange, whatever went wrong before it: an error of one must not
  // leave the others waiting. A member that failed offers the list 0 and is found out by the others.
  offer mine = prepare(members, index, want, context);
  auto blobs = co_await exchanging(pack(mine.head, mine.key), deadline);
  if (!blobs) co_return blobs.error();
  std::unique_ptr<team>& made = mine.made;

  blob_table theirs;
  bool another = false;  // call, which some member makes that comes to no second exchange
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    const auto blob = (**blobs)[members_.index_of(members[i])];
    another = another || blob.size() < sizeof(member_blob);
    theirs.push_back(blob);
  }
  status united = mine.trouble;
  if (made && united.ok()) united = unite(mine, theirs);
  if (made && another) co_return united;
  const bool attached = made && united.ok();
  // What a member has of its own, as the want of memory, keeps the others from using the team. Nobody does before all have it: from
  // then on whatever befalls is told in the new team, and by whoever was told of it here instead of that all have it.
  status all = co_await agreeing(united, members, deadline);
  if (attached && all.failed() && all.code() != errc::unavailable) made->fail(all);
  if (united.ok()) united = std::move(all);
  if (united.failed()) co_return united;
  co_return std::move(made);
}

agreement& team::survivors() {
  if (!survivors_) survivors_ = std::make_unique<agreement>(*this);
  return *survivors_;
}

result<std::unique_ptr<team>> team::regroup(std::span<const std::uint32_t> dead, plan want, void* context) {
  offer mine;
  std::vector<std::byte> blob;
  try {
    std::vector<rank_t> ranks;
    std::uint32_t index = 0;
    for (std::uint32_t i = 0; i < size(); ++i) {
      if (std::ranges::binary_search(dead, i)) continue;
      if (i == index_) index = static_cast<std::uint32_t>(ranks.size());
      ranks.push_back(rank_of(i));
    }
    mine = prepare(rank_map::listed(std::move(ranks)), index, want, context);
    blob = pack(mine.head, mine.key);
  } catch (const std::bad_alloc&) {  // the others must not wait for this rank
    mine.trouble = {errc::no_resource, "out of memory"};
  }
  auto blobs = survivors().exchange(blob);
  status s = mine.trouble.failed() ? mine.trouble : blobs.error();
  if (s.ok()) s = unite(mine, **blobs);
  if (s.failed()) return s.during("making a team of the survivors");
  return std::move(mine.made);
}

status team::has(std::uint32_t index, const char* during) const {
  if (index < size()) return {};
  return {errc::invalid, worded(during, ": member ", index, " does not exist; the team has ", size(), ", numbered from 0")};
}

// The members that a list names, and which of them this rank is. Of a list longer than the team no more is read than shows it wrong.
struct team::seats {
  rank_map members;
  std::uint32_t index;
};

result<team::seats> team::seats_of(std::span<const std::uint32_t> list) const {
  std::vector<rank_t> ranks;
  std::vector<bool> taken(size());
  std::uint32_t index = size();
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    if (list[i] >= size())
      return status{errc::invalid, worded("team member ", list[i], " does not exist: the parent team has ", size(), " members, numbered from 0")};
    if (taken[list[i]]) return status{errc::invalid, worded("team member ", list[i], " is listed twice; list it once")};
    taken[list[i]] = true;
    if (list[i] == index_) index = i;
    ranks.push_back(rank_of(list[i]));
  }
  if (!list.empty() && index == size())
    return status{errc::invalid, worded("the list of team members lacks the caller, member ", index_, "; pass an empty list to join no team")};
  return seats{rank_map::listed(std::move(ranks)), index};
}

result<std::unique_ptr<team>> team::create(std::span<const std::uint32_t> list, plan want, void* context) {
  list = list.first(std::min<std::size_t>(list.size(), size() + 1));  // of more, one is listed twice or does not exist: so among these
  return wait_for(job_, creating({list.begin(), list.end()}, want, context));
}

resumable<result<std::unique_ptr<team>>> team::creating(std::vector<std::uint32_t> list, plan want, void* context, time_point deadline) {
  auto mine = seats_of(list);
  if (mine) co_return co_await assembling(std::move(mine->members), mine->index, want, context, deadline);
  auto others = co_await assembling({}, 0, want, context, deadline);  // the other members are in it; they must not wait for this one
  if (others) co_return mine.error();
  co_return status(errc::invalid, worded(mine.error().text(), "; ", others.error().text()));
}

// Two meetings, in both of which every member takes part whatever went wrong before: what each offers; and whether each has attached
// what the others offered, for nobody uses the team before all have.
result<std::unique_ptr<team>> team::create_group(std::span<const std::uint32_t> list, bootstrap& meeting, plan want, void* context) {
  const time_point deadline = job_.setup_deadline();
  auto mine = seats_of(list);
  offer brought;
  brought.trouble = mine.error();
  if (mine && (meeting.size() != mine->members.size() || meeting.rank() != mine->index))
    brought.trouble = {errc::invalid, worded("rank ", meeting.rank(), " of ", meeting.size(), " meets as member ", mine->index, " of ",
                                             mine->members.size(), "; the meeting's rank and size must be those in the list")};
  if (brought.trouble.ok()) brought = prepare(mine->members, mine->index, want, context);
  auto blobs = meeting.allgather(pack(brought.head, brought.key), deadline);
  if (!blobs) return blobs.error();
  status united = std::move(brought.trouble);
  if (united.ok()) united = unite(brought, **blobs);
  const std::string_view text = united.ok() ? std::string_view{} : std::string_view{united.text()};
  const auto texts = [&] {
    try {
      return meeting.allgather(std::as_bytes(std::span{text}), deadline);
    } catch (const std::bad_alloc&) {  // by then the others may have it: nobody is to wait for this rank there
      if (united.ok()) brought.made->fail({errc::no_resource, "out of memory"});
      throw;
    }
  }();
  if (united.failed()) return united;
  if (!texts) return texts.error();
  for (std::uint32_t i = 0; i < (*texts)->size(); ++i)
    if (const auto theirs = (**texts)[i]; !theirs.empty()) {
      const rank_t who = mine->members[i];
      return status{errc::unavailable, worded("rank ", who, ": ", std::string_view{reinterpret_cast<const char*>(theirs.data()), theirs.size()}), who};
    }
  return std::move(brought.made);
}

result<std::unique_ptr<team>> team::split(std::int32_t color, std::int32_t key, plan want, void* context) {
  struct choice {
    std::int32_t color, key;
  };
  auto all = exchange_values(choice{color, key});
  if (!all) return all.error();
  std::vector<std::pair<std::int32_t, std::uint32_t>> group;  // key, index
  for (std::uint32_t i = 0; i < size(); ++i) {
    const choice& c = (*all)[i];
    if (c.color == color && color >= 0) group.emplace_back(c.key, i);
  }
  std::sort(group.begin(), group.end());
  std::vector<std::uint32_t> list;
  for (auto& [k, i] : group) list.push_back(i);
  return create(list, want, context);
}

const status& team::health() noexcept {
  if (health_.failed() || !memory_.base()) return health_;
  if (const std::uint64_t word = load(control::poison); word != 0) {
    const auto rank = static_cast<rank_t>(word - 1);
    status cause = job_.net().health(rank);
    fail(cause.ok() ? as_reported(rank, word & lives) : cause);
  }
  return health_;
}

status team::as_reported(rank_t rank, bool still_lives) const {
  constexpr const char* source = ", as another rank reports";
  if (still_lives) return {errc::fabric, worded("operations upon or of rank ", rank, " were lost", source), rank};
  const std::vector<std::uint32_t>& node = job_.where().node_of;
  const bool elsewhere = node[rank] != node[job_.rank()];
  const auto beside = [&](rank_t r) { return node[r] == node[rank]; };
  return {errc::peer_dead, worded("rank ", rank, " is gone", source, (elsewhere ? and_its_host(job_.size(), beside) : "")), rank};
}

// To ask after a peer may open a connection to it, so nobody asks after everyone: n ranks that waited a little longer would
// make n^2 connections. A member asks after the rank it waits for, and after those to whom it passes news on. So each member
// is looked after by log2(n) others, of whom any that waits sees its death and tells all (fail()). Several deaths may fall upon
// all who would bring the news to a member; so each look asks one more, another each time, and a member that waits finds any
// death by itself within n looks.
status team::look(rank_t awaited) noexcept {
  if (const status& s = health(); s.failed()) return s;
  const auto health_of = [this](rank_t r) { return job_.net().health(r); };
  first_death search(awaited, health_of);
  bool found = awaited != no_rank && search.found(awaited);
  for (std::uint32_t d = 1; !found && d < size(); d *= 2) found = search.found(rank_of((index_ + d) % size()));
  if (!found && size() > 1) search.found(rank_of((index_ + 1 + looks_++ % (size() - 1)) % size()));
  status s = std::move(search).told();
  if (s.failed()) fail(s);
  return s;
}

// Every member that learns of a death passes it on once, along the edges of a dissemination graph: indices + 1, 2, 4...
// The graph stays connected without any one vertex, so the news reaches every living member within log2(n) hops even
// where only the dead rank's partners could see it die. Among these edges are those to its children in the tree of
// exchanges; its parent there is told as well, since it may wait for this member. A poison word is never taken back: late
// or repeated news of the same death changes nothing.
//
// A death ends the world's collectives as well. Who has been told of it in another team comes to none of them any more, and
// others may wait there for it, who lives: so it tells the world.
void team::fail(const status& cause) noexcept {
  if (health_.failed()) return;
  health_ = cause;
  // What this rank lacks is its own, whomever the operation was towards: the others are to name it.
  const bool own = cause.code() == errc::no_resource || cause.code() == errc::unavailable;
  const rank_t culprit = own ? job_.rank() : cause.peer();
  if (culprit == no_rank || !memory_.attached()) return;
  const bool dead = cause.code() == errc::peer_dead;
  const std::uint64_t word = (std::uint64_t{culprit} + 1) | (dead ? 0 : lives);
  const auto tell = [&](rank_t r) {
    if (r == job_.rank() || (dead && r == cause.peer())) return;
    const rma_op op = signal_op({r, memory_.segment(), control::offset(control::poison)}, word);
    for (int tries = 0; tries < 100 && job_.net().submit({&op, 1}) == 0; ++tries) job_.net().progress();
  };
  for (std::uint32_t d = 1; d < size(); d *= 2) tell(rank_of((index_ + d) % size()));
  tell(parent());
  job_.net().progress();
  if (dead && cause.native() != peer_left && this != &job_.world()) job_.world().fail(cause);
}

void team::fail_if_lost(const status& s) noexcept {
  if (s.code() == errc::peer_dead || s.code() == errc::fabric) fail(s);
}

}  // namespace tutti

#include "collectives/call_record.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "collectives/reduction/reduction.h"
#include "core/transport/ops.h"
#include "core/transport/wait_out.h"

namespace tutti {
namespace {

// By call_kind, as a sentence goes on behind "rank 3 calls".
constexpr const char* names[] = {"nothing", "tutti_team_create", "tutti_team_split", "tutti_window_create or tutti_window_over",
                                 "tutti_window_free", "tutti_team_free or tutti_finalize"};

// What goes between two ranks is known to these alone; no page tells it.
constexpr bool is_pairwise(call_kind k) noexcept {
  return k == kind_of(collective::alltoallv) || (k >= kind_of_gatherv && k <= kind_of_neighbor_alltoall && k != kind_of_allgatherv);
}

constexpr const char* same_calls = "; all members must make the same collective calls in the same order";
constexpr const char* same_data = "; root, number of bytes, type and operation must be alike in all members";

}  // namespace

std::string call_record::what::in_words() const {
  const auto k = static_cast<std::size_t>(kind), first = static_cast<std::size_t>(kind_of({}));
  if (k < first) return names[k];
  constexpr std::string_view others[] = {"gatherv", "scatterv", "allgatherv", "neighbor_allgather", "neighbor_alltoall"};
  if (k >= first + collectives + std::size(others)) return "something unknown";
  const bool own = k < first + collectives;
  const auto c = own ? static_cast<collective>(k - first) : collective::alltoallv;
  const std::string_view name = own ? name_of(c) : others[k - first - collectives];
  std::string out(name.starts_with('a') || name.starts_with('e') ? "an " : "a ");
  out += name;
  if (kind == kind_of_allgatherv) out += " whose counts have the checksum " + std::to_string(bytes);
  else if (is_pairwise(kind)) out += bytes == 0 ? "" : " whose counts for another rank are not the same";
  else if (c != collective::barrier) out += " of " + std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  if ((own && has_root(c)) || kind == kind_of_gatherv || kind == kind_of_scatterv) out += " with root " + std::to_string(root);
  if (reduces(c)) {
    out.append(" (").append(name_of(static_cast<operation>(op))).append(" of ");
    out.append(name_of(static_cast<datatype>(type))).append(")");
  }
  return out;
}

call_record::call_record(team& t) : team_(t), lines_(control_lines::of(t, control::record)) {
  t.check_waits([this](rank_t awaited) { return mismatch({&awaited, 1}); }, &got_, [this](wait_note& note) { return in_words(note); });
}

call_record::~call_record() {
  team_.check_waits({}, nullptr);
  wait_out(team_.parent_job().net(), {&got_});  // a page lands in the team's memory
}

bool call_record::ask(rank_t whom) noexcept {
  got_.clear();
  const rma_op op = move_op(op_kind::get, lines_.region, lines_.at(landing), whom, lines_.segment, lines_.at(0), sizeof(page), &got_);
  if (team_.parent_job().net().submit({&op, 1}) == 0) return false;
  asking_ = whom;
  return true;
}

const call_record::entry* call_record::entry_of(const page& p, std::uint64_t call) noexcept {
  const entry* found = nullptr;
  for (const entry& e : p.last)
    if (e.first != 0 && e.first <= call && (!found || e.first > found->first)) found = &e;
  return call <= p.calls ? found : nullptr;
}

// Where a run of equal calls begins in either is all that need be looked at.
std::uint64_t call_record::odd_call() const noexcept {
  const page &a = mine(), &b = theirs();
  std::uint64_t odd = 0;
  for (const page* const p : {&a, &b})
    for (const entry& e : p->last) {
      const entry *const here = entry_of(a, e.first), *const there = entry_of(b, e.first);
      if (e.first != 0 && here && there && here->words != there->words && (odd == 0 || e.first < odd)) odd = e.first;
    }
  return odd;
}

bool call_record::notice_is_due() noexcept { return team_.parent_job().net().now() >= next_notice_; }

std::string call_record::in_words(wait_note& note) {
  has_words_ = true;
  note.exact = false, note.told = kept_by_ != no_rank;
  if (note.told) note.from = kept_by_;
  return newest_call();
}

std::string call_record::newest_call() const {
  const page& a = mine();
  const std::string of_team = "a team of " + std::to_string(team_.size());
  return a.calls == 0 ? "making " + of_team : newest_of(a).in_words() + ", call " + std::to_string(a.calls) + " of " + of_team;
}

void call_record::give_notice(rank_t from, bool answered) noexcept {
  const time_point now = team_.parent_job().net().now();
  next_notice_ = now + (now - first_look_);
  const page &a = mine(), &b = theirs();
  kept_by_ = has_words_ && answered && b.calls >= a.calls ? from : no_rank;
  if (kept_by_ != no_rank) return;
  try {
    std::string text = "in " + newest_call() + ", for rank " + std::to_string(from) + ", which ";
    if (!answered) text += "is in no call of tutti, or does not answer";
    else if (b.calls >= a.calls) text += "has made it too, and waits for another or computes";
    else if (b.calls == 0) text += "has made none there yet";
    else text += "has made " + std::to_string(b.calls) + " there, the last one " + newest_of(b).in_words();
    team_.parent_job().tell_late(first_look_, text);
  } catch (const std::bad_alloc&) {  // then nobody is told
  }
}

status call_record::mismatch(std::span<const rank_t> awaited) noexcept {
  if (++looks_ == 1) {
    first_look_ = team_.parent_job().net().now();
    next_notice_ = team_.parent_job().late_from(first_look_);
  }
  const bool round = std::has_single_bit(looks_) || notice_is_due();
  if (asking_ != no_rank) {
    if (!got_.idle()) {
      if (notice_is_due()) give_notice(asking_, false);
      return {};
    }
    const rank_t from = std::exchange(asking_, no_rank);
    const page& p = theirs();
    if (got_.outcome().ok() && (p.culprit != 0 || odd_call() != 0)) {
      if (suspect_ == from && std::memcmp(&before_, &p, sizeof p) == 0) return tell(from);
      suspect_ = from;
      before_ = p;
      ask(from);
      return {};
    }
    suspect_ = no_rank;
    if (got_.outcome().ok() && notice_is_due()) give_notice(from, true);
  }
  if (std::ranges::all_of(awaited, [](rank_t r) { return r == no_rank; }) && team_.size() > 1) {
    ask(team_.rank_of((team_.index() + 1 + anyone_++ % (team_.size() - 1)) % team_.size()));
    return {};
  }
  if (round) next_ = 0;
  while (next_ < awaited.size()) {
    const rank_t whom = awaited[next_++];
    if (whom == no_rank || whom == team_.rank_of(team_.index())) continue;
    ask(whom);
    break;
  }
  return {};
}

// Where roots differ, it may be somebody else who wrote what `from` should have: so everyone is asked until it shows.
status call_record::differs(rank_t from) noexcept {
  job& j = team_.parent_job();
  const time_point end = j.net().now() + std::chrono::seconds(1);
  for (std::uint32_t i = 0; i <= team_.size(); ++i) {
    const rank_t whom = i == 0 ? from : team_.rank_of(i - 1);
    if (whom == team_.rank_of(team_.index())) continue;
    const wait_note note{"broadcast: what another rank gives", whom, 0, 0};
    const auto dead = [&] { return j.net().health(whom); };
    if (j.wait([&] { return got_.idle(); }, dead, note, end).failed()) continue;  // of an earlier question
    asking_ = no_rank;
    if (j.wait([&] { return (asking_ == whom || ask(whom)) && got_.idle(); }, dead, note, end).failed()) continue;
    asking_ = no_rank;
    if (got_.outcome().ok() && (theirs().culprit != 0 || odd_call() != 0)) return tell(whom);
  }
  const what w = newest();
  if (is_pairwise(w.kind)) {
    page& own = mine();
    own.odd = own.usual = w, own.odd.bytes = 1, own.odd_at = own.calls;
    std::atomic_ref(own.culprit).store(std::uint64_t{from} + 1, std::memory_order_release);
    return {errc::protocol, worded("rank ", from, " calls ", own.odd.in_words(), " as this rank's"), from};
  }
  return {errc::protocol, worded("not all members call ", w.in_words(), ", as this rank does", same_data)};
}

// What theirs() shows; and puts it on the own page, for those who wait for this rank.
status call_record::tell(rank_t from) noexcept {
  const page& p = theirs();
  page& own = mine();
  const std::uint64_t call = odd_call();
  const bool directly = call != 0;
  const rank_t culprit = directly ? from : static_cast<rank_t>(p.culprit - 1);
  const auto called = [&](const page& by) { return std::bit_cast<what>(entry_of(by, call)->words); };
  const what odd = directly ? called(p) : p.odd, usual = directly ? called(own) : p.usual;
  own.odd = odd, own.usual = usual, own.odd_at = directly ? call : p.odd_at;
  std::atomic_ref(own.culprit).store(std::uint64_t{culprit} + 1, std::memory_order_release);
  const auto since = static_cast<std::int64_t>(own.calls - own.odd_at);
  if (odd.kind == call_kind::none) return {errc::protocol, worded("rank ", culprit, " has no memory for ", usual.in_words()), culprit, since};
  return {errc::protocol, worded("rank ", culprit, " calls ", odd.in_words(), ", ", (directly ? "this rank " : "another rank "),
                                 usual.in_words(), (odd.kind == usual.kind ? same_data : same_calls)),
          culprit, since};
}

void call_record::has_no_memory() noexcept {
  page& own = mine();
  own.odd = {}, own.usual = newest(), own.odd_at = own.calls;
  std::atomic_ref(own.culprit).store(std::uint64_t{team_.parent_job().rank()} + 1, std::memory_order_release);
}

status call_record::late(const status& s) const {
  const std::string calls = "; this rank calls " + newest().in_words() + ", and all members must";
  return {s.code(), std::string(s.text()) + calls, s.peer(), s.native()};
}

}  // namespace tutti

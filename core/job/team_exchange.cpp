// Everyone's blob to everyone, over the team's own control segment, along a binomial tree: up it every member's blobs travel
// with those of its subtree to member 0, and down it comes the whole. The parent of member i is i without its lowest bit; so
// its children are i + 1, i + 2, i + 4 and so on, each with a subtree that is a range of indices right behind the one before.
//
// A tree has size - 1 connections, and an exchange of short blobs 5 (size - 1) messages, in 2 log2(size) turns. Dissemination
// (Bruck et al. 1997) takes half as many turns, but log2(size) connections a member and as many times the messages. To make
// a team is no hot path; connections are what it costs over tcp, and every message where ranks outnumber cores.
//
// Streams. What goes over an edge is one stream: each blob with its length in front, in fragments of a fixed size, of which
// the last says so. Memory is constant: a member has slots for the fragments that come to it, a word for their arrival in each
// direction, and words for the credits that it is given.
//
// Safety. Fragments are numbered through the team's life, by their receiver: upwards all those that one parent takes, of
// whichever child; downwards those that it sends to each of its children, which get the same. Fragment f goes to slot f mod S,
// which is free once f - S + 1 have been credited; a credit is sent only after the slot was copied out, so no slot is
// overwritten unread. A child sends nothing upwards before it is given its turn: that is a credit as well, one above what its
// last turn ended with, so a late credit of that one begins nothing; and the number that it shows is the first that the child
// uses. So one sender at a time writes into the slots of a parent and its word: the next child has its turn when the last
// fragment of the one before has been taken. And the slots serve both directions, for at no time are both in use: the parent
// sends down only what it has all of, so after it took the last fragment from this member, who had taken all from its
// children then; and they send upwards again in a turn of the next exchange, which this member gives when it has taken all
// from its parent. The arrival words are signalled with the payload (clause 5), in order, so that f + 1 means that fragment f
// is complete. All words only grow. The outgoing fragment lies in this member's own line until its put is locally complete.
//
// Liveness. A member asks after the neighbour from whom it needs something now (fragments, its turn, credits), and after other members
// as every wait of a team does (look()): the neighbour may live, and have turned to the agreement on a death that stops nobody's tree.
// In the last exchange of a job (leave()) a member asks after the neighbour alone. There a member ends as soon as its own part is done,
// while others are still at theirs, and it may be anyone but those: its parent has been credited all there is, and its children have
// credited it. A death elsewhere stops the dead rank's neighbours in the tree, who ask after it. A member that fails tells its
// neighbours in the tree at least (fail()), so the news comes to all that wait for it, also where those who might pass it on have gone.
#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base/blob_stream.h"
#include "core/transport/first_death.h"
#include "core/transport/ops.h"
#include "core/job/team.h"

namespace tutti {
namespace {

struct fragment_head {
  std::uint32_t bytes;  // in this fragment
  std::uint32_t last;   // of its stream: 1
};
constexpr std::uint32_t fragment_room = control::fragment_bytes - sizeof(fragment_head);
constexpr auto longest_news_of_a_death = std::chrono::seconds(1);  // clause 10

using byte_vector = std::vector<std::byte>;

}  // namespace

rank_t team::parent() const noexcept { return rank_of(index_ & (index_ - 1)); }

// 0 if this member has no child of that number.
std::uint32_t team::child(unsigned number) const noexcept {
  const std::uint64_t i = index_ + (std::uint64_t{1} << number);
  return (index_ == 0 || (std::uint32_t{1} << number) < (index_ & -index_)) && i < size() ? static_cast<std::uint32_t>(i) : 0;
}

unsigned team::children() const noexcept {
  unsigned n = 0;
  while (child(n)) ++n;
  return n;
}

// Until ready() holds, or what it waits for cannot come any more: the team failed, `lost` says so, or `from` is gone. All are
// told then.
resumable<status> team::await(rank_t from, function_ref<bool> ready, function_ref<const status*> lost, time_point deadline) {
  const wait_note note{"exchange", from, taken_up_ + taken_down_, taken_up_ + taken_down_ + 1};
  const auto over = [&] { return health_.failed() || lost() || ready() || health().failed(); };
  const auto hopeless = [&] {
    status trouble = leaving_ ? job_.net().health(from) : look(from);
    return trouble.ok() && check_ && !(all_came_ && settling_) ? check_(from) : trouble;
  };
  pending_wait came(over, hopeless, note, deadline);
  const auto tell = [&] { return words_(came.note()); };
  const function_ref<std::string> words(tell);
  if (words_) came.note().words = &words;
  status s = co_await came;
  if (s.ok()) s = health_;
  if (const status* l = s.ok() ? lost() : nullptr) s = *l;
  // These operations are sound, so one that was refused met memory which a member has dropped: it has given the team up, for
  // a death, if there was one, that it was told of sooner. Where there was none, its own error says why.
  if (s.code() == errc::invalid) {
    const auto health_of = [this](rank_t r) { return job_.net().health(r); };
    const auto death = [&] { return trouble_of(members_, job_.rank(), no_rank, health_of); };
    const auto never = [] { return false; };
    const status died = co_await pending_wait(never, death, note, job_.net().now() + longest_news_of_a_death);
    if (died.code() == errc::peer_dead) s = died;
  }
  if (s.code() == errc::protocol) health_ = s;  // what another calls is for each to find: told by this one it would be a loss
  else if (s.failed()) fail(s);
  co_return s;
}

// The rest of `stream` is what `from` sends. `taken` counts its fragments, `arrival` is the line of their word, and credits go
// to a word of the sender's, of which the first is sent at once if it is a `turn`.
resumable<status> team::take(rank_t from, std::uint32_t arrival, std::uint64_t& taken, std::uint64_t credit, bool turn,
                             byte_vector& stream, time_point deadline) {
  bool owed = turn, ended = false;
  crediting_.clear();
  // A member that left needed no other credit. Any other loss may keep the sender from sending: no arrival would end the wait.
  const auto lost = [&]() -> const status* {
    const status& s = crediting_.outcome();
    return crediting_.idle() && s.failed() && s.native() != peer_left ? &s : nullptr;
  };
  const auto pay = [&] {
    rma_op op = signal_op({from, memory_.segment(), credit}, taken);
    op.done = &crediting_;  // one that is lost is known here, where the sender may wait for it
    owed = job_.net().submit({&op, 1}) != 1;
  };
  const auto all_taken = [&] {
    if (owed) pay();
    while (!owed && !ended && !asking() && reached(load(arrival), taken + 1)) {
      const auto slot = static_cast<std::uint32_t>(taken % control::fragment_slots);
      const std::byte* in = memory_.base() + control::offset(control::fragments_in + slot * control::fragment_lines);
      fragment_head head;
      std::memcpy(&head, in, sizeof head);
      stream.insert(stream.end(), in + sizeof head, in + sizeof head + std::min(head.bytes, fragment_room));
      ended = head.last != 0;
      ++taken;
      all_came_ = arrival == control::arrival_down;
      pay();
    }
    return ended && !owed && crediting_.idle();
  };
  co_return co_await await(from, all_taken, lost, deadline);
}

// `sent` is the number of the first fragment, and afterwards of the one that would be next. `credit`: where `to` credits them.
resumable<status> team::give(rank_t to, std::uint32_t arrival, std::uint64_t& sent, std::uint64_t credit,
                             std::span<const std::byte> stream, time_point deadline) {
  std::byte* const out = memory_.base() + control::offset(control::fragment_out);
  bool all = false, offered = true;
  rma_op pending{};
  sending_.clear();
  // A fragment that was credited has arrived, however its put ended here: its receiver may have left since.
  const auto has_all = [&] { return all && reached(load_word(credit), sent); };
  const auto lost = [&]() -> const status* {
    return sending_.idle() && sending_.outcome().failed() && !has_all() ? &sending_.outcome() : nullptr;
  };
  const auto all_given = [&] {
    // None after one that was lost: its arrival would be taken for the other's.
    while (!all && offered && !asking() && sending_.idle() && sending_.outcome().ok() &&
           reached(load_word(credit) + control::fragment_slots, sent + 1)) {
      fragment_head head{static_cast<std::uint32_t>(std::min<std::size_t>(fragment_room, stream.size())), 0};
      head.last = all = head.bytes == stream.size();
      std::memcpy(out, &head, sizeof head);
      std::memcpy(out + sizeof head, stream.data(), head.bytes);
      stream = stream.subspan(head.bytes);
      const auto slot = static_cast<std::uint32_t>(sent % control::fragment_slots);
      pending = with_signal(move_op(op_kind::put, memory_.region(), control::offset(control::fragment_out), to, memory_.segment(),
                                    control::offset(control::fragments_in + slot * control::fragment_lines),
                                    static_cast<std::uint32_t>(sizeof head + head.bytes), &sending_),
                            memory_.segment(), control::offset(arrival), ++sent);
      offered = job_.net().submit({&pending, 1}) == 1;
    }
    if (!offered) offered = job_.net().submit({&pending, 1}) == 1;
    return all && offered && sending_.idle();
  };
  co_return co_await await(to, all_given, lost, deadline);
}

resumable<status> team::gather(byte_vector& stream, time_point deadline) {
  for (unsigned c = 0; child(c); ++c) {
    ++taken_up_;  // the turn
    status s = co_await take(rank_of(child(c)), control::arrival_up, taken_up_, control::offset(control::credit_up), true, stream,
                             deadline);
    if (s.failed()) co_return s;
  }
  if (index_ == 0) co_return status{};
  const std::uint64_t turn = control::offset(control::credit_up), ended = turn_ended_;
  const auto my_turn = [&] { return reached(load_word(turn), ended + 1); };
  const auto lost = []() -> const status* { return nullptr; };
  status s = co_await await(parent(), my_turn, lost, deadline);
  if (s.failed()) co_return s;
  turn_ended_ = load_word(turn);
  co_return co_await give(parent(), control::arrival_up, turn_ended_, turn, stream, deadline);
}

// The largest subtree first, which takes the longest.
resumable<status> team::spread(byte_vector& stream, time_point deadline) {
  if (index_ != 0) {
    stream.clear();
    status s = co_await take(parent(), control::arrival_down, taken_down_, control::credit_down(std::countr_zero(index_)), false,
                             stream, deadline);
    if (s.failed()) co_return s;
  }
  all_came_ = true;
  const std::uint64_t first = sent_down_;
  for (unsigned c = children(); c-- > 0;) {
    sent_down_ = first;
    status s = co_await give(rank_of(child(c)), control::arrival_down, sent_down_, control::credit_down(c), stream, deadline);
    if (s.failed()) co_return s;
  }
  co_return status{};
}

resumable<result<shared_blobs>> team::exchanging(byte_vector mine, time_point deadline) {
  if (const auto& gather_all = job_.options().gather; gather_all && size() == job_.size()) {
    const auto gathered = gather_all(mine);
    result<shared_blobs> all = shared_blobs{};
    const auto came = [&] { return all = gathered(), !all || *all; };
    const auto look = [&] { return health_; };
    const status s = co_await pending_wait(came, look, wait_note{"exchange", no_rank, 0, 0}, deadline);
    if (s.failed()) co_return s;
    co_return all;
  }
  byte_vector stream;
  add_blob(stream, mine);
  all_came_ = false;
  if (size() > 1) {
    status s = health_;
    if (s.ok()) s = co_await gather(stream, deadline);
    if (s.ok()) s = co_await spread(stream, deadline);
    if (s.failed()) co_return s;
  }
  auto all = blobs_in(stream, size());
  if (!all) co_return status{errc::protocol, "an exchange brought something else than a blob of each member"};
  co_return shared_blobs(std::move(all));
}

result<shared_blobs> team::exchange(std::span<const std::byte> mine, time_point deadline) {
  return wait_for(job_, exchanging({mine.begin(), mine.end()}, deadline));
}

status team::exchange(std::span<const std::byte> mine, std::span<std::byte> all, time_point deadline) {
  const auto blobs = exchange(mine, deadline);
  if (!blobs) return blobs.error();
  for (std::uint32_t i = 0; i < size(); ++i) {
    const auto theirs = (**blobs)[i];
    if (theirs.size() != mine.size()) return called_another(i);
    std::ranges::copy(theirs, all.subspan(i * mine.size()).begin());
  }
  return {};
}

resumable<status> team::agreeing(status mine, rank_map among, time_point deadline) {
  constexpr std::size_t longest = 200;  // of a text that all members get to see
  const std::string_view trouble = mine.ok() ? std::string_view{} : mine.text();
  const auto shown = std::as_bytes(std::span{trouble.data(), std::min(trouble.size(), longest)});
  auto all = co_await exchanging({shown.begin(), shown.end()}, deadline);
  if (!all) co_return all.error();
  for (std::uint32_t i = 0; i < among.size(); ++i)
    if (const auto theirs = (**all)[members_.index_of(among[i])]; !theirs.empty())
      co_return status(errc::unavailable, worded("rank ", among[i], ": ", std::string(reinterpret_cast<const char*>(theirs.data()),
                                                 theirs.size())), among[i]);
  co_return status{};
}

status team::agreed(const status& mine, time_point deadline) { return wait_for(job_, agreeing(mine, members_, deadline)); }

resumable<status> team::meeting(byte_vector agreement, time_point deadline) {
  const auto all = co_await exchanging(agreement, deadline);
  if (!all) co_return all.error();
  for (std::uint32_t i = 0; i < size(); ++i)
    if (!std::ranges::equal((**all)[i], agreement)) co_return called_another(i);
  co_return status{};
}

status team::called_another(std::uint32_t index) const {
  return {errc::protocol, worded("rank ", rank_of(index),
                                 " called something else; all members must make the same collective calls in the same order"),
          rank_of(index)};
}

// Safety. Every member first completes what it began towards anyone, and then enters the exchange; nobody leaves that
// before all have entered, so nothing older is in flight any more. What remains are the exchange's own messages. Whom they
// are for waits for each of them: fragments and turns are needed to come to the end, and the last credits are waited for here;
// credits are set in order, so the one that equals the fragments I sent is the last that will ever come. What the check of
// an exchange has begun towards anyone is complete before this member credits or sends anything downwards, without which nobody
// leaves, and from then on it begins no more.
status team::settle(time_point deadline) {
  transport& net = job_.net();
  if (flushing_.idle()) flushing_.clear();
  bool offered = false;
  // An error here is of some earlier operation, and its owner's to report.
  status s = job_.wait([&] { return (offered || (offered = net.flush(no_rank, &flushing_))) && flushing_.idle(); },
                       [] { return status{}; }, wait_note{"flush", no_rank, 0, 0}, deadline);
  if (s.code() == errc::timed_out) return s;
  settling_ = true;
  auto all = exchange({}, deadline);
  settling_ = false;
  if (!all) return all.error();
  const auto last_credit = [&](rank_t from, std::uint64_t credit, std::uint64_t sent) {
    const wait_note note{"last credit", from, load_word(credit), sent};
    const auto came = [&] { return reached(load_word(credit), sent); };
    status end = job_.wait([&] { return came() || health().failed(); }, [&] { return net.health(from); }, note, deadline);
    if (end.ok()) return came() ? status{} : health_;
    // A neighbour that is gone by now had entered, and sends nothing more.
    return end.code() == errc::peer_dead ? status{} : end;
  };
  s = {};
  if (index_ != 0) s = last_credit(parent(), control::offset(control::credit_up), turn_ended_);
  for (unsigned c = 0; s.ok() && child(c); ++c) s = last_credit(rank_of(child(c)), control::credit_down(c), sent_down_);
  return s;
}

status team::leave(time_point deadline) {
  leaving_ = true;
  return settle(deadline);
}

}  // namespace tutti

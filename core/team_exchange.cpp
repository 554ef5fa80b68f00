// Everyone's blob to everyone, over the team's own control segment: a ring. Each member passes on to the next what it
// received from the previous one, size - 1 times, in fragments of a fixed size through a few slots. It takes O(size)
// steps but opens two connections a member and needs constant registered memory, whatever the blobs' lengths; making a
// team is no hot path.
//
// Safety. Fragments are numbered from 0 through the team's life. Fragment f goes to slot f mod S of the next member,
// which is free once that member has credited f - S + 1 fragments; the credit is sent only after the slot was copied
// out, so no slot is overwritten unread. The arrival word is signalled with the payload (clause 5), by one writer, in
// order, so that it reaching f + 1 means fragments 0..f are complete. Both words only grow, and consecutive exchanges
// go on counting: a fast neighbour that begins the next exchange early finds the slots by number like any other
// fragment. The outgoing fragment lies in this member's own ring_out line until its put is locally complete.
//
// Liveness. A member asks only after the neighbours from whom it still needs something: fragments of the previous one,
// credits of the next. In the last exchange of a job a member leaves as soon as its own part is done, while others are
// still at theirs, and it may be anyone but those: it has been credited by its next and has credited its previous all
// there is. A death elsewhere in the ring stops its neighbours, who ask after it and tell the others (fail()).
#include <algorithm>
#include <cstring>
#include <string>

#include "core/first_death.h"
#include "core/ops.h"
#include "core/team.h"

namespace tutti {
namespace {

struct fragment_head {
  std::uint32_t total;  // bytes of the blob that this fragment belongs to
  std::uint32_t bytes;  // of it in this fragment
};
constexpr std::uint32_t room = control::fragment_bytes - sizeof(fragment_head);
constexpr auto longest_news_of_a_death = std::chrono::seconds(1);  // clause 10

}  // namespace

result<shared_blobs> team::exchange(std::span<const std::byte> mine, time_point deadline, const function_ref<status>* doubt) {
  const std::uint32_t n = size();
  std::vector<std::vector<std::byte>> blobs(n);
  blobs[index_].assign(mine.begin(), mine.end());

  const std::uint32_t next = (index_ + 1) % n, previous = (index_ + n - 1) % n;
  transport& net = job_.net();
  sending_.clear(), crediting_.clear();
  std::byte* const out = base_ ? base_ + control::offset(control::ring_out) : nullptr;

  // One blob leaves and one arrives in each of n - 1 turns; the two streams advance independently within a turn.
  for (std::uint32_t turn = 0; turn + 1 < n; ++turn) {
    const auto& leaving = blobs[(index_ + n - turn) % n];
    auto& arriving = blobs[(index_ + n - turn - 1) % n];
    std::size_t gone = 0;
    bool all_gone = false, all_here = false;
    rma_op pending{};
    bool offered = true;  // `pending` was taken

    auto credit = [&] {
      rma_op op = signal_op({rank_of(previous), segment_, control::offset(control::ring_credit)}, taken_);
      op.done = &crediting_;  // one that is lost is known here, where the previous member may wait for it
      return net.submit({&op, 1}) == 1;
    };
    bool owe_credit = false;

    // Of what failed here, null if nothing that counts. A fragment that was credited has arrived, however its put ended here:
    // the next member may have left since. Nor has a member left that needed another credit. Any other loss ends this wait,
    // since what it was for may be what keeps a neighbour from sending: no arrival would.
    const auto next_has_all = [&] { return all_gone && reached(load(control::ring_credit), sent_); };
    const auto lost = [&]() -> const status* {
      if (sending_.idle() && !sending_.outcome().ok() && !next_has_all()) return &sending_.outcome();
      const status& credited = crediting_.outcome();
      return crediting_.idle() && !credited.ok() && credited.native() != peer_left ? &credited : nullptr;
    };

    auto step = [&]() -> bool {
      if (!broken_.ok() || lost()) return true;
      if (owe_credit && credit()) owe_credit = false;
      if (!offered) offered = net.submit({&pending, 1}) == 1;
      if (!all_gone && offered && sending_.idle() &&
          reached(load(control::ring_credit) + control::fragment_slots, sent_ + 1)) {
        const fragment_head head{static_cast<std::uint32_t>(leaving.size()),
                                 static_cast<std::uint32_t>(std::min<std::size_t>(room, leaving.size() - gone))};
        std::memcpy(out, &head, sizeof head);
        if (head.bytes) std::memcpy(out + sizeof head, leaving.data() + gone, head.bytes);
        gone += head.bytes;
        all_gone = gone == leaving.size();
        const auto slot = static_cast<std::uint32_t>(sent_ % control::fragment_slots);
        pending = with_signal(move_op(op_kind::put, region_, control::offset(control::ring_out), rank_of(next), segment_,
                                      control::offset(control::ring_in + slot * control::fragment_lines),
                                      static_cast<std::uint32_t>(sizeof head + head.bytes), &sending_),
                              segment_, control::offset(control::ring_arrival), ++sent_);
        offered = net.submit({&pending, 1}) == 1;
      }
      if (!all_here && !owe_credit && reached(load(control::ring_arrival), taken_ + 1)) {
        const auto slot = static_cast<std::uint32_t>(taken_ % control::fragment_slots);
        const std::byte* in = base_ + control::offset(control::ring_in + slot * control::fragment_lines);
        fragment_head head;
        std::memcpy(&head, in, sizeof head);
        arriving.insert(arriving.end(), in + sizeof head, in + sizeof head + std::min(head.bytes, room));
        all_here = arriving.size() >= head.total;
        ++taken_;
        owe_credit = !credit();
      }
      return all_gone && all_here && offered && !owe_credit && sending_.idle() && crediting_.idle();
    };
    const wait_note note{"exchange", rank_of(previous), taken_, taken_ + 1};
    const auto hopeless = [&] {
      status trouble;
      if (!all_here) trouble = job_.net().health(rank_of(previous));
      if (trouble.ok() && !next_has_all()) trouble = job_.net().health(rank_of(next));
      return trouble.ok() && doubt ? (*doubt)() : trouble;
    };
    status s = job_.wait([&] { return step() || !health().ok(); }, hopeless, note, deadline);
    if (s.ok()) s = broken_;
    if (const status* l = s.ok() ? lost() : nullptr) s = *l;
    // These operations are sound, so one that was refused met memory which a member has dropped: it has given the team up,
    // for a death, if there was one, that it was told of sooner. Where there was none, its own error says why.
    if (s.code() == errc::invalid) {
      const team& all = parent_ ? *parent_ : *this;
      const auto death = [&] { return first_death(all.members_, job_.rank(), no_rank, [&](rank_t r) { return net.health(r); }); };
      const status died = job_.wait([] { return false; }, death, note, net.now() + longest_news_of_a_death);
      if (died.code() == errc::peer_dead) s = died;
    }
    if (!s.ok()) {
      fail(s);
      return s;
    }
    if (!sending_.outcome().ok()) sending_.clear();  // it has arrived
  }
  auto table = std::make_shared<blob_table>();
  for (auto& b : blobs) table->push_back(b);
  return shared_blobs(std::move(table));
}

// Safety. Every member first completes what it began towards anyone, and then enters the exchange; nobody leaves that
// before all have entered, so nothing older is in flight any more. What remains are the exchange's own messages. My
// last fragment and my last credit are completed by the second flush. Of those upon me, the last fragment has arrived,
// or I would not have left, and the last credit is waited for: credits are set in order, so the one that equals the
// fragments I sent is the last that will ever come.
status team::settle(time_point deadline) {
  transport& net = job_.net();
  auto flush = [&](rank_t to) -> status {
    if (flushing_.idle()) flushing_.clear();
    bool offered = false;
    const wait_note note{"flush", to, 0, 0};
    status s = job_.wait([&] { return (offered || (offered = net.flush(to, &flushing_))) && flushing_.idle(); },
                         [] { return status{}; }, note, deadline);
    return s.ok() ? flushing_.outcome() : s;
  };
  // An error here is of some earlier operation, and its owner's to report.
  if (status s = flush(no_rank); s.code() == errc::timed_out) return s;
  if (auto all = exchange({}, deadline); !all) return all.error();
  if (size() == 1) return {};
  const rank_t previous = rank_of((index_ + size() - 1) % size()), next = rank_of((index_ + 1) % size());
  if (status s = flush(previous); s.code() == errc::timed_out) return s;
  if (status s = flush(next); s.code() == errc::timed_out) return s;
  const wait_note note{"last credit", next, load(control::ring_credit), sent_};
  status s = job_.wait([&] { return reached(load(control::ring_credit), sent_); }, [&] { return net.health(next); },
                       note, deadline);
  // A neighbour that is gone by now had entered, and sends nothing more.
  return s.code() == errc::peer_dead ? status{} : s;
}

}  // namespace tutti

// The protocol of bsp_sync.
//
// A process that enters the sync of superstep s sets its metadata word at every other one, and waits until everybody's has
// come. That is a barrier already, and where nobody has anything for anybody the sync is over: an empty superstep costs
// one barrier. Else everyone is in the sync now and no program runs, so memory that programs share may be read and
// written in this order, for each process by itself:
//   1. all gets upon its memory are served: what they ask for is copied aside;
//   2. the answers to its own gets are written;
//   3. the puts upon its memory are written, and messages queued;
//   4. registrations change.
// No process leaves before its own part is done; nobody waits for the parts of others. What it needs of them, chunks
// and answers, is there before its part is done, or it would not be.
//
// Why two metadata words for each pair suffice, used in turn, and two halves of everything that is packed. Process p sets
// the word of s + 2 at q, in the place of that of s, when it enters the sync of s + 2. It has then left the sync of
// s + 1, for which it had q's word of s + 1, which q set after it had left the sync of s: q has read the word of s and
// will not look for it again. So a word never overtakes one that is awaited, and q looks for exactly its own superstep.
// The same argument covers the chunks of s, which p packs over when superstep s + 2 begins: by then q has left the sync
// of s, in which it read them. Even a message that q reads in place during superstep s + 1, out of the chunk that p
// packed in s, stays whole: q forgets its messages as it enters the sync of s + 1, before it sets the word that p waits
// for. A chunk that comes with the metadata word overwrites that of s - 2 and is covered likewise.
//
// The argument asks of the supersteps between no more than that they are barriers, whichever way their metadata goes
// (announcement.h).
#include <algorithm>
#include <cstring>
#include <string>

#include "bsp/engine.h"

namespace tutti::bsp {

void engine::begin_superstep() noexcept {
  arena_.reclaim(c_.half());
  for (outbox& box : boxes_) box.start();
}

bool engine::sync(const void* site) { return finish(false, site); }

bool engine::sync_by(const call_note& note, std::uint32_t first, std::uint32_t last, const void* site, std::span<std::byte> data) {
  collective_ = &note, givers_first_ = first, givers_last_ = last, broadcast_ = data;
  const bool went = finish(false, site) && during(note.call, check_given(c_.epoch - 1));
  collective_ = nullptr;
  return went;
}

bool engine::measure() {
  auto made = measure_parameters(c_.team, c_.how.id);
  if (made) parameters_ = *made;
  return during("measuring the machine", made ? status{} : made.error());
}

void engine::drop_registrations() noexcept {
  agreement_.drop();
  if (checker_) checker_->drop_registrations();
}

bool engine::leave() {
  drop_registrations();
  return finish(true, nullptr) && during("bsp_end", c_.team.settle());
}

bool engine::finish(bool leaving, const void* site) {
  queue_.clear();
  if (ledger_) {
    const char* const call = ends_by(leaving);
    ledger_->enter(site, {call, strnlen(call, sizeof(call_note::call))}, announcement_.next_way());
  }
  if (status s = synchronize(leaving); s.failed()) return fail(s.during(ends_by(leaving)));
  agreement_.end_superstep();
  ++c_.epoch;
  begin_superstep();
  if (ledger_) ledger_->leave();
  return true;
}

status engine::synchronize(bool leaving) {
  if (checker_)
    if (status s = checker_->judge(c_.epoch); s.failed()) return s;
  const bool hp = hp_->any(), changed = areas_.changed();
  if (hp)
    if (status s = hp_->finish_gets(); s.failed()) return s;
  if (changed) {
    if (status s = agreement_.tell(boxes_); s.failed()) return s;
    if (hp)
      if (status s = hp_->tell_areas(boxes_); s.failed()) return s;
  }
  const std::span<std::uint8_t> out = announcement_.out();
  const std::span<const std::uint8_t> in = announcement_.in();
  const auto calls = static_cast<std::uint32_t>(areas_.pending().size());
  const auto tag = static_cast<std::uint32_t>(agreement_.next_tag());
  for (outbox& box : boxes_) {
    std::uint8_t& flags = out[box.to()] = box.seal(calls, tag, agreement_.announces(c_.me, box.to()));
    if (leaving) flags |= is_leaving;
    if (hp) flags |= hp_->flags(box.to(), leaving);
  }
  if (status s = announcement_.run(arena_, boxes_, *peers_, exchange_->sending()); s.failed()) return s;
  if (status s = agree(leaving); s.failed()) return s;
  std::uint8_t any = 0;
  for (std::uint32_t i = 0; i < c_.size; ++i) any |= out[i] | in[i];
  if (any & (has_requests | has_data | has_direct)) {  // mostly nothing but puts and messages that are read in place
    const bool simple = exchange_->all_in_place() && !(any & (has_requests | has_direct));
    if (status s = simple ? exchange_->place_in_place(in) : exchange_->run(out, in); s.failed()) return s;
    if (last_given_ == c_.epoch && (!collective_ || !broadcast_.empty())) {
      if (status s = check_given(c_.epoch); s.failed()) return s;
      if (status s = broadcast(); s.failed()) return s;
    }
  }
  if (hp)
    if (status s = hp_->finish_puts(); s.failed()) return s;
  if (changed)
    if (status s = agreement_.settle(); s.failed()) return s;
  if (changed && !registered_.empty()) registered_.settle();
  if (hp && changed) hp_->forget_areas();
  if (hp && !leaving) hp_->tell_end(in);
  return {};
}

// Whether all ended the superstep in the same way.
status engine::agree(bool leaving) {
  const std::span<const std::uint8_t> in = announcement_.in();
  for (std::uint32_t i = 0; i < c_.size; ++i) {
    if (((in[i] & is_leaving) != 0) != leaving)
      return {errc::invalid, worded("process ", i, " called ", (leaving ? "bsp_sync" : "bsp_end"), " while process ", c_.me,
                                    " called ", ends_by(leaving), "; all processes must call the same"), c_.rank_of(i)};
    if (!(in[i] & has_data) && agreement_.announces(i, c_.me)) return agreement_.check_silent(i);
  }
  return {};
}

// By the team's collectives, of which there is no other call: all have heard from the root that they make this one. Whoever has not
// ends the program (check_given).
status engine::broadcast() {
  if (!data_) {
    record_.emplace(c_.team);
    data_.emplace(c_.team, *record_, choice_settings{});
  }
  const collective_call call{.root = collective_->root, .bytes = broadcast_.size(), .out = broadcast_.data()};
  record_->enter(call.recorded());
  return data_->run(call);
}

// Whether all that one can see ended the superstep by the same call. What a process does not see, another does: who gives
// something is seen by the one that gets it, and who does not by the one that waits for it.
status engine::check_given(std::uint64_t epoch) {
  const auto in_words = [](const call_note& n) {
    return std::string(n.call, strnlen(n.call, sizeof n.call)) + " of " + std::to_string(n.bytes) + " bytes" +
           (n.root == call_note::no_root ? "" : " with process " + std::to_string(n.root) + " as its root");
  };
  for (std::uint32_t pid = 0; pid < c_.size; ++pid) {
    const gift& g = given_[pid];
    const bool came = g.epoch == epoch, due = collective_ && pid >= givers_first_ && pid < givers_last_;
    if (!came && !due) continue;
    call_note theirs;
    if (came) std::memcpy(&theirs, g.what.tag, sizeof theirs);
    if (came && due && theirs == *collective_) continue;
    return {errc::invalid, worded("processes ", c_.me, " and ", pid, " ended superstep ", epoch, " by unlike calls: process ",
                                  c_.me, " called ", (collective_ ? in_words(*collective_) : "bsp_sync"), ", process ", pid, " ",
                                  (came ? "called " + in_words(theirs) : "did something else"),
                                  "; all processes must call the same"),
            c_.rank_of(pid)};
  }
  return {};
}

}  // namespace tutti::bsp

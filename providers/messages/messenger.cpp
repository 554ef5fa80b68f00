#include "providers/messages/messenger.h"

#include <unistd.h>

#include <algorithm>

#include "providers/messages/guarded_link.h"

namespace tutti::messages {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_leave = 500ms;         // a destructor must end though no peer answers
constexpr auto longest_sleep_stalled = 1ms;   // no library tells when it has room for what it did not take
// Longer than a living peer is kept from the cores where dozens of others want them; an end at all, since the peer may wait
// for this rank without driving its transport.
constexpr auto longest_keeping = 10s;

}  // namespace

messenger::messenger(region_table& regions, sleeper& watch) noexcept
    : watch_(watch),
      answers_(regions),
      members_(regions),
      peers_(*this, traits_, members_, out_, due_, watch),
      packets_(traits_, frames_, out_, peers_),
      in_(traits_, regions, frames_, answers_, out_, due_, peers_, packets_),
      ops_(regions, frames_, members_, keys_, out_, peers_) {}

status messenger::open(const open_params& p, std::unique_ptr<link> l) {
  traits_ = l->traits();
  l = std::make_unique<guarded_link>(std::move(l), watch_);
  frames_.open();
  if (status started = l->start(*this); started.failed()) return started;
  link_ = std::move(l);
  members_.open(link_->reach(), p.rank);
  keys_.open(link_->reach(), traits_.piece_bytes);
  out_.open(*link_, p.rank);
  packets_.open(p.rank);
  in_.open(p);
  peers_.open(p, *link_);
  return {};
}

void messenger::reached(frame& f, const status& outcome) noexcept {
  peer& p = *f.to;
  ++events_;
  if (keys_.reached(f, outcome)) out_.queue(p.ringing);
  if (p.queue.front()) out_.pump(p);
  members_.forget_old_keys(p);
}

void messenger::connection_lost(peer& p, status why) noexcept {
  p.lost = true;
  if (!p.alive()) due_.close(p);
  else suspect(p, std::move(why));
}

void messenger::end_under_way(peer& p, const status& why) noexcept {
  if (p.kept) sent(p, why);
  const auto end = [&](frame& f) {
    while (f.to == &p && f.parts) reached(f, why);
  };
  for (frame& f : frames_.all()) end(f);
  end(p.placing);
  end(p.glance);
}

void messenger::see_to_peers(bool look) noexcept {
  if (look) {
    look_for_silence();
    peers_.look_for_deaths();
  }
  peers_.open_due();
  if (due_.any_stalled()) out_.pump_stalled();
  peers_.judge_due();
  peers_.close_due();
}

std::chrono::nanoseconds messenger::longest_sleep() const noexcept {
  if (due_.any_stalled()) return longest_sleep_stalled;
  return peers_.opened().empty() ? traits_.longest_sleep_alone : traits_.longest_sleep;
}

// What was not sent yet would be read from memory that is gone. Each piece is a message of its own and the signal goes
// with the last, so the rest can be left out. A piece that the link keeps goes on being read by its library, as what goes by
// key is read and written. Memory of this transport's own is kept for that (regions.h). The caller's is gone for good
// once drop() returns, and UCX takes that for the end of the connection at best: so this waits.
void messenger::end_puts_from(region_id id, bool callers) noexcept {
  own_time longest{longest_keeping, now()};
  const auto goes_on = [&] { return callers && !longest.over(now()); };
  for (frame& f : frames_.all()) {
    const auto reads = [&] { return f.to && f.op.local == id && f.left && f.source && f.source != f.small; };
    const auto kept = [&] { return f.to->kept && f.to->queue.front() == &f; };
    while (reads() && kept() && goes_on()) progress();
    if (!reads() || kept()) continue;
    f.to->queue.remove(f);
    frames_.finish(f, {errc::invalid, worded("the memory of a put to rank ", f.to->rank, " was dropped"), f.to->rank});
  }
  const auto names = [&](const rma_op& op) {
    if (op.kind != op_kind::get_scatter) return op.local == id;
    return std::any_of(op.scatter, op.scatter + op.slices, [&](const slice& s) { return s.local == id; });
  };
  for (const frame& f : frames_.all())
    while (f.to && f.parts && names(f.op) && goes_on()) progress();
}

// Delivers what was taken, then says goodbye to everyone who has a connection with this rank, all within a bounded time of its
// own (own_time.h). A goodbye that gets lost is no harm: the peer then suspects, and judges rightly by itself.
bool messenger::say_goodbye() noexcept {
  own_time longest{longest_leave, now()};
  peers_.begin_to_leave();
  peers_.drain();
  peers_.part_from_all();
  const auto busy = [&] {
    return std::ranges::any_of(opened(), [](const peer* p) {
      return p->alive() && !p->life.suspected() && (p->queue.front() || p->under_way);
    });
  };
  while (busy() && !longest.over(now()))
    if (!progress()) ::usleep(50);

  link_->push_out(longest);
  peers_.say_goodbye_beside();
  const bool settled = link_->settle({longest_leave, now()});
  for (peer* p : opened()) peers_.end(*p, {errc::peer_dead, "closed here", p->rank});  // so short that it needs no memory
  if (settled) peers_.close_all();
  return settled && link_->settle({longest_leave, now()});
}

// Memory goes after all that may touch it: peers' operations by key reach this rank's regions without its program, and
// this rank's own ones, of which some may be under way for good, read and fill them. Regions are where they were until the
// link has let go. The link itself goes last, since it holds what the library knows of them.
void messenger::close() noexcept {
  if (!link_) return;
  if (!say_goodbye()) link_->abandon();
  peers_.release();
  link_->let_go();
}

}  // namespace tutti::messages

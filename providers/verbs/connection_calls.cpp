// A peer that does not answer notes: is it gone, or does it only not run?
//
// Notes are answered by the peer's connection manager, a thread, which may not run for seconds: its host is busy, or its process is
// stopped. That is no death. So its host is asked, whose kernel answers by itself: after `few` notes without an answer the peer
// is called over TCP, at a port where its connection manager listens (providers/messages/liveness.h), and this is what comes of it.
//
//   refused or reset, without a word   the process has ended, or has closed its transport: nobody listens any more
//   it stands                          the process lives, and does not run: it is waited for, however long that takes. The kernel
//                                      resets the call when the process ends, and gives it up when the host falls silent
//   a word, and then its end           the connection manager runs; and answered what it had by then before it said so
//                                      (answer_calls). So it does not hear me, or I do not hear it, over the fabric: `enough_when_it_runs` notes later
//                                      it is unreachable. Until then it is called again and again, since it may end
//   no answer, or none is to be        nothing tells that it lives: it is given up after `enough` notes, which is within the five
//   believed                           seconds of a host that has fallen silent (clause 10). On this host a pidfd tells as much
//                                      as a call, except that a transport was closed whose goodbye got lost: `enough_on_this_host`
//
// So whoever is taken for dead though it lives does not run for 4.5 seconds on a host where nobody answers TCP connections, as
// behind a firewall that drops them.
//
// Patience is counted in notes that were sent, not by the clock: this thread may not run either, and then has asked nobody.
// And before it gives up it looks at what has come meanwhile.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "providers/verbs/connection_manager.h"

namespace tutti::verbs {
namespace {

// The first five notes take 62 ms together, each further one 64 ms.
constexpr unsigned few = 6;
constexpr unsigned enough = 74;                // 4.5 s
constexpr unsigned enough_when_it_runs = 24;   // 1.5 s
constexpr unsigned enough_on_this_host = 940;  // a minute

}  // namespace

void connection_manager::give_up_on_silent(link& l) noexcept {
  if (l.asked >= l.called + few) call_host(l);
  const bool reached = l.ran && l.asked >= l.ran + enough_when_it_runs;
  const bool unknown = !l.stands && l.asked >= (l.process ? enough_on_this_host : enough);
  if (!l.over && !reached && !unknown) return;
  poll_notes();
  if (l.asked == 0 || l.gone) return;
  end(l, reached && !l.over ? event::kind::unreachable : event::kind::silent);
}

void connection_manager::call_host(link& l) noexcept {
  address_blob to;
  if (l.call || l.over || !address_of(l.rank, to)) return;
  l.called = l.asked;
  const messages::liveness::attempt made = calls_.connect(to.line);
  l.call = unique_fd{made.socket}, l.beside = made.beside;
  l.over = made.refused && made.beside;
  if (l.call) watched_.add(l.call.get(), &l, messages::liveness::events);
}

void connection_manager::hear_host(link& l) noexcept {
  using observation = messages::liveness::observation;
  if (!l.call) return;
  int words = 0;
  const bool runs = ::ioctl(l.call.get(), FIONREAD, &words) == 0 && words > 0;
  if (runs) {
    l.stands = true;
    if (!l.ran) l.ran = std::max(l.asked, 1u);
  } else {
    const observation told = messages::liveness::read(l.call.get(), l.stands, {});
    if (told == observation::nothing) return;
    l.stands = told == observation::stands;
    if (l.stands) return;
    l.over = told == observation::ended || (told == observation::refused && l.beside);
  }
  watched_.remove(l.call.get());
  l.call.close();
}

// It has answered, or nothing will come of it: when it is silent again it is called again.
void connection_manager::hang_up(link& l) noexcept {
  l.call.close();  // which takes it out of what is watched
  l.stands = l.over = false;
  l.asked = l.called = l.ran = 0;
}

void connection_manager::answer_calls() noexcept {
  if (calls_.listener() < 0) return;
  poll_notes();
  constexpr std::byte word{};
  // No descriptor to spare: callers are kept by the kernel, which still tells them that this process lives.
  if (calls_.answer({&word, 1}) != EAGAIN) watched_.remove(calls_.listener());
}

// Something has happened to its pidfd or its call, or had, when that still stood.
void connection_manager::look_at(link& l) noexcept {
  if (!l.gone && l.process.ended()) return end(l, event::kind::ended);
  hear_host(l);
}

}  // namespace tutti::verbs

// Peers that something is to be done about: connections to be opened, closed or judged, queues to be offered to the link again.
// That is found out within callbacks of the link's library, where none of it may be done, nor memory be asked for; the
// transport does it in its progress(). A peer is in each list at most once, and reserve() has made room for all of them.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/headroom.h"
#include "providers/messages/link.h"
#include "providers/messages/peer.h"

namespace tutti::messages {

class worklist {
 public:
  explicit worklist(const link_traits& traits) noexcept : traits_(traits) {}
  void reserve(std::size_t peers) {
    for (auto* list : {&open_, &close_, &suspects_, &stalled_}) list->reserve(peers);
  }

  void open(peer& p) noexcept { add(open_, p); }
  // Not while the link keeps a piece, which it would go on to read: sender::sent() comes back here. A connection that is lost
  // has nothing more to send.
  void close(peer& p) noexcept {
    if (!p.kept || p.lost) add(close_, p);
  }
  void stalled(peer& p) noexcept {
    if (!std::exchange(p.stalled, true)) stalled_.push_back(&p);
  }
  // To be judged when it has had a moment: see peer_table.
  void suspect(peer& p, status why, told_by who) noexcept {
    if (!p.life.suspect(p.life.suspected() ? why : cause_of(why), who)) return;
    p.judged_at = std::chrono::steady_clock::now() + moment;
    suspects_.push_back(&p);
  }
  // What this process lacks says nothing about a peer. Libraries say it in words of their own, or say that a connection which
  // got no descriptor was lost: so it is looked whether there are any.
  status cause_of(status why) const noexcept {
    constexpr unsigned of_a_connection = 2;
    const status want = headroom(traits_.name, of_a_connection, {});
    return want.ok() ? why : status{want.code(), worded(why.text(), ": ", want.text()), why.peer(), want.native()};
  }

  bool any_but_stalled() const noexcept { return !open_.empty() || !close_.empty() || !suspects_.empty(); }
  bool any() const noexcept { return any_but_stalled() || any_stalled(); }
  bool any_stalled() const noexcept { return !stalled_.empty(); }
  peer* next_to_open() noexcept { return pop(open_); }  // null: none
  peer* next_to_close() noexcept { return pop(close_); }
  // done(peer&): true: it leaves the list.
  template <class Done>
  void each_suspect(Done&& done) noexcept { sweep(suspects_, done); }
  template <class Done>
  void each_stalled(Done&& done) noexcept {
    sweep(stalled_, [&](peer& p) { return done(p) && (p.stalled = false, true); });
  }

 private:
  static constexpr std::chrono::milliseconds moment{50};  // from suspicion to judgement
  static void add(std::vector<peer*>& list, peer& p) noexcept {
    if (std::find(list.begin(), list.end(), &p) == list.end()) list.push_back(&p);
  }
  static peer* pop(std::vector<peer*>& list) noexcept {
    if (list.empty()) return nullptr;
    peer* const last = list.back();
    list.pop_back();
    return last;
  }
  template <class Done>
  static void sweep(std::vector<peer*>& list, Done&& done) noexcept {
    for (std::size_t i = 0; i < list.size();) {
      if (!done(*list[i])) {
        ++i;
        continue;
      }
      list[i] = list.back();
      list.pop_back();
    }
  }

  const link_traits& traits_;
  std::vector<peer*> open_, close_, suspects_, stalled_;
};

}  // namespace tutti::messages

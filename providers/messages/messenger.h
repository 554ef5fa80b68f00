// All by which operations pass between ranks over a link, and what the link calls back: the transport (transport.h) has the
// memory, the sleep and the datagrams of the contract beside it.
#pragma once
#include "providers/messages/inbound.h"
#include "providers/messages/operations.h"
#include "providers/messages/silence.h"

namespace tutti::messages {

class messenger {
 public:
  messenger(region_table& regions, sleeper& watch) noexcept;
  status open(const open_params&, std::unique_ptr<link>);
  // Leaves: what it owes is delivered, within a bounded time, its peers are told, and the link is brought to a state in which
  // its library can be closed. Memory is touched by nobody afterwards.
  void close() noexcept;

  // --- for the link ----------------------------------------------------------------------------------------------
  // Whatever came, a header and its payload as far as there are any. The caller's memory may be reused afterwards.
  void receive(std::span<const std::byte> header, std::span<const std::byte> payload) noexcept { events_ += in_.receive(header, payload); }
  void sent(peer& p, const status& outcome) noexcept { ++events_, out_.sent(p, outcome); }  // what send() had kept
  void reached(frame&, const status&) noexcept;          // a put, get or flush that was under way
  void suspect(peer& p, status why) noexcept { due_.suspect(p, std::move(why), told_by::connection); }  // judged when it has had a moment
  void connection_lost(peer&, status) noexcept;          // nothing more will be sent or received through it
  // The same where there is no doubt.
  void lose(peer& p, const status& why) noexcept { ++events_, peers_.lose(p, why); }
  // What the link has in its hands for a peer whose connection it has closed, if its library never gives that back.
  void end_under_way(peer&, const status&) noexcept;
  std::span<peer* const> opened() const noexcept { return peers_.opened(); }
  void close_suspects() noexcept { peers_.end_suspects(); }  // while leaving; not inside progress()
  time_point now() const noexcept { return std::chrono::steady_clock::now(); }
  // Events. `look`: also at what only the kernel tells of peers, which costs system calls.
  unsigned progress(bool look = false) noexcept {
    events_ = 0;
    events_ += link_->progress();  // which calls back
    if (look || due_.any()) see_to_peers(look);
    return events_;
  }

  // --- for the transport -----------------------------------------------------------------------------------------
  const link_traits& traits() const noexcept { return traits_; }
  link& line() noexcept { return *link_; }
  peer_table& peers() noexcept { return peers_; }
  const peer_table& peers() const noexcept { return peers_; }
  member_table& members() noexcept { return members_; }
  operations& ops() noexcept { return ops_; }
  packets& two_sided() noexcept { return packets_; }
  std::uint64_t rejected() const noexcept { return in_.rejected(); }
  bool in_use() const noexcept { return frames_.busy() != 0; }        // memory, by some operation of this rank
  bool may_sleep() const noexcept { return !due_.any_but_stalled(); }
  std::chrono::nanoseconds longest_sleep() const noexcept;
  void look_for_silence() noexcept { silence_.look(link_->fd(), now()); }
  // Before a region goes, the caller's own or memory of the transport's.
  void end_puts_from(region_id, bool callers) noexcept;

 private:
  void see_to_peers(bool look) noexcept;
  bool say_goodbye() noexcept;  // false: the link's library must not be closed (link::settle())

  link_traits traits_;
  const sleeper& watch_;
  std::unique_ptr<link> link_;
  silence_watch silence_;
  frame_pool frames_;
  worklist due_{traits_};
  responder answers_;
  member_table members_;
  remote_access keys_{frames_, due_};
  sender out_{traits_, frames_, keys_, answers_, due_};
  peer_table peers_;
  packets packets_;
  inbound in_;
  operations ops_;
  unsigned events_ = 0;
};

}  // namespace tutti::messages

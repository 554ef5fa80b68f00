// The peers of a rank: how each is reached, and how it ends.
//
// Endpoints are opened by the first operation towards a peer, by the first answer to it, or when its health is asked
// for. A peer ends in one of three ways: it says goodbye; its process ends (on this host a pidfd tells, process_watch.h; across
// hosts a liveness connection, where the link keeps quiet); or the link loses the connection. A lost connection is only a
// suspicion at first, because a peer that leaves closes its sockets right behind its goodbye, and a process that is killed
// closes its sockets before its pidfd tells. Both get a moment before judgement.
#pragma once
#include <memory>
#include <vector>

#include "core/transport/provider.h"
#include "providers/common/address_book.h"
#include "providers/common/sleeper.h"
#include "providers/messages/blobs.h"
#include "providers/messages/liveness.h"
#include "providers/messages/sender.h"

namespace tutti::messages {

class peer_table {
 public:
  peer_table(messenger& net, const link_traits& traits, member_table& members, sender& out, worklist& due, sleeper& watch) noexcept
      : net_(net), traits_(traits), members_(members), out_(out), due_(due), watch_(watch) {}
  status open(const open_params&, link&);
  const liveness_address& liveness_place() const noexcept { return liveness_.address(); }
  status connect(shared_blobs);

  peer* of(rank_t r) noexcept { return peers_[r] ? peers_[r].get() : make(r); }  // null: out of memory
  const peer* known(rank_t r) const noexcept { return peers_[r].get(); }  // null: there was nothing with it yet
  bool same_host(rank_t r) const noexcept { return book_.same_host(r); }
  std::span<peer* const> opened() const noexcept { return open_; }   // every peer with a connection, now or earlier

  void open_endpoint(peer&) noexcept;        // once; the peer may have ended instead when this returns
  void watch(peer&) noexcept;                // sees to it that its end will be known
  void end(peer&, status, told_by = told_by::connection) noexcept;  // and all its operations; safe inside a link's callbacks
  void lose(peer&, const status& why) noexcept;  // the same, by what is wrong in this process
  void drain() noexcept;                     // lets everything in that arrived already, above all goodbyes
  void look_for_deaths() noexcept;           // what the descriptors say
  void open_due() noexcept;
  void judge_due() noexcept;
  void close_due() noexcept;
  void close_all() noexcept;                 // all have ended, and what a link still keeps of theirs ends too

  // While leaving: what is opened from now on is told goodbye.
  void begin_to_leave() noexcept { leaving_ = true; }
  void part_from_all() noexcept;
  void end_suspects() noexcept;
  void say_goodbye_beside() noexcept { liveness_.say_goodbye(); }  // to those who only watch this rank
  void release() noexcept;                   // what is mapped, watched and unlocked

 private:
  peer* make(rank_t) noexcept;
  void watch_process(peer&, std::int32_t pid) noexcept;
  void watch_host(peer&, const liveness_address&) noexcept;
  void read_liveness(peer&) noexcept;
  void close_watches(peer&) noexcept;
  void end_dead(peer&) noexcept;             // a process of this host is no more
  void judge(peer&) noexcept;
  void part_from(peer&) noexcept;

  messenger& net_;
  const link_traits& traits_;
  member_table& members_;
  sender& out_;
  worklist& due_;
  sleeper& watch_;                           // pidfds and liveness connections
  link* link_ = nullptr;
  rank_t self_ = 0;
  siphash_key key_{};                        // of the job
  liveness liveness_;                        // listens where the link does not tell losses
  address_book<address_head> book_;
  std::vector<std::unique_ptr<peer>> peers_; // by rank; null until needed
  std::uint32_t made_ = 0;
  std::vector<peer*> open_;                  // those with an endpoint, now or earlier
  bool leaving_ = false;
};

}  // namespace tutti::messages

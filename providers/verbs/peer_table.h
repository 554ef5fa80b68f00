// The peers of a rank: how they come and go. What the connection manager has found out, what they say by their rings, what the
// completions of their queue pairs tell, and how a queue pair that is in error is drained and dropped.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/transport/provider.h"
#include "providers/common/address_book.h"
#include "providers/verbs/announcements.h"
#include "providers/verbs/backlogs.h"
#include "providers/verbs/packets.h"

namespace tutti::verbs {

class peer_table {
 public:
  peer_table(endpoint& end, requests& out, backlogs& waiting, packets& two_sided) noexcept
      : end_(end), out_(out), waiting_(waiting), packets_(two_sided) {}
  status open(const open_params&);  // and begins to listen for those who connect
  status connect(shared_blobs);
  void close() noexcept;            // all queue pairs go, and whatever waits or is under way ends

  peer* of(rank_t r) noexcept { return peers_[r] ? peers_[r].get() : make(r); }  // null: no memory
  std::span<peer* const> lines() const noexcept { return lines_; }               // those with a queue pair, now or earlier
  address_blob address_of(rank_t r) const noexcept { return book_.head(r); }
  bool is_known() const noexcept { return static_cast<bool>(book_); }            // where they are
  connection_manager& manager() noexcept { return manager_; }
  // Begins to connect to it, so that what waits can go. Not ok: there can be no connection.
  status want(peer&) noexcept;
  void give_up_all(std::string_view why) noexcept;  // on completions that have not come, and on what waits
  status health(peer&) noexcept;    // also looks whether it is there

  unsigned poll_sends() noexcept;
  unsigned hear() noexcept;         // rings, packets, and what the connection manager tells
  void close_drained() noexcept;
  void confirm_all() noexcept { announced_.confirm_all(lines_); }

  // Sleep: peers are told, and those that cannot be watched are probed. False: there is something to do first.
  bool prepare_sleep() noexcept;
  std::chrono::nanoseconds patience() noexcept;
  bool goodbye_said() noexcept;     // to all who can hear it, and taken by them; says what can be said

 private:
  peer* make(rank_t) noexcept;
  unsigned handle_events() noexcept;
  unsigned hear_arrivals() noexcept;
  void hear_packets() noexcept;
  void handle(peer&, const connection_manager::event&) noexcept;
  void adopt(peer&, const connection_manager::event&) noexcept;
  void broke(peer&, const connection_manager::event&, const char* why) noexcept;
  void completed(const ibv_wc&) noexcept;
  void end(peer&, status how, told_by = told_by::connection) noexcept;
  void decide(peer&) noexcept;
  void give_up(peer&) noexcept;     // on its completions: the queue pair is dropped
  void ask_anew(peer&) noexcept;    // for a connection, if operations or messages wait for one
  void probe(peer&) noexcept;
  bool elsewhere(rank_t r) const noexcept { return !book_.same_host(r); }
  std::string perhaps_since(rank_t, const std::string& trouble) const noexcept;

  endpoint& end_;
  requests& out_;
  backlogs& waiting_;
  packets& packets_;
  announcements announced_{out_};
  connection_manager manager_;
  rank_t self_ = 0;
  address_book<address_blob> book_;
  std::vector<std::unique_ptr<peer>> peers_;  // by rank; null until needed
  std::vector<peer*> lines_;
  std::uint32_t elsewhere_ = 0;               // of these, on other hosts
  std::string device_gone_;                   // why nobody can be reached any more
  std::vector<connection_manager::event> events_;
  std::vector<receiver::item> rings_;
  unsigned late_ = 0;                         // arrived, and not told yet
  bool sleeps_ = false;
};

}  // namespace tutti::verbs

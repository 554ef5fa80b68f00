// What a rank knows of the life of a peer, and by whom. One account for all providers; docs/failure.md draws how each comes to it.
//
//   alive      as far as is known
//   suspected  its connection was lost. A peer that leaves closes its sockets right behind its goodbye, and one that is killed
//              before the kernel tells of its end: so whoever suspects waits a moment for a better witness, and judges then
//   left       it closed its transport: clause 11 of the contract
//   dead       it died, or cannot be reached any more
//
// The last two are final, and what was told first stands.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "core/transport/transport.h"

namespace tutti {

// In the order in which they are believed.
enum class told_by : std::uint8_t {
  nobody,
  connection,   // a vendor's library or an adapter: it was lost, or is not answered
  its_host,     // the kernel of another host: the process has ended there
  its_process,  // the kernel of this host, or the peer's own memory here
  itself,       // a goodbye
};

class peer_life {
 public:
  enum class stage : std::uint8_t { alive, suspected, left, dead };

  stage now() const noexcept { return stage_; }
  told_by by() const noexcept { return by_; }
  bool alive() const noexcept { return stage_ <= stage::suspected; }
  bool suspected() const noexcept { return stage_ == stage::suspected; }
  const status& end() const noexcept { return alive() ? none : why_; }              // ok while it is alive
  const status& suspicion() const noexcept { return suspected() ? why_ : none; }    // ok unless it is suspected

  // The first suspicion stands; a better witness to the same is remembered. False: it is no new one.
  bool suspect(status why, told_by who) noexcept {
    if (!alive()) return false;
    by_ = std::max(by_, who);
    if (suspected()) return false;
    stage_ = stage::suspected, why_ = std::move(why);
    return true;
  }
  // False: it had ended before.
  bool ends(status how, told_by who) noexcept {
    if (!alive()) return false;
    stage_ = how.native() == peer_left ? stage::left : stage::dead;
    why_ = std::move(how), by_ = who;
    return true;
  }

 private:
  static inline const status none;
  status why_;
  stage stage_ = stage::alive;
  told_by by_ = told_by::nobody;
};

inline status rank_died(rank_t rank, std::string_view how = {}, std::int64_t native = 0, std::string_view more = {}) noexcept {
  return {errc::peer_dead, worded("rank ", rank, " died", how.empty() ? "" : ": ", how, more), rank, native};
}
// By the kernel's word, which says that a process is gone and not how: it may have been killed, or have returned from main().
inline status rank_ended(rank_t rank) noexcept {
  return {errc::peer_dead, worded("rank ", rank, " ended without leaving the job: its process is gone"), rank};
}
inline status rank_left(rank_t rank, std::string_view how = {}) noexcept {
  return {errc::peer_dead, worded("rank ", rank, " left", how.empty() ? "" : ": ", how), rank, peer_left};
}

}  // namespace tutti

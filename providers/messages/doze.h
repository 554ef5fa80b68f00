// A peer that stores into this rank's memory, mapped or by key, must know whether it sleeps: nothing else would wake it.
//
// The doze word is odd while this rank sleeps. It makes the word odd before it looks at its words for the last time; who stores
// does so before it looks at the doze word. Both have a full fence between (by key: a reliable connection, remote_access.h), so
// at least one of the two sees the other's store. One bell for each sleep is enough.
#pragma once
#include <atomic>

#include "providers/messages/peer.h"
#include "providers/messages/regions.h"

namespace tutti::messages {

class doze_word {
 public:
  // `shared`: peers map this rank's memory or reach it by key. Elsewhere nobody can store, and none is asked to look.
  status open(region_table& regions, bool shared) {
    if (!shared) return {};
    std::span<std::byte> page;
    const auto made = regions.allocate(64, page);
    if (!made) return made.error();
    region_ = *made, at_ = reinterpret_cast<std::uint64_t*>(page.data());
    return {};
  }
  region_id where() const noexcept { return region_; }  // unregistered_memory: nobody reaches it

  void fall_asleep() noexcept {
    change();
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  void wake_up() noexcept { change(); }

 private:
  void change() noexcept { std::atomic_ref{*at_}.fetch_add(1); }

  std::uint64_t alone_ = 0;
  std::uint64_t* at_ = &alone_;
  region_id region_ = unregistered_memory;
};

// The peer's doze word was found like this. True: it sleeps and was not rung for that yet, and peer::ringing is to be queued.
inline bool is_to_be_rung(peer& p, std::uint64_t doze) noexcept {
  if (!(doze & 1) || doze == p.rung || p.ringing.to) return false;
  p.rung = doze;
  p.ringing.to = &p;
  p.ringing.head.kind = message_kind::bell;
  return true;
}

}  // namespace tutti::messages

// Private to this folder. The members are defined one concern a file, by the names at each group.
//
// Two paths lead to a peer's memory.
//   direct   the region is mapped here (it was allocated, or the peer is a thread of this process): loads and stores,
//            done when submit() returns.
//   by mail  the region is another process's own memory, which cannot be mapped. Puts and gets are copied by the
//            kernel (process_vm_writev, process_vm_readv), also done when submit() returns; signals and atomics are
//            mails that the target applies in its progress().
// Clause 5 across the two: direct operations take effect at once and in program order; mails in their order, later.
// Only a direct signal could overtake, namely an earlier mail. So while a mail to a peer is under way, `direct` is
// false for that peer, and all its signals and atomics go by mail, also those to mapped memory.
#pragma once
#include <poll.h>

#include <array>
#include <memory>
#include <vector>

#include "core/transport/multicast.h"
#include "core/transport/provider.h"
#include "core/transport/transport.h"
#include "core/transport/two_sided.h"
#include "core/base/epoll_set.h"
#include "core/base/shared_writer.h"
#include "providers/common/peer_life.h"
#include "providers/common/process_watch.h"
#include "providers/common/segment_table.h"
#include "providers/common/slot_table.h"
#include "providers/shm/arena.h"
#include "providers/shm/layout.h"

namespace tutti::shm {

class shm_multicast;
class shm_two_sided;

// A rank of this node. The first line is what the data path reads.
struct alignas(64) peer {
  control_page* page = nullptr;
  bool direct = false;        // page is mapped, no mail of mine is under way, not known to be dead
  bool fence = false;         // a signal needs a full fence before it looks at `waiting`
  bool mail_pending = false;
  bool ring_owed = false;
  bool same_process = false;
  bool watched = false;       // its process is in the epoll set
  rank_t rank = no_rank;
  std::uint32_t lived_at = 0; // by lives(); ms of the coarse clock
  std::uint64_t mail_ticket = 0;  // one past the position of my last mail to it
  mapping page_memory;
  memory_name name;
  process_watch process;          // not for threads of this process
  peer_life life;
  status deferred;                // clause 3: the first error that no completion took
};
static_assert(sizeof(peer) == 128);

struct region {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  std::uint32_t serial = 0;       // which no other region of this rank has, ever
  region_kind kind{};
  shared_memory shared;           // kind shared
  arena::place part;              // kind part
};

struct target {
  std::byte* base = nullptr;      // where loads and stores reach it; null: not mapped yet, or never
  std::uint32_t member = none;    // index in the group
  bool mapped = false;            // base is a mapping of ours, of key.memory.bytes, or a part of one in chunks_
  static constexpr std::uint32_t none = ~std::uint32_t{0};
};

struct segment {
  std::unique_ptr<target[]> targets;  // by local index
  shared_blobs keys;
};

class shm_transport final : public transport {
 public:
  // provider.cpp
  static result<std::unique_ptr<transport>> open(const open_params&);
  ~shm_transport() override;
  const capabilities& caps() const noexcept override;
  multicast* mcast() noexcept override;
  two_sided* sendrecv() noexcept override;
  result<std::vector<std::byte>> address() override;
  status connect(shared_blobs addresses, time_point deadline) override;
  bool reaches(rank_t) const noexcept override;
  time_point now() const noexcept override { return std::chrono::steady_clock::now(); }

  // memory.cpp
  result<region_id> add(std::span<std::byte> memory) override;
  result<region_id> allocate(std::size_t bytes, std::span<std::byte>& memory) override;
  result<std::vector<std::byte>> key(region_id) override;
  result<segment_id> attach(const rank_map& members, shared_blobs keys) override;
  void drop(segment_id) noexcept override;
  void drop(region_id) noexcept override;
  std::byte* map(segment_id, rank_t) noexcept override;

  // submit.cpp
  std::size_t submit(std::span<const rma_op> ops) noexcept override;

  // progress.cpp
  bool flush(rank_t peer, completion* done) noexcept override;
  unsigned progress() noexcept override;

  // sleep.cpp
  armed arm() noexcept override { return armed_if(arm(doze::on_futex)); }
  void sleep(armed, time_point deadline) noexcept override;
  bool arm_fd() noexcept override { return arm(doze::on_pipe); }
  int wait_fd() noexcept override;
  void disarm() noexcept override;

  // peers.cpp
  status health(rank_t peer) noexcept override;

 private:
  friend class shm_multicast;
  friend class shm_two_sided;
  static constexpr std::uint16_t not_local = 0xffff;
  static constexpr std::uint32_t polls_between_looks = 251;  // at a claim, which is in another's cache; a prime: mails and cells both have turns

  shm_transport() = default;
  rank_t rank() const noexcept { return rank_; }
  control_page& page() noexcept { return *reinterpret_cast<control_page*>(page_.memory.get()); }

  // peers.cpp
  peer* find(rank_t r) noexcept {
    const std::uint32_t i = local_index(r);
    return i == not_local ? nullptr : &peers_[i];
  }
  std::uint32_t local_index(rank_t r) const noexcept {
    const rank_t i = r - first_rank_;
    return i < local_.size() ? local_[i] : not_local;
  }
  status contact(peer&) noexcept;      // maps its page
  void ended(peer&, status how, told_by) noexcept;
  bool check(peer&) noexcept;          // true if it is dead; asks the kernel
  bool lives(peer&) noexcept;          // false if it is dead; asks the kernel once a millisecond; for who goes by its pid
  bool ends(peer&) noexcept;           // the same, for one that is about to end: blocks until it has
  status not_opened(const peer&, const status& why) noexcept;  // the error of an operation towards it (memory.cpp)
  status closed_by_itself(const peer&) noexcept;               // the error where it lives and others cannot find its memory
  bool has_let_go(peer&) noexcept;     // true if it is dead; asked when it was found without some memory
  bool check_all() noexcept;           // true if one was found dead that was not known to be
  void watch_all() noexcept;           // the death of any peer makes wait_fd() readable
  void wake_all() noexcept;
  shared_writer& writer_for(const peer& p) noexcept { return writers_[&p - peers_.get()]; }
  std::uint32_t self_index() const noexcept { return static_cast<std::uint32_t>(self_ - peers_.get()); }

  // sleep.cpp
  bool arm(doze how) noexcept;
  // After a store that `p` may be sleeping for.
  void wake(peer& p) noexcept {
    if (p.fence) full_fence();
    else compiler_fence();
    if (p.page->waiting.load(std::memory_order_relaxed) != 0) [[unlikely]] ring(p);
  }
  void ring(peer&) noexcept;
  void owe_ring(peer&) noexcept;
  void pay_rings() noexcept;
  void drain_pipe() noexcept;
  bool has_work() noexcept;

  // memory.cpp
  std::byte* resolve(segment_id, peer&, key_blob& key, status& why) noexcept;
  void key_of(segment_id, const peer&, key_blob&) const noexcept;
  std::byte* local_address(region_id r, std::uint64_t offset) const noexcept {
    return r == unregistered_memory ? reinterpret_cast<std::byte*>(offset) : regions_[r].base + offset;
  }
  std::byte* mapped_base(segment_id s, std::uint32_t local) const noexcept {
    return segments_[s].targets[local].base;
  }
  result<region_id> enter(region);
  result<std::byte*> map_peers(const key_blob&) noexcept;
  const region* region_of(std::uint32_t id, std::uint32_t serial) const noexcept {  // that a key or a mail names; null: dropped
    const region* r = regions_.find(region_id{id});
    return r && r->serial == serial ? r : nullptr;
  }

  // submit.cpp
  void do_payload(const rma_op&, std::byte* remote, const peer&) noexcept;
  void do_word(const rma_op&, std::byte* word, peer&) noexcept;
  // mailed.cpp
  bool submit_slowly(const rma_op&) noexcept;       // false: full
  status copy_user(const rma_op&, peer&, const key_blob&) noexcept;
  static void fail(const rma_op&, peer*, const status&) noexcept;
  // Where a rank tells its peers that it has such a region; null: it has too many for that.
  static std::atomic<std::uint32_t>* user_serial(control_page& of, region_id id) noexcept {
    const std::uint32_t slot = static_cast<std::uint32_t>(id) & slot_table<region_id, region>::slot_mask;
    return slot < user_slots ? &of.user_serials[slot] : nullptr;
  }

  // mailbox.cpp
  struct claim {
    mail* slot = nullptr;
    std::uint64_t position = 0;
  };
  claim claim_mail(peer&) noexcept;                 // slot null: full
  void publish_mail(peer&, const claim&) noexcept;
  unsigned read_mails() noexcept;
  bool mail_waits() noexcept;
  // What a reader that found nothing at this position asks: whether its writer is known to be dead. Looks at the claim only now and
  // then while no rank of this node is known to have ended, and then asks the kernel as well. `at_once`: looks, and asks nobody.
  bool claimed_in_vain(const std::atomic<std::uint64_t>& word, const std::atomic<std::uint64_t>& stamp, std::uint64_t position,
                       bool at_once = false) noexcept {
    const bool asks = !at_once && ++empty_polls_ % polls_between_looks == 0;
    return (at_once || asks || any_ended_) && claimed_by_dead(word, stamp, position, asks);
  }
  bool claimed_by_dead(const std::atomic<std::uint64_t>& word, const std::atomic<std::uint64_t>& stamp, std::uint64_t position, bool asks) noexcept;
  void apply(const mail&, peer* from) noexcept;
  void settle(peer&) noexcept;                      // direct again when every mail has taken effect
  unsigned read_replies() noexcept;
  bool reply_waits() noexcept;
  int free_question() noexcept;                     // or -1
  void ask(int slot, peer&, const rma_op&, mail&) noexcept;

  // progress.cpp
  void look_around() noexcept;
  void look_when_due() noexcept {  // by the work taken (submit.cpp)
    if (unlooked_ < 2048) [[likely]] return;
    unlooked_ = 0;
    look_around();
  }
  unsigned finish_flushes() noexcept;
  bool flush_waits() const noexcept;

  // What only the data path reads comes first.
  std::uint32_t unlooked_ = 0;        // work taken since the last look for dead peers (submit.cpp)
  slot_table<segment_id, segment> segments_;
  slot_table<region_id, region> regions_;
  std::vector<std::uint16_t> local_;  // local index by job rank, from first_rank_
  rank_t first_rank_ = 0;
  std::unique_ptr<peer[]> peers_;
  std::unique_ptr<shared_writer[]> writers_;  // of long puts and messages, by peer
  std::uint32_t peer_count_ = 0;

  rank_t rank_ = 0;
  std::uint32_t size_ = 1;
  bool no_membarrier_ = false;
  peer* self_ = nullptr;
  shared_memory page_;
  host_id host_{};
  process_id process_;
  std::uint32_t next_serial_ = 1;
  arena arena_;
  arena_view chunks_;
  bool copies_allowed_ = false;       // add() has made sure that peers may copy into and out of this process

  // Mail.
  std::uint64_t mail_tail_ = 0;
  std::uint32_t empty_polls_ = 0;
  bool any_ended_ = false;
  struct question {                   // an atomic whose answer is awaited
    peer* to = nullptr;
    completion* done = nullptr;
    std::byte* result = nullptr;      // null: its region was dropped meanwhile
    region_id into = unregistered_memory;    // the region of `result`
    std::uint32_t stamp = 0;
  };
  std::array<question, reply_slots> questions_{};
  std::uint64_t asked_ = 0;           // a bit for each slot in use
  std::uint32_t next_stamp_ = 1;
  struct pending_flush {
    peer* to = nullptr;
    completion* done = nullptr;
    std::uint64_t ticket = 0;
  };
  std::vector<pending_flush> flushes_;  // capacity fixed at connect()
  std::size_t flush_capacity_ = 0;
  std::uint32_t mailing_ = 0;           // peers with mail_pending

  // Sleep.
  doze armed_ = doze::awake;
  std::uint32_t armed_as_ = 0;        // what `waiting` holds until somebody rings
  std::uint32_t sleeps_ = 0;
  bool refused_ = false;              // the last submit was short
  bool send_refused_ = false;         // a message was, since the last sleep
  std::uint32_t rings_owed_ = 0;
  std::uint32_t ticks_ = 0;
  time_point next_check_{};
  std::vector<pollfd> polled_;        // by local index; of check_all()
  unique_fd pipe_read_, pipe_write_;
  epoll_set epoll_;

  std::unique_ptr<shm_multicast> multicast_;
  std::unique_ptr<shm_two_sided> two_sided_;
};

}  // namespace tutti::shm

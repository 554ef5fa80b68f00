// One rank's end of all its messages: takes what comes and gives it to the engine that it is for (tagged or active messages), keeps what
// the fabric refuses in a queue for each peer, and finds out who has died. Made when a rank makes its first call of messages;
// a rank that never does has none, and answers nobody. (What was sent to it waits in the transport.)
//
// Use by an engine. It derives from message_engine, announces itself by serve(), and sends by
//   find(rank)                        the peer, made at first contact
//   send_now(peer, header, payload)   false if something waits before it or the fabric is full; nothing was taken
//   send(peer, header, payload)       now or later; copied where it must wait; false: out of memory
//   enqueue(peer, item)               an item of the caller's, that is offered until the fabric has taken it (messaging/outgoing.h)
// All messages to one peer leave in the order of these calls. What needs no order may pass by the queue: send_in_turn(). Nothing may wait in
// the queue for anything but the fabric, which takes it at last as long as the peer takes messages: what waits for a credit, say, waits in its
// engine, or it would hold up what brings that credit.
//
// The header begins with a wire_prefix whose kind is one of the engine's.
// A wait of an engine's is job::wait() with a ready() that calls poll_one(), which takes one message, and a look() that calls look();
// what returns instead of waiting calls polled() where it finds nothing. Everything else goes on in advance(), in any progress of the rank.
// Where an operation would end in vain should a peer die, the engine counts it in peer::interest while it is under way; lost() is called
// once, after all that had arrived of the peer was taken.
//
// What an engine does in take(), advance() or an item's offer() may lead back here (handlers send): poll_one() and advance() do nothing
// while they run already.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/id_map.h"
#include "core/job/job.h"
#include "core/transport/two_sided.h"
#include "messaging/buffer_pool.h"
#include "messaging/peer.h"
#include "messaging/wire.h"

namespace tutti::messaging {

class message_engine {
 public:
  // A message of one of its kinds, by the prefix that its header begins with; valid during the call. False: memory is short; the same
  // message comes again at the next progress, and what came after it waits in the transport.
  virtual bool take(peer& from, const wire_prefix&, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept = 0;
  virtual void advance() noexcept {}                          // in every progress of the rank
  virtual void lost(peer&) noexcept = 0;                      // peer::lost says how
  virtual void look() noexcept {}                             // for deaths of whom no peer::interest counts

 protected:
  ~message_engine() = default;
};

class endpoint final : public background {
 public:
  // Errors: unsupported (the fabric has no two-sided messages), no_resource.
  static result<std::unique_ptr<endpoint>> open(job&);
  ~endpoint() override { close(); }
  void close() noexcept;  // nothing is sent or taken any more; before the engines go
  endpoint(const endpoint&) = delete;
  endpoint& operator=(const endpoint&) = delete;

  void serve(engine_number n, message_engine* engine) noexcept { engines_[static_cast<unsigned>(n)] = engine; }  // null: no more
  message_engine* engine(engine_number n) const noexcept { return engines_[static_cast<unsigned>(n)]; }
  job& parent_job() noexcept { return job_; }
  const two_sided::limits& limits() const noexcept { return limits_; }
  buffer_pool& buffers() noexcept { return buffers_; }

  peer* find(rank_t rank) noexcept {  // null: out of memory
    if (last_ && last_->rank == rank) [[likely]] return last_;
    return find_slowly(rank);
  }
  template <class F>
  void each_peer(F&& f) {  // in the order of first contact; `f` may make more
    for (std::size_t i = 0; i < peers_.size(); ++i) f(*peers_[i]);
  }

  [[nodiscard]] bool send_now(peer& p, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept {
    return !p.first && calls_.send(p.rank, header, payload);
  }
  // For an item's offer(), which runs in its turn, and for what may pass by others.
  [[nodiscard]] bool send_in_turn(peer& p, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept {
    return calls_.send(p.rank, header, payload);
  }
  [[nodiscard]] bool send(peer& p, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept;
  void enqueue(peer&, outgoing&) noexcept;  // to one that is lost: the item is over at once
  bool withdraw(peer&, outgoing&) noexcept; // takes an item back that was not offered yet, or may be taken back; false: it is not queued
  bool queues() const noexcept { return waiting_ != nullptr; }  // something waits that the fabric has not taken
  void push(peer&) noexcept;                // offers what waits: for who knows that there is room again

  bool poll_one() noexcept;                 // true: a message was taken
  void advance() noexcept override;
  void look() noexcept;                     // asks the transport for the health of whom something depends on: seldom
  void polled() noexcept;                   // the same, each job::look_every at most
  void lose(peer&, const status& why) noexcept;   // everything of this peer's ends
  void malformed(peer&, const char* what) noexcept;  // the peer sent what cannot be

 private:
  explicit endpoint(job&, two_sided&) noexcept;
  [[gnu::cold]] peer* find_slowly(rank_t) noexcept;
  void take_all(unsigned most) noexcept;

  job& job_;
  two_sided& calls_;
  peer* last_ = nullptr;
  std::array<message_engine*, engines> engines_{};
  two_sided::message message_;              // that was received last
  bool kept_ = false;                       // it was not taken, for want of memory
  bool polling_ = false, advancing_ = false;
  peer* waiting_ = nullptr;                 // peers for whom something waits
  two_sided::limits limits_{};
  std::vector<std::unique_ptr<peer>> peers_;
  id_map<rank_t> places_;                   // in peers_
  buffer_pool buffers_;
  std::uint32_t polls_ = 0;
  time_point next_look_{};
};

}  // namespace tutti::messaging

// The transport contract by messages, upon any library that carries them (link.h). Three ways lead to a peer's memory:
//
// Mapped. Memory from allocate() on a fabric with shared memory can be mapped by a peer on this host. Operations upon it
// are loads, stores and CPU atomics of the origin; the target takes no part.
//
// By key. Where the fabric reaches memory by itself (one_sided.h), puts, gets, and signals that set a word are its
// operations; the target only looks at its memory (remote_access.h). Atomics and signals that add stay messages: those of an
// adapter are not atomic to a CPU's, and the words are shared with ranks of this host that map them. Where the fabric needs
// the target's program, what is longer than a message still goes by key, because no copy is made of it: libfabric's tcp puts
// 1 MiB three to five times as fast as by pieces through both ends' buffers. Signals are messages then, and follow. Only memory
// from allocate() has keys there (add()).
//
// Messages. Everything else is a message, applied by the target in its progress(). The vendors' libraries emulate their
// own put, get and atomics in the same way on such fabrics (tcp, and private memory on one host), so nothing is lost;
// and what is gained is one message for payload and signal together, ranges checked at the target, and atomics that are
// those of the target's CPU: UCX's emulation, for one, uses plain loads and stores, which would tear those of other
// processes that share the memory.
//
// Order. Messages of one origin to one target are one stream: a link keeps their order, and gets the next only when it
// has taken the last. Whether or not its library's manual promises that, every message is numbered, and a gap ends the
// connection rather than the order. The target applies a message before it looks at the next. So a signal by message
// overtakes nothing that went by message. A store to mapped memory is visible before any later message or store with
// release order. The one danger is a direct signal overtaking messages; hence a signal takes the direct way only when no
// message to that rank is unaccounted for (peer::unapplied()), and follows them as a message otherwise. That also keeps
// signals to one word in order.
#pragma once
#include <atomic>
#include <chrono>
#pragma once
#include <memory>
#include <optional>

#include "core/multicast/ip_multicast.h"
#include "providers/messages/doze.h"
#include "providers/messages/messenger.h"

namespace tutti::messages {

class message_transport final : public transport {
 public:
  static result<std::unique_ptr<transport>> open(const open_params&, std::unique_ptr<link>);
  ~message_transport() override;

  const capabilities& caps() const noexcept override { return caps_; }
  multicast* mcast() noexcept override { return ip_ ? ip_->usable() : nullptr; }
  offload* offloader() noexcept override { return net_.line().offloader(); }
  two_sided* sendrecv() noexcept override { return net_.two_sided().fit() ? &two_sided_ : nullptr; }
  result<std::vector<std::byte>> address() override;
  status connect(shared_blobs, time_point) override;
  bool reaches(rank_t) const noexcept override;

  result<region_id> add(std::span<std::byte> memory) override { return regions_.add(memory); }
  result<region_id> add_unowned(std::span<std::byte> memory) override { return regions_.add(memory, false); }
  result<region_id> allocate(std::size_t bytes, std::span<std::byte>& memory) override { return regions_.allocate(bytes, memory); }
  result<std::vector<std::byte>> key(region_id id) override { return regions_.key(id); }
  result<segment_id> attach(const rank_map&, shared_blobs) override;
  void drop(segment_id id) noexcept override { net_.members().drop(id); }
  void drop(region_id) noexcept override;
  void at_rest(bool on) noexcept override;
  std::byte* map(segment_id id, rank_t rank) noexcept override { return net_.ops().view(id, rank).mapped; }

  std::size_t submit(std::span<const rma_op>) noexcept override;
  bool flush(rank_t, completion*) noexcept override;
  unsigned progress() noexcept override;

  armed arm() noexcept override { return armed_if(arm_all()); }
  void sleep(armed, time_point) noexcept override;
  bool arm_fd() noexcept override;
  int wait_fd() noexcept override { return sleep_.fd(); }
  void disarm() noexcept override;
  time_point now() const noexcept override { return net_.now(); }
  status health(rank_t) noexcept override;
  std::uint64_t rejected() const noexcept { return net_.rejected(); }  // messages that were dropped (inbound.h)

 private:
  class two_sided_calls final : public two_sided {
   public:
    explicit two_sided_calls(message_transport& t) noexcept : t_(t) {}
    limits query() const noexcept override { return t_.net_.two_sided().limits(); }
    bool send(rank_t, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept override;
    bool receive(message& out) noexcept override;

   private:
    message_transport& t_;
  };

  message_transport() = default;
  status start(const open_params&, std::unique_ptr<link>);
  bool arm_all() noexcept;
  void look_when_due(std::size_t submitted) noexcept;
  std::chrono::nanoseconds patience() const noexcept;
  void end_sleep() noexcept;                   // of this rank, which is armed

  capabilities caps_;
  rank_t rank_ = 0;
  std::uint32_t size_ = 1;
  sleeper sleep_;                // upon the link's descriptor, and the processes and liveness connections of peers
  region_table regions_;
  messenger net_{regions_, sleep_};
  doze_word doze_;
  two_sided_calls two_sided_{*this};
  std::optional<ip_multicast> ip_;            // none on a fabric of one host
  bool woken_ = false;                        // armed, but there was something to wake up for
  std::uint32_t turns_ = 0, submitted_ = 0;   // since the last look for deaths
};

}  // namespace tutti::messages

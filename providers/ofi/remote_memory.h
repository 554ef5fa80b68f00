// Memory of peers reached by libfabric's remote keys (FI_RMA). On some libraries that was seen to work with nobody's help at
// the target (remote_trial.cpp). On the others the target's program has to run anyhow, and one message does as much as a write
// (providers/messages/transport.h), unless it is long: tcp and net move a long payload from memory to memory, a message from
// buffer to buffer. There FI_ORDER_SAW is asked for, by which libfabric's manual has sends that follow a write arrive behind
// it; and while a write waits to be handed over, no message is (ofi_link::send()). Not on udp: nothing proves there whose a
// write is, nor that its datagrams were not replaced. Not on shm: quirks.h, answers in order.
//
// Order, where nobody's help is needed. Of a write no longer than what the library promises for FI_ORDER_WAW and
// FI_ORDER_RAW, libfabric's manual says that writes and reads towards the same peer that were handed over later take effect
// later. So the word behind a payload is simply the next write, whether or not the payload is still under way (in_order());
// and to know that all writes lie in the peer's memory, a word of it is read behind them: when that is here, they are there
// (flush()). That counts on their being handed over in the order in which they were taken: what the library has no room for
// waits in a line of its connection, and whatever comes later waits behind it.
//
// A write that has no such promise asks for FI_DELIVERY_COMPLETE instead: when it is complete, it is in memory. The
// transport holds back signals until then, and a flush waits in the line until none of these is under way.
//
// Whoever sleeps is rung when a look at its doze word, behind the signal, finds it asleep. Without FI_ORDER_RAW that look can
// come too early, and the end of the peer's longest sleep mends it.
//
// Memory here. Small writes are injected. What the library wants to know beforehand (FI_MR_LOCAL) is looked for among the
// regions, then copied if it is short, then registered for this one operation.
//
// Atomics stay messages: those of an adapter are not atomic to a CPU's, on the others the target's program does them.
#pragma once
#include <rdma/fi_rma.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "providers/messages/transport.h"
#include "providers/ofi/context.h"
#include "providers/ofi/send_window.h"

namespace tutti::ofi {

using messages::frame;
using messages::messenger;
using messages::peer;
using messages::reaching;

enum class asked : std::uint8_t { receive, send, reach };

struct ticket {                    // what libfabric hands back
  fi_context2 context;             // first
  asked what = asked::reach;
};

struct registered_memory;
struct remote_key {                   // as it travels
  std::uint64_t key, base;
};
struct transfer;

struct connection {                // what peer::line points to
  fi_addr_t address = FI_ADDR_UNSPEC;
  transfer* head = nullptr;        // what waits to be handed to libfabric, in order
  transfer* tail = nullptr;
  std::uint32_t unordered = 0;     // writes under way that promise no order
  std::uint32_t sending = 0;       // messages that libfabric sends from its own buffers
  send_window window;              // how many that may be
  connection* next = nullptr;      // of those in whose line something waits
  bool waits = false;              // it is one of these
};

struct transfer : ticket {
  enum class kind : std::uint8_t { write, read, flush };
  transfer* next = nullptr;        // free, or behind it in the line
  frame* f = nullptr;              // null: free, or nobody waits for it any more
  connection* line = nullptr;
  kind how{};
  bool ordered = false;
  bool posted = false;             // in libfabric's hands
  bool ended = false;              // by the end of its connection
  std::byte* here = nullptr;
  std::byte* result = nullptr;     // of a read by way of the landing
  std::uint64_t there = 0, key = 0;
  std::uint32_t left = 0, piece = 0;
  void* descriptor = nullptr;      // of what is here
  owned<fid_mr> registered;        // for this one operation
  std::byte* landing = nullptr;    // some bytes of its own, which the library knows
  void* landing_descriptor = nullptr;
};

class remote_memory final : public messages::one_sided {
 public:
  explicit remote_memory(handles&) noexcept;
  ~remote_memory() override;
  status open();
  status try_alone(fi_addr_t self);                          // remote_trial.cpp
  // The same where the target's program drives it: a write to this endpoint is there when a message that followed it is.
  status try_before(fi_addr_t self, const std::function<status()>& message);
  bool alone() const noexcept override { return alone_; }
  void start(messenger& net) noexcept { net_ = &net; }

  result<void*> register_region(std::span<std::byte>, std::vector<std::byte>& key) override;
  void deregister_region(void* registered) noexcept override;
  void hide(void* registered) noexcept override;
  bool lingers() const noexcept override { return !wants_to_know(); }
  void* unlock(peer&, std::span<const std::byte> key) noexcept override;
  void forget(void* unlocked) noexcept override;
  reaching put(frame&, void* unlocked, std::uint64_t offset, const std::byte* from, std::uint32_t bytes, status& why) noexcept override;
  reaching get(frame&, void* unlocked, std::uint64_t offset, std::byte* to, std::uint32_t bytes, status& why) noexcept override;
  void fence(peer&) noexcept override {}
  bool in_order(std::uint32_t bytes) const noexcept override { return std::min<std::uint64_t>(bytes, longest_) <= longest_ordered_; }
  reaching flush(frame&, void* unlocked) noexcept override;

  void progress() noexcept;                                  // offers what waits
  void completed(transfer&, const status&) noexcept;
  void closed(connection&) noexcept;                         // what is under way there ends with the next progress()
  void unbind() noexcept;                                    // what is registered, from the endpoint, which is about to close
  bool rests() const noexcept { return !any_ended_; }

 private:
  struct chunk;
  bool wants_to_know() const noexcept;                       // what memory operations name here (FI_MR_LOCAL)
  result<owned<fid_mr>> registration(const void* at, std::size_t bytes, std::uint64_t access);
  bool grow() noexcept;
  transfer* new_transfer(frame&) noexcept;                   // null: out of memory
  void free(transfer&) noexcept;
  status make_known(transfer&) noexcept;
  reaching begin(transfer::kind, frame&, std::uint64_t key, std::uint64_t there, std::byte* here, std::uint32_t bytes,
                 status& why) noexcept;
  reaching lost(const frame&, ssize_t error, const char* what) noexcept;
  ssize_t post(transfer&) noexcept;
  void joins(transfer&) noexcept;                            // its line
  void leaves(transfer&) noexcept;
  bool offer(connection&) noexcept;                          // false: its line is empty
  void ends(transfer&, const status&) noexcept;
  void tell_ended() noexcept;

  handles& ofi_;
  messenger* net_ = nullptr;
  bool alone_ = false;
  std::uint64_t longest_ = 0;                                // of one operation
  std::uint64_t longest_ordered_ = 0;                        // 0: none is
  std::uint32_t inject_bytes_ = 0;
  std::vector<std::unique_ptr<chunk>> chunks_;
  transfer* free_ = nullptr;
  connection* waiting_ = nullptr;                            // connections in whose lines something waits
  bool any_ended_ = false;                                   // and was not told yet
  std::multimap<const std::byte*, registered_memory*> registered_;
  std::shared_ptr<void> tried_;                              // what a trial that did not end may still write to
};

}  // namespace tutti::ofi

// What a vendor's library has to offer so that the contract can be kept upon it by messages alone (transport.h): a link
// carries them between ranks and says when connections are lost. Everything else is done once, in this folder.
//
// A link keeps this promise: messages to one peer arrive as they were handed over, in that order (unless it `reorders`), each
// at most once, or the connection is reported as lost. It never holds on to the memory of a message that it has `taken`.
// It need not know whose a message is that it brings: messenger::receive() finds that out.
//
// Calls come from one thread at a time. A link calls its transport back (messenger, "for the link") only from
// within its own functions; what it must not do there is said with each function.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/own_time.h"
#include "core/transport/offload.h"
#include "core/transport/transport.h"
#include "providers/messages/one_sided.h"
#include "providers/messages/wire.h"

namespace tutti::messages {

struct peer;
class messenger;

enum class sending : std::uint8_t {
  taken,   // on its way; header and payload may be reused
  kept,    // the link reads header and payload until it calls sent(); until then this peer gets no other message
  full,    // nothing was done; offer it again after progress()
  failed,  // suspect() was called
};

struct link_traits {
  const char* name = "";                 // of the vendor's library, for texts
  capabilities caps;                     // what all links have in common is filled in by the transport
  std::uint32_t piece_bytes = 0;         // of payload in one message, at most
  bool keeps = true;                     // send() may answer `kept`
  bool shared_memory = false;            // peers on this host may map memory from allocate()
  bool only_this_host = false;
  bool tells_losses = true;              // connection_lost() or suspect() is called though nothing is to be sent
  bool reorders = false;                 // a message may arrive before an earlier one, which then follows
  bool forgeable = false;                // it sends datagrams, parts of which an outsider could replace
  // Bounds of one sleep, against wake-ups that the library loses; before the first connection, and after.
  std::chrono::nanoseconds longest_sleep_alone = std::chrono::milliseconds{50};
  std::chrono::nanoseconds longest_sleep = std::chrono::milliseconds{50};
};

class link {
 public:
  link() = default;
  link(const link&) = delete;
  link& operator=(const link&) = delete;
  virtual ~link() = default;

  virtual const link_traits& traits() const noexcept = 0;
  virtual status start(messenger&) = 0;  // called once, before anything below
  virtual result<std::vector<std::byte>> address() = 0;
  virtual std::uint32_t ip_address() const noexcept { return 0; }  // IPv4's, at which it hears its peers; 0: many, or none

  // Makes a connection and sets peer::line. May be lazy: what cannot be reached may show later, as a lost connection.
  virtual status open(peer&, std::span<const std::byte> address) noexcept = 0;
  virtual void close(peer&) noexcept = 0;        // clears peer::line; what is under way may be lost
  virtual void peer_died(std::span<const std::byte> address) noexcept { (void)address; }  // its process, on this host, is dead
  // Without `may_keep` what it would keep is `full`.
  virtual sending send(peer&, const message&, const std::byte* payload, std::uint32_t bytes, bool may_keep) noexcept = 0;

  virtual one_sided* reach() noexcept { return nullptr; }  // what else it can do; asked once, after start()

  virtual unsigned progress() noexcept = 0;      // calls receive(), sent(), suspect() and connection_lost(); events
  virtual offload* offloader() noexcept { return nullptr; }
  // Becomes readable when progress() would find something that came after arm() was true.
  virtual int fd() const noexcept = 0;
  virtual bool arm() noexcept = 0;

  // Leaving: waits until what was taken has left this process; then until the library can be closed, or false if it
  // cannot and its handles have to be left to the end of the process.
  virtual void push_out(own_time longest) noexcept = 0;
  virtual bool settle(own_time longest) noexcept { return (void)longest, true; }
  virtual void abandon() noexcept {}             // settle() said false: the destructor must not close the library
  // The last call but one_sided::deregister_region(). Nothing of the library's, no thread of its own either, touches memory of the
  // transport or of its callers when it has returned.
  virtual void let_go() noexcept {}
};

// A link's connections, which peer::line points to. They stay where they are until the link ends: its library may name one
// that was closed.
template <class T>
class connection_list {
 public:
  result<T*> add(rank_t towards) noexcept {
    try {
      all_.push_back(std::make_unique<T>());
      return all_.back().get();
    } catch (...) {
      return status{errc::no_resource, "no memory for a connection", towards};
    }
  }

 private:
  std::vector<std::unique_ptr<T>> all_;
};

}  // namespace tutti::messages

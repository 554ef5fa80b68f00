// What a link may offer besides messages: reaching into a peer's memory (RDMA). transport.h says what the transport does by
// it, and what it keeps doing by messages.
//
// put() and get() may be under way when they return; the link then calls messenger::reached() once for each,
// from its progress(), also when the connection is lost or closed. A link keeps what its library has no room for: the
// transport bounds how much that is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace tutti::messages {

struct frame;
struct peer;

enum class reaching : std::uint8_t {
  done,       // handed to the fabric, and its memory here may be reused; for a flush: there was nothing to wait for
  under_way,  // reached() will be called
  refused,    // nothing was done; `why` says what is wrong with this operation
  lost,       // nothing was done; suspect() was called
};

class one_sided {
 public:
  virtual ~one_sided() = default;

  // True: with nobody's help at the target. False: the target's program drives it, as it drives messages, and the library
  // moves payloads straight between the two ranks' memory: payloads and gets longer than a message go that way, and no
  // more. A message that the link takes after such a put arrives after it.
  virtual bool alone() const noexcept { return true; }

  // Memory of this rank that peers may reach from now on; `key` is what they need to know. Null handle: never.
  virtual result<void*> register_region(std::span<std::byte> memory, std::vector<std::byte>& key) = 0;
  virtual void deregister_region(void* registered) noexcept = 0;
  // From now on no operation of this rank upon unregistered memory goes by it: a link that looks for regions by address.
  virtual void hide(void* registered) noexcept { (void)registered; }
  // True: what peers had begun may go on until link::let_go(), as where a library does the copying: memory is deregistered after
  // that. An adapter has forgotten it when deregister_region() returns.
  virtual bool lingers() const noexcept { return false; }

  // A peer's key, made usable upon the connection that it has now. Null: it cannot be reached by that.
  virtual void* unlock(peer&, std::span<const std::byte> key) noexcept = 0;
  virtual void forget(void* unlocked) noexcept = 0;  // no operation by it is under way

  // `offset` counts from the start of the registered memory. The frame says towards whom, and is what reached() gets.
  virtual reaching put(frame&, void* unlocked, std::uint64_t offset, const std::byte* from, std::uint32_t bytes,
                       status& why) noexcept = 0;
  virtual reaching get(frame&, void* unlocked, std::uint64_t offset, std::byte* to, std::uint32_t bytes,
                       status& why) noexcept = 0;
  // What put() and get() have `done` before is in effect at that peer before what they do after.
  virtual void fence(peer&) noexcept = 0;
  // True: a put of so many bytes is fenced off like that even while it is under way.
  virtual bool in_order(std::uint32_t bytes) const noexcept { return (void)bytes, false; }
  // Reached when all that was put before lies in the peer's memory. Never refused. `unlocked`: a key to a word there that
  // may be read.
  virtual reaching flush(frame&, void* unlocked) noexcept = 0;
};

// Memory that the fabric did not take, in the library's words and with the remedy.
inline status not_registered(std::size_t bytes, const char* why, std::int64_t native) {
  return {errc::no_resource, worded("registering ", bytes, " bytes failed (", why,
                                    "); is the limit of locked memory too low? (ulimit -l)"), no_rank, native};
}

}  // namespace tutti::messages

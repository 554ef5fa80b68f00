// Short puts without a request that follow one another at the target, made into one (Huang 2005, 3.3, and their reference 4).
//
// The first put of a series goes as it is. One that begins in the target's memory where the last one ended shows that there is a
// series: it is copied, and held back for those that follow. What is held goes as one put, when a short put goes elsewhere, before any
// signal and any flush, when no more than fits is there, and in any progress of the rank. So a put alone is never late, and of a series
// what is late are the last bytes, 16 KiB at most, and no later than the next call that makes progress or promises something of puts.
//
// Why nobody can see it. Puts have no order among themselves nor towards gets and atomics; what orders them are signals, towards the
// same rank, and flushes (clauses 4 and 5 of transport.h), and before each of these what is held is handed to the transport: so it was
// taken earlier. Whoever has done neither knows nothing of when a put arrives. The source may be changed once the put is complete here,
// which the flush tells; the copy is made in the call, and lies in a slot of packing memory that counts as in use from the moment when
// the joined put is taken until it is complete. Until it is taken nobody else asks for a slot: operations with layouts, who do, hand over
// what is held first. An error is told where those of operations without a request are: in the count of window and rank, by their flush.
//
// Where the target's memory is mapped, or an operation costs no more than a copy, nothing is held.
#pragma once
#include <cstdint>
#include <span>

#include "core/job/job.h"
#include "core/transport/transport.h"
#include "messaging/packing_memory.h"

struct tutti_context;
struct tutti_window;

namespace tutti {

class joined_puts final : public background {
 public:
  joined_puts() = default;
  joined_puts(const joined_puts&) = delete;
  joined_puts& operator=(const joined_puts&) = delete;
  ~joined_puts();

  void serve(tutti_context*) noexcept;  // before anything else

  // True: the put is held, and done with as far as the call is concerned. False: it goes by itself.
  bool take(tutti_window* w, std::uint32_t rank, std::uint64_t offset, const void* source, std::size_t bytes) noexcept {
    if (bytes > longest_) [[likely]] return false;  // where nothing is held, anything is
    return take_short(w, rank, offset, source, bytes);
  }
  // Hands over what is held. May wait for room in a queue. Errors: that of such a wait.
  status release() noexcept { return holds_ ? release_now() : status{}; }
  void forget(const tutti_window*) noexcept;  // it goes: what is held for it is dropped, as nobody was promised that it comes
  void advance() noexcept override { (void)offer(); }

 private:
  bool take_short(tutti_window*, std::uint32_t rank, std::uint64_t offset, const void* source, std::size_t bytes) noexcept;
  [[gnu::cold]] status release_now() noexcept;
  bool offer() noexcept;  // true: nothing is held any more
  std::size_t longest_towards(const tutti_window*, std::uint32_t rank) const noexcept;

  tutti_context* ctx_ = nullptr;
  std::size_t longest_ = 0, near_ = 0, far_ = 0;  // bytes of a put that is held: at all, and towards ranks of this node and others
  tutti_window* window_ = nullptr;                // the last short put went there,
  std::uint32_t rank_ = 0;
  std::uint64_t end_ = 0;                         // and ended here
  bool holds_ = false;
  std::span<std::byte> slot_;
  std::size_t used_ = 0;
  completion* done_ = nullptr;
};

}  // namespace tutti

// Hp calls that go to the fabric at the call: unbuffered, from where the source lies to where the data belong.
//
// Reach. A process adds its part of an area to the transport in the sync that registers it, and the key goes to the
// others as a record among its puts of that sync. So whoever can name the area can reach it, and no exchange is needed.
// Where the transport does not take the memory no key is sent, and hp calls upon it are packed like others.
//
// Who takes them. All but processes with which memory is shared, but not what programs bring along: there the kernel would
// have to copy, at three times the cost of the slots of a channel, and what is small costs less packed than its call.
//
// When they may go. A process that has left the sync of superstep s - 1 may meet one that has not: which still serves
// gets of s - 1 from its memory, and places puts of s - 1 in it. What came then would be read by those gets, or be
// overwritten. So nothing goes to a process before it is known to have finished the sync of s - 1. It says so in a word
// of its window, which is read in place where it can be, and sends the word to those that asked in that sync: those that
// have made hp calls to it lately, and all when areas were registered. What must wait, for this or because the fabric is
// full, is offered again at the next hp call and in the sync. That ends: to finish the sync of s - 1 nobody needs anything
// of superstep s. But a store wakes nobody, so who has not asked, and does not read that it is so, does not wait: the call
// is packed.
//
// Why all is over at the end of the superstep. Puts: the metadata word is a signal that is not visible before anything that
// was taken earlier for that process (clause 5), and is awaited from whoever put ahead also where flags go another way
// than by words. Gets: they are over before the metadata words leave, and nobody leaves the sync, and changes what they read,
// without those.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "bsp/outbox.h"
#include "bsp/peer_memory.h"
#include "bsp/placer.h"
#include "bsp/registered_memory.h"
#include "bsp/words.h"
#include "core/transport/ops.h"

namespace tutti::bsp {

class hp_calls {
 public:
  // Once the windows are there.
  hp_calls(const context&, const registrar& areas, registered_memory&);
  ~hp_calls();
  hp_calls(const hp_calls&) = delete;
  hp_calls& operator=(const hp_calls&) = delete;

  // Whether calls to any other process may go at the call; where none may, nothing but go() need be called.
  bool any() const noexcept { return any_; }
  // A call upon an area, of bytes that lie inside. True: it went, or waits to go; false: it is to be packed.
  bool go(call_kind, std::uint32_t pid, std::uint32_t area, void* mine, std::uint64_t offset, std::uint64_t bytes);

  // In this order, in each sync:
  status finish_gets();                                 // before the metadata words: all is taken, and gets are over
  status tell_areas(std::vector<outbox>&);              // those that are about to be registered
  std::uint8_t flags(std::uint32_t pid, bool leaving) noexcept;  // to be told with the others to this process
  void on_area(std::uint32_t from, const area_head&, std::span<const std::byte> key);
  status finish_puts();                                 // before sources may change
  void forget_areas() noexcept;                         // those that are no more
  void tell_end(std::span<const std::uint8_t> asked);   // by the flags of all: that this process has finished the sync

 private:
  // A peer's part in an area, as it told.
  struct far_area {
    std::vector<std::byte> key;            // empty: not told
    segment_id segment{};
    bool attached = false;
  };
  struct peer {
    bool takes = false;                    // calls go to it at the call
    bool end_is_read = false;              // which sync it has finished is read in its window; else it must be asked
    bool end_is_told = false;              // it was asked in the last sync
    bool put = false;                      // hp puts went, or wait, in this superstep
    std::uint8_t lately = 0;               // counts down the syncs since calls were made to it
    const std::byte* end = nullptr;        // the word that says which
    std::vector<far_area> areas;           // by number
    std::vector<rma_op> ops;               // what could not go yet,
    std::size_t taken = 0;                 // from here on
  };

  bool attach(std::uint32_t pid, far_area&);
  void forget(far_area&) noexcept;
  bool has_ended(const peer& p) const noexcept;
  bool offer(peer&) noexcept;
  bool offer_ends() noexcept;

  const context& c_;
  const registrar& areas_;
  registered_memory& registered_;
  std::vector<peer> peers_;
  bool any_ = false;
  bool waits_ = false;                     // calls were made in this superstep
  completion puts_, gets_;
  std::vector<rma_op> ends_;               // words to those who asked
  std::size_t ends_taken_ = 0;
};

}  // namespace tutti::bsp

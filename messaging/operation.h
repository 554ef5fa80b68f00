// A send or a receive under way. Lives in a pool, where its place and generation name it on the wire: what a peer says of an
// operation that is over is known for that.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "core/job/attachment_cache.h"
#include "core/job/registration_cache.h"
#include "core/transport/transport.h"
#include "messaging/matching.h"
#include "messaging/outgoing.h"
#include "messaging/parts.h"
#include "messaging/scattered.h"

namespace tutti {
class team;
}

namespace tutti::messaging {

// What a receive or a probe has found: tutti_envelope_t of the C API.
struct envelope {
  std::uint32_t source = 0;  // index in the team
  std::uint32_t reserved = 0;
  std::uint64_t tag = 0;
  std::size_t bytes = 0;
};

// How data travel where the envelope went alone.
enum class way : std::uint8_t { none, get, put, staged, stream };
inline constexpr unsigned ways = 5;

enum class stage : std::uint8_t {
  free,
  // sends
  queued,      // waits for the fabric, or for credit
  announced,   // the receiver has not matched it yet
  offering,    // the receiver gets, and is told of part after part
  putting,     // into the receiver's memory
  flushing,    // the puts
  staging,     // chunks travel through the staging memory
  streaming,   // as small messages, in turn
  // receives
  posted,
  coming,      // fragments of an eager message
  getting,     // from the sender's memory
  awaiting,    // the sender puts, sends chunks, or streams
  // both
  ending,      // over, but operations of the transport may still touch the buffers
};

// What every operation has; one that is posted has nothing else. The base `posted_receive` has the team and the tag, of sends too.
struct envelope_part : outgoing, posted_receive {
  peer* with = nullptr;          // null: a receive from any source that has no message yet
  tutti::team* group = nullptr;
  std::uint32_t member = ~std::uint32_t{0};  // of the other end, in the group
  stage at = stage::free;
  way by = way::none;
  bool sends = false;
  bool sync = false;             // it is complete when it was matched
  bool copied = false;           // it is complete for its caller: `data` is a copy
  bool counted = false;          // in its peer's interest
  bool active = false;           // is stepped in every progress
  bool note = false;             // a message for the other end waits in the queue: which, its owner knows
  bool pieces = false;           // the data lie as `where` says, and `data` is a buffer that they are packed in, or null
  bool parted = false;           // what `by_parts` holds is of this operation
  std::byte* data = nullptr;
  std::uint64_t room = 0;        // bytes of the buffer
  std::uint64_t total = 0;       // bytes of the message
  std::uint64_t buffer = 0;      // bytes of the buffer that is taken
  envelope* found = nullptr;     // where a receive's goes; may be null
  completion* done = nullptr;    // whose; finished when the operation is over
  std::uint32_t index = 0, generation = 0;
};

// What it has besides while its data travel. In a free operation it is as new.
struct transfer_part {
  std::uint64_t wanted = 0;      // of the message's bytes, those that travel
  std::uint64_t moved = 0;       // that were handed to the transport, or copied
  std::uint64_t upto = 0;        // that can be reached by `segment`, of those wanted
  std::uint64_t arrived = 0;     // chunks that the other end has taken
  std::uint64_t other = 0;       // how the other end names its operation
  segment_id segment{};          // of the memory at the other end
  attachment_cache::use reached;              // it is kept,
  bool attached = false;                      // or for this operation alone
  registration_cache::use registered;         // of the memory here, unless it is a window's
  bool lasting = false;                       // its key may come again
  std::span<const std::byte> key;             // of the memory here, for the other end
  std::uint64_t offset = 0;                   // of the memory here in its region
  std::uint64_t far_offset = 0;               // and of that at the other end
  region_id local = unregistered_memory;      // what memory here is named by, for transfers under way,
  std::uint64_t local_offset = 0, local_upto = 0;  // from which offset on, and up to which byte of the message
  std::uint32_t slots[4] = {};   // of the staging memory
  std::uint32_t slot_count = 0, filled = 0, told = 0;  // chunks
};

struct operation : envelope_part, transfer_part {
  static constexpr std::uint32_t any = ~std::uint32_t{0};

  completion moving;             // operations of the transport
  status outcome;                // while it is ending
  operation *before_active = nullptr, *after_active = nullptr;
  std::unique_ptr<scattered> where;  // made when first needed, as the parts are
  std::unique_ptr<parts> by_parts;

  std::uint64_t name() const noexcept { return std::uint64_t{generation} << 32 | index; }
};

// Objects of one type that are reused, and named by their place. T has index, generation and `next` as outgoing has.
class operation_pool {
 public:
  operation* take() noexcept {  // null: out of memory
    if (!free_ && !grow()) return nullptr;
    operation* const o = free_;
    free_ = static_cast<operation*>(o->next);
    o->next = nullptr;
    return o;
  }
  void give(operation& o) noexcept {
    ++o.generation;
    o.at = stage::free;
    o.next = free_;
    free_ = &o;
  }
  operation* find(std::uint64_t name) noexcept {
    const auto index = static_cast<std::uint32_t>(name);
    if (index / a_slab >= slabs_.size()) return nullptr;
    operation& o = slabs_[index / a_slab][index % a_slab];
    return o.at != stage::free && o.name() == name ? &o : nullptr;
  }
  template <class F>
  void each(F&& f) {  // that is in use
    for (std::size_t s = 0; s < slabs_.size(); ++s)
      for (std::uint32_t i = 0; i < a_slab; ++i)
        if (slabs_[s][i].at != stage::free) f(slabs_[s][i]);
  }
  std::size_t bytes() const noexcept { return slabs_.size() * a_slab * sizeof(operation); }

 private:
  static constexpr std::uint32_t a_slab = 64;
  [[gnu::cold]] bool grow() noexcept {
    try {
      slabs_.reserve(slabs_.size() + 1);
      slabs_.push_back(std::make_unique<operation[]>(a_slab));
    } catch (const std::bad_alloc&) {
      return false;
    }
    const auto first = static_cast<std::uint32_t>((slabs_.size() - 1) * a_slab);
    for (std::uint32_t i = a_slab; i-- > 0;) {
      operation& o = slabs_.back()[i];
      o.index = first + i;
      o.next = free_;
      free_ = &o;
    }
    return true;
  }

  std::vector<std::unique_ptr<operation[]>> slabs_;
  operation* free_ = nullptr;
};

}  // namespace tutti::messaging

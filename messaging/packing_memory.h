// Registered memory for what operations read after the call that begins them: data that were packed, and lists of slices. It is
// made when it is first wanted.
//
// Who owns a slot when. begin() takes a slot for a caller and names its owner, the completion in which the operations that
// use the slot count. The slot is the owner's until that completion is idle, since then none of these operations is under way.
// The owner's memory outlives this object, but may serve another request later, which may take long; so an owner also has a
// ticket, and with the ticket gone its slots are free as well: a ticket goes only after its completion was idle.
// A caller holds data in a slot before the operations upon them count, while its completion may be idle; so begin() is called only
// when nothing that was put into slots still waits to be submitted.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "core/transport/transport.h"

namespace tutti::messaging {

class packing_memory {
 public:
  static constexpr std::size_t slots = 32, slot_bytes = 16 * 1024;  // 512 KiB
  struct owner {
    completion* done = nullptr;
    const std::uint64_t* ticket = nullptr;  // null: the completion is of no other use
    std::uint64_t issued = 0;               // its ticket's value
    bool finished() const noexcept { return !done || done->idle() || (ticket && *ticket != issued); }
  };

  packing_memory() noexcept = default;
  packing_memory(const packing_memory&) = delete;
  packing_memory& operator=(const packing_memory&) = delete;
  ~packing_memory() {
    if (net_) net_->drop(region_);
  }

  // False: it cannot be had, now or later.
  bool ready(transport& net) noexcept { return net_ || (!failed_ && make(net)); }
  region_id region() const noexcept { return region_; }
  std::uint64_t offset_of(const std::byte* p) const noexcept { return static_cast<std::uint64_t>(p - memory_.data()); }

  // A slot, slot_bytes long and aligned to 64. Empty: none is free, until some owner's operations complete.
  std::span<std::byte> begin(const owner& o) noexcept {
    for (std::size_t i = 0; i < slots; ++i, next_ = (next_ + 1) % slots) {
      if (!owners_[next_].finished()) continue;
      owners_[next_] = o;
      const auto slot = memory_.subspan(next_ * slot_bytes, slot_bytes);
      next_ = (next_ + 1) % slots;
      return slot;
    }
    return {};
  }
  // The owner's ticket is about to go though operations are under way.
  void keep_for(const completion* done) noexcept {
    for (owner& o : owners_)
      if (o.done == done) o.ticket = nullptr;
  }

 private:
  [[gnu::cold]] bool make(transport& net) noexcept;

  transport* net_ = nullptr;
  bool failed_ = false;
  region_id region_{};
  std::span<std::byte> memory_;
  std::size_t next_ = 0;
  std::array<owner, slots> owners_{};
};

}  // namespace tutti::messaging

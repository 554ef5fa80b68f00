// The areas that the processes have registered (bsp_push_reg, bsp_pop_reg), and who is meant by an address.
//
// Every process pushes and pops in the same order, so an area has the same number in all of them, and the number
// stands for the area on the wire. Numbers of popped areas are used again, the one that was freed last first: the same
// everywhere, since all free them in the same order. What a process pushed and popped in a superstep, and how many bytes
// it has of each area, goes to all in the sync in which it takes effect (agreement.h). So processes that did not
// keep the rule find out there, before anything is written to a wrong place, and a call beyond what another process
// registered is refused where it is made, before anything is packed.
//
// An address may be registered several times; the latest counts, and popping it brings back the one before (Hill 1998,
// 3.1). NULL is registered by processes that have no part in an area. A process may have NULL in several areas, and then
// the address does not say which of them it pops: that is the one that the others pop in the same call. Where all pop
// NULL it is the newest area in which all have NULL. So such a pop is resolved in the sync, when all pops are known.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::bsp {

struct area {
  std::byte* base = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t serial = 0;  // its call of bsp_push_reg, counted from 1: the same in all processes
  std::uint32_t below = 0;   // the area that this address named before; no_area: none
  std::uint32_t nulls = 0;   // processes that have NULL in it
  bool live = false, leaves = false;     // leaves: a pending pop is of this one
  std::vector<std::uint64_t> elsewhere;  // what each process registered; empty: all as many bytes
};

class registrar {
 public:
  static constexpr std::uint32_t no_area = ~std::uint32_t{0};

  registrar();

  // The number of the area that this address names now, or no_area. One multiplication and one cache line.
  std::uint32_t find(const void* address) const noexcept {
    for (std::size_t i = home(address);; i = (i + 1) & mask_) {
      const slot& s = slots_[i];
      if (s.top == no_area) return no_area;
      if (s.address == address) return s.top;
    }
  }
  // By number, as it came over the wire; null if no such area is registered here.
  const area* at(std::uint32_t number) const noexcept {
    return number < areas_.size() && areas_[number].live ? &areas_[number] : nullptr;
  }

  // Also one that is not live yet; null if there is none of this number.
  const area* known(std::uint32_t number) const noexcept {
    return number < areas_.size() && areas_[number].serial ? &areas_[number] : nullptr;
  }

  // What process `pid` has of an area, as far as it has told.
  std::uint64_t bytes_at(std::uint32_t number, std::uint32_t pid) const noexcept {
    const area& a = areas_[number];
    return a.elsewhere.empty() ? a.bytes : a.elsewhere[pid];
  }

  // A call of push or pop whose effect is still to come.
  struct change {
    const void* address;
    std::uint64_t serial;   // of the newest push, this one included
    std::uint32_t number;   // no_area: a pop of NULL of which nobody has told the area yet
    std::uint32_t by;       // who told it
    bool pushes;
  };
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};

  // Take effect with apply(), at the end of the sync.
  void push(const void* address, std::uint64_t bytes);
  bool pop(const void* address);  // false: nothing is registered at this address, nor about to be
  const std::vector<change>& pending() const noexcept { return pending_; }
  bool changed() const noexcept { return !pending_.empty(); }
  const area& area_of(const change& c) const noexcept { return areas_[c.number]; }  // also one that is not live yet
  std::uint32_t number_of(const area& a) const noexcept { return static_cast<std::uint32_t>(&a - areas_.data()); }

  // What process `pid` of `processes` told of its pending calls: at a push, its bytes of the area; at a pop, what it popped
  // (not called where it told of NULL). False: that is not the area which is popped here, or was told by another.
  void hear_push(std::uint32_t call, std::uint32_t pid, std::uint32_t processes, std::uint64_t bytes, bool null);
  bool hear_pop(std::uint32_t call, std::uint32_t pid, std::uint32_t number);
  // When all have told: finds the areas of pops of NULL. Returns the first call that cannot be, or how many there are.
  std::uint32_t resolve(std::uint32_t processes);
  void apply();
  // Where none follows: the calls have no effect. Nothing is registered afterwards.
  void drop_pending() noexcept { pending_.clear(); }

 private:
  struct slot {
    const void* address = nullptr;
    std::uint32_t top = no_area;  // no_area: the slot is free
  };
  std::size_t home(const void* address) const noexcept {
    return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15u) >> 32) & mask_;
  }
  void name(const void* address, std::uint32_t number);  // no_area: it names nothing any more

  std::vector<slot> slots_;      // a power of two, at most half full
  std::size_t mask_ = 0, used_ = 0;
  std::vector<area> areas_;
  std::vector<std::uint32_t> free_;
  std::vector<change> pending_;
  std::uint64_t serial_ = 0;     // of the newest push
  std::uint64_t nulls_ = 0;      // areas in which this process has NULL when all pending calls have taken effect
};

}  // namespace tutti::bsp

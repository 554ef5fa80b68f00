// The areas that the processes have registered (bsp_push_reg, bsp_pop_reg), and who is meant by an address.
//
// Every process pushes and pops in the same order, so an area has the same number in all of them, and the number
// stands for the area on the wire. Numbers of popped areas are used again, the one that was freed last first: the same
// everywhere, since all free them in the same order. A hash of the changes travels with the sync in which they take
// effect, and processes that did not keep the rule find out there, before anything is written to a wrong place.
//
// How many bytes each has of an area is told to all in the sync in which it is pushed, so that a call beyond them is
// refused where it is made, by the name and the values that the program gave it, and before anything is packed.
//
// An address may be registered several times; the latest counts, and popping it brings back the one before (Hill 1998,
// 3.1). NULL is registered by processes that have no part in an area.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::bsp {

struct area {
  std::byte* base = nullptr;
  std::uint64_t bytes = 0;
  std::uint32_t below = 0;  // the area that this address named before; no_area: none
  bool live = false;
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

  // What process `pid` has of a live area.
  std::uint64_t bytes_at(std::uint32_t number, std::uint32_t pid) const noexcept {
    const area& a = areas_[number];
    return a.elsewhere.empty() ? a.bytes : a.elsewhere[pid];
  }

  // Take effect with apply(), at the end of the sync.
  void push(const void* address, std::uint64_t bytes);
  bool pop(const void* address);  // false: nothing is registered at this address, nor about to be
  std::uint32_t number_of(const area& a) const noexcept { return static_cast<std::uint32_t>(&a - areas_.data()); }
  bool changed() const noexcept { return !pending_.empty(); }
  std::uint64_t changes() const noexcept { return hash_; }  // of the pending changes; 0: none
  // Of the pending pushes, in their order: mine, and what one of `processes` has told of its own.
  std::uint32_t pushes() const noexcept { return static_cast<std::uint32_t>(pushes_.size()); }
  std::uint64_t pushed_bytes(std::uint32_t push) const noexcept { return pending_[pushes_[push]].bytes; }
  void hear(std::uint32_t push, std::uint32_t pid, std::uint32_t processes, std::uint64_t bytes);
  void apply();
  // The areas that are about to be registered, by what this process pushed: f(number, address, bytes).
  template <class F>
  void each_pushed(F&& f) const {
    for (const change& c : pending_)
      if (c.pushes) f(c.number, c.address, c.bytes);
  }

 private:
  struct slot {
    const void* address = nullptr;
    std::uint32_t top = no_area;  // no_area: the slot is free
  };
  struct change {
    const void* address;
    std::uint64_t bytes;
    std::uint32_t number;
    bool pushes;
    std::vector<std::uint64_t> elsewhere{};  // as in area
  };
  std::size_t home(const void* address) const noexcept {
    return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15u) >> 32) & mask_;
  }
  void name(const void* address, std::uint32_t number);  // no_area: it names nothing any more
  void note(change);

  std::vector<slot> slots_;      // a power of two, at most half full
  std::size_t mask_ = 0, used_ = 0;
  std::vector<area> areas_;
  std::vector<std::uint32_t> free_;
  std::vector<change> pending_;
  std::vector<std::uint32_t> pushes_;  // which of them
  std::uint64_t hash_ = 0;
};

}  // namespace tutti::bsp

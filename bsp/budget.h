// What a process may have of buffers (TUTTI_BSP_MEMORY_MIB): what it packs for others, for two supersteps, and the messages
// that came and had to be copied draw upon one number of bytes. Memory that was taken stays, for the supersteps to come; so
// when one asks for more than is left, what the others have and do not use in this superstep is given back first.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace tutti::bsp {

class budget {
 public:
  explicit budget(std::uint64_t bytes) noexcept : bytes_(bytes) {}

  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t left() const noexcept { return bytes_ - taken_; }
  bool take(std::uint64_t n) {
    if (n > left() && spare_) spare_();
    if (n > left()) return false;
    taken_ += n;
    return true;
  }
  // As many as are preferred, or as are needed at least; 0: not even these.
  std::uint64_t take(std::uint64_t preferred, std::uint64_t needed) {
    return take(preferred) ? preferred : take(needed) ? needed : 0;
  }
  void give(std::uint64_t n) noexcept { taken_ -= n; }
  // Called when more is asked for than is left: gives back what can be.
  void when_short(std::function<void()> spare) { spare_ = std::move(spare); }

  // The end of an error's text.
  std::string remedy() const {
    return std::to_string(bytes_ >> 20) + " MiB that a process may buffer; raise TUTTI_BSP_MEMORY_MIB or communicate less in "
           "one superstep";
  }

 private:
  std::uint64_t bytes_, taken_ = 0;
  std::function<void()> spare_;
};

}  // namespace tutti::bsp

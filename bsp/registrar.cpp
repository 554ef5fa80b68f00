#include "bsp/registrar.h"

#include "core/hash.h"

namespace tutti::bsp {

registrar::registrar() : slots_(64), mask_(63) {}

void registrar::note(change c) {
  if (hash_ == 0) hash_ = hash::start;
  hash_ = hash::add(hash_, std::uint64_t{c.number} << 1 | c.pushes);
  if (c.pushes) pushes_.push_back(static_cast<std::uint32_t>(pending_.size()));
  pending_.push_back(std::move(c));
}

void registrar::hear(std::uint32_t push, std::uint32_t pid, std::uint32_t processes, std::uint64_t bytes) {
  change& c = pending_[pushes_[push]];
  if (c.elsewhere.empty()) {
    if (bytes == c.bytes) return;
    c.elsewhere.assign(processes, c.bytes);
  }
  c.elsewhere[pid] = bytes;
}

void registrar::push(const void* address, std::uint64_t bytes) {
  std::uint32_t number;
  if (free_.empty()) {
    number = static_cast<std::uint32_t>(areas_.size());
    areas_.emplace_back();
    free_.reserve(areas_.size());
  } else {
    number = free_.back();
    free_.pop_back();
  }
  note({address, bytes, number, true});
}

// What the address will name once everything before this call has taken effect: pending pushes from the newest, each
// cancelled by a pop after it, and then what is registered.
bool registrar::pop(const void* address) {
  std::uint32_t number = no_area;
  std::size_t popped = 0;
  for (auto c = pending_.rbegin(); c != pending_.rend() && number == no_area; ++c) {
    if (c->address != address) continue;
    if (!c->pushes) ++popped;
    else if (popped > 0) --popped;
    else number = c->number;
  }
  if (number == no_area) {
    number = find(address);
    for (; popped > 0 && number != no_area; --popped) number = areas_[number].below;
  }
  if (number == no_area) return false;
  note({address, 0, number, false});
  return true;
}

void registrar::apply() {
  for (change& c : pending_) {
    area& a = areas_[c.number];
    if (c.pushes) {
      a = {static_cast<std::byte*>(const_cast<void*>(c.address)), c.bytes, find(c.address), true, std::move(c.elsewhere)};
      name(c.address, c.number);
    } else {
      name(c.address, a.below);
      a = {};
      free_.push_back(c.number);
    }
  }
  pending_.clear();
  pushes_.clear();
  hash_ = 0;
}

void registrar::name(const void* address, std::uint32_t number) {
  if (number != no_area && 2 * (used_ + 1) > slots_.size()) {
    std::vector<slot> old(2 * slots_.size());
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    used_ = 0;
    for (const slot& s : old)
      if (s.top != no_area) name(s.address, s.top);
  }
  std::size_t i = home(address);
  while (slots_[i].top != no_area && slots_[i].address != address) i = (i + 1) & mask_;
  if (number != no_area) {
    used_ += slots_[i].top == no_area;
    slots_[i] = {address, number};
    return;
  }
  if (slots_[i].top == no_area) return;
  --used_;
  // Close the gap: whatever was pushed past it by a collision moves back.
  for (std::size_t j = (i + 1) & mask_; slots_[j].top != no_area; j = (j + 1) & mask_) {
    const std::size_t wanted = home(slots_[j].address);
    if (((j - wanted) & mask_) < ((j - i) & mask_)) continue;
    slots_[i] = slots_[j];
    i = j;
  }
  slots_[i] = {};
}

}  // namespace tutti::bsp

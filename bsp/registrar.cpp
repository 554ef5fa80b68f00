#include "bsp/registrar.h"

namespace tutti::bsp {

registrar::registrar() : slots_(64), mask_(63) {}

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
  pending_.push_back({address, ++serial_, number, nobody, true});
  nulls_ += !address;
  areas_[number] = {.base = static_cast<std::byte*>(const_cast<void*>(address)), .bytes = bytes, .serial = serial_,
                    .nulls = address ? 0u : 1u};
}

// What the address will name once everything before this call has taken effect: pending pushes from the newest, each
// cancelled by a pop after it, and then what is registered.
bool registrar::pop(const void* address) {
  std::uint32_t number = no_area;
  if (!address) {
    if (nulls_ == 0) return false;
    --nulls_;
  } else {
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
  }
  pending_.push_back({address, serial_, number, nobody, false});
  return true;
}

void registrar::hear_push(std::uint32_t call, std::uint32_t pid, std::uint32_t processes, std::uint64_t bytes, bool null) {
  area& a = areas_[pending_[call].number];
  a.nulls += null;
  if (a.elsewhere.empty()) {
    if (bytes == a.bytes) return;
    a.elsewhere.assign(processes, a.bytes);
  }
  a.elsewhere[pid] = bytes;
}

bool registrar::hear_pop(std::uint32_t call, std::uint32_t pid, std::uint32_t number) {
  change& c = pending_[call];
  if (c.number == no_area && number < areas_.size()) c.number = number, c.by = pid;
  return c.number == number;
}

// In the order of the calls: a pop sees what the calls before it leave. That an area which others tell of was pushed
// before this pop they have seen to, since their calls came in the same order.
std::uint32_t registrar::resolve(std::uint32_t processes) {
  for (std::uint32_t i = 0; i < pending_.size(); ++i) {
    change& c = pending_[i];
    if (c.pushes) continue;
    if (c.number == no_area) {
      const area* newest = nullptr;
      for (const area& a : areas_)
        if (a.nulls == processes && !a.leaves && a.serial <= c.serial && (!newest || a.serial > newest->serial)) newest = &a;
      if (!newest) return i;
      c.number = number_of(*newest);
    }
    area& a = areas_[c.number];
    if (a.base != c.address || a.serial == 0 || a.leaves) return i;
    a.leaves = true;
  }
  return static_cast<std::uint32_t>(pending_.size());
}

// NULL names nothing: its areas are not found by address.
void registrar::apply() {
  for (const change& c : pending_) {
    area& a = areas_[c.number];
    if (c.pushes) {
      a.live = true;
      if (!c.address) continue;
      a.below = find(c.address);
      name(c.address, c.number);
    } else {
      if (c.address) name(c.address, a.below);
      a = {};
      free_.push_back(c.number);
    }
  }
  pending_.clear();
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

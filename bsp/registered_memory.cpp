#include "bsp/registered_memory.h"

#include <algorithm>

namespace tutti::bsp {

registered_memory::~registered_memory() {
  for (const registration& r : all_) net_.drop(r.id);
}

result<region_id> registered_memory::add(std::uint32_t number, const area& a) {
  auto id = net_.add({a.base, a.bytes});
  if (id) all_.push_back({number, a.base, a.bytes, *id});
  return id;
}

result<region_id> registered_memory::of(const area& a) {
  for (const registration& r : all_)
    if (r.base == a.base && r.bytes == a.bytes) return r.id;
  return add(areas_.number_of(a), a);
}

void registered_memory::settle() noexcept {
  std::erase_if(all_, [&](const registration& r) {
    const area* const a = areas_.at(r.number);
    if (a && a->base == r.base && a->bytes == r.bytes) return false;
    net_.drop(r.id);
    return true;
  });
}

}  // namespace tutti::bsp

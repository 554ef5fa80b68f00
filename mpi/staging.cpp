#include "mpi/staging.h"

#include <cstring>

namespace tutti::mpi {

std::byte* staging::memory(std::size_t bytes) {
  memory_.push_back(std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(bytes, 1)));
  return memory_.back().get();
}

std::byte* staging::copy_of(const void* from, std::size_t bytes) {
  std::byte* const to = memory(bytes);
  if (bytes > 0) std::memcpy(to, from, bytes);
  return to;
}

const void* staging::input(const void* from, std::size_t count, const type_ref& t) {
  if (t->contiguous) return static_cast<const std::byte*>(from) + t->first();
  std::byte* const packed = memory(count * t->size);
  t->pack(from, count, packed);
  return packed;
}

void* staging::output(void* to, std::size_t count, const type_ref& t, bool filled) {
  if (t->contiguous) return static_cast<std::byte*>(to) + t->first();
  std::byte* const packed = memory(count * t->size);
  if (filled) t->pack(to, count, packed);
  later_.push_back({packed, to, count, t, false});
  return packed;
}

namespace {

void copy_elements(const datatype& t, std::size_t count, const std::byte* from, std::byte* to) {
  t.each(from, count, [&](const std::byte* at, std::size_t n) {
    std::memcpy(to + (at - from), at, n);
    return true;
  });
}

}  // namespace

const void* staging::input_elements(const void* from, std::size_t count, const datatype& t) {
  const std::size_t bytes = count * static_cast<std::size_t>(t.extent);
  std::byte* const own = memory(bytes);
  std::memset(own, 0, bytes);
  copy_elements(t, count, static_cast<const std::byte*>(from), own);
  return own;
}

void* staging::output_elements(void* to, std::size_t count, const type_ref& t) {
  std::byte* const own = memory(count * static_cast<std::size_t>(t->extent));
  later_.push_back({own, to, count, t, true});
  return own;
}

void staging::finish(std::size_t bytes) const {
  for (const unpacking& u : later_)
    if (u.elements) copy_elements(*u.type, u.count, u.from, static_cast<std::byte*>(u.to));
    else u.type->unpack(u.from, bytes, u.to, u.count);
}

}  // namespace tutti::mpi

// The handles of the C API. A handle is the address of a slot with the slot's generation above it, in the 16 bits that user
// addresses do not use. Slots are reused, the longest free first, and never unmapped.
//
// Why a stale handle is known for one. A slot holds the one handle that is valid for it, or that handle with a mark once its
// object was freed; so a call reads memory that is there, whatever became of the object, and compares. The next object in the
// slot has the next generation, hence another handle: a stale one is taken for it only after a multiple of 65,536 more objects
// in that slot. In a child of fork() every slot that lives is marked, before fork() returns there: its handles are those of
// the parent, and no call needs to ask which process it is in.
//
// Cost: the word lies in the object's first cache line, which each call reads anyway.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "api/tutti.h"

namespace tutti::api {

static_assert(sizeof(void*) == 8);

struct handle_slot {
  static constexpr std::uintptr_t freed = 1, forked = 2, address_bits = (std::uintptr_t{1} << 48) - 1;
  static constexpr std::size_t alignment = 64;

  std::atomic<std::uintptr_t> word = 0;  // the handle; once freed, or in a child, with marks in bits that are zero in a handle
  handle_slot* next = nullptr;           // of the free ones
};

// The slots of one kind of object. Thread-safe.
class handle_arena {
 public:
  explicit constexpr handle_arena(std::size_t object_bytes) noexcept
      : slot_bytes_((sizeof(handle_slot) + object_bytes + handle_slot::alignment - 1) / handle_slot::alignment *
                    handle_slot::alignment) {}
  handle_slot* take();  // throws bad_alloc
  void give(handle_slot*) noexcept;

 private:
  struct slab {
    slab* next;
  };
  void grow();
  static void mark_all() noexcept;  // in the child of a fork

  std::size_t slot_bytes_;
  handle_slot* first_ = nullptr;
  handle_slot* last_ = nullptr;
  std::atomic<slab*> slabs_ = nullptr;
  handle_arena* next_ = nullptr;  // of all that have slabs
};

template <class T>
inline constinit handle_arena arena{sizeof(T)};

template <class T>
handle_slot* slot_of(T* object) noexcept {
  static_assert(alignof(T) <= alignof(std::max_align_t) && sizeof(handle_slot) % alignof(T) == 0);
  return reinterpret_cast<handle_slot*>(reinterpret_cast<std::byte*>(object) - sizeof(handle_slot));
}

struct give_back {
  template <class T>
  void operator()(T* object) const noexcept {
    object->~T();
    arena<T>.give(slot_of(object));
  }
};

// An object that a handle names.
template <class T>
using owned = std::unique_ptr<T, give_back>;

template <class T>
owned<T> make_owned() {
  handle_slot* s = arena<T>.take();
  return owned<T>(new (s + 1) T);
}

template <class T>
T* handle_of(T* object) noexcept {
  const std::uintptr_t word = slot_of(object)->word.load(std::memory_order_relaxed);
  return reinterpret_cast<T*>(word & ~(handle_slot::freed | handle_slot::forked));
}

// The object; null for a handle that is null or stale.
template <class T>
T* find(T* handle) noexcept {
  const auto h = reinterpret_cast<std::uintptr_t>(handle);
  if (h == 0) [[unlikely]] return nullptr;
  auto* s = reinterpret_cast<handle_slot*>(h & handle_slot::address_bits);
  return s->word.load(std::memory_order_relaxed) == h ? reinterpret_cast<T*>(s + 1) : nullptr;
}

// Whether the handle, or the object behind it, is the parent's.
bool is_of_parent(const handle_slot*) noexcept;

}  // namespace tutti::api

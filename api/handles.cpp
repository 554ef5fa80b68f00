#include "api/handles.h"

#include <pthread.h>

#include <cstdlib>
#include <mutex>

namespace tutti::api {
namespace {

constexpr std::size_t slots_a_slab = 32;

std::mutex arenas_mutex;
std::atomic<handle_arena*> arenas{nullptr};

}  // namespace

// Runs alone, between fork() and its return in the child. Another thread of the parent may have held the mutex: it is not
// taken here, and lists are only ever added to at their heads.
void handle_arena::mark_all() noexcept {
  for (handle_arena* a = arenas.load(std::memory_order_acquire); a; a = a->next_)
    for (slab* s = a->slabs_.load(std::memory_order_acquire); s; s = s->next) {
      auto* at = reinterpret_cast<std::byte*>(s) + handle_slot::alignment;
      for (std::size_t i = 0; i < slots_a_slab; ++i, at += a->slot_bytes_)
        if (auto& word = reinterpret_cast<handle_slot*>(at)->word; word != 0 && !(word & handle_slot::freed))
          word |= handle_slot::forked;
    }
}

void handle_arena::grow() {
  const std::size_t bytes = handle_slot::alignment + slots_a_slab * slot_bytes_;
  auto* at = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{handle_slot::alignment}));
  auto* made = new (at) slab{slabs_.load(std::memory_order_relaxed)};
  at += handle_slot::alignment;
  for (std::size_t i = 0; i < slots_a_slab; ++i, at += slot_bytes_) {
    auto* s = new (at) handle_slot;
    (last_ ? last_->next : first_) = s;
    last_ = s;
  }
  if (!made->next) {
    next_ = arenas.load(std::memory_order_relaxed);
    if (!next_) ::pthread_atfork(nullptr, nullptr, mark_all);
    arenas.store(this, std::memory_order_release);
  }
  slabs_.store(made, std::memory_order_release);
}

handle_slot* handle_arena::take() {
  const std::lock_guard lock(arenas_mutex);
  if (!first_) grow();
  handle_slot* s = first_;
  first_ = s->next;
  if (!first_) last_ = nullptr;
  s->next = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(s);
  const std::uintptr_t generation = (s->word.load(std::memory_order_relaxed) >> 48) + 1;
  s->word.store(address | generation << 48, std::memory_order_relaxed);
  return s;
}

void handle_arena::give(handle_slot* s) noexcept {
  const std::lock_guard lock(arenas_mutex);
  s->word |= handle_slot::freed;
  (last_ ? last_->next : first_) = s;
  last_ = s;
}

bool is_of_parent(const handle_slot* s) noexcept {
  return s->word.load(std::memory_order_relaxed) & handle_slot::forked;
}

}  // namespace tutti::api

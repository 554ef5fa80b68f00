// Memory that cannot be had. Calls of operator new are tutti's, since the vendors' libraries are written in C; calls of
// malloc and its like are tutti's where they come from its libraries. fault::any_allocation takes all of malloc's.
#include <stdlib.h>

#include <cerrno>
#include <cstddef>
#include <new>

#include "tests/faults/injection.h"

using namespace tutti::test;

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

bool fails_here(const char* call, void* caller) noexcept {
  int error = 0;
  if (fails(fault::any_allocation, call, {ENOMEM}, error) ||
      (of_tutti(caller) && fails(fault::allocation, call, {ENOMEM}, error))) {
    errno = ENOMEM;
    return true;
  }
  return false;
}

void* allocate(std::size_t bytes, std::size_t alignment, void* caller) noexcept {
  int error = 0;
  if ((!by_thread() || of_tutti(caller)) && fails(fault::allocation, "operator new", {ENOMEM}, error)) return nullptr;
  if (bytes == 0) bytes = 1;
  return alignment > alignof(std::max_align_t) ? __libc_memalign(alignment, bytes) : __libc_malloc(bytes);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment, void* caller) {
  void* p = allocate(bytes, alignment, caller);
  if (!p) throw std::bad_alloc();
  return p;
}

}  // namespace

void* operator new(std::size_t n) { return allocate_or_throw(n, 0, __builtin_return_address(0)); }
void* operator new[](std::size_t n) { return allocate_or_throw(n, 0, __builtin_return_address(0)); }
void* operator new(std::size_t n, std::align_val_t a) {
  return allocate_or_throw(n, static_cast<std::size_t>(a), __builtin_return_address(0));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return allocate_or_throw(n, static_cast<std::size_t>(a), __builtin_return_address(0));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 0, __builtin_return_address(0)); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 0, __builtin_return_address(0)); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, static_cast<std::size_t>(a), __builtin_return_address(0));
}
void operator delete(void* p) noexcept { ::free(p); }
void operator delete[](void* p) noexcept { ::free(p); }
void operator delete(void* p, std::size_t) noexcept { ::free(p); }
void operator delete[](void* p, std::size_t) noexcept { ::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { ::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { ::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { ::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { ::free(p); }

extern "C" {

void* malloc(std::size_t n) noexcept {
  return fails_here("malloc", __builtin_return_address(0)) ? nullptr : __libc_malloc(n);
}
void* calloc(std::size_t n, std::size_t size) noexcept {
  return fails_here("calloc", __builtin_return_address(0)) ? nullptr : __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t n) noexcept {
  return n > 0 && fails_here("realloc", __builtin_return_address(0)) ? nullptr : __libc_realloc(p, n);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t n) noexcept {
  if (fails_here("posix_memalign", __builtin_return_address(0))) return ENOMEM;
  void* p = __libc_memalign(alignment, n);
  if (!p) return ENOMEM;
  *out = p;
  return 0;
}
void* aligned_alloc(std::size_t alignment, std::size_t n) noexcept {
  return fails_here("aligned_alloc", __builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, n);
}

}  // extern "C"

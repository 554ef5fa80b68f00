// What all functions of BSPlib's do with their arguments and with the engine's errors.
#pragma once
#include <cstdint>
#include <exception>

#include "bsp/process.h"

namespace tutti::bsp {

// Runs what may allocate: no exception leaves a function of C's. Nothing of the program's, whose exceptions are its own.
template <class F>
auto contained(const char* call, F&& body) {
  try {
    return body();
  } catch (const std::exception&) {
    process::self().broken(call, "out of memory");
  }
}

// Runs what may break a rule or allocate.
template <class F>
void guarded(const char* call, F&& body) {
  engine& e = process::self().inside(call);
  if (contained(call, [&] { return body(e); })) [[likely]] return;
  process::self().abort(e.error());
}

// A negative int becomes a size that no range holds, and a text that shows it.
inline std::uint64_t size_of(const char* call, const char* what, int n) {
  if (n < 0) process::self().broken(call, "%s is %d; use 0 or more", what, n);
  return static_cast<std::uint64_t>(n);
}

inline void not_null(const char* call, const char* what, const void* p) {
  if (!p) process::self().broken(call, "%s is NULL", what);
}

inline void not_null(const char* call, const char* what, const void* p, std::uint64_t bytes) {
  if (!p && bytes > 0) process::self().broken(call, "%s of %llu bytes is NULL", what, static_cast<unsigned long long>(bytes));
}

}  // namespace tutti::bsp

// What a rank says when a test does not go as it must. A rank is another process (or a fiber of the simulated world),
// where Boost.Test's own checks mean nothing: so a failed requirement throws, ends that rank, and travels to the test.
#pragma once
#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace tutti::test {

struct failure { std::string text; };   // the requirement that did not hold, with file and line
struct skipped { std::string reason; };  // the capability that this fabric declares not to have

struct where {  // std::source_location, which Clang 14 has not
  const char* file;
  unsigned line;
  static constexpr where current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) noexcept { return {file, line}; }
};

[[noreturn]] inline void fail(std::string_view what, where at = where::current()) {
  std::string_view file = at.file;
  if (const auto slash = file.rfind('/'); slash != file.npos) file.remove_prefix(slash + 1);
  std::string text{file};
  text += ':';
  text += std::to_string(at.line);
  text += ": ";
  text += what;
  throw failure{std::move(text)};
}

inline void require(bool holds, std::string_view what, where at = where::current()) {
  if (!holds) fail(what, at);
}

inline void require(const status& s, std::string_view what, where at = where::current()) {
  if (s.failed()) fail(std::string{what} + ": " + std::string{errc_name(s.code())} + ": " + s.text(), at);
}

template <std::integral A, std::integral B>
void require_equal(A seen, B wanted, std::string_view what, where at = where::current()) {
  if (static_cast<std::uint64_t>(seen) == static_cast<std::uint64_t>(wanted)) return;
  fail(std::string{what} + ": seen " + std::to_string(seen) + ", wanted " + std::to_string(wanted), at);
}

// The value, or the end of this rank with the provider's words.
template <class T>
T take(result<T> r, std::string_view what, where at = where::current()) {
  if (!r.ok()) require(r.error(), what, at);
  return std::move(*r);
}

// Leave this case because the fabric declares not to have something. Every rank decides by the same capability.
[[noreturn]] inline void skip(std::string reason) { throw skipped{std::move(reason)}; }

}  // namespace tutti::test

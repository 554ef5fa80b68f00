// Requirements for tests of tutti.hpp: a failure says where, which rank, and why, and ends the process.
#pragma once
#include <tutti.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace test {

inline std::uint32_t me = TUTTI_NO_RANK;
struct where {
  const char* file;
  unsigned line;
  static constexpr where current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) { return {file, line}; }
};

[[noreturn]] inline void fail(const std::string& text, where at) {
  std::fprintf(stderr, "%s:%u: rank %u: %s\n", at.file, at.line, me, text.c_str());
  std::_Exit(1);
}
inline void expect(bool condition, const char* what = "not so", where at = where::current()) {
  if (!condition) fail(what, at);
}
// The value of a call that has to succeed.
template <class T>
T take(tutti::result<T> r, where at = where::current()) {
  if (r.failed()) fail(r.error().text, at);
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}
template <class T>
void refused(const tutti::result<T>& r, tutti_status_t code, std::string_view names, where at = where::current()) {
  if (r.ok()) fail("it succeeds", at);
  if (r.error().code != code || r.error().text.find(names) == std::string::npos)
    fail("code " + std::to_string(r.error().code) + ", text \"" + r.error().text + "\" instead of one with \"" + std::string(names) + "\"", at);
}

inline tutti::context begin() {
  tutti::context ctx = take(tutti::context::init());
  me = ctx.rank();
  return ctx;
}

}  // namespace test

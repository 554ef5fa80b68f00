// Which lines a process has run is written down by exit(), which ranks of a test leave out.
#pragma once

#ifdef TUTTI_COVERAGE
extern "C" void __gcov_dump();
#endif

namespace tutti::test {

inline void keep_coverage() noexcept {
#ifdef TUTTI_COVERAGE
  __gcov_dump();
#endif
}

}  // namespace tutti::test

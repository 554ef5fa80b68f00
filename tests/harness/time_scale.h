// Limits of time under a sanitizer: everything is several times slower there.
#pragma once

namespace tutti::test {

#if defined(__SANITIZE_THREAD__)
inline constexpr int time_scale = 8;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr int time_scale = 4;
#else
inline constexpr int time_scale = 1;
#endif

}  // namespace tutti::test

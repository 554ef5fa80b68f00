// Time as a transport tells it (transport::now()): the steady clock's, or a simulated fabric's.
#pragma once
#include <chrono>

namespace tutti {

using time_point = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

}  // namespace tutti

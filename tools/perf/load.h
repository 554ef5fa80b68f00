// How busy this machine is.
#pragma once
#include <cstdlib>

namespace tutti::tools {

// Programs that run, or want to, over the last minute; 0 where the system does not tell.
inline double load_average() noexcept {
  double one = 0;
  return getloadavg(&one, 1) == 1 ? one : 0;
}

}  // namespace tutti::tools

// A status that is not ok ends a tool's work here: its text goes up as an exception.
#pragma once
#include <stdexcept>

#include "core/base/status.h"

namespace tutti::tools {

inline void require(const status& s) {
  if (s.failed()) throw std::runtime_error(s.text());
}

}  // namespace tutti::tools

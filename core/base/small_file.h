// A file that a person wrote, read whole: never waits for a writer, and never reads more than its limit.
#pragma once
#include <cstddef>
#include <string>

#include "core/base/status.h"

namespace tutti {

// `invalid`, saying why: it is not there, not readable, longer than `most` bytes, or no file (a folder, a pipe, a device).
result<std::string> read_small_file(const std::string& path, std::size_t most);

}  // namespace tutti

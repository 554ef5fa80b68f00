// What `tutti sim` could not do, on standard error.
#pragma once
#include <cstdio>
#include <string>

namespace tutti::tools::sim_page {

// The exit status.
inline int complain(const std::string& text, int code = 1) {
  std::fprintf(stderr, "tutti sim: %s\n", text.c_str());
  return code;
}

}  // namespace tutti::tools::sim_page

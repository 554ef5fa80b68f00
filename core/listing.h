// Lists as a sentence names them: "shm, ucx, ofi", or reasons between semicolons.
#pragma once
#include <string>
#include <string_view>

namespace tutti {

inline void add_to_list(std::string& list, std::string_view item, std::string_view separator = ", ") {
  if (!list.empty()) list.append(separator);
  list.append(item);
}

}  // namespace tutti

#include "core/base/json_text.h"

#include <algorithm>

namespace tutti {

// A name has a colon behind it, and strings alone hold what means something else.
status check_json_bounds(std::string_view text) {
  std::size_t names[deepest_json] = {}, depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) switch (text[i]) {
      case '"':
        for (++i; i < text.size() && text[i] != '"'; ++i)
          if (text[i] == '\\') ++i;
        break;
      case '[':
      case '{':
        if (depth == deepest_json) return {errc::invalid, worded("lists and objects stand in each other more than ", deepest_json, " deep")};
        names[depth++] = 0;
        break;
      case ']':
      case '}':
        if (depth > 0) --depth;
        break;
      case ':':
        if (depth > 0 && ++names[depth - 1] > most_json_names) return {errc::invalid, worded("an object has more than ", most_json_names, " names")};
        break;
      default: break;
    }
  return {};
}

std::string as_one_line(std::string text) {
  if (text.size() > 1000) text.resize(1000);
  std::ranges::replace_if(text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return text;
}

}  // namespace tutti

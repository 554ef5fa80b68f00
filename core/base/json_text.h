// JSON that a person may have written, or damaged: bounded before it is parsed. A parsed value is destroyed and written out by recursion,
// which no stack survives at any depth, and an object that keeps its order looks through all its names for each new one.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/status.h"

namespace tutti {

constexpr std::size_t deepest_json = 64, most_json_names = 512;  // lists and objects in each other; names in one object

// `invalid`, saying what goes beyond that. Whatever else is wrong is for the parser to say.
status check_json_bounds(std::string_view text);

// Of what is wrong with a file, whatever stands in that: one line of no more than 1,000 bytes.
std::string as_one_line(std::string text);

// Json is nlohmann::json or ordered_json. Throws std::invalid_argument, with the line and column of a syntax error.
template <class Json, class... Callback>
Json parse_json(std::string_view text, Callback&&... callback) {
  if (const status s = check_json_bounds(text); s.failed()) throw std::invalid_argument(s.text());
  try {
    return Json::parse(text, std::forward<Callback>(callback)...);
  } catch (const typename Json::exception& e) {
    throw std::invalid_argument(as_one_line(e.what()));
  }
}

}  // namespace tutti

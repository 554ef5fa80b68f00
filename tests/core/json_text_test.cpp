// What a person's JSON is refused for before it is parsed, and how what is wrong with it is told.
#include <boost/test/unit_test.hpp>

#include <nlohmann/json.hpp>

#include "core/base/json_text.h"

using namespace tutti;
using json = nlohmann::ordered_json;

namespace {

std::string repeated(const std::string& part, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += part;
  return out;
}

std::string object_of(std::size_t names) {
  std::string out = "{";
  for (std::size_t i = 0; i < names; ++i) out += (i ? ",\"" : "\"") + std::to_string(i) + "\":[]";
  return out + "}";
}

std::string refusal(const std::string& text) {
  try {
    (void)parse_json<json>(text);
    return "";
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(depth_is_bounded) {
  BOOST_TEST(refusal(repeated("[", deepest_json) + repeated("]", deepest_json)) == "");
  for (const char* open : {"[", "{\"a\":", "[{\"a\":"})
    BOOST_TEST(refusal(repeated(open, 400000)).find("more than 64 deep") != std::string::npos, open);
  BOOST_TEST(refusal("[" + repeated("[],", 400000) + "[]]") == "");
}

BOOST_AUTO_TEST_CASE(names_of_an_object_are_bounded) {
  BOOST_TEST(refusal(object_of(most_json_names)) == "");
  BOOST_TEST(refusal("[" + object_of(most_json_names) + "," + object_of(most_json_names) + "]") == "");
  BOOST_TEST(refusal(object_of(200000)).find("more than 512 names") != std::string::npos);
  BOOST_TEST(refusal("[{\"in\":" + object_of(most_json_names + 1) + "}]").find("names") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(strings_hold_anything) {
  BOOST_TEST(refusal("[\"" + repeated("[{:\\\"\\\\", 1000) + "\"]") == "");
  BOOST_TEST(check_json_bounds("\"\\").ok());
  BOOST_TEST(check_json_bounds("]]]}}}:::").ok());
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_told_in_one_line) {
  BOOST_TEST(refusal("{\n\"a\": }").find("line 2, column 6") != std::string::npos, refusal("{\n\"a\": }"));
  const std::string of_long_word = refusal("[\"" + std::string(1 << 20, 'x') + "\" \n ]x\n");
  BOOST_TEST(of_long_word.size() <= 1000u);
  BOOST_TEST(of_long_word.find('\n') == std::string::npos);
}

// The configuration's parser: a file's lines, then variables, each after a byte 0. Whatever they hold, they are taken or
// refused, as `invalid`, in one line of bounded length; and what is taken is what a knob may have.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/job/config.h"

using namespace tutti;

namespace {

void require(bool good) {
  if (!good) std::abort();
}

void require_refusal(const status& s) {
  const std::string_view text = s.text();
  require(s.code() == errc::invalid && !text.empty() && text.size() <= 4096);
  for (const char c : text) require(static_cast<unsigned char>(c) >= ' ' && c != '\x7f');
}

void require_sense(const config& c) {
  for (const knob_row& row : knobs())
    if (row.kind == knob_kind::number) require(c.number(row.id) >= row.least && c.number(row.id) <= row.most);
}

environment variables_of(std::string_view text) {
  environment all;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const auto equals = entry.find('=');
    if (equals != entry.npos) all.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  all.erase("TUTTI_CONFIG_FILE");  // it would name any file of this machine
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input{reinterpret_cast<const char*>(data), size};
  const std::string_view file = input.substr(0, input.find('\0'));
  config lines;
  if (const status s = lines.read_lines(file, "fuzz"); s.failed()) require_refusal(s);
  require_sense(lines);
  const environment variables = variables_of(input.substr(file.size()));
  const auto c = config::load({}, variables, variables);
  if (c) require_sense(*c);
  else require_refusal(c.error());
  return 0;
}

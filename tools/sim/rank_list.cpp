#include "tools/sim/rank_list.h"

#include <algorithm>
#include <charconv>

namespace tutti::tools {

result<std::vector<std::uint32_t>> parse_ranks(const std::string& text, std::uint32_t most) {
  const auto wrong = [&](const std::string& part) {
    return status(errc::invalid, "--ranks " + text.substr(0, 60) + ": \"" + part.substr(0, 40) + "\" is neither a number from 1 to " + std::to_string(most) +
                                     " nor a range; write 10000, or 2,4,8, or 2..65536, which doubles");
  };
  const auto number = [most](std::string_view s, std::uint32_t& out) {
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), out);
    return error == std::errc{} && end == s.data() + s.size() && out >= 1 && out <= most;
  };
  std::vector<std::uint32_t> out;
  const auto add = [&](std::uint32_t n) {
    if (std::ranges::find(out, n) == out.end()) out.push_back(n);
  };
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    at = comma + 1;
    std::uint32_t first = 0, last = 0;
    if (const std::size_t dots = part.find(".."); dots != part.npos) {
      if (!number(std::string_view(part).substr(0, dots), first) || !number(std::string_view(part).substr(dots + 2), last) || last < first) return wrong(part);
      for (std::uint64_t n = first; n < last; n *= 2) add(static_cast<std::uint32_t>(n));
      add(last);
    } else {
      if (!number(part, first)) return wrong(part);
      add(first);
    }
  }
  return out;
}

}  // namespace tutti::tools

#include "providers/ofi/gates.h"

#include <string>

namespace tutti::ofi {
namespace {

status refuse(const schedule& s, std::size_t at) {
  schedule one;
  one.steps.push_back(s.steps[at]);
  std::string text = to_string(one);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return {errc::unsupported, worded("step ", at, " of a schedule cannot be offloaded: ", text,
                                    "; signals and waits of multiple 1 can")};
}

}  // namespace

result<std::vector<gate>> make_gates(const schedule& s) {
  std::vector<gate> chain(1);
  chain[0].starts = 1;
  const auto next = [&] {
    const auto sent = static_cast<std::uint32_t>(chain.back().behind.size());
    chain.emplace_back().sent = sent;
  };
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    const step& st = s.steps[i];
    const bool signals = st.kind == step_kind::signal;
    if ((!signals && st.kind != step_kind::wait) || st.multiple != 1) return refuse(s, i);
    if (st.word >= s.words)
      return status{errc::invalid, worded("a schedule uses control word ", st.word, " of ", s.words)};
    if (signals) {
      chain.back().behind.push_back({st.peer, st.word});
      continue;
    }
    if (!chain.back().behind.empty()) next();
    chain.back().words.push_back(st.word);
    chain.back().writers.push_back(st.peer);
  }
  if (!chain.back().behind.empty()) next();
  return chain;
}

}  // namespace tutti::ofi

#include "core/base/status.h"

#include <new>

namespace tutti {

std::string_view errc_name(errc c) noexcept {
  switch (c) {
    case errc::ok: return "success";
    case errc::invalid: return "invalid argument";
    case errc::no_resource: return "out of resources";
    case errc::unsupported: return "not supported";
    case errc::unavailable: return "not available";
    case errc::timed_out: return "timed out";
    case errc::peer_dead: return "peer dead";
    case errc::fabric: return "fabric error";
    case errc::protocol: return "incompatible peer";
    case errc::truncated: return "message longer than its receive";
  }
  return "unknown error";
}

namespace {

// One line of bounded length, whatever it quotes: a value of 50 MB, a vendor's several lines, what a terminal would obey.
// What is wrong stands first in a text and the remedy last, so the middle goes. Only shrinks the string: allocates nothing.
void make_fit(std::string& text) noexcept {
  constexpr std::size_t longest = 4096, head = 3000, tail = 1000;
  constexpr std::string_view gap = " [...] ";
  const auto is_rest = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };  // of a letter in UTF-8
  if (text.size() > longest) {
    std::size_t from = head, to = text.size() - tail;
    for (int i = 0; i < 3 && is_rest(text[from]); ++i) --from;
    for (int i = 0; i < 3 && is_rest(text[to]); ++i) ++to;
    text.replace(from, to - from, gap);
  }
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
}

}  // namespace

status::status(errc code, std::string text, rank_t peer, std::int64_t native) noexcept {
  if (code == errc::ok) return;
  make_fit(text);
  d_ = new (std::nothrow) detail{{1}, code, peer, native, std::move(text)};
  if (!d_) {  // the error must not be lost with the memory: one static detail that is never freed
    static detail no_memory{{1}, errc::no_resource, no_rank, 0, "out of memory"};  // so short that it needs none
    no_memory.refs.fetch_add(1, std::memory_order_relaxed);
    d_ = &no_memory;
  }
}

status status::during(std::string_view what) const noexcept {
  if (ok()) return {};
  try {
    std::string text{what};
    text += ": ";
    text += d_->text;
    return {d_->code, std::move(text), d_->peer, d_->native};
  } catch (...) {
    return *this;
  }
}

void status::destroy(detail* d) noexcept { delete d; }

}  // namespace tutti

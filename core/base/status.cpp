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
    case errc::protocol: return "ranks disagree";
    case errc::truncated: return "message longer than its receive";
    case errc::cancelled: return "cancelled";
  }
  return "unknown error";
}

namespace {

// One line of bounded length, whatever it quotes: a value of 50 MB, a vendor's several lines, what a terminal would obey.
// What is wrong stands first in a text and the remedy last, so the middle goes.
constexpr std::size_t longest = 4096, head = 3000, tail = 1000;
constexpr std::string_view gap = " [...] ";

bool inside_letter(char c) noexcept { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }  // of UTF-8

// What of a text of so many bytes is left out.
struct middle {
  std::size_t from, to;
};

void write(const text_parts& text, middle cut, char* out) noexcept {
  std::size_t at = 0;
  text.each([&](std::string_view part) {
    for (const char c : part) {
      const std::size_t i = at++;
      if (i == cut.from)
        for (const char g : gap) *out++ = g;
      if (i >= cut.from && i < cut.to) continue;
      *out++ = static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c;
    }
  });
  *out = 0;
}

middle too_long(const text_parts& text, std::size_t bytes) noexcept {
  middle cut{head, bytes - tail};
  std::size_t at = 0;
  std::size_t whole = 0;  // where the letter begins that the cut would part
  text.each([&](std::string_view part) {
    for (const char c : part) {
      if (at <= head && !inside_letter(c)) whole = at;
      if (at == cut.to && cut.to < bytes - tail + 3 && inside_letter(c)) ++cut.to;
      ++at;
    }
  });
  cut.from = whole;
  return cut;
}

struct listed : text_parts {
  listed(const std::string_view* parts, std::size_t count) noexcept : text_parts(parts, count) {}
};

}  // namespace

status::status(errc code, const text_parts& text, rank_t peer, std::int64_t native) noexcept {
  if (code == errc::ok) return;
  const std::size_t bytes = text.size();
  middle cut{bytes, bytes};
  std::size_t room = bytes + 1;
  if (bytes > longest) cut = too_long(text, bytes), room = cut.from + gap.size() + (bytes - cut.to) + 1;
  void* const memory = ::operator new(sizeof(detail) + room, std::nothrow);
  if (!memory) {
    d_ = 1 | std::uint64_t{static_cast<std::uint8_t>(code)} << 1 | std::uint64_t{peer} << 32;
    return;
  }
  auto* const d = new (memory) detail{{1}, code, peer, native};
  write(text, cut, reinterpret_cast<char*>(d + 1));
  d_ = reinterpret_cast<std::uintptr_t>(d);
}

const char* status::text() const noexcept {
  if (const detail* const d = kept()) return reinterpret_cast<const char*>(d + 1);
  switch (code()) {
    case errc::ok: return "success";
    case errc::invalid: return "invalid argument, and no memory to say which";
    case errc::no_resource: return "out of memory";
    case errc::unsupported: return "not supported, and no memory to say what";
    case errc::unavailable: return "not available, and no memory to say what";
    case errc::timed_out: return "timed out, and no memory to say in what";
    case errc::peer_dead: return "peer dead, and no memory to say how";
    case errc::fabric: return "fabric error, and no memory to say which";
    case errc::protocol: return "ranks disagree, and no memory to say how";
    case errc::truncated: return "message longer than its receive, and no memory to say by how much";
    case errc::cancelled: return "cancelled, and no memory to say by which call";
  }
  return "unknown error";
}

status status::during(const text_parts& what) const noexcept {
  if (ok()) return {};
  std::string_view parts[16];
  std::size_t n = 0;
  what.each([&](std::string_view part) { if (n < 14) parts[n++] = part; });
  parts[n++] = ": ", parts[n++] = text();
  const status longer(code(), listed(parts, n), peer(), native());
  return longer.kept() ? longer : *this;  // rather the text that there is than none
}

void status::destroy(const detail* d) noexcept {
  d->~detail();
  ::operator delete(const_cast<detail*>(d));
}

}  // namespace tutti

#include "core/schedule/schedule.h"

namespace tutti {
namespace {

std::string rank_name(std::uint32_t peer) { return peer == any_peer ? "anyone" : std::to_string(peer); }

std::string word_name(const step& s) {
  std::string out = " word " + std::to_string(s.word);
  if (s.multiple != 1) out += " epoch*" + std::to_string(s.multiple);
  return out;
}

std::string place_name(const place& p) { return "buffer " + std::to_string(p.buffer) + "+" + std::to_string(p.offset); }

std::string bytes_name(const step& s) { return std::to_string(s.bytes) + " bytes "; }

std::string line(const step& s) {
  switch (s.kind) {
    case step_kind::signal: return "signal " + rank_name(s.peer) + word_name(s);
    case step_kind::wait: return "wait " + rank_name(s.peer) + word_name(s);
    case step_kind::arrive:
      return "arrive " + rank_name(s.peer) + word_name(s) + ", unless last skip " + std::to_string(s.count);
    case step_kind::multicast: return "multicast";
    case step_kind::await_multicast: return "await multicast " + rank_name(s.peer);
    case step_kind::put:
      return "put " + rank_name(s.peer) + " " + bytes_name(s) + place_name(s.from) + " -> " + place_name(s.to);
    case step_kind::put_signal:
      return "put " + rank_name(s.peer) + " " + bytes_name(s) + place_name(s.from) + " -> " + place_name(s.to) +
             ", signal" + word_name(s);
    case step_kind::get:
      return "get " + rank_name(s.peer) + " " + bytes_name(s) + place_name(s.from) + " -> " + place_name(s.to);
    case step_kind::copy: return "copy " + bytes_name(s) + place_name(s.from) + " -> " + place_name(s.to);
    case step_kind::complete: return "complete";
  }
  return "unknown step " + std::to_string(static_cast<unsigned>(s.kind));
}

}  // namespace

std::string to_string(const schedule& s) {
  std::string out;
  for (const step& st : s.steps) out += line(st) + "\n";
  return out;
}

}  // namespace tutti

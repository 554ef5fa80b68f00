#include "core/schedule/schedule.h"

namespace tutti {
namespace {

std::string rank_name(std::uint32_t peer) { return peer == any_peer ? "anyone" : std::to_string(peer); }

std::string unless(const step& s) { return s.one_way ? ", if nothing goes the other way" : ""; }

std::string word_name(const step& s) {
  std::string out = " word " + std::to_string(s.word);
  if (s.multiple != 1) out += " epoch*" + std::to_string(s.multiple);
  return out;
}

std::string name(const place& p) {
  std::string out = "buffer " + std::to_string(p.buffer);
  if (p.slot != no_slot) out += " slot " + std::to_string(p.slot);
  if (p.behind > 0) out += " behind " + std::to_string(p.behind);
  return out;
}

std::string blocks_of(const step& s) {
  return s.count > 1 ? "blocks " + std::to_string(s.block) + " to " + std::to_string(s.block + s.count - 1)
                     : "block " + std::to_string(s.block);
}

std::string block_name(const step& s) { return blocks_of(s) + " of " + name(s.from) + " -> " + name(s.to); }
std::string read_name(const step& s) {
  if (s.peer == any_peer) return block_name(s);
  return blocks_of(s) + " of rank " + std::to_string(s.peer) + "'s " + name(s.from) + " -> " + name(s.to);
}

std::string line(const step& s) {
  switch (s.kind) {
    case step_kind::signal: return "signal " + rank_name(s.peer) + word_name(s) + unless(s);
    case step_kind::wait:
      return "wait " + rank_name(s.peer) + word_name(s) + (s.block == no_block ? "" : " for " + blocks_of(s)) + unless(s);
    case step_kind::arrive:
      return "arrive " + rank_name(s.peer) + word_name(s) + ", unless last skip " + std::to_string(s.count);
    case step_kind::multicast: return "multicast";
    case step_kind::await_multicast: return "await multicast " + rank_name(s.peer);
    case step_kind::put: return "put " + rank_name(s.peer) + " " + block_name(s);
    case step_kind::put_signal: return "put " + rank_name(s.peer) + " " + block_name(s) + ", signal" + word_name(s);
    case step_kind::get: return "get " + rank_name(s.peer) + " " + block_name(s);
    case step_kind::expose: return "expose to " + rank_name(s.peer) + " " + block_name(s) + ", signal" + word_name(s);
    case step_kind::fetch: return "fetch from " + rank_name(s.peer) + " " + block_name(s);
    case step_kind::copy: return "copy " + read_name(s);
    case step_kind::reduce_left: return "reduce, as the left operand, " + read_name(s);
    case step_kind::reduce_right: return "reduce, as the right operand, " + read_name(s);
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

// What sends, receives and probes wait for, in words, for notices of long waits.
#include <algorithm>
#include <string>

#include "messaging/tagged.h"

namespace tutti::messaging {
namespace {

constexpr unsigned most_named = 3, most_counted = 1000;  // unmatched messages

std::string tag_in_words(std::uint64_t tag) { return "tag " + std::to_string(tag); }
std::string of_bytes(std::uint64_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); }

}  // namespace

// Those of the team that come nearest: of that rank, and then by the distance of their tags. A wrong tag or rank is the usual mistake.
std::string tagged::unmatched_here(std::uint64_t team, rank_t source, std::uint64_t tag) const {
  const auto distance = [&](const kept& k) {
    const std::uint64_t apart = std::max(k.tag, tag) - std::min(k.tag, tag);
    return std::pair{source != no_rank && k.source != source, apart};
  };
  const kept* nearest[most_named] = {};
  unsigned here = 0;
  for (const kept* k = all_kept_; k && here < most_counted; k = k->after) {
    if (!k->waits || k->team != team) continue;
    ++here;
    for (const kept*& n : nearest)
      if (!n || distance(*k) <= distance(*n)) {
        std::move_backward(&n, std::end(nearest) - 1, std::end(nearest));
        n = k;
        break;
      }
  }
  if (here == 0) return "; no other message is here";
  std::string out = "; unmatched here: ";
  for (const kept* n : nearest)
    if (n) out += (n == nearest[0] ? "" : ", ") + tag_in_words(n->tag) + " from rank " + std::to_string(n->source) + " (" + of_bytes(n->bytes) + ")";
  if (here > most_named) out += " and " + std::to_string(here - most_named) + (here == most_counted ? " or more" : "") + " others";
  return out;
}

std::string tagged::awaited_in_words(std::uint64_t team, rank_t source, std::uint64_t tag, std::uint64_t mask) const {
  std::string out = mask == 0 ? "any tag" : tag_in_words(tag);
  if (mask != 0 && mask != ~std::uint64_t{0}) out += " under mask " + std::to_string(mask);
  out += source == no_rank ? " from any rank" : " from rank " + std::to_string(source);
  return out + unmatched_here(team, source, tag);
}

std::string tagged::in_words(const operation& o) const {
  const std::string with = o.with ? std::to_string(o.with->rank) : "?";
  if (o.sends) {
    const std::string out = "a send of " + of_bytes(o.total) + " with " + tag_in_words(o.tag) + " to rank " + with;
    switch (o.at) {
      case stage::queued: return out + ", which has taken no message for a while";
      case stage::announced: return out + ", which no receive there has matched";
      default: return out + ", whose data are under way";
    }
  }
  if (o.at == stage::posted) return "a receive of " + awaited_in_words(o.team, o.source, o.tag, o.mask);
  return "a receive of " + tag_in_words(o.tag) + " from rank " + with + ", whose data are under way";
}

}  // namespace tutti::messaging

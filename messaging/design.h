// The three designs of Huang 2005, 3.1 to 3.3, as properties of one engine: TUTTI_MESSAGING, alike in all ranks.
//
//   channel  data are a byte stream of small messages, in the order of the requests: one request at a time has its turn on a pair
//   packet   a request queue: the data of long messages move apart from the stream, many at once, by put, get or staging memory
//   full     packet; and short messages leave out an envelope that is that of the one before, data from and into windows are copied
//            once, and data in pieces are packed chunk by chunk where they are copied anyway, or move by lists; what is to be registered or
//            packed first is made ready part by part while earlier parts move
//
// Eager sends complete early in all three.
#pragma once
#include <string_view>

namespace tutti::messaging {

struct design {
  std::string_view name;
  bool apart;           // the data of long messages; else in the stream
  bool header_caching;
  bool one_copy;
  bool packs_in_chunks;
};

inline constexpr design designs[] = {
    {"full", true, true, true, true},
    {"packet", true, false, false, false},
    {"channel", false, false, false, false},
};

constexpr const design& design_of(std::string_view name) noexcept {  // the default for a name that is none
  for (const design& d : designs)
    if (d.name == name) return d;
  return designs[0];
}

}  // namespace tutti::messaging

// What a rank that sends packets has said, and whether it may. Every field of a packet is checked by hear(), and here alone,
// as far as this end knows of it; that a limit is one which the other end can give, by packets::heard().
#pragma once
#include "core/base/rank_map.h"
#include "providers/verbs/wire.h"

namespace tutti::verbs {

// What was said since it was asked for last.
struct packet_news {
  rank_t from = no_rank;
  const char* breach = nullptr;  // what it may not do
  std::uint32_t limit = 0;       // the highest
  bool keeps = false;
  bool asks = false;             // for message `number`
  std::uint32_t number = 0;
};

struct packet_origin {
  std::uint32_t due = 0;         // number of the message that comes next
  std::uint32_t allowed = 0;     // those before it may come
  packet_news news;
  bool has_news = false;
  packet_origin* next = nullptr; // with news

  enum class verdict { keep, drop };
  // A message that comes again was under way when a connection broke, and the acknowledgement with it: it is dropped.
  verdict hear(const packet_head& h, std::uint32_t bytes) noexcept {
    if (!is_sound(h, bytes)) return broke("sent a packet that is none");
    const std::int32_t more = ahead(h.limit, news.limit);
    if (more > 0 || (more == 0 && (h.keeps != 0) != news.keeps)) {  // else it was overtaken by one that says more
      news.limit = h.limit, news.keeps = h.keeps != 0;
      has_news = true;
    }
    if (h.kind == packet_kind::message) return count(h);
    if (h.kind == packet_kind::room) return verdict::drop;
    if (h.number != due) return broke("asks for room for another two-sided message than is due");
    news.asks = has_news = true, news.number = h.number;
    return verdict::drop;
  }

 private:
  verdict count(const packet_head& h) noexcept {
    if (ahead(h.number, due) < 0) return verdict::drop;
    if (h.number != due) return broke("sends two-sided messages out of their order");
    if (ahead(due, allowed) >= 0) return broke("sends more two-sided messages than there is room for");
    ++due;
    return verdict::keep;
  }
  verdict broke(const char* what) noexcept {
    if (!news.breach) news.breach = what;
    has_news = true;
    return verdict::drop;
  }
};

}  // namespace tutti::verbs

// What tests of messages share: every fabric, a rank with its job and messages, and payloads that are told by their number.
#pragma once
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <memory>
#include <vector>

#include "messaging/messages.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/fabric_lists.h"

namespace tutti::test {

inline std::byte byte_of(std::uint64_t number, std::uint64_t i) noexcept {
  return static_cast<std::byte>((number * 0x9e3779b97f4a7c15u >> 56) + i * 7 + (i >> 8));
}
inline std::vector<std::byte> payload_of(std::uint64_t number, std::uint64_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) out[i] = byte_of(number, i);
  return out;
}
inline void require_payload(std::span<const std::byte> got, std::uint64_t number, const char* what) {
  for (std::uint64_t i = 0; i < got.size(); ++i)
    if (got[i] != byte_of(number, i)) fail(std::string(what) + ": byte " + std::to_string(i) + " of message " + std::to_string(number));
}

inline constexpr std::uint64_t unexpected_bytes = 1 << 20;  // the room for messages without a receive, less than floods of tests fill

// A rank with its messages. Ranks meet in the job's way, so their messages go on meanwhile.
struct messenger {
  static constexpr std::uint64_t whole = ~std::uint64_t{0};
  static constexpr std::uint32_t any = messaging::operation::any;

  explicit messenger(rank_env& e, std::string design = "full") : messenger(e, job_options{.messaging = std::move(design), .unexpected_bytes = unexpected_bytes}) {}
  messenger(rank_env& e, job_options how) : env(e), j(open_job(e, std::move(how))) {
    if (!e.net().sendrecv()) skip("no two-sided messages");
    m = take(messaging::messages::open(*j), "messages");
  }
  team& world() { return j->world(); }
  messaging::tagged& tagged() { return m->by_tag(); }
  void meet() { require(j->world().exchange({}).error(), "meeting"); }

  void send(std::uint32_t to, std::uint64_t tag, std::span<const std::byte> data, bool sync = false, where at = where::current()) {
    require(tagged().send({&world(), to, tag, data.data(), data.size(), sync}), "send", at);
  }
  messaging::envelope receive(std::uint32_t from, std::uint64_t tag, std::uint64_t mask, std::span<std::byte> into, where at = where::current()) {
    messaging::envelope found;
    require(tagged().receive({&world(), from, tag, mask, into.data(), into.size(), &found}), "receive", at);
    return found;
  }
  void start_send(std::uint32_t to, std::uint64_t tag, std::span<const std::byte> data, completion& done, bool sync = false) {
    require(tagged().start_send({&world(), to, tag, data.data(), data.size(), sync}, done, nullptr), "start_send");
  }
  messaging::operation* start_receive(std::uint32_t from, std::uint64_t tag, std::uint64_t mask, std::span<std::byte> into, completion& done,
                                      messaging::envelope* found = nullptr) {
    messaging::operation* o = nullptr;
    require(tagged().start_receive({&world(), from, tag, mask, into.data(), into.size(), found}, done, &o), "start_receive");
    return o;
  }
  template <class Ready>
  void until(const char* what, Ready ready) {
    const auto polled = [&] { return tagged().poll(), ready(); };
    const auto look = [&] { return m->end().look(), status{}; };
    require(j->wait(polled, look, wait_note{what, no_rank, 0, 1}), what);
  }
  const status& wait(completion& done) {
    until("a message", [&] { return done.idle(); });
    return done.outcome();
  }

  rank_env& env;
  job_ptr j;
  std::unique_ptr<messaging::messages> m;
};

}  // namespace tutti::test

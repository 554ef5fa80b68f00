// Random programs of sends and receives against a sequential model, on every fabric. From one source, matching is told by the
// orders of sends and receives alone: so the model, which runs the same program in one thread, knows for each receive which message it gets.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <random>

#include "tests/messaging/messages_env.h"

namespace {

using namespace tutti;
using namespace tutti::test;

struct message {
  std::uint32_t from, to;
  std::uint64_t number, tag, bytes;
  bool sync;
};
struct reception {
  std::uint32_t at, from;
  std::uint64_t tag, mask, room;
  message due;
};
struct program {
  std::vector<message> sends;         // each rank makes its own, in this order
  std::vector<reception> receptions;  // likewise
};

std::uint64_t some_length(std::mt19937_64& random, std::uint64_t most_of_one) {
  const std::uint64_t edges[] = {0, 8, 24, 40, 255, 256, most_of_one, 2 * most_of_one, 32 * 1024, 64 * 1024, 128 * 1024, 200'000};
  const std::uint64_t edge = edges[random() % (random() % 4 ? 7 : std::size(edges))];
  const std::uint64_t off = random() % 3;
  return off == 0 && edge > 0 ? edge - 1 : edge + off - (off ? 1 : 0);
}

program make_program(std::uint64_t seed, std::uint32_t ranks, std::uint32_t messages, std::uint64_t most_of_one) {
  std::mt19937_64 random(seed);
  program p;
  std::vector<message> left;
  for (std::uint64_t n = 0; n < messages; ++n) {
    const message m{static_cast<std::uint32_t>(random() % ranks), static_cast<std::uint32_t>(random() % ranks), n, random() % 4,
                    some_length(random, most_of_one), random() % 8 == 0};
    p.sends.push_back(m);
    left.push_back(m);
  }
  while (!left.empty()) {
    const message picked = left[random() % left.size()];
    const std::uint64_t masks[] = {messenger::whole, messenger::whole, 0, 1, 2};
    const std::uint64_t mask = masks[random() % std::size(masks)];
    const auto oldest = std::ranges::find_if(left, [&](const message& m) {
      return m.from == picked.from && m.to == picked.to && ((m.tag ^ picked.tag) & mask) == 0;
    });
    const std::uint64_t room = random() % 6 == 0 ? oldest->bytes / 2 : oldest->bytes + random() % 3 * 100;
    p.receptions.push_back({picked.to, picked.from, picked.tag, mask, room, *oldest});
    left.erase(oldest);
  }
  return p;
}

void run_program(messenger& me, const program& p) {
  constexpr std::byte guard{0xA5};
  struct sending {
    std::vector<std::byte> data;
    completion done;
  };
  struct receiving {
    const reception* what;
    std::vector<std::byte> data;
    messaging::envelope found;
    completion done;
  };
  std::deque<sending> sends;
  std::deque<receiving> receives;
  const rank_t rank = me.env.rank;
  std::size_t s = 0, r = 0;
  while (s < p.sends.size() || r < p.receptions.size()) {
    if (me.env.random() % 2 && s < p.sends.size()) {
      const message& m = p.sends[s++];
      if (m.from != rank) continue;
      sends.emplace_back().data = payload_of(m.number, m.bytes);
      me.start_send(m.to, m.tag, sends.back().data, sends.back().done, m.sync);
    } else if (r < p.receptions.size()) {
      const reception& want = p.receptions[r++];
      if (want.at != rank) continue;
      receiving& to = receives.emplace_back();
      to.what = &want;
      to.data.assign(want.room + 8, guard);
      me.start_receive(want.from, want.tag, want.mask, std::span(to.data).first(want.room), to.done, &to.found);
    }
    if (me.env.random() % 4 == 0) me.j->progress();
  }
  for (sending& x : sends) require(me.wait(x.done), "a send");
  for (receiving& x : receives) {
    const message& due = x.what->due;
    const status& end = me.wait(x.done);
    require_equal(end.code() == errc::truncated, due.bytes > x.what->room, "truncated: message " + std::to_string(due.number));
    if (due.bytes <= x.what->room) require(end, "a receive");
    require_equal(x.found.bytes, due.bytes, "its length: message " + std::to_string(due.number));
    require_equal(x.found.tag, due.tag, "its tag");
    require_equal(x.found.source, due.from, "its source");
    require_payload(std::span(x.data).first(std::min(due.bytes, x.what->room)), due.number, "its payload");
    for (std::uint64_t i = std::min(due.bytes, x.what->room); i < x.data.size(); ++i) require(x.data[i] == guard, "nothing behind it");
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(random_programs_match_as_the_model_says) {
  const char* const given = std::getenv("TUTTI_TEST_SEED");
  const std::uint64_t first = given ? std::strtoull(given, nullptr, 0) : 1;
  const std::uint64_t programs = given ? 1 : 3;
  for (const fabric_spec& fabric : every_fabric()) {
    BOOST_TEST_MESSAGE("TUTTI_TEST_SEED=" << first << " on " << fabric.name << " and " << programs - 1 << " more");
    run_ranks(fabric, 3, [&](rank_env& env) {
      for (const auto& design : messaging::designs) {
        messenger me(env, std::string(design.name));
        for (std::uint64_t seed = first; seed < first + programs; ++seed) {
          run_program(me, make_program(seed, env.size, 90, me.m->end().limits().max_payload));
          me.meet();
        }
        env.barrier();
      }
    });
  }
}

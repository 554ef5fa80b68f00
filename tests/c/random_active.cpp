// Storms of active messages among all ranks, over every fabric, against a model that counts what each rank must be given; floods; and deaths.
// c_random_active [Boost.Test's options] [-- --fabric NAME] [--seeds N]
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>

#include "tests/c/context_of_rank.h"
#include "tests/harness/arguments.h"
#include "tests/harness/fabric_lists.h"

namespace {

using namespace tutti;
using namespace tutti::test;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a * 0x9e3779b97f4a7c15u + b + 0x632be59bd9b4e019u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

enum : std::uint32_t { deliver_at = 3, reply_at = 9, long_at = 1023 };

// All that is fixed about the hop-th message that begins with the index-th of `origin`.
struct message {
  std::uint64_t id;
  std::uint32_t from, to, hops;   // of the whole chain
  std::size_t words, bytes;
  enum kind : std::uint8_t { one_way, request, with_reply, as_long } as;

  static message of(std::uint64_t seed, std::uint32_t ranks, std::uint32_t origin, std::uint32_t index, std::uint32_t hop, std::size_t most) {
    message m{};
    m.id = std::uint64_t{origin} << 32 | index << 4 | hop;
    const std::uint64_t first = mix(seed, std::uint64_t{origin} << 32 | index << 4), h = mix(seed, m.id);
    m.hops = first % 7 < 4 ? 0 : first % 7 - 3;
    m.from = hop == 0 ? origin : static_cast<std::uint32_t>(mix(mix(seed, m.id - 1), 1) % ranks);
    m.to = static_cast<std::uint32_t>(mix(h, 1) % ranks);
    m.words = 2 + mix(h, 2) % 7;
    m.bytes = mix(h, 3) % 3 == 0 ? 0 : mix(h, 4) % (mix(h, 5) % 4 ? 60 : most + 1);
    const kind kinds[] = {one_way, request, with_reply, with_reply, as_long};
    m.as = kinds[mix(h, 6) % (hop == 0 ? 5 : 4)];
    return m;
  }
  std::uint64_t word(std::size_t i) const { return mix(id, i); }
  std::byte byte(std::size_t i) const { return static_cast<std::byte>(id * 3 + i * 7 + (i >> 8)); }
};

// What each rank has counted, where all see it: a rank must go on running handlers until no other needs them, so that nobody waits out of
// band before that.
struct tally {
  shared_words words;
  std::uint32_t ranks;
  explicit tally(std::uint32_t n) : words(n), ranks(n) {}
  std::uint64_t sum() const {
    std::uint64_t all = 0;
    for (std::uint32_t r = 0; r < ranks; ++r) all += words[r].load();
    return all;
  }
};

struct rank_state {
  tutti_context* ctx;
  std::uint64_t seed;
  std::uint32_t rank, ranks;
  std::size_t most;
  struct order {
    std::vector<std::uint64_t> sent, seen;    // by rank
  } sends, replied;
  std::uint64_t delivered = 0, replies = 0, longs = 0, checksum = 0;
  std::deque<message> postponed;              // what handlers had no room for
  std::string wrong;
  std::vector<std::byte> data;
  unsigned depth = 0;
  bool sending = false;                       // a handler that sends now may come before that call's message

  void require_that(bool holds, const char* what) {
    if (!holds && wrong.empty()) wrong = what;
  }
  // The words: the message, its number in the order of those to the same rank, and what only it has.
  void check(tutti_am_t am, const message& m, const std::uint64_t* words, std::size_t count, const void* payload, std::size_t bytes, order* in) {
    require_that(count == m.words && bytes == m.bytes, "unlike sizes");
    for (std::size_t i = 2; i < count && i < m.words; ++i) require_that(words[i] == m.word(i), "an argument");
    const auto* const p = static_cast<const std::byte*>(payload);
    for (std::size_t i = 0; i < bytes && i < m.bytes; ++i) require_that(p[i] == m.byte(i), "the payload");
    if (in) require_that(words[1] == in->seen[tutti_am_source(am)]++, "the order");
    checksum += mix(m.id, 77);
  }
  message named(std::uint64_t id) const { return message::of(seed, ranks, static_cast<std::uint32_t>(id >> 32), static_cast<std::uint32_t>(id >> 4) & 0xfffffff, id & 15, most); }

  tutti_status_t send(const message& m) {
    std::uint64_t words[8] = {m.id, sends.sent[m.to]};
    for (std::size_t i = 2; i < m.words; ++i) words[i] = m.word(i);
    std::vector<std::byte> payload(m.bytes);
    for (std::size_t i = 0; i < m.bytes; ++i) payload[i] = m.byte(i);
    const tutti_t handle = api::handle_of(ctx);
    sending = true;
    const tutti_status_t s = m.as == message::one_way ? tutti_am_send(handle, m.to, deliver_at, words, m.words, payload.data(), m.bytes)
                                                      : tutti_am_request(handle, m.to, deliver_at, words, m.words, payload.data(), m.bytes);
    sending = false;
    if (s == TUTTI_OK) ++sends.sent[m.to];
    return s;
  }
};

rank_state& state_of(void* context) { return *static_cast<rank_state*>(context); }

void deliver(tutti_am_t am, const std::uint64_t* words, std::size_t count, void* payload, std::size_t bytes, void* context) {
  rank_state& r = state_of(context);
  r.require_that(r.depth++ == 0, "a handler within a handler");
  const message m = r.named(words[0]);
  r.require_that(m.to == r.rank && tutti_am_source(am) == m.from, "the wrong rank");
  r.check(am, m, words, count, payload, bytes, &r.sends);
  ++r.delivered;
  if (m.as == message::with_reply) {
    std::uint64_t answer[8];
    std::copy(words, words + count, answer);
    answer[1] = r.replied.sent[m.from]++;
    r.require_that(tutti_am_reply(am, reply_at, answer, count, payload, bytes) == TUTTI_OK, "a reply was refused");
  }
  if (m.hops > (m.id & 15)) {
    const message next = r.named(m.id + 1);
    // In their order: nothing passes by what was postponed.
    if (r.sending || !r.postponed.empty() || r.send(next) != TUTTI_OK) r.postponed.push_back(next);
  }
  --r.depth;
}

void replied(tutti_am_t am, const std::uint64_t* words, std::size_t count, void* payload, std::size_t bytes, void* context) {
  rank_state& r = state_of(context);
  const message m = r.named(words[0]);
  r.require_that(m.from == r.rank && tutti_am_source(am) == m.to, "the wrong rank of a reply");
  r.check(am, m, words, count, payload, bytes, &r.replied);
  ++r.replies;
}

void long_arrived(tutti_am_t am, const std::uint64_t* words, std::size_t count, void* payload, std::size_t bytes, void* context) {
  rank_state& r = state_of(context);
  r.check(am, r.named(words[0]), words, count, payload, bytes, nullptr);
  ++r.longs;
}

struct totals {
  std::uint64_t delivered = 0, replies = 0, longs = 0;
  std::uint64_t all() const { return delivered + replies + longs; }
};
totals model(const rank_state& r, std::uint32_t messages, std::uint32_t of_rank, bool every) {
  totals t;
  for (std::uint32_t origin = 0; origin < r.ranks; ++origin)
    for (std::uint32_t i = 0; i < messages; ++i)
      for (std::uint32_t hop = 0;; ++hop) {
        const message m = message::of(r.seed, r.ranks, origin, i, hop, r.most);
        const bool is_long = m.as == message::as_long;
        if (every || m.to == of_rank) ++(is_long ? t.longs : t.delivered);
        if (m.as == message::with_reply && (every || m.from == of_rank)) ++t.replies;
        if (is_long || hop >= m.hops) break;
      }
  return t;
}

constexpr std::uint32_t messages_a_rank = 150;
constexpr std::size_t long_room = 1024;

void storm(rank_env& env, tutti_context& ctx, tutti_window_t window, const tally& handled, std::uint64_t seed) {
  const tutti_t handle = api::handle_of(&ctx);
  rank_state r{.ctx = &ctx, .seed = seed, .rank = env.rank, .ranks = env.size, .most = 0};
  r.most = std::min<std::size_t>(960, tutti_am_max_medium(handle));
  for (auto* o : {&r.sends, &r.replied}) o->sent.resize(env.size), o->seen.resize(env.size);
  handled.words[env.rank].store(0);
  expect(ctx, tutti_am_register(handle, deliver_at, deliver, &r), TUTTI_OK);
  expect(ctx, tutti_am_register(handle, reply_at, replied, &r), TUTTI_OK);
  expect(ctx, tutti_am_register(handle, long_at, long_arrived, &r), TUTTI_OK);
  env.barrier();
  for (std::uint32_t i = 0; i < messages_a_rank; ++i) {
    message m = message::of(seed, env.size, env.rank, i, 0, r.most);
    if (m.as != message::as_long) {
      while (!r.postponed.empty()) {  // before, or the order of what is sent would not be that of the numbers
        const message first = r.postponed.front();
        r.postponed.pop_front();
        expect(ctx, r.send(first), TUTTI_OK);
      }
      expect(ctx, r.send(m), TUTTI_OK);
      continue;
    }
    std::uint64_t words[8] = {m.id, 0};
    for (std::size_t w = 2; w < m.words; ++w) words[w] = m.word(w);
    std::vector<std::byte> data(m.bytes);
    for (std::size_t b = 0; b < m.bytes; ++b) data[b] = m.byte(b);
    const std::uint64_t at = (std::uint64_t{env.rank} * messages_a_rank + i) * long_room;
    tutti_request_t request{};
    expect(ctx, tutti_am_request_long(window, m.to, at, data.data(), m.bytes, long_at, words, m.words, i % 2 ? &request : nullptr), TUTTI_OK);
    expect(ctx, tutti_wait(&request, -1), TUTTI_OK);
  }
  const std::uint64_t wanted = model(r, messages_a_rank, 0, true).all();
  env.until("all messages to be handled", [&] {
    expect(ctx, tutti_progress(handle), TUTTI_OK);
    while (!r.postponed.empty()) {
      const message first = r.postponed.front();
      r.postponed.pop_front();
      expect(ctx, r.send(first), TUTTI_OK);
    }
    require(r.wrong.empty(), r.wrong);
    handled.words[env.rank].store(r.delivered + r.replies + r.longs);
    const std::uint64_t got = handled.sum();
    require(got <= wanted, "more than was sent");
    return got == wanted;
  });
  const totals mine = model(r, messages_a_rank, env.rank, false);
  const std::string what = "seed " + std::to_string(seed);
  require_equal(r.delivered, mine.delivered, what + ": delivered");
  require_equal(r.replies, mine.replies, what + ": replies");
  require_equal(r.longs, mine.longs, what + ": long ones");
  for (const std::uint32_t number : {deliver_at, reply_at, long_at}) expect(ctx, tutti_am_register(handle, number, nullptr, nullptr), TUTTI_OK);
  env.barrier();
}

tutti_window_t open_window(tutti_context& ctx, std::size_t bytes) {
  tutti_window_t w;
  expect(ctx, tutti_window_create(api::handle_of(ctx.world.get()), bytes, nullptr, &w), TUTTI_OK);
  return w;
}

void count(tutti_am_t, const std::uint64_t*, std::size_t, void*, std::size_t, void* context) { ++*static_cast<std::uint64_t*>(context); }
void answer(tutti_am_t am, const std::uint64_t* words, std::size_t n, void* payload, std::size_t bytes, void* context) {
  ++*static_cast<std::uint64_t*>(context);
  if (tutti_am_reply(am, 2, words, n, payload, bytes) != TUTTI_OK) std::abort();
}

}  // namespace

BOOST_AUTO_TEST_CASE(storms) {
  const std::uint64_t seeds = std::stoull(argument("--seeds", time_scale == 1 ? "2" : "1"));
  const tally handled(3);
  for (const fabric_spec& fabric : wanted(every_fabric))
    BOOST_TEST_CONTEXT(fabric.name)
      run_ranks(fabric, 3, [&](rank_env& env) {
        if (!env.net().sendrecv()) skip("no two-sided messages");
        const auto ctx = make_context(env);
        const tutti_window_t window = open_window(*ctx, std::size_t{env.size} * messages_a_rank * long_room);
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) storm(env, *ctx, window, handled, env.seed * 1000 + seed);
      }, {.seed = 1});
}

// Every rank sends to every other without ever looking, requests with replies as long as they may be.
BOOST_AUTO_TEST_CASE(floods_end_and_fill_no_memory) {
  const tally handled(3);
  for (const fabric_spec& fabric : wanted([] { return some_fabrics({"shm", "ucx:tcp", "sim:wild", "sim:tcp"}); }))
    BOOST_TEST_CONTEXT(fabric.name)
      run_ranks(fabric, 3, [&](rank_env& env) {
        if (!env.net().sendrecv()) skip("no two-sided messages");
        const auto ctx = make_context(env);
        handled.words[env.rank].store(0);
        const tutti_t handle = api::handle_of(ctx.get());
        std::uint64_t asked = 0, answered = 0, one_way = 0;
        expect(*ctx, tutti_am_register(handle, 1, answer, &asked), TUTTI_OK);
        expect(*ctx, tutti_am_register(handle, 2, count, &answered), TUTTI_OK);
        expect(*ctx, tutti_am_register(handle, 3, count, &one_way), TUTTI_OK);
        env.barrier();
        const std::uint64_t each = fabric.name == "shm" ? 3000 : 400;
        const std::vector<std::byte> payload(960);
        for (std::uint64_t i = 0; i < each; ++i)
          for (std::uint32_t to = 0; to < env.size; ++to) {
            expect(*ctx, tutti_am_request(handle, to, 1, nullptr, 0, payload.data(), payload.size()), TUTTI_OK);
            expect(*ctx, tutti_am_send(handle, to, 3, nullptr, 0, payload.data(), payload.size()), TUTTI_OK);
          }
        const std::uint64_t all = each * env.size;
        env.until("all messages to be handled", [&] {
          expect(*ctx, tutti_progress(handle), TUTTI_OK);
          handled.words[env.rank].store(asked + answered + one_way);
          return handled.sum() == 3 * all * env.size;
        });
        require(asked == all && answered == all && one_way == all, "each rank has its share");
        // Replies that wait are 64 for each rank at most, of less than 2 KiB as the pool rounds up.
        require(ctx->messages->end().buffers().bytes() <= env.size * 70 * 2048, "memory: " + std::to_string(ctx->messages->end().buffers().bytes()));
        env.barrier();
      });
}

BOOST_AUTO_TEST_CASE(a_dead_rank_is_named_and_the_others_go_on) {
  const tally handled(3);
  for (const fabric_spec& fabric : wanted([] { return some_fabrics({"shm", "ucx:tcp", "sim:tcp"}); }))
    for (const bool requests : {true, false})
      BOOST_TEST_CONTEXT(fabric.name << (requests ? " requests" : " one-way"))
        run_ranks(fabric, 3, [&](rank_env& env) {
          const auto ctx = make_context(env);
          const tutti_t handle = api::handle_of(ctx.get());
          std::uint64_t asked = 0, answered = 0, one_way = 0;
          handled.words[env.rank].store(0);
          expect(*ctx, tutti_am_register(handle, 1, answer, &asked), TUTTI_OK);
          expect(*ctx, tutti_am_register(handle, 2, count, &answered), TUTTI_OK);
          expect(*ctx, tutti_am_register(handle, 3, count, &one_way), TUTTI_OK);
          env.barrier();
          if (env.rank == 2) env.die();
          const auto named = [&](tutti_status_t s) {
            expect(*ctx, s, TUTTI_PEER_DEAD);
            require_equal(tutti_error_peer(handle), 2u, "the rank that is named");
          };
          if (requests) {
            // As many as may be under way, then a wait that the death ends; those without answer are told of once.
            tutti_status_t s = TUTTI_OK;
            for (int i = 0; s == TUTTI_OK && i < 1000; ++i) s = tutti_am_request(handle, 2, 1, nullptr, 0, nullptr, 0);
            named(s);
            s = tutti_progress(handle);
            if (s != TUTTI_OK) named(s);
            expect(*ctx, tutti_progress(handle), TUTTI_OK);
          } else {
            tutti_status_t s = TUTTI_OK;
            env.until("one-way messages to a dead rank to end", [&] { return (s = tutti_am_send(handle, 2, 3, nullptr, 0, nullptr, 0)) != TUTTI_OK; });
            named(s);
          }
          named(tutti_am_send(handle, 2, 3, nullptr, 0, nullptr, 0));
          for (int i = 0; i < 200; ++i) expect(*ctx, tutti_am_request(handle, 1 - env.rank, 1, nullptr, 0, nullptr, 0), TUTTI_OK);
          env.until("all answers", [&] {
            expect(*ctx, tutti_progress(handle), TUTTI_OK);
            handled.words[env.rank].store(asked + answered);
            return handled.sum() == 800;
          });
          env.barrier();
        }, {.to_die = {2}});
}

// What a member of the job may send that is none: it is dropped as a whole, and the rank with it.
BOOST_AUTO_TEST_CASE(malformed_messages_end_their_sender) {
  using messaging::active_kind;
  struct bad {
    const char* what;
    active_kind kind;
    std::uint8_t flags;
    std::uint16_t credits;
    std::uint32_t number;
    std::size_t words, payload;
  };
  const bad all[] = {{"no such kind", static_cast<active_kind>(127), 0, 0, 1, 0, 0},
                     {"credit for nothing", active_kind::credit, 0, 1, 0, 0, 0},
                     {"a reply to nothing", active_kind::reply, 0, 1, 1, 0, 0},
                     {"a number beyond", active_kind::one_way, 0, 0, 1024, 0, 0},
                     {"nine arguments", active_kind::request, 9, 0, 1, 7, 16},
                     {"a short header", active_kind::request, 3, 0, 1, 2, 0},
                     {"a long header", active_kind::request, 3, 0, 1, 4, 0},
                     {"no eighth argument", active_kind::request, 8, 0, 1, 7, 0},
                     {"a long one without its place", active_kind::long_request, 0, 0, 1, 0, 8},
                     {"a long one with more", active_kind::long_request, 0, 0, 1, 0, 40}};
  for (const bad& b : all)
    BOOST_TEST_CONTEXT(b.what)
      run_ranks({"shm"}, 2, [&](rank_env& env) {
        const auto ctx = make_context(env);
        const tutti_t handle = api::handle_of(ctx.get());
        std::uint64_t runs = 0;
        expect(*ctx, tutti_am_register(handle, 1, count, &runs), TUTTI_OK);
        env.barrier();
        if (env.rank == 1) {
          const messaging::wire_prefix prefix{static_cast<std::uint8_t>(b.kind), b.flags, b.credits, b.number};
          std::uint64_t words[9] = {};
          std::memcpy(words, &prefix, sizeof prefix);
          const std::uint64_t payload[8] = {};
          env.until("room", [&] { return env.net().sendrecv()->send(0, std::as_bytes(std::span(words, 1 + b.words)), std::as_bytes(std::span(payload)).first(b.payload)); });
        } else {
          tutti_status_t s = TUTTI_OK;
          env.until("an end", [&] { return tutti_progress(handle), (s = tutti_am_send(handle, 1, 1, nullptr, 0, nullptr, 0)) != TUTTI_OK; });
          expect(*ctx, s, TUTTI_PROTOCOL);
          require(runs == 0 && tutti_error_peer(handle) == 1, "what was run, and who is named");
        }
        env.barrier();
      });
}

// The channel against its header, on every fabric: chunks arrive whole, once, in order, and none overwrites another.
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <deque>

#include "messaging/channel.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/fabric_lists.h"

namespace {

using namespace tutti;
using namespace tutti::test;
using messaging::channel;
using messaging::chunk_head;

// What the k-th chunk from `from` holds: its length and every byte are told by the two.
std::uint32_t length_of(rank_t from, std::uint64_t k, std::uint32_t most) {
  return static_cast<std::uint32_t>(sizeof(chunk_head) + (k * 2654435761u + from * 97) % (most - sizeof(chunk_head) + 1));
}
std::byte byte_of(rank_t from, std::uint64_t k, std::uint32_t i) { return static_cast<std::byte>(k * 31 + from * 7 + i); }

std::unique_ptr<channel> connect(rank_env& env, job& j, rank_t peer, const channel::shape& shape) {
  std::vector<std::byte> blob;
  auto c = take(channel::offer(j, peer, shape, blob), "offer");
  require(!c->open(), "not open before accept()");
  const auto all = env.exchange(blob);
  require(c->accept((*all)[peer]), "accept");
  env.barrier();
  return c;
}

}  // namespace

BOOST_AUTO_TEST_CASE(chunks_arrive_whole_in_order_both_ways) {
  const channel::shape shapes[] = {{2, 256}, {8, 4096}};
  for (const fabric_spec& fabric : every_fabric())
    for (const channel::shape& shape : shapes) {
      run_ranks(fabric, 2, [&](rank_env& env) {
        auto j = open_job(env);
        const rank_t peer = 1 - env.rank;
        auto c = connect(env, *j, peer, shape);
        require_equal(c->most_bytes(), shape.slot_bytes, "most_bytes");
        const std::uint32_t buffers = 3;
        area mine = env.allocate(buffers * shape.slot_bytes);
        completion done[3];
        const std::uint64_t chunks = 300;
        std::uint64_t seen = 0, sent = 0;
        std::vector<std::span<const std::byte>> held;
        const auto once = [&] {
          if (sent < chunks && done[sent % buffers].idle() && env.random() % 3) {
            const std::uint32_t n = length_of(env.rank, sent, shape.slot_bytes);
            std::byte* const at = mine.memory.data() + sent % buffers * shape.slot_bytes;
            const chunk_head head{n, static_cast<std::uint32_t>(sent)};
            std::memcpy(at, &head, sizeof head);
            for (std::uint32_t i = sizeof head; i < n; ++i) at[i] = byte_of(env.rank, sent, i);
            sent += c->send(mine.region, sent % buffers * shape.slot_bytes, head, &done[sent % buffers]);
          }
          if (const auto chunk = c->front(); !chunk.empty() && env.random() % 2) {
            chunk_head head;
            std::memcpy(&head, chunk.data(), sizeof head);
            require_equal(head.note, seen, "in order");
            require_equal(chunk.size(), length_of(peer, seen, shape.slot_bytes), "its length");
            for (std::uint32_t i = sizeof head; i < chunk.size(); ++i)
              require(chunk[i] == byte_of(peer, seen, i), "its bytes");
            ++seen;
            c->release();
          }
          c->settle();
          bool idle = true;
          for (const completion& d : done) idle = idle && d.idle();
          return seen == chunks && sent == chunks && idle && c->settle();
        };
        // Chance may leave undone what could be done, and nobody would wake this rank for it: so, several times.
        const auto step = [&] {
          for (int turn = 0; turn < 24; ++turn)
            if (once()) return true;
          return false;
        };
        const wait_note note{"chunks", peer, seen, chunks};
        require(j->wait(step, [&] { return j->world().look(peer); }, note), "wait");
        for (const completion& d : done) require(d.outcome(), "sent");
        require_equal(c->sent(), chunks, "sent()");
        require_equal(c->taken(), chunks, "taken()");
        env.barrier();
      });
    }
}

// A receiver that takes nothing holds the sender at exactly so many chunks as there are slots, and what it looks at stays.
BOOST_AUTO_TEST_CASE(a_full_ring_refuses_and_keeps_what_it_holds) {
  for (const fabric_spec& fabric : every_fabric()) {
    run_ranks(fabric, 2, [&](rank_env& env) {
      auto j = open_job(env);
      const channel::shape shape{4, 128};
      auto c = connect(env, *j, 1 - env.rank, shape);
      area mine = env.allocate(16 * 128);
      completion done;
      if (env.rank == 0) {
        std::uint64_t sent = 0;
        const auto offer = [&] {
          const chunk_head head{128, static_cast<std::uint32_t>(sent)};
          std::byte* const at = mine.memory.data() + sent % 16 * 128;
          std::memcpy(at, &head, sizeof head);
          std::memset(at + sizeof head, static_cast<int>(sent + 1), 120);
          return c->send(mine.region, sent % 16 * 128, head, &done);
        };
        while (sent < 4) {
          sent += offer();
          j->progress();
        }
        for (int i = 0; i < 5; ++i) {
          require(!offer(), "a full ring refuses");
          env.progress_for_a_moment();
        }
        env.barrier();  // now it takes one, and later all
        env.barrier();
        env.wait_idle(done);
        env.barrier();
      } else {
        env.until("the first chunk", [&] { return !c->front().empty(); });
        const auto first = c->front();
        env.barrier();
        for (const std::byte b : first.subspan(sizeof(chunk_head))) require(b == std::byte{1}, "kept");
        env.barrier();
        for (std::uint64_t k = 0; k < 4; ++k) {
          env.until("a chunk", [&] { return !c->front().empty(); });
          require(c->front()[sizeof(chunk_head)] == static_cast<std::byte>(k + 1), "in order");
          c->release();
        }
        require(c->front().empty(), "no more");
        env.barrier();
      }
    });
  }
}

BOOST_AUTO_TEST_CASE(ends_that_differ_are_refused) {
  run_ranks({"shm"}, 2, [&](rank_env& env) {
    auto j = open_job(env);
    std::vector<std::byte> blob;
    auto c = take(channel::offer(*j, 1 - env.rank, {env.rank ? 4u : 8u, 256}, blob), "offer");
    const auto all = env.exchange(blob);
    const status s = c->accept((*all)[1 - env.rank]);
    require(s.code() == errc::protocol && !c->open(), "refused");
    require(std::string_view(s.text()).find("8") != std::string_view::npos, s.text());
    const status nothing = c->accept({});
    require(nothing.code() == errc::protocol, "an empty blob is refused");
    env.barrier();
  });
}

// What is packed for one process comes out as it was put in, of every size and in every scheme: puts that share headers,
// puts and messages that are cut at the ends of chunks, the data of large puts, and answers to gets.
#include <boost/test/unit_test.hpp>

#include "bsp/outbox.h"
#include "bsp/placer.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/sim_fabric.h"

namespace {

using namespace tutti;
using namespace tutti::test;
using namespace tutti::bsp;

constexpr std::uint64_t area_bytes = std::uint64_t{1} << 20;

// Large puts, whose data lie where their records say.
class bulk_reader final : public record_sink {
 public:
  explicit bulk_reader(const arena& a) : arena_(a) {}
  status on_bulk(std::uint32_t, const bulk_head& h, const bsp::area& to) override {
    std::memcpy(to.base + h.offset, arena_.at(h.from), h.bytes);
    ++records;
    return {};
  }
  status on_key(std::uint32_t, std::uint32_t region, std::span<const std::byte> key) override {
    require(std::ranges::equal(key, arena_.key(region)), "the key of a region");
    return {};
  }
  status on_changes(std::uint32_t, const changes_head& h, const std::byte* at) override {
    for (std::uint32_t i = 0; i < h.count; ++i, at += 8) {
      std::uint64_t call;
      std::memcpy(&call, at, sizeof call);
      require_equal(call, calls++, "a call");
      require(h.first + i + 1 == calls, "its number");
    }
    return {};
  }
  void on_area(std::uint32_t, const area_head&, std::span<const std::byte>) override { fail("no area was told"); }
  void on_value(std::uint32_t, const message&) noexcept override {}

  std::uint64_t records = 0, calls = 0;

 private:
  const arena& arena_;
};

struct sent {
  std::vector<std::byte> tag, payload;
};

std::uint64_t some_bytes(std::mt19937_64& g, std::uint64_t most) {
  const unsigned bits = static_cast<unsigned>(g() % std::bit_width(most));
  const std::uint64_t n = 1 + g() % (std::uint64_t{2} << bits);
  return std::min(g() % 2 ? round_up(n, 8) : n, most);
}

void pack_and_place(rank_env& env, scheme how, bool in_place, std::uint64_t bulk_from, std::uint64_t seed) {
  auto j = open_job(env);
  std::mt19937_64 g(seed);
  context c(j->world(), how, default_chunk_room);
  c.window = take(window::open(j->world(), {nullptr, c.layout.bytes()}), "window");
  c.base = c.window->base();
  budget memory(std::uint64_t{64} << 20);
  arena chunks(c.net, memory, [](std::uint32_t, std::span<const std::byte>) { return status{}; });
  chunks.adopt(c.window->region(), {c.base, c.layout.bytes()}, c.layout.room(), c.layout.room_bytes());
  outbox::shared common{c, chunks, {c.net.caps().cost, 30, std::uint64_t{1} << 20, slot_data}};
  outbox box(common, 0, in_place, bulk_from);

  std::vector<std::byte> area(area_bytes), model(area_bytes), source(area_bytes);
  for (std::byte& b : source) b = std::byte(g());
  registrar areas;
  areas.push(area.data(), area_bytes);
  areas.apply();
  message_queue queue(memory);
  bulk_reader others(chunks);
  placer into(areas, queue, others, 0);

  std::uint64_t cuts = 0;
  for (int superstep = 0; superstep < 6; ++superstep, ++c.epoch) {
    chunks.reclaim(c.half());
    box.start();
    queue.clear();
    std::vector<sent> messages;
    std::uint64_t next = 0;
    const std::uint64_t calls = others.calls = 0, told = superstep == 3 ? 5000 : 0;
    for (int call = 0; call < 300; ++call) {
      const std::byte* const from = source.data() + g() % 1024;
      if (g() % 8 == 0) {
        sent& m = messages.emplace_back();
        m.tag.assign(from, from + g() % 40);
        m.payload.assign(from, from + g() % 30000);
        require(box.send(m.tag.data(), m.tag.size(), m.payload.data(), m.payload.size()), "send");
        continue;
      }
      const std::uint64_t bytes = some_bytes(g, 100000);
      std::uint64_t offset = g() % 3 ? next : g() % area_bytes;  // often where the last one ended
      if (g() % 2) offset &= ~std::uint64_t{7};
      if (offset > area_bytes - bytes) offset = area_bytes - bytes;
      next = offset + bytes;
      if (!box.append(from, area.data(), offset, bytes))
        require(box.put(from, area.data(), 0, area_bytes, offset, bytes, c.how.joins), "put");
      std::memcpy(model.data() + offset, from, bytes);
    }
    std::vector<std::uint64_t> all(told);
    for (std::uint64_t i = 0; i < told; ++i) all[i] = i;
    require(box.record_calls(all), "calls");

    const std::uint8_t flags = box.seal(7, 9, false);
    require((flags & has_data) && !(flags & has_requests), "what is told");
    require(in_place ? !(flags & has_more) : (flags & has_more) != 0, "whether chunks travel");
    unfinished open;
    bool first = true;
    for (location l = make_location(0, c.layout.chunk(c.half(), 0)); l; first = false) {
      const auto& chunk = *reinterpret_cast<const chunk_head*>(chunks.at(l));
      if (first) require(chunk.calls == 7 && chunk.tag == 9, "the first head");
      require(in_place || chunk.used.bytes <= bsp::slot_bytes, "chunks that travel fit into slots");
      require(is_last(chunk.used.note) == (chunk.next == 0), "the last says so");
      const std::span records(reinterpret_cast<const std::byte*>(&chunk + 1), chunk.used.bytes - sizeof chunk);
      require(into.place(records, 0, open, in_place), "place");
      cuts += open.put;
      require(open.left == 0 || !in_place, "where chunks are read in place messages lie whole");
      l = chunk.next;
    }
    require(!open.put && open.left == 0, "nothing is left open");
    require_equal(others.calls, calls + told, "calls");
    require(area == model, "the area");
    for (const sent& m : messages) {
      require(queue.front(), "a message");
      require(std::equal(m.tag.begin(), m.tag.end(), queue.front()->tag) && queue.front()->tag_bytes == m.tag.size(), "its tag");
      require(std::equal(m.payload.begin(), m.payload.end(), queue.front()->payload) && queue.front()->bytes == m.payload.size(),
              "its payload");
      queue.pop();
    }
    require(!queue.front(), "no more messages");
  }
  require((others.records > 0) == (bulk_from != never), "large puts");
  require(in_place || bulk_from != never || cuts > 0, "puts that are cut at the end of a chunk say so");
}

// Gets of an outbox, answered by it: what one process asks another for, with both ends here.
void ask_and_answer(rank_env& env, bool in_place, std::uint64_t seed) {
  auto j = open_job(env);
  std::mt19937_64 g(seed);
  context c(j->world(), scheme::automatic, default_chunk_room);
  c.window = take(window::open(j->world(), {nullptr, c.layout.bytes()}), "window");
  c.base = c.window->base();
  budget memory(std::uint64_t{64} << 20);
  arena chunks(c.net, memory, [](std::uint32_t, std::span<const std::byte>) { return status{}; });
  chunks.adopt(c.window->region(), {c.base, c.layout.bytes()}, c.layout.room(), c.layout.room_bytes());
  outbox::shared common{c, chunks, {}};
  outbox box(common, 0, in_place, never);
  std::vector<std::byte> area(area_bytes), got, wanted;
  for (std::byte& b : area) b = std::byte(g());
  got.resize(3 * area_bytes);

  box.start();
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t bytes = some_bytes(g, 10000), offset = g() % (area_bytes - bytes);
    const bool direct = g() % 10 == 0;  // answered by another way
    require(box.request({offset, bytes, reinterpret_cast<std::uintptr_t>(got.data() + wanted.size()), 0, direct}), "request");
    if (!direct) wanted.insert(wanted.end(), area.data() + offset, area.data() + offset + bytes);
  }
  require(box.seal(0, 0, false) & has_requests, "requests");
  box.await_answers();
  for (std::uint64_t done = 0, copied = 0; done < wanted.size(); done += copied)
    require(box.answer(wanted.data() + done, wanted.size() - done, copied), "answer");
  box.seal_answers();
  std::uint64_t n = 0;
  for (location l = box.answers(); l; ++n) {
    const auto& chunk = *reinterpret_cast<const chunk_head*>(chunks.at(l));
    require(box.deliver({reinterpret_cast<const std::byte*>(&chunk + 1), chunk.used.bytes - sizeof chunk}), "deliver");
    l = chunk.next;
  }
  require_equal(box.answer_chunks(), n, "complete chunks");
  require(std::equal(wanted.begin(), wanted.end(), got.begin()), "what came");
  const std::byte more[1]{};
  require(box.deliver(more).failed(), "an answer too many is told");
}

// Each by itself: of one rank the simulated fabric runs nothing.
void by_themselves(const rank_body& body) {
  sim::parameters p;
  p.ranks = 2;
  const auto report = try_ranks_simulated(p, body);
  BOOST_TEST(report.passed(), report.text());
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_packed_is_placed) {
  for (const scheme how : {scheme::automatic, scheme::baseline, scheme::compressed})
    for (const bool in_place : {false, true})
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        BOOST_TEST_INFO("scheme " << row_of(how).name << ", in place " << in_place << ", seed " << seed);
        by_themselves([&](rank_env& env) { pack_and_place(env, how, in_place, never, seed); });
      }
}

BOOST_AUTO_TEST_CASE(large_puts) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    by_themselves([&](rank_env& env) { pack_and_place(env, scheme::rdma, false, 1000, seed); });
}

BOOST_AUTO_TEST_CASE(gets) {
  for (const bool in_place : {false, true})
    for (std::uint64_t seed = 1; seed <= 4; ++seed) by_themselves([&](rank_env& env) { ask_and_answer(env, in_place, seed); });
}

BOOST_AUTO_TEST_CASE(a_word_tells_where_answers_begin) {
  constexpr std::uint64_t offsets[] = {0, 64, 0x555540, (std::uint64_t{1} << 48) - 64};
  for (const std::uint32_t region : {0u, 1u, arena::most_regions - 1})
    for (const std::uint64_t offset : offsets)
      for (const std::uint64_t chunks : {0, 1, 0x7ffe, 0x7fff})
        for (const bool all : {false, true}) {
          const std::uint64_t word = make_answer(make_location(region, offset), chunks, all);
          BOOST_TEST(answers_begin(word) == make_location(region, offset));
          BOOST_TEST(answer_chunks(word) == chunks);
          BOOST_TEST(all_answered(word) == all);
        }
  const std::uint64_t very_many = make_answer(make_location(1, 64), 1 << 20, false);
  BOOST_TEST(answers_begin(very_many) == make_location(1, 64));
  BOOST_TEST(answer_chunks(very_many) == 0x7fffu);
}

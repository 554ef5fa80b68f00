// Puts and gets between random layouts, over every fabric, against images of the windows that every rank can compute.
// c_random_layouts [Boost.Test's options] [-- --fabric NAME] [--seeds N]
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <random>

#include "tests/c/context_of_rank.h"
#include "tests/harness/arguments.h"
#include "tests/harness/fabric_lists.h"

namespace {

using namespace tutti;
using namespace tutti::test;

constexpr std::byte untouched{0xa5};

// A layout of blocks that do not overlap, and the distances of its bytes, of which the lowest is 0 or more.
struct random_layout {
  tutti_layout_t c{};
  std::vector<std::size_t> counts, lengths;
  std::vector<std::ptrdiff_t> strides, offsets;
  std::vector<std::ptrdiff_t> place;
  std::ptrdiff_t low = 0, high = 0;
  std::vector<std::unique_ptr<random_layout>> inner;
  std::vector<const tutti_layout_t*> parts;

  random_layout() = default;
  random_layout(random_layout&&) = default;  // the lists stay where they are
  random_layout& operator=(random_layout&&) = default;
  random_layout(const random_layout&) = delete;

  void list(std::size_t d, std::ptrdiff_t at) {
    if (d < counts.size()) {
      for (std::size_t i = 0; i < counts[d]; ++i) list(d + 1, at + static_cast<std::ptrdiff_t>(i) * strides[d]);
    } else {
      for (std::size_t i = 0; i < c.block_bytes; ++i) place.push_back(at + static_cast<std::ptrdiff_t>(i));
    }
  }
  void settle() {
    if (!place.empty()) low = *std::min_element(place.begin(), place.end()), high = *std::max_element(place.begin(), place.end()) + 1;
  }
};

random_layout strided(std::mt19937_64& random, std::size_t most) {
  random_layout out;
  const std::size_t blocks[] = {1, 3, 4, 8, 8, 16, 40, 200};
  out.c.kind = TUTTI_STRIDED;
  out.c.block_bytes = std::min(most, blocks[random() % 8]);
  std::size_t bytes = out.c.block_bytes;
  std::ptrdiff_t extent = static_cast<std::ptrdiff_t>(bytes);
  for (std::size_t d = 0, n = random() % 5; d < n; ++d) {  // from the innermost outwards
    const std::size_t count = std::min(1 + random() % (random() % 4 ? 6 : 40), most / bytes);
    std::ptrdiff_t stride = extent + static_cast<std::ptrdiff_t>(random() % 2 ? random() % 9 : 0);
    extent = stride * static_cast<std::ptrdiff_t>(count);
    if (random() % 4 == 0) stride = -stride;
    out.counts.insert(out.counts.begin(), count), out.strides.insert(out.strides.begin(), stride);
    bytes *= count;
  }
  out.c.count = out.counts.size(), out.c.counts = out.counts.data(), out.c.strides = out.strides.data();
  out.list(0, 0);
  out.settle();
  return out;
}

// Of so many bytes, in any order.
random_layout indexed(std::mt19937_64& random, std::size_t bytes) {
  random_layout out;
  out.c.kind = TUTTI_INDEXED;
  const std::size_t usual = std::size_t{1} << random() % 12;
  std::vector<std::pair<std::ptrdiff_t, std::size_t>> blocks;
  std::ptrdiff_t at = 0;
  while (bytes > 0) {
    const std::size_t n = std::min(bytes, random() % (2 * usual));
    at += static_cast<std::ptrdiff_t>(random() % 3 ? random() % 5 : 0);
    blocks.emplace_back(at, n);
    at += static_cast<std::ptrdiff_t>(n), bytes -= n;
  }
  if (random() % 3 == 0) std::shuffle(blocks.begin(), blocks.end(), random);
  else if (random() % 2) std::reverse(blocks.begin(), blocks.end());
  for (const auto& [offset, n] : blocks) {
    out.offsets.push_back(offset), out.lengths.push_back(n);
    for (std::size_t i = 0; i < n; ++i) out.place.push_back(offset + static_cast<std::ptrdiff_t>(i));
  }
  out.c.count = blocks.size(), out.c.offsets = out.offsets.data(), out.c.lengths = out.lengths.data();
  out.settle();
  return out;
}

// Of so many bytes: a record of several blocks again and again, and the rest of any kind.
random_layout nested(std::mt19937_64& random, std::size_t bytes) {
  random_layout out;
  const std::size_t times = 1 + random() % 30;
  random_layout record = indexed(random, bytes / times), rest = indexed(random, bytes % times);
  const std::ptrdiff_t stride = record.high - record.low + static_cast<std::ptrdiff_t>(random() % 3);
  out.counts = {times, 1}, out.strides = {stride, 0};
  out.offsets = {-record.low, static_cast<std::ptrdiff_t>(times) * stride - rest.low};
  for (std::size_t i = 0; i < times; ++i)
    for (const std::ptrdiff_t p : record.place) out.place.push_back(out.offsets[0] + static_cast<std::ptrdiff_t>(i) * stride + p);
  for (const std::ptrdiff_t p : rest.place) out.place.push_back(out.offsets[1] + p);
  for (random_layout* const part : {&record, &rest}) {
    out.inner.push_back(std::make_unique<random_layout>(std::move(*part)));
    out.parts.push_back(&out.inner.back()->c);
  }
  out.c.kind = TUTTI_NESTED;
  out.c.count = 2, out.c.offsets = out.offsets.data(), out.c.counts = out.counts.data(), out.c.strides = out.strides.data(), out.c.parts = out.parts.data();
  out.settle();
  return out;
}

random_layout contiguous(std::size_t bytes) {
  random_layout out;
  out.c.kind = TUTTI_CONTIGUOUS, out.c.block_bytes = bytes;
  out.list(0, 0);
  out.settle();
  return out;
}

// One transfer of `rank` with its right neighbor: the same in whoever computes it.
struct exchange_plan {
  random_layout here, there;
  bool put, with_request;
  std::uint64_t offset;       // in the window
  std::byte salt;
  exchange_plan(std::uint64_t seed, rank_t rank, std::size_t most) {
    std::mt19937_64 random(seed * 1000 + rank);
    random_layout one = strided(random, most);
    random_layout other = random() % 3 == 0   ? contiguous(one.place.size())
                          : random() % 2 == 0 ? indexed(random, one.place.size())
                                              : nested(random, one.place.size());
    if (random() % 2) std::swap(one, other);
    here = std::move(one), there = std::move(other);
    put = random() % 2, with_request = random() % 2;
    offset = static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(0, -there.low)) + random() % 64;
    salt = static_cast<std::byte>(random());
  }
  std::byte data(std::size_t i) const { return static_cast<std::byte>(i * 7 + (i >> 8) * 3) ^ salt; }
  std::size_t there_bytes() const { return offset + static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, there.high)); }
  std::size_t here_bytes() const { return static_cast<std::size_t>(here.high - here.low); }
};

constexpr std::size_t window_bytes = 256 << 10;

void one_program(rank_env& env, tutti_context& ctx, tutti_window_t window, std::uint64_t seed) {
  const std::size_t most = seed % 8 ? 3000 : 40000;
  const rank_t right = (env.rank + 1) % env.size, left = (env.rank + env.size - 1) % env.size;
  const exchange_plan mine(seed, env.rank, most), theirs(seed, left, most);
  require(mine.there_bytes() <= window_bytes, "the test's own sizes");
  auto* const memory = static_cast<std::byte*>(tutti_window_base(window));
  std::fill(memory, memory + window_bytes, untouched);
  if (!theirs.put)
    for (std::size_t i = 0; i < theirs.there.place.size(); ++i) memory[static_cast<std::ptrdiff_t>(theirs.offset) + theirs.there.place[i]] = theirs.data(i);
  std::vector<std::byte> own(mine.here_bytes() + 16, untouched);
  std::byte* const base = own.data() + 8 - mine.here.low;
  if (mine.put)
    for (std::size_t i = 0; i < mine.here.place.size(); ++i) base[mine.here.place[i]] = mine.data(i);
  env.barrier();
  tutti_request_t request{};
  tutti_request_t* const r = mine.with_request ? &request : nullptr;
  expect(ctx, mine.put ? tutti_put_layout(window, right, mine.offset, &mine.there.c, base, &mine.here.c, r)
                       : tutti_get_layout(window, right, mine.offset, &mine.there.c, base, &mine.here.c, r), TUTTI_OK);
  if (r) expect(ctx, tutti_wait(r, -1), TUTTI_OK);
  if (r && mine.put) std::fill(own.begin(), own.end(), std::byte{0});  // which is allowed then
  expect(ctx, tutti_flush(window, right, -1), TUTTI_OK);
  env.barrier();
  const std::string what = "seed " + std::to_string(seed);
  std::vector<std::byte> wanted(window_bytes, untouched);
  for (std::size_t i = 0; i < theirs.there.place.size(); ++i) wanted[static_cast<std::size_t>(static_cast<std::ptrdiff_t>(theirs.offset) + theirs.there.place[i])] = theirs.data(i);
  require(std::equal(wanted.begin(), wanted.end(), memory), what + ": the window");
  if (!mine.put) {
    std::vector<std::byte> image(own.size(), untouched);
    for (std::size_t i = 0; i < mine.here.place.size(); ++i) image[static_cast<std::size_t>(8 - mine.here.low + mine.here.place[i])] = mine.data(i);
    require(image == own, what + ": what was got");
  }
  env.barrier();
}

void random_programs(rank_env& env, std::uint64_t seeds) {
  const auto ctx = make_context(env);
  const tutti_team_t team = api::handle_of(ctx->world.get());
  struct alignas(64) line {
    std::byte bytes[64];
  };
  std::vector<line> mine(window_bytes / sizeof(line));  // a rank's own, also where ranks share a thread
  tutti_window_t made, over;
  expect(*ctx, tutti_window_create(team, window_bytes, nullptr, &made), TUTTI_OK);
  expect(*ctx, tutti_window_over(team, mine.data(), window_bytes, &over), TUTTI_OK);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    ctx->piece = seed % 5 ? 1 << 20 : 700;
    one_program(env, *ctx, seed % 3 ? made : over, env.seed + seed);
  }
  expect(*ctx, tutti_window_free(&over), TUTTI_OK);
}

}  // namespace

BOOST_AUTO_TEST_CASE(random_layouts_arrive) {
  const std::uint64_t seeds = std::stoull(argument("--seeds", "40"));
  for (const fabric_spec& fabric : wanted(every_fabric))
    BOOST_TEST_CONTEXT(fabric.name)
      run_ranks(fabric, 3, [&](rank_env& env) { random_programs(env, seeds); }, {.seed = 1});
}

// More transfers under way than there is packing memory, all of which pack or list slices.
BOOST_AUTO_TEST_CASE(many_under_way) {
  for (const fabric_spec& fabric : wanted([] { return some_fabrics({"far(shm)", "ucx:tcp", "sim:wild", "sim:tcp"}); }))
    BOOST_TEST_CONTEXT(fabric.name)
      run_ranks(fabric, 2, [&](rank_env& env) {
        const auto ctx = make_context(env);
        constexpr std::size_t transfers = 80, blocks = 100;
        tutti_window_t window;
        void* base;
        expect(*ctx, tutti_window_create(api::handle_of(ctx->world.get()), transfers * blocks * 8, &base, &window), TUTTI_OK);
        const std::size_t count = blocks;
        const std::ptrdiff_t stride = 16;
        const tutti_layout_t column{TUTTI_STRIDED, 8, 1, &count, &stride, nullptr, nullptr};
        const tutti_layout_t whole{TUTTI_CONTIGUOUS, 8 * blocks, 0, nullptr, nullptr, nullptr, nullptr};
        std::vector<std::uint64_t> mine(transfers * blocks * 2), back(mine.size());
        for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = i ^ env.rank;
        std::vector<tutti_request_t> requests(transfers);
        for (const bool put : {true, false}) {
          for (std::size_t t = 0; t < transfers; ++t)
            expect(*ctx, put ? tutti_put_layout(window, 1 - env.rank, t * 8 * blocks, &whole, mine.data() + t * 2 * blocks, &column, &requests[t])
                             : tutti_get_layout(window, 1 - env.rank, t * 8 * blocks, &whole, back.data() + t * 2 * blocks, &column, &requests[t]),
                   TUTTI_OK);
          expect(*ctx, tutti_wait_all(requests.data(), transfers, -1), TUTTI_OK);
          expect(*ctx, tutti_flush(window, TUTTI_ALL, -1), TUTTI_OK);
          env.barrier();
          const auto* words = static_cast<const std::uint64_t*>(base);
          for (std::size_t i = 0; i < transfers * blocks; ++i) require_equal(words[i], 2 * i ^ (1 - env.rank), "word of the window");
        }
        for (std::size_t i = 0; i < mine.size(); ++i) require_equal(back[i], i % 2 ? 0 : i ^ env.rank, "word that was got");
        env.barrier();
      });
}

BOOST_AUTO_TEST_CASE(a_dead_target_is_named) {
  for (const fabric_spec& fabric : wanted([] { return some_fabrics({"shm", "far(shm)", "ucx:tcp", "sim:tcp"}); }))
    BOOST_TEST_CONTEXT(fabric.name)
      run_ranks(fabric, 3, [](rank_env& env) {
        const auto ctx = make_context(env);
        tutti_window_t window;
        expect(*ctx, tutti_window_create(api::handle_of(ctx->world.get()), 4096, nullptr, &window), TUTTI_OK);
        env.barrier();
        if (env.rank == 2) env.die();
        if (env.rank == 0) {
          env.until("death", [&] { return env.net().health(2).failed(); });
          const std::size_t count = 64;
          const std::ptrdiff_t stride = 32;
          const tutti_layout_t rows{TUTTI_STRIDED, 8, 1, &count, &stride, nullptr, nullptr};
          std::uint64_t own[256]{};
          for (const std::uint32_t to : {2u, 1u, 2u}) {
            const auto ends = to == 2 ? TUTTI_PEER_DEAD : TUTTI_OK;
            tutti_request_t request{};
            tutti_status_t s = tutti_put_layout(window, to, 0, &rows, own, &rows, &request);
            if (s == TUTTI_OK) s = tutti_wait(&request, -1);
            if (s == TUTTI_OK) s = tutti_flush(window, to, -1);
            expect(*ctx, s, ends);
            if (to == 2) require_equal(tutti_error_peer(api::handle_of(ctx.get())), 2u, "the rank that is named");
            s = tutti_get_layout(window, to, 0, &rows, own, &rows, nullptr);
            if (s == TUTTI_OK) s = tutti_flush(window, to, -1);
            expect(*ctx, s, ends);
          }
        }
        env.barrier();
      }, {.to_die = {2}});
}

// Collectives of more than 2^31 and 2^32 bytes, by the C API, with 2 ranks. Their memory is one small file mapped again and
// again, a view on an endless pattern whose period divides no power of two: what is read or written 2^32 bytes off differs. Where
// lengths might be cut off, around 2^31 and 2^32 and at the end, results have pages of their own.
#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "tests/c/context_of_rank.h"
#include "tests/harness/lists.h"

namespace {

using namespace tutti;
using namespace tutti::test;

constexpr std::uint64_t page = 4096, words = 513 * page / 8, period = 8 * words, around = 16 * page;
constexpr std::uint64_t block = (std::uint64_t{1} << 31) + 3 * page, whole = 2 * block;  // bytes
// The pages that are mapped once: from, to.
constexpr std::uint64_t edges[][2] = {{(std::uint64_t{1} << 31) - around, block + around}, {(std::uint64_t{1} << 32) - around, whole}};

constexpr std::uint64_t word_at(std::uint64_t offset) { return (offset % period + 1) * 0x9e3779b97f4a7c15u; }

class huge_memory {
 public:
  huge_memory() : file_(memfd_create("huge", 0)), base_(map(nullptr, whole, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    require(ftruncate(file_, period) == 0, "a file");
    show(0, whole, 0);
  }
  ~huge_memory() {
    munmap(base_, whole);
    close(file_);
  }
  huge_memory(const huge_memory&) = delete;
  huge_memory& operator=(const huge_memory&) = delete;
  std::byte* base() const noexcept { return base_; }

  // `bytes` bytes at `at` become a view on the pattern from `offset` on.
  void show(std::uint64_t at, std::uint64_t bytes, std::uint64_t offset) {
    for (const std::uint64_t end = at + bytes; at < end;) {
      const std::uint64_t from = offset % period, n = std::min(end - at, period - from);
      map(base_ + at, n, MAP_SHARED | MAP_FIXED | MAP_POPULATE, file_, from);
      at += n, offset += n;
    }
  }
  void write_pattern() {
    std::vector<std::uint64_t> pattern(words);
    for (std::uint64_t i = 0; i < words; ++i) pattern[i] = word_at(8 * i);
    std::memcpy(base_, pattern.data(), period);
  }
  void map_edges_once() {
    for (const auto& [from, to] : edges) map(base_ + from, to - from, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  }
  void clear() {
    std::memset(base_, 0, period);
    for (const auto& [from, to] : edges) std::memset(base_ + from, 0, to - from);
  }
  // From begin to end it is the pattern, `times` over.
  void holds(std::uint64_t begin, std::uint64_t end, std::uint64_t times, where at) const {
    const auto agrees = [&](std::uint64_t from, std::uint64_t to) {
      for (from = std::max(from, begin), to = std::min(to, end); from < to; from += 8) {
        std::uint64_t got;
        std::memcpy(&got, base_ + from, 8);
        if (got != times * word_at(from)) fail("byte " + std::to_string(from) + " of " + std::to_string(begin) + " to " + std::to_string(end), at);
      }
    };
    agrees(begin, begin + 2 * period);
    for (const auto& [from, to] : edges) agrees(from, to);
  }

 private:
  static std::byte* map(std::byte* at, std::uint64_t bytes, int flags, int file, std::uint64_t from) {
    void* const got = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, file, static_cast<off_t>(from));
    require(got != MAP_FAILED, "a mapping");
    return static_cast<std::byte*>(got);
  }

  int file_;
  std::byte* base_;
};

// Every other one in short lists.
void everything(rank_env& env) {
  one_in tried(2);
  const auto ctx = make_context(env);
  const tutti_team_t team = api::handle_of(ctx->world.get());
  const std::uint64_t mine = env.rank * block;  // where this rank's block begins
  huge_memory in, out;
  std::byte *const from = in.base(), *const to = out.base();
  in.write_pattern();
  out.map_edges_once();
  const auto gives = [&](tutti_status_t got, std::uint64_t begin, std::uint64_t end, std::uint64_t times, where at = where::current()) {
    expect(*ctx, got, TUTTI_OK, at);
    out.holds(begin, end, times, at);
    out.clear();
  };

  if (tried()) {
    expect(*ctx, tutti_broadcast(team, 0, env.rank == 0 ? from : to, whole), TUTTI_OK);
    if (env.rank == 1) out.holds(0, whole, 1, where::current());
    out.clear();
  }
  if (tried()) gives(tutti_allreduce(team, from, to, whole / 8, TUTTI_UINT64, TUTTI_SUM), 0, whole, 2);
  if (tried()) gives(tutti_reduce_scatter_block(team, from, to + mine, block / 8, TUTTI_UINT64, TUTTI_SUM), mine, mine + block, 2);
  if (tried()) gives(tutti_scatter(team, 0, env.rank == 0 ? from : nullptr, block, to + mine), mine, mine + block, 1);
  if (tried()) gives(tutti_gather(team, 1, from + mine, block, env.rank == 1 ? to : nullptr), 0, env.rank == 1 ? whole : 0, 1);
  if (tried()) gives(tutti_allgather(team, from + mine, block, to), 0, whole, 1);
  if (tried()) {
    in.show(block - mine, block, mine);  // the block for the other, which gets both from the same part of the pattern
    gives(tutti_alltoall(team, from, block, to), 0, whole, 1);
  }
  env.barrier();
}

// Half as long, to be done in time: 2^31 bytes and more. Of unlike blocks the last begins beyond 2^32 bytes.
void reductions_and_unlike_blocks(rank_env& env) {
  const auto ctx = make_context(env);
  const tutti_team_t team = api::handle_of(ctx->world.get());
  huge_memory in, out;
  std::byte *const from = in.base(), *const to = out.base();
  in.write_pattern();
  out.map_edges_once();
  const bool last = env.rank == 1;
  const std::size_t lengths[] = {block, page}, offsets[] = {0, whole - page};  // of the block of each rank
  struct part {
    std::uint64_t begin, end, times = 1;
  };
  const auto gives = [&](tutti_status_t got, std::initializer_list<part> parts, where at = where::current()) {
    expect(*ctx, got, TUTTI_OK, at);
    for (const part& p : parts) out.holds(p.begin, p.end, p.times, at);
    out.clear();
  };

  gives(tutti_reduce(team, 1, from, last ? to : nullptr, block / 8, TUTTI_UINT64, TUTTI_SUM), {{0, last ? block : 0, 2}});
  gives(tutti_scan(team, from, to, block / 8, TUTTI_UINT64, TUTTI_SUM), {{0, block, env.rank + 1}});
  gives(tutti_exscan(team, from, to, block / 8, TUTTI_UINT64, TUTTI_SUM), {{0, last ? block : 0}});
  gives(tutti_gatherv(team, 1, from + offsets[env.rank], lengths[env.rank], last ? to : nullptr, lengths, offsets),
        {{0, last ? block : 0}, {whole - page, last ? whole : 0}});
  gives(tutti_scatterv(team, 0, last ? nullptr : from, lengths, offsets, to + offsets[env.rank], lengths[env.rank]),
        {{offsets[env.rank], offsets[env.rank] + lengths[env.rank]}});
  gives(tutti_allgatherv(team, from + offsets[env.rank], lengths[env.rank], to, lengths, offsets), {{0, block}, {whole - page, whole}});
  // Both give rank 1 a block as above, and rank 1 gives rank 0 the page that begins at 2^32.
  using list = std::array<std::size_t, 2>;
  constexpr std::size_t beyond = std::size_t{1} << 32;
  const list given{last ? page : 0, lengths[env.rank]}, given_at{beyond, offsets[env.rank]};
  const list taken = last ? list{block, page} : list{0, page}, taken_at = last ? list{0, whole - page} : list{0, beyond};
  const part first = last ? part{0, block} : part{beyond, beyond + page}, second{whole - page, last ? whole : 0};
  gives(tutti_alltoallv(team, from, given.data(), given_at.data(), to, taken.data(), taken_at.data()), {first, second});
  const auto words_of = [](const list& bytes) { return list{bytes[0] / 8, bytes[1] / 8}; };
  const tutti_datatype_t types[] = {TUTTI_UINT64, TUTTI_UINT64};
  gives(tutti_alltoallw(team, from, words_of(given).data(), given_at.data(), types, to, words_of(taken).data(), taken_at.data(), types), {first, second});
  env.barrier();
}

void by_multicast(rank_env& env) {
  const auto ctx = make_context(env, {.bcast = "multicast"});
  huge_memory data;
  if (env.rank == 0) data.write_pattern();
  else data.map_edges_once();
  expect(*ctx, tutti_broadcast(api::handle_of(ctx->world.get()), 0, data.base(), whole), TUTTI_OK);
  if (env.rank == 1) data.holds(0, whole, 1, where::current());
  env.barrier();
}

}  // namespace

BOOST_AUTO_TEST_CASE(beyond_2_to_the_31_and_32) {
  const auto run = [](const char* fabric, const rank_body& body) { run_ranks({fabric}, 2, body, {.timeout = std::chrono::seconds(300)}); };
  // What the pages of all that memory cost is most of this test.
  for (const char* fabric : listed({"shm"}, {"sim"})) run(fabric, everything);
  for (const char* fabric : listed({"sim"}, {"shm"})) run(fabric, by_multicast);
  run("shm", reductions_and_unlike_blocks);
}

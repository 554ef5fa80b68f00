// Windows that fit alone and not together are refused before any is taken; and what many teams hold.
#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fstream>

#include "core/base/memory_room.h"
#include "core/job/window.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/arguments.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// Should the refusal fail, the memory must not be filled all the same.
void never_fill() {
  signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1 << 26, 1 << 26};
  require(::setrlimit(RLIMIT_FSIZE, &small) == 0, "setrlimit");
}

// Bytes in memory, of which what several processes map counts in each by its share.
std::size_t share_of_memory() {
  std::ifstream told("/proc/self/smaps_rollup");
  for (std::string line; std::getline(told, line);)
    if (line.starts_with("Pss:")) return std::stoul(line.substr(4)) << 10;
  skip("the kernel does not tell what is in memory");
}

// Each collective with the same bytes of each block, whose sums and places are checked.
void move_words(communicator& c, std::uint64_t words, std::uint64_t salt) {
  const std::uint64_t n = c.group().size(), me = c.group().index(), bytes = 8 * words;
  const auto call = [&](collective of, const std::vector<std::uint64_t>& in, std::vector<std::uint64_t>& out, auto expected) {
    collective_call one{.of = of, .root = static_cast<std::uint32_t>(salt % n), .bytes = bytes,
                        .in = reinterpret_cast<const std::byte*>(in.data()), .out = reinterpret_cast<std::byte*>(out.data())};
    if (reduces(of)) one.op = take(find_reduction(datatype::uint64, operation::sum), "sum");
    require(c.run(one), name_of(of).data());
    for (std::uint64_t i = 0; i < out.size(); ++i) require_equal(out[i], expected(i), name_of(of).data());
  };
  std::vector<std::uint64_t> block(words, salt + me), sum(words), all(n * words), from_all(n * words);
  for (std::uint64_t i = 0; i < all.size(); ++i) all[i] = salt + me * n + i / words;
  call(collective::allreduce, block, sum, [&](std::uint64_t) { return n * salt + n * (n - 1) / 2; });
  call(collective::allgather, block, from_all, [&](std::uint64_t i) { return salt + i / words; });
  call(collective::alltoall, all, from_all, [&](std::uint64_t i) { return salt + i / words * n + me; });
  std::vector<std::uint64_t> one(words, me == salt % n ? salt : 0);
  call(collective::broadcast, {}, one, [&](std::uint64_t) { return salt; });
}

}  // namespace

// Of two ranks, each has a core of its own, where more memory for long calls pays than where cores are shared.
BOOST_AUTO_TEST_CASE(a_team_that_moved_little_holds_little) {
  for (const std::uint32_t ranks : {2, 4})
    run_ranks({"shm"}, ranks, [](rank_env& env) {
      auto j = open_job(env);
      auto world = take(communicator::world(*j, {}), "world");
      constexpr std::size_t teams = 24, most = 64 << 10;
      move_words(*world, 1, 3);
      const rlimit few{64, 64};  // files: a team needs none of its own
      require(::setrlimit(RLIMIT_NOFILE, &few) == 0, "setrlimit");
      std::vector<std::unique_ptr<communicator>> made;
      std::vector<std::unique_ptr<window>> windows;
      env.barrier();
      const std::size_t before = share_of_memory();
      env.barrier();
      for (std::size_t i = 0; i < teams; ++i) {
        made.push_back(take(world->split(0, 0, {}), "split"));
        move_words(*made.back(), 1, i);
        windows.push_back(take(window::open(made.back()->group(), {.bytes = 64}), "window"));
      }
      env.barrier();
      const std::size_t grown = share_of_memory() - before;
      require(grown <= teams * most, std::to_string(grown / teams) + " bytes are in memory for each team");
      // Longer calls, and many, get more.
      for (const std::uint64_t words : {7, 16, 64, 100, 20'000, 1, 40}) move_words(*made.front(), words, words);
      for (std::uint64_t i = 0; i < 1100 && env.size == 2; ++i) move_words(*made.back(), 24, i);
      for (auto& w : windows) require(w->close(), "close");
      windows.clear();
      for (auto& team : made) require(team->group().settle(), "leaving");
      env.barrier();
    });
}

BOOST_AUTO_TEST_CASE(parts_that_fit_only_alone_are_refused_by_all) {
  for (const fabric_spec& fabric : wanted([] { return fabrics(); })) {
    BOOST_TEST_MESSAGE(fabric.name);
    run_ranks(fabric, 4, [](rank_env& env) {
      never_fill();
      auto j = open_job(env);
      const std::uint64_t room = memory_room();
      if (room == room_unknown) skip("nobody tells how much memory there is");
      // The last asks for nothing, and refuses as the others do.
      const auto refused = window::open(j->world(), {.bytes = env.rank == 3 ? 0 : room / 5 * 2});
      require(!refused.ok(), "120 % of the memory were given");
      require(refused.error().code() == errc::no_resource, refused.error().text());
      const std::string text = refused.error().text();
      require(text.find("3 ranks on the node of rank 0 ask together for ") != std::string::npos, text);
      const auto all = env.exchange(std::as_bytes(std::span{text}));
      for (rank_t r = 0; r < env.size; ++r)
        require(std::ranges::equal((*all)[r], std::as_bytes(std::span{text})), "all are told the same");
      // Nothing has changed.
      const auto small = take(window::open(j->world(), {.bytes = 4096}), "a small window afterwards");
      require(small->close(), "close");
    });
  }
}

// Large parts that fit come in a later exchange than small ones: all kinds in one window.
BOOST_AUTO_TEST_CASE(late_and_early_parts_make_one_window) {
  for (const fabric_spec& fabric : wanted([] { return fabrics(); })) {
    if (!fabric.name.ends_with(":tcp")) continue;  // others may take at once what they give, or keep it in /dev/shm
    BOOST_TEST_MESSAGE(fabric.name);
    run_ranks(fabric, 4, [](rank_env& env) {
      auto j = open_job(env);
      const std::uint64_t room = memory_room();
      if (room == room_unknown) skip("nobody tells how much memory there is");
      alignas(64) static std::byte own[4096];
      const window::part parts[] = {{.bytes = room / 8}, {.bytes = 4096}, {}, {.base = own, .bytes = sizeof own}};
      const auto w = take(window::open(j->world(), parts[env.rank]), "window");
      for (rank_t r = 0; r < env.size; ++r) require(r == 0 || w->size_of(r) == parts[r].bytes, "its size");
      require(w->size_of(0) > 4096, "the large part's size");
      if (env.rank != 0) env.run(put(plain(own), {0, w->segment(), 64 * env.rank}, 8));
      require(w->close(), "close");
    });
  }
}

// Windows that fit alone and not together are refused before any is taken.
#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <csignal>

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

}  // namespace

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

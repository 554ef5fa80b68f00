// Leaving a job: a rank whose part is done goes, while others are still at it.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "core/job/control.h"
#include "core/transport/forwarding_transport.h"
#include "core/job/team.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/arguments.h"

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

// Falls asleep before its rank, the first child of its parent, tells that a fragment was taken, as a rank may on a loaded core.
class falls_asleep final : public forwarding_transport {
 public:
  falls_asleep(std::unique_ptr<transport> inner, std::chrono::microseconds nap)
      : forwarding_transport{std::move(inner)}, nap_{nap} {}
  std::size_t submit(std::span<const rma_op> ops) noexcept override {
    if (ops[0].kind == op_kind::signal && ops[0].signal_offset == control::credit_down(0))
      ::usleep(static_cast<useconds_t>(nap_.count()));
    return forwarding_transport::submit(ops);
  }

 private:
  const std::chrono::microseconds nap_;
};

std::size_t sockets_of_this_process() {
  std::size_t n = 0;
  std::error_code gone;
  for (const auto& fd : std::filesystem::directory_iterator{"/proc/self/fd"})
    n += std::filesystem::read_symlink(fd, gone).native().starts_with("socket:");
  return n;
}

}  // namespace

// Ranks that wait long ask after one more each time: that would connect all with all.
BOOST_AUTO_TEST_CASE(to_ask_after_a_rank_of_this_host_makes_no_connection) {
  for (const fabric_spec& fabric : wanted([] { return fabrics(); })) {
    if (!fabric.name.ends_with(":tcp")) continue;
    BOOST_TEST_MESSAGE(fabric.name);
    run_ranks(fabric, 6, [](rank_env& env) {
      const std::size_t before = sockets_of_this_process();
      env.barrier();
      for (rank_t r = 0; r < env.size; ++r) require(env.net().health(r), "health");
      env.progress_for_a_moment();
      env.barrier();
      require(sockets_of_this_process() == before, std::to_string(sockets_of_this_process() - before) + " connections were made");
    });
  }
}

// Rank 1 sleeps with the last fragment taken and not credited. Then ranks 2 to 7 are done and leave, of which 2 and 4 are
// children of rank 0 as well: what it waits for is rank 1 alone, for longer than waits go without a look at who is dead.
BOOST_AUTO_TEST_CASE(a_rank_that_left_with_its_part_done_fails_nobody) {
  constexpr std::uint32_t ranks = 8;
  for (const fabric_spec& fabric : wanted([] { return fabrics(); })) {
    BOOST_TEST_MESSAGE(fabric.name);
    run_ranks(fabric, ranks, [](rank_env& env) {
      if (env.rank == 1)
        env.wrap([](std::unique_ptr<transport> t) { return std::make_unique<falls_asleep>(std::move(t), 400ms * time_scale); });
      {
        auto j = open_job(env);
        require(j->world().settle(), "settle");
      }
      env.close();
    });
  }
}

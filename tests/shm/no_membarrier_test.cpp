// Where a filter forbids membarrier (older container runtimes do), the ranks it hits fence instead, and those who
// signal them too. Every mixture must keep every wake-up.
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <chrono>

#include "core/transport/provider.h"
#include "tests/harness/fabrics.h"

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

const fabric_spec shm{"shm"};

void forbid_membarrier() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{4, rules};
  require(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
  require(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
  require(::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) == -1, "membarrier is forbidden");
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_mixture_of_ranks_with_and_without_it_wakes) {
  for (const unsigned without : {1u, 2u, 3u})  // a bit for each rank
    run_ranks(shm, 2, [without](rank_env& env) {
      env.close();
      if (without >> env.rank & 1) forbid_membarrier();
      env.barrier();
      env.open(take(find_provider("shm")->impl->open({{}, env.boot.job_id(), env.rank, env.size}), "open"));
      area a = env.allocate(64);
      const rank_t other = 1 - env.rank;
      for (std::uint64_t i = 1; i <= 20'000u / time_scale; ++i) {
        if (env.rank == 0) env.submit(signal(a.at(other), i));
        while (!reached(load(a.word()), i)) {
          if (armed open = env.net().arm()) {
            if (!reached(load(a.word()), i)) env.net().sleep(std::move(open), time_point::max());
            else env.net().disarm();
          }
          env.net().progress();
        }
        if (env.rank == 1) env.submit(signal(a.at(other), i));
      }
      env.barrier();
    }, {.timeout = 60s});
}

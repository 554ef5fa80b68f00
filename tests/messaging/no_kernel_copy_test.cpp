// Ranks of a node whose kernel copies nothing between them (other users, other namespaces): long messages come all the same.
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "tests/messaging/messages_env.h"

namespace {

using namespace tutti;
using namespace tutti::test;

bool refused = false;  // copies out of other processes
std::atomic<unsigned> asked = 0;

}  // namespace

// In place of the C library's.
extern "C" ssize_t process_vm_readv(pid_t pid, const iovec* to, unsigned long n, const iovec* from, unsigned long m, unsigned long flags) noexcept {
  if (pid != ::getpid()) ++asked;
  if (refused && pid != ::getpid()) return errno = EPERM, -1;
  return ::syscall(SYS_process_vm_readv, pid, to, n, from, m, flags);
}

BOOST_AUTO_TEST_CASE(long_messages_come_whether_or_not_the_kernel_copies) {
  for (const bool refuses : {false, true})
    run_ranks({"shm"}, 2, [&](rank_env& env) {
      refused = refuses;
      messenger me(env);
      const std::uint32_t other = 1 - env.rank;
      std::uint64_t number = 0;
      for (const std::uint64_t bytes : {std::uint64_t{60'000}, std::uint64_t{1'000'000}, std::uint64_t{20'000'000}}) {
        for (int turn = 0; turn < 3; ++turn, ++number) {
          const auto out = payload_of(2 * number + env.rank, bytes);
          std::vector<std::byte> in(bytes);
          completion sent, received;
          me.start_receive(other, number, messenger::whole, in, received);
          me.start_send(other, number, out, sent);
          require(me.wait(received), "receive");
          require(me.wait(sent), "send");
          require_payload(in, 2 * number + other, "long");
        }
        // Into pieces.
        if (env.rank == 0) {
          me.send(1, 1000, payload_of(number, bytes));
        } else {
          std::vector<std::byte> in(2 * bytes);
          const std::size_t count = bytes / 4;
          const std::ptrdiff_t stride = 8;
          const auto halves = take(block_layout::strided(4, 1, &count, &stride), "layout");
          completion received;
          require(me.tagged().start_receive({&me.world(), 0, 1000, messenger::whole, in.data(), 0, nullptr, &halves}, received, nullptr), "start");
          require(me.wait(received), "pieces");
          for (std::uint64_t i = 0; i < bytes; ++i)
            if (in[i / 4 * 8 + i % 4] != byte_of(number, i)) fail("byte " + std::to_string(i) + " of pieces");
        }
      }
      if (!asked) fail("the kernel was never asked");
      me.meet();
    });
}

// What providers wait by: the end of a process, a set of descriptors, an alarm.
#define BOOST_TEST_MODULE provider_watching
#include <sys/wait.h>

#include <boost/test/unit_test.hpp>
#include <csignal>

#include "providers/common/process_watch.h"
#include "providers/common/sleeper.h"

using namespace tutti;
using namespace std::chrono_literals;

namespace {

struct child {
  pid_t pid;
  child() : pid(::fork()) {
    if (pid == 0)
      for (;;) ::pause();
  }
  void kill() const { ::kill(pid, SIGKILL); }
  ~child() {
    kill();
    ::waitpid(pid, nullptr, 0);
  }
};

bool readable(int fd) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, 0) == 1;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_end_of_a_process_is_seen_while_it_is_a_zombie) {
  process_watch watch;
  BOOST_TEST(!watch.ended());
  {
    const child c;
    BOOST_TEST((watch.open(c.pid) == process_watch::found::watched));
    BOOST_TEST(!watch.ended());
    c.kill();
    BOOST_TEST(watch.ended(10'000));
  }
  BOOST_TEST(watch.ended());
  watch.close();
  BOOST_TEST(!watch);
}

BOOST_AUTO_TEST_CASE(a_process_that_is_no_more) {
  pid_t pid;
  {
    const child c;
    pid = c.pid;
  }
  process_watch watch;
  BOOST_TEST((watch.open(pid) == process_watch::found::ended));
  BOOST_TEST(!watch);
}

BOOST_AUTO_TEST_CASE(an_alarm_ends_a_wait_and_not_the_next_one) {
  sleeper s;
  BOOST_TEST_REQUIRE(s.open());
  BOOST_TEST(!s.disarm());
  s.arm(transport::wake_by::sleep, [] { return 1ns; });
  BOOST_TEST(s.armed());
  BOOST_TEST(!s.sleep(1ms));  // it was not armed for the descriptor
  s.arm(transport::wake_by::fd, [] { return 1ns; });
  BOOST_TEST(s.armed_for_fd());
  BOOST_TEST(s.sleep(10s));
  BOOST_TEST(s.disarm());
  BOOST_TEST(!readable(s.fd()));
  s.arm(transport::wake_by::fd, [] { return 1h; });
  BOOST_TEST(!readable(s.fd()));
  s.reset_alarm(1ns);
  BOOST_TEST(s.sleep(10s));
  s.disarm();
  s.reset_alarm(1ns);  // no sleep is under way
  BOOST_TEST(!s.sleep(1ms));
}

BOOST_AUTO_TEST_CASE(a_set_tells_what_is_ready_until_it_is_removed) {
  const child c;
  process_watch watch;
  BOOST_TEST_REQUIRE((watch.open(c.pid) == process_watch::found::watched));
  sleeper s;
  BOOST_TEST_REQUIRE(s.open());
  BOOST_TEST_REQUIRE(s.add(watch.fd(), &watch));
  void* told = nullptr;
  const auto tell = [&](void* what) { told = what; };
  BOOST_TEST(!s.wait(0, tell));
  c.kill();
  BOOST_TEST(s.sleep(10s));
  BOOST_TEST(s.wait(0, tell));
  BOOST_TEST(told == &watch);
  s.remove(watch.fd());
  BOOST_TEST(!s.wait(0, tell));
}

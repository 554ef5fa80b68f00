// What providers wait by (the end of a process, a set of descriptors, an alarm), and what they know of a peer's life.
#include <sys/wait.h>

#include <boost/test/unit_test.hpp>
#include <csignal>

#include "providers/common/peer_life.h"
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
  s.arm();
  BOOST_TEST(s.armed());
  BOOST_TEST(!s.sleep(1ms));  // it was not armed for the descriptor
  s.arm_fd([] { return 1ns; });
  BOOST_TEST(s.armed_for_fd());
  BOOST_TEST(s.sleep(10s));
  BOOST_TEST(s.disarm());
  BOOST_TEST(!readable(s.fd()));
  s.arm_fd([] { return 1h; });
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

BOOST_AUTO_TEST_CASE(a_suspicion_waits_for_better_witnesses_and_the_end_is_final) {
  using stage = peer_life::stage;
  peer_life life;
  BOOST_TEST((life.now() == stage::alive));
  BOOST_TEST(life.end().ok());
  BOOST_TEST(life.suspect({errc::peer_dead, "reset", 3}, told_by::connection));
  BOOST_TEST(!life.suspect({errc::peer_dead, "ended", 3}, told_by::its_host));
  BOOST_TEST(!life.suspect({errc::peer_dead, "reset again", 3}, told_by::connection));
  BOOST_TEST(life.alive());
  BOOST_TEST(life.suspected());
  BOOST_TEST((life.by() == told_by::its_host));
  BOOST_TEST(life.suspicion().text() == std::string{"reset"});
  BOOST_TEST(life.end().ok());
  BOOST_TEST(life.ends(rank_left(3, "its transport was closed"), told_by::itself));
  BOOST_TEST((life.now() == stage::left));
  BOOST_TEST(life.suspicion().ok());
  BOOST_TEST(!life.ends(rank_died(3), told_by::its_process));
  BOOST_TEST(!life.suspect({errc::peer_dead, "late", 3}, told_by::connection));
  BOOST_TEST(life.end().text() == std::string{"rank 3 left: its transport was closed"});
  BOOST_TEST(life.end().native() == peer_left);

  peer_life other;
  BOOST_TEST(other.ends(rank_died(4), told_by::its_process));
  BOOST_TEST((other.now() == stage::dead));
  BOOST_TEST(other.end().text() == std::string{"rank 4 died"});
}

#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "tests/core/router_fixture.h"

using namespace tutti;
using namespace tutti::test;

BOOST_AUTO_TEST_CASE(one_descriptor_wakes_for_either) {
  const int fds[2] = {::eventfd(0, EFD_NONBLOCK), ::eventfd(0, EFD_NONBLOCK)};
  {
    router_fixture f{fds[0], fds[1]};
    BOOST_TEST(f.both->caps().can_sleep);
    BOOST_TEST(f.both->wait_fd() >= 0);
    for (const int fd : fds) {
      armed open = f.both->arm();
      BOOST_REQUIRE(!!open);
      BOOST_TEST(f.near->calls.back() == "arm_fd");
      BOOST_TEST(f.far->calls.back() == "arm_fd");
      BOOST_REQUIRE(::eventfd_write(fd, 1) == 0);
      f.both->sleep(std::move(open), time_point::max());  // would hang, were it deaf to this one
      eventfd_t ignored;
      BOOST_REQUIRE(::eventfd_read(fd, &ignored) == 0);
    }
    f.far->room = 0;
    const rma_op op = numbered_put(1, unregistered_memory, {}, 0);
    BOOST_TEST(f.both->submit({&op, 1}) == 0u);
    f.both->sleep(f.both->arm(), time_point::max());  // refused: ends by itself, since room wakes nobody
    f.far->room = fake_transport::all;
    BOOST_TEST(f.both->submit({&op, 1}) == 1u);
    f.near_messages.full = true;
    BOOST_TEST(!f.both->sendrecv()->send(0, {}, {}));
    f.both->sleep(f.both->arm(), time_point::max());  // likewise a message
    f.both->sleep(f.both->arm(), f.both->now() - std::chrono::seconds{1});  // a deadline that has passed returns at once
    f.both->sleep(f.both->arm(), time_point{});
  }
  for (const int fd : fds) ::close(fd);
}

BOOST_AUTO_TEST_CASE(work_at_either_refuses_the_sleep_and_leaves_the_other_disarmed) {
  router_fixture f;
  f.near->has_work = true;
  BOOST_TEST(!f.both->arm());
  BOOST_TEST(!f.far->armed);
  f.near->has_work = false, f.far->has_work = true;
  BOOST_TEST(!f.both->arm());
  BOOST_TEST(!f.near->armed);
  BOOST_TEST(!f.both->arm_fd());  // there is none
  f.far->has_work = false;
  BOOST_TEST(!!f.both->arm());
  f.both->disarm();
  BOOST_TEST(!f.near->armed);
  BOOST_TEST(!f.far->armed);
}

BOOST_AUTO_TEST_CASE(without_a_common_descriptor_naps_are_bounded_and_grow) {
  using namespace std::chrono_literals;
  const int fd = ::eventfd(0, EFD_NONBLOCK);
  {
    router_fixture f{-1, fd};  // the node can only sleep in its own way
    std::chrono::nanoseconds last{};
    for (int i = 0; i < 10; ++i) {
      armed open = f.both->arm();
      BOOST_REQUIRE(!!open);
      BOOST_TEST(f.near->calls.back() == "arm");
      BOOST_TEST(f.far->calls.back() == "arm_fd");
      const time_point before = f.near->now();
      f.both->sleep(std::move(open), time_point::max());
      const time_point after = f.near->now();
      BOOST_TEST((f.near->slept_until <= after + 1ms));
      BOOST_TEST((f.near->slept_until >= before + 50us));
      last = f.near->slept_until - before;
    }
    BOOST_TEST((last >= 1ms));  // the longest
    f.near->events = 1;
    f.both->progress();
    f.both->sleep(f.both->arm(), time_point::max());
    BOOST_TEST((f.near->slept_until <= f.near->now() + 50us));  // short again after an event
    const time_point soon = f.near->now() + 1us;
    f.both->sleep(f.both->arm(), soon);
    BOOST_TEST((f.near->slept_until <= soon));
  }
  ::close(fd);
}

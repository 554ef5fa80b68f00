#include <boost/test/unit_test.hpp>

#include "providers/ofi/send_window.h"

using namespace std::chrono_literals;
using tutti::ofi::send_window;

namespace {
const send_window::time start = send_window::time{} + 1h;
}

BOOST_AUTO_TEST_CASE(without_datagrams_it_holds_nothing_back) {
  send_window w;
  w.acknowledged(start, start + 10s);
  BOOST_TEST(!w.moves());
  BOOST_TEST(w.messages() > 1000000u);
}

BOOST_AUTO_TEST_CASE(a_peer_that_keeps_up_gets_more) {
  send_window w{2, 16};
  BOOST_TEST(w.moves());
  BOOST_TEST(w.messages() == 2u);
  w.acknowledged(start, start + 1200us);
  BOOST_TEST(w.messages() == 3u);
  for (int i = 0; i < 100; ++i) w.acknowledged(start, start + 200us);
  BOOST_TEST(w.messages() == 16u);
}

BOOST_AUTO_TEST_CASE(neither_quick_nor_slow_changes_nothing) {
  send_window w{2, 16};
  for (int i = 0; i < 100; ++i) w.acknowledged(start, start + 3ms);
  BOOST_TEST(w.messages() == 2u);
}

// All sixteen come late out of one crowd: that is one crowd. The next one is another.
BOOST_AUTO_TEST_CASE(a_crowd_halves_it_once_and_lasting_ones_leave_the_least) {
  send_window w{2, 16};
  for (int i = 0; i < 14; ++i) w.acknowledged(start, start);
  for (int i = 0; i < 16; ++i) w.acknowledged(start, start + 50ms);
  BOOST_TEST(w.messages() == 8u);
  auto t = start + 51ms;
  for (int i = 0; i < 10; ++i, t += 51ms) w.acknowledged(t, t + 50ms);
  BOOST_TEST(w.messages() == 2u);
  w.acknowledged(t, t + 100us);
  BOOST_TEST(w.messages() == 3u);
}

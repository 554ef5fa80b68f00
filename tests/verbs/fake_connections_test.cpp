// How connections come and go when notes are late or come twice, queue pairs cannot be had, and events are heard after what it
// is about: over adapters that exist in this process alone (fake/fake.h).
#include <boost/test/unit_test.hpp>
#include <thread>

#include "tests/verbs/fake_party.h"

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

const std::uint64_t payload = 7;

// What rank 1's connection manager says arrives at last, and rank 0's has taken it in.
void let_notes_come() {
  fake::release_datagrams("fake1", "fake0");
  while (fake::datagrams_unread("fake0")) std::this_thread::yield();
}

// Rank 1 has written to rank 0, whose connection manager has connected the queue pair, and has yet to hear that 1 has done so as well.
void meet_half(party& p) {
  fake::hold_datagrams("fake1", "fake0", 1);
  completion done;
  BOOST_REQUIRE(p.submit(1, put(p.mine(1), p.at(1, 0), 4096, &done)));
  BOOST_REQUIRE(p.until([&] { return done.idle(); }, {1}));
  BOOST_REQUIRE(done.outcome().ok());
}

}  // namespace

// A note is believed by the check that it carries, which is of every bit of it, and of whom it is for.
BOOST_AUTO_TEST_CASE(each_bit_of_a_note_is_covered) {
  const siphash_key key{1, 2}, other{1, 3};
  verbs::note sound;
  sound.origin = 1, sound.kind = verbs::note_kind::bye;
  const std::uint64_t check = verbs::check_for(0, sound, key);
  for (std::size_t bit = 0; bit < 8 * offsetof(verbs::note, check); ++bit) {
    verbs::note n = sound;
    reinterpret_cast<unsigned char*>(&n)[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    BOOST_TEST(verbs::check_for(0, n, key) != check);
  }
  BOOST_TEST(verbs::check_for(2, sound, key) != check);
  BOOST_TEST(verbs::check_for(0, sound, other) != check);
}

// A peer's goodbye comes by its queue pair, and may overtake the note that confirms that very queue pair. That note is then
// heard when the queue pair is gone, and there is nobody to tell that this rank sleeps.
BOOST_AUTO_TEST_CASE(a_goodbye_before_the_connection_is_confirmed) {
  const no_breach none;
  fake::install(roce(3));
  party p(names(3));
  BOOST_TEST(p.run(0, put(p.mine(0), p.at(0, 2), 4096)).ok());  // somebody whom it has yet to tell
  meet_half(p);
  p.leave(1);
  bool came = false;
  fake::before_error("fake0", [&] { let_notes_come(), came = true; });
  BOOST_TEST(p.until([&] { return came; }));
  for (int i = 0; i < 5; ++i) {
    p.drive();
    if (p[0].arm()) p[0].disarm();
  }
  BOOST_TEST((p[0].health(1).code() == errc::peer_dead));
  BOOST_TEST(p[0].health(1).native() == peer_left);
  BOOST_TEST(p.run(0, put(p.mine(0), p.at(0, 2), 4096)).ok());
}

// News of a queue pair that was dropped since must not bring it back.
BOOST_AUTO_TEST_CASE(a_queue_pair_that_is_gone_is_not_adopted) {
  const no_breach none;
  fake::install(roce(2));
  party p(names(2));
  meet_half(p);
  bool came = false;
  fake::before_error("fake0", [&] { let_notes_come(), came = true; });
  p[0].drop(p.region(0));
  BOOST_TEST((p.run(1, put(p.mine(1), p.at(1, 0), 4096)).code() == errc::invalid));
  BOOST_TEST(p.until([&] { return came; }));
  p[0].progress();
  BOOST_TEST(p.run(0, put(plain(&payload), p.at(0, 1), 8)).ok());
  BOOST_TEST(p.flush(0, 1).ok());
  BOOST_TEST(p.word(1, 0) == payload);
}

// Nothing is sent to a peer that may not be connected yet, also not that this rank sleeps.
BOOST_AUTO_TEST_CASE(a_rank_that_sleeps_says_so_when_it_will_be_heard) {
  const no_breach none;
  fake::install(roce(2));
  party p(names(2));
  meet_half(p);
  for (int i = 0; i < 5; ++i) {
    if (p[0].arm()) p[0].disarm();
    p[0].progress();
  }
  BOOST_TEST(fake::executed("fake0", "fake1").empty());
  let_notes_come();
  BOOST_TEST(p.until([&] {
    if (p[0].arm()) p[0].disarm();
    return !fake::executed("fake0", "fake1").empty();
  }));
}

// A note may come twice: here when the queue pair that it answered is gone, while the one that it tells of is still
// connected to that. To connect to it would make either end call the other's stale in turn, for ever.
BOOST_AUTO_TEST_CASE(a_note_of_a_connection_that_is_gone_makes_none) {
  const no_breach none;
  for (const bool wanted : {false, true}) {
    fake::install(roce(2));
    party p(names(2));
    p.meet();
    fake::fail_next("fake0", "fake1", IBV_WC_GENERAL_ERR, 0);
    const unsigned before = fake::queue_pairs_made("fake0");
    BOOST_TEST(p.run(0, put(p.mine(0), p.at(0, 1), 4096)).failed());
    BOOST_TEST(p.until([&] { return fake::held_by("fake0").rc == 0; }, {0}));
    completion done;
    if (wanted) BOOST_TEST(p.submit(0, put(plain(&payload), p.at(0, 1), 8, &done)));
    fake::repeat_datagram("fake1", "fake0");
    while (fake::datagrams_unread("fake0")) std::this_thread::yield();
    if (!wanted) BOOST_TEST(p.submit(0, put(plain(&payload), p.at(0, 1), 8, &done)));
    BOOST_TEST(p.until([&] { return done.idle(); }));
    BOOST_TEST(p.run(1, put(p.mine(1), p.at(1, 0), 4096)).ok());
    BOOST_TEST(p.flush(0, 1).ok());
    BOOST_TEST(p.word(1, 0) == payload);
    BOOST_TEST(fake::queue_pairs_made("fake0") <= before + 3);
  }
}

// What waits for a connection waits for the next one when that breaks; if there can be none, it ends with the reason.
BOOST_AUTO_TEST_CASE(what_waits_for_a_queue_pair_that_cannot_be_had_ends) {
  const no_breach none;
  fake::install(roce(2));
  party p(names(2));
  meet_half(p);
  p[0].drop(p.region(0));
  completion waits;
  BOOST_TEST(p.submit(0, put(plain(&payload), p.at(0, 1), 8, &waits)));
  BOOST_TEST(!waits.idle());
  fake::before_error("fake0", [] { fake::refuse_queue_pairs("fake0", true); });
  BOOST_TEST((p.run(1, put(p.mine(1), p.at(1, 0), 4096)).code() == errc::invalid));
  BOOST_REQUIRE(p.until([&] { return waits.idle(); }));
  BOOST_TEST_CONTEXT(waits.outcome().text()) {
    BOOST_TEST((waits.outcome().code() == errc::no_resource));
    BOOST_TEST(says(waits.outcome(), "a queue pair for rank 1"));
  }
  BOOST_TEST(p.flush(0, 1).ok());
  fake::refuse_queue_pairs("fake0", false);
  let_notes_come();
  BOOST_TEST(p.run(0, put(plain(&payload), p.at(0, 1), 8)).ok());
}

// What becomes of operations whose requests fail, or end in an order of the adapters' choosing: over adapters that exist
// in this process alone (fake/fake.h).
#include <boost/test/unit_test.hpp>

#include "tests/verbs/fake_party.h"

using namespace tutti;
using namespace tutti::test;

namespace {

struct failing {
  ibv_wc_status status;
  errc code;
  const char* words;
};
constexpr failing kinds[] = {
    {IBV_WC_RETRY_EXC_ERR, errc::peer_dead, "rank 1 died: rank 1 does not answer: transport retry counter exceeded"},
    {IBV_WC_RNR_RETRY_EXC_ERR, errc::peer_dead, "RNR retry counter exceeded"},
    {IBV_WC_RESP_TIMEOUT_ERR, errc::peer_dead, "does not answer"},
    {IBV_WC_REM_ABORT_ERR, errc::peer_dead, "does not answer"},
    {IBV_WC_REM_ACCESS_ERR, errc::invalid, "the memory named on rank 1 is not, or no longer, exposed: remote access error"},
    {IBV_WC_WR_FLUSH_ERR, errc::fabric, "the connection to rank 1 broke while the operation was in flight"},
    {IBV_WC_LOC_PROT_ERR, errc::fabric, "an operation upon rank 1 failed: local protection error"},
    {IBV_WC_LOC_LEN_ERR, errc::fabric, "an operation upon rank 1 failed"},
    {IBV_WC_LOC_QP_OP_ERR, errc::fabric, "an operation upon rank 1 failed"},
    {IBV_WC_LOC_ACCESS_ERR, errc::fabric, "an operation upon rank 1 failed"},
    {IBV_WC_BAD_RESP_ERR, errc::fabric, "an operation upon rank 1 failed"},
    {IBV_WC_REM_INV_REQ_ERR, errc::fabric, "soft-RoCE says so of sound requests, too, where packets get lost"},
    {IBV_WC_REM_OP_ERR, errc::fabric, "an operation upon rank 1 failed"},
    {IBV_WC_FATAL_ERR, errc::fabric, "an operation upon rank 1 failed"},
    {IBV_WC_GENERAL_ERR, errc::fabric, "an operation upon rank 1 failed"},
};

}  // namespace

BOOST_AUTO_TEST_CASE(each_error_says_whom_and_what_the_vendor_said) {
  for (const failing& kind : kinds) BOOST_TEST_CONTEXT("status " << kind.status) {
    const no_breach none;
    fake::install(roce(3));
    party p(names(3));
    p.meet();
    fake::fail_next("fake0", "fake1", kind.status, 0x42);
    const status s = p.run(0, put(p.mine(0), p.at(0, 1), 4096));
    BOOST_TEST(static_cast<int>(s.code()) == static_cast<int>(kind.code));
    BOOST_TEST(s.peer() == 1u);
    BOOST_TEST(s.native() == static_cast<std::int64_t>(kind.status));
    BOOST_TEST_CONTEXT(s.text()) {
      BOOST_TEST(says(s, kind.words));
      BOOST_TEST(says(s, "(status " + std::to_string(kind.status) + ", vendor 0x42)"));
    }
    // A peer that is dead stays so; any other error costs a connection, and the next operation makes another.
    const bool dead = kind.code == errc::peer_dead;
    const status next = p.run(0, put(p.mine(0), p.at(0, 1), 4096));
    BOOST_TEST((next.code() == errc::peer_dead) == dead);
    BOOST_TEST(next.ok() == !dead);
    BOOST_TEST((p[0].health(1).code() == errc::peer_dead) == dead);
    BOOST_TEST(p.run(0, put(p.mine(0), p.at(0, 2), 4096)).ok());  // another peer has nothing of it
    BOOST_TEST(p.run(2, put(p.mine(2), p.at(2, 1), 4096)).ok());
  }
}

BOOST_AUTO_TEST_CASE(an_error_that_no_completion_takes_is_the_flush_s) {
  const no_breach none;
  fake::install(roce(2));
  party p(names(2));
  p.meet();
  fake::fail_next("fake0", "fake1", IBV_WC_REM_OP_ERR, 0x17);
  BOOST_TEST(p.submit(0, signal(p.at(0, 1), 1)));
  BOOST_TEST(p.submit(0, signal(p.at(0, 1, 8), 1)));
  const status s = p.flush(0, 1);
  BOOST_TEST(says(s, "an operation upon rank 1 failed: some other error (status " + std::to_string(IBV_WC_REM_OP_ERR) + ", vendor 0x17)"));
  BOOST_TEST(p.flush(0, 1).ok());  // it was told once
}

// And told to whoever may wait for it; to nobody, where its completion took the error.
BOOST_AUTO_TEST_CASE(a_loss_that_no_completion_takes_is_told_at_both_ends) {
  const no_breach none;
  fake::install(roce(3));
  party p(names(3));
  p.meet();
  fake::fail_next("fake0", "fake1", IBV_WC_REM_INV_REQ_ERR, 0x17);
  BOOST_TEST((p.run(0, put(p.mine(0), p.at(0, 1), 4096)).code() == errc::fabric));
  BOOST_TEST(p.run(0, put(p.mine(0), p.at(0, 1), 4096)).ok());
  BOOST_TEST((p[0].health(1).ok() && p[1].health(0).ok()));

  fake::fail_next("fake0", "fake1", IBV_WC_REM_INV_REQ_ERR, 0x17);
  BOOST_TEST(p.submit(0, signal(p.at(0, 1), 1)));
  BOOST_TEST(p.until([&] { return p[0].health(1).failed() && p[1].health(0).failed(); }));
  BOOST_TEST(says(p[0].health(1), "an operation upon rank 1 failed"));
  BOOST_TEST((p[1].health(0).code() == errc::fabric));
  BOOST_TEST(p[1].health(0).peer() == 0u);
  BOOST_TEST(says(p[1].health(0), "operations of rank 0 upon this one were lost when their connection broke"));
  BOOST_TEST((p[2].health(0).ok() && p[2].health(1).ok() && p[0].health(2).ok() && p[1].health(2).ok()));
  BOOST_TEST(p.flush(0, 1).failed());
  BOOST_TEST(p[0].health(1).ok());   // it was told
  BOOST_TEST(p[1].health(0).failed());  // what is waited for has not come
  BOOST_TEST(p.run(0, put(p.mine(0), p.at(0, 1), 4096)).ok());
}

// As soft-RoCE does where packets overtake each other.
BOOST_AUTO_TEST_CASE(an_atomic_without_an_answer_is_an_error_that_says_so) {
  const no_breach none;
  auto plan = roce(2);
  for (fake::adapter_plan& a : plan) a.software = true;
  fake::install(plan);
  party p(names(2));
  p.meet();
  BOOST_TEST(p.run(0, swap(p.mine(0), p.at(0, 1), 5, nullptr)).ok());
  const std::uint64_t before = p.word(0, 0);
  const auto told = [&](const rma_op& op) {
    fake::keep_answers("fake0", "fake1", 1);
    const status s = p.run(0, op);
    BOOST_TEST((s.code() == errc::fabric));
    BOOST_TEST_CONTEXT(s.text()) BOOST_TEST(says(s, "an atomic upon rank 1 took effect, but its old value did not come"));
    BOOST_TEST(p.word(0, 0) == before);
    BOOST_TEST(p[0].health(1).ok());
    BOOST_TEST(p[1].health(0).ok());
  };
  told(fetch_add(p.mine(0), p.at(0, 1), 2, nullptr));
  BOOST_TEST(p.word(1, 0) == 7u);
  told(compare_swap(p.mine(0), p.at(0, 1), 7, 9, nullptr));
  BOOST_TEST(p.word(1, 0) == 9u);
  told(swap(p.mine(0), p.at(0, 1), 11, nullptr));
  BOOST_TEST(p.run(0, swap(p.mine(0), p.at(0, 1), 20, nullptr)).ok());
  BOOST_TEST(p.word(1, 0) == 20u);
  BOOST_TEST(p.run(0, fetch_add(p.mine(0), p.at(0, 1), 1, nullptr)).ok());
  BOOST_TEST(p.word(0, 0) == 20u);
}

// Behind the first that fails all are flushed: they are told of a broken connection, since they may or may not have
// happened, and what comes then goes by another.
BOOST_AUTO_TEST_CASE(those_behind_an_error_end_with_the_connection) {
  const no_breach none;
  fake::install(roce(2));
  party p(names(2));
  p.meet();
  fake::hold("fake0", "fake1");
  std::array<completion, 6> done;
  for (std::size_t i = 0; i < done.size(); ++i) BOOST_TEST(p.submit(0, put(p.mine(0), p.at(0, 1, 8 * i), 4096, &done[i])));
  fake::release("fake0", "fake1", 2);
  BOOST_TEST(p.until([&] { return done[1].idle(); }));
  BOOST_TEST((done[0].idle() && done[0].outcome().ok() && done[1].outcome().ok() && !done[2].idle()));
  fake::fail_next("fake0", "fake1", IBV_WC_LOC_PROT_ERR, 0x33);
  fake::release("fake0", "fake1");
  BOOST_TEST(p.until([&] { return done[5].idle(); }));
  BOOST_TEST(says(done[2].outcome(), "local protection error (status 4, vendor 0x33)"));
  for (std::size_t i = 3; i < done.size(); ++i) {
    BOOST_TEST((done[i].idle() && done[i].outcome().code() == errc::fabric));
    BOOST_TEST(says(done[i].outcome(), "may or may not have taken effect"));
  }
  BOOST_TEST(p.run(0, put(p.mine(0), p.at(0, 1), 4096)).ok());
  BOOST_TEST(p.run(1, put(p.mine(1), p.at(1, 0), 4096)).ok());
}

BOOST_AUTO_TEST_CASE(memory_that_is_exposed_no_longer_is_refused_by_its_adapter) {
  const no_breach none;
  fake::install(roce(2));
  party p(names(2));
  p.meet();
  p[1].drop(p.region(1));
  for (const rma_op& op : {put(p.mine(0), p.at(0, 1), 4096), get(p.mine(0), p.at(0, 1), 64),
                           fetch_add(p.mine(0), p.at(0, 1), 1, nullptr)}) {
    const status s = p.run(0, op);
    BOOST_TEST((s.code() == errc::invalid), s.text());
    BOOST_TEST(says(s, "rank 1"));
  }
  BOOST_TEST(p.run(1, put(p.mine(0), p.at(1, 0), 0)).ok());
}

// One completion queue serves all queue pairs, and their entries come as the adapters please.
BOOST_AUTO_TEST_CASE(completions_out_of_order_across_queue_pairs) {
  const no_breach none;
  fake::install(roce(4));
  party p(names(4));
  p.meet();
  constexpr std::size_t each = 40;
  std::array<std::array<completion, each>, 4> done;
  for (rank_t r = 1; r < 4; ++r) fake::hold("fake0", "fake" + std::to_string(r));
  for (std::size_t i = 0; i < each; ++i)
    for (rank_t r = 1; r < 4; ++r) BOOST_TEST(p.submit(0, put(p.mine(0), p.at(0, r, 4096), 4096, &done[r][i])));
  // The last peer's first, then by turns, in steps of different lengths.
  const auto ended = [&](rank_t r) {
    std::size_t n = 0;
    for (const completion& c : done[r]) n += c.idle();
    return n;
  };
  std::array<std::size_t, 4> released{};
  std::uint64_t random = 7;
  while (released[1] + released[2] + released[3] < 3 * each) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const auto r = static_cast<rank_t>(released[3] < each / 2 ? 3 : 1 + (random >> 33) % 3);
    const std::size_t n = std::min<std::size_t>(1 + (random >> 40) % 5, each - released[r]);
    fake::release("fake0", "fake" + std::to_string(r), static_cast<unsigned>(n));
    released[r] += n;
    p.drive();
    for (rank_t other = 1; other < 4; ++other) BOOST_TEST(ended(other) == released[other]);
  }
  for (rank_t r = 1; r < 4; ++r)
    for (const completion& c : done[r]) BOOST_TEST(c.outcome().ok());
}

// A flush of all is one of each, and ends with the last.
BOOST_AUTO_TEST_CASE(a_flush_of_all_waits_for_the_slowest_queue_pair) {
  const no_breach none;
  fake::install(roce(3));
  party p(names(3));
  p.meet();
  fake::hold("fake0", "fake1");
  for (rank_t r = 1; r < 3; ++r) BOOST_TEST(p.submit(0, signal(p.at(0, r), 9)));
  completion flushed;
  BOOST_TEST(p[0].flush(no_rank, &flushed));
  for (int i = 0; i < 20; ++i) p.drive();
  BOOST_TEST(p.word(2, 0) == 9u);
  BOOST_TEST(!flushed.idle());
  fake::release("fake0", "fake1");
  BOOST_TEST(p.until([&] { return flushed.idle(); }));
  BOOST_TEST(p.word(1, 0) == 9u);
}

// A connection that is given up leaves entries behind: they are nobody's, and surely not the next connection's.
BOOST_AUTO_TEST_CASE(entries_of_a_dropped_queue_pair_are_nobody_s) {
  const no_breach none;
  fake::install(roce(2));
  party p(names(2));
  p.meet();
  for (int round = 0; round < 20; ++round) {
    fake::hold("fake0", "fake1");
    std::array<completion, 3> done;
    for (completion& c : done) BOOST_TEST(p.submit(0, put(p.mine(0), p.at(0, 1), 4096, &c)));
    fake::fail_next("fake0", "fake1", IBV_WC_GENERAL_ERR, 0);
    fake::release("fake0", "fake1");  // all have their entries now; nobody has looked
    BOOST_TEST(p.until([&] { return done[2].idle(); }));
    for (const completion& c : done) BOOST_TEST(c.outcome().failed());
    BOOST_TEST(p.run(0, fetch_add(p.mine(0, 64), p.at(0, 1, 4096), 1, nullptr)).ok());
    BOOST_TEST(p.word(1, 4096) == static_cast<std::uint64_t>(round) + 1);
  }
}

// Only one in 32 small operations asks for an entry, and only an entry makes room: were there ever none under way in a
// full queue, this would not end; were more posted than there is room for, the adapter would refuse.
BOOST_AUTO_TEST_CASE(a_queue_has_room_again_though_few_ask_for_an_entry) {
  const no_breach none;
  fake::install(roce(2));
  party p(names(2));
  p.meet();
  constexpr std::uint64_t times = 20'000;
  std::uint64_t refused = 0;
  for (std::uint64_t i = 1; i <= times; ++i)
    while (!p.submit(0, signal(p.at(0, 1, 8 * (i % 512)), i))) {
      BOOST_REQUIRE(++refused < 10 * times);
      p.drive();
    }
  BOOST_TEST(refused > 0u);
  BOOST_TEST(p.flush(0, 1).ok());
  for (std::uint64_t i = times - 511; i <= times; ++i) BOOST_TEST(p.word(1, 8 * (i % 512)) == i);
  std::size_t asked = 0;
  for (const auto& e : fake::executed("fake0", "fake1")) asked += (e.flags & IBV_SEND_SIGNALED) != 0;
  BOOST_TEST(asked < times / 16);
}

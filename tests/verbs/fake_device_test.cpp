// What a rank does when receives run out, its device fails, memory cannot be locked; and how it addresses peers on fabrics
// that soft-RoCE is not: over adapters that exist in this process alone (fake/fake.h).
#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <thread>

#include "core/transport/multicast.h"
#include "tests/verbs/fake_party.h"

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

std::vector<fake::adapter_plan> infiniband(std::initializer_list<std::uint16_t> lids) {
  std::vector<fake::adapter_plan> all;
  for (const std::uint16_t lid : lids)
    all.push_back({.name = "fake" + std::to_string(all.size()), .infiniband = true, .lid = lid});
  return all;
}

}  // namespace

// --- receives that run out -------------------------------------------------------------------------------------------------

// Signals to a rank that has slept ring, and a ring takes a receive. The rank then computes: nobody but its connection manager, told
// by the limit event, posts receives again, and the sender, refused meanwhile, tries again.
BOOST_AUTO_TEST_CASE(rings_for_a_rank_that_computes_do_not_run_dry) {
  const no_breach none;
  auto plans = roce(2);
  plans[1].srq_depth = 64;
  fake::install(plans);
  party p(names(2));
  p.meet();
  BOOST_TEST(p.until([&] {  // it sleeps, until its peer has confirmed that it rings
    p[1].sleep(p[1].arm(), p[1].now());
    p[0].progress();
    completion done;
    return p.run(0, signal(p.at(0, 1), 1)).ok() && fake::executed("fake0", "fake1").back().opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  }));
  constexpr std::uint64_t times = 5000;
  for (std::uint64_t i = 2; i <= times; ++i)
    BOOST_REQUIRE(p.until([&] { return p.submit(0, signal(p.at(0, 1, 8 * (i % 100)), i)); }, {0}));
  completion flushed;
  BOOST_TEST(p.until([&] { return p[0].flush(1, &flushed); }, {0}));
  BOOST_TEST(p.until([&] { return flushed.idle(); }, {0}));
  BOOST_TEST(flushed.outcome().ok());
  BOOST_TEST(p.word(1, 8 * (times % 100)) == times);
}

BOOST_AUTO_TEST_CASE(datagrams_upon_no_receive_are_counted_by_their_numbers) {
  const no_breach none;
  for (const bool ib : {false, true}) {
    fake::install(ib ? infiniband({4}) : roce(2));
    party p(ib ? std::vector<std::string>{"fake0", "fake0"} : names(2));  // rdma_cm binds by address, and there is one
    auto* const sender = static_cast<verbs::verbs_multicast*>(p[0].mcast());
    auto* const taker = static_cast<verbs::verbs_multicast*>(p[1].mcast());
    BOOST_REQUIRE((sender && taker));
    std::vector<std::byte> token;
    const auto created = sender->create(rank_map::strided(0, 2), token, p[0].now() + 5s);
    BOOST_REQUIRE_MESSAGE(created.ok(), created.error().text());
    std::atomic<bool> joined{false};
    std::thread creator{[&] { while (!joined) p[0].progress(); }};  // it answers whoever asks whether it can be heard
    const auto in = taker->join(rank_map::strided(0, 2), token, p[1].now() + 5s);
    joined = true;
    creator.join();
    BOOST_REQUIRE_MESSAGE(in.ok(), in.error().text());

    constexpr std::uint32_t times = 500;
    const std::uint32_t depth = taker->query().receive_depth;
    const std::vector<std::byte> payload(100, std::byte{7});
    for (std::uint32_t i = 0; i < times; ++i) BOOST_REQUIRE(p.until([&] { return sender->send(*created, i, payload); }, {0}));
    BOOST_TEST(fake::datagrams_lost() >= times - depth);
    std::uint32_t came = 0, last = 0;
    multicast::datagram d;
    while (taker->receive(*in, d)) ++came, last = d.tag;
    BOOST_TEST(came <= depth);
    BOOST_TEST(last < times - 1);
    // What comes now has a number that tells how many are missing.
    BOOST_REQUIRE(p.until([&] { return sender->send(*created, times, payload); }, {0}));
    BOOST_TEST(p.until([&] { return taker->receive(*in, d); }));
    BOOST_TEST(d.tag == times);
    BOOST_TEST(came + 1 + taker->lost(*in) == times + 1);
    sender->leave(*created);
    taker->leave(*in);
  }
}

// --- a device that fails ---------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_lost_device_ends_what_would_never_end) {
  const no_breach none;
  fake::install(roce(3));
  party p(names(3));
  p.meet();
  fake::hold("fake0", "fake1");
  completion done;
  BOOST_TEST(p.submit(0, put(p.mine(0), p.at(0, 1), 4096, &done)));
  fake::raise("fake0", IBV_EVENT_DEVICE_FATAL);
  BOOST_TEST(p.until([&] { return done.idle(); }));
  BOOST_TEST((done.outcome().code() == errc::peer_dead));
  BOOST_TEST_CONTEXT(done.outcome().text()) BOOST_TEST(says(done.outcome().text(), "fake0 has failed or was removed"));
  for (rank_t r = 1; r < 3; ++r) BOOST_TEST((p[0].health(r).code() == errc::peer_dead));
  BOOST_TEST(p[1].health(2).ok());
}

// Soft-RoCE's driver tells nobody: the device is no longer listed, and no longer serves.
BOOST_AUTO_TEST_CASE(a_device_that_was_removed_without_an_event_is_found_out) {
  const no_breach none;
  for (const bool idle : {false, true}) {
    fake::install(roce(3));
    party p(names(3));
    BOOST_TEST(p.run(0, put(p.mine(0), p.at(0, 1), 4096)).ok());
    BOOST_TEST(p[0].health(1).ok());
    fake::remove("fake0");
    status s;
    if (idle) {
      BOOST_TEST(p.until([&] { return s = p[0].health(1), s.failed(); }));
    } else {
      fake::fail_next("fake0", "fake1", IBV_WC_LOC_QP_OP_ERR, 0);
      s = p.run(0, put(p.mine(0), p.at(0, 1), 4096));
    }
    BOOST_TEST((s.code() == errc::peer_dead));
    BOOST_TEST_CONTEXT(s.text()) BOOST_TEST(says(s.text(), "fake0 has failed or was removed"));
    BOOST_TEST(p.until([&] { return p[0].health(2).failed(); }));  // who was never talked to, either
    const status other = p.run(0, put(p.mine(0), p.at(0, 2), 4096));
    BOOST_TEST((other.code() == errc::peer_dead));
    BOOST_TEST(says(other.text(), "rank 2 died: it cannot be reached; fake0 has failed or was removed"));
    BOOST_TEST(p[1].health(2).ok());
  }
}

BOOST_AUTO_TEST_CASE(a_port_that_is_down_is_named_with_the_peer_that_does_not_answer) {
  const no_breach none;
  fake::install(roce(2));
  party p(names(2));
  p.meet();
  fake::raise("fake0", IBV_EVENT_PORT_ERR);
  BOOST_TEST(p.until([] { return !fake::events_wait("fake0"); }));
  std::this_thread::sleep_for(20ms);  // whoever took it writes it down; a real adapter's retries take longer
  fake::silence("fake0");
  status s;
  BOOST_TEST(p.until([&] { return s = p.run(0, put(p.mine(0), p.at(0, 1), 4096)), s.failed(); }));
  BOOST_TEST((s.code() == errc::peer_dead));
  BOOST_TEST_CONTEXT(s.text()) BOOST_TEST(says(s.text(), "port 1 of fake0 is down"));
}

// As soft-RoCE does it: the request fails first, as a local operation, then the port is down, and last an event tells. All that
// was under way ends as upon a peer that cannot be reached, with the port's name; where the port stays up, with the error.
BOOST_AUTO_TEST_CASE(a_local_error_before_the_port_is_down_is_the_port_s) {
  for (const ibv_wc_status first : {IBV_WC_LOC_QP_OP_ERR, IBV_WC_WR_FLUSH_ERR})
    for (const auto after : {0ms, 50ms, 10'000ms}) BOOST_TEST_CONTEXT("status " << first << ", " << after.count() << " ms") {
      const no_breach none;
      fake::install(roce(2));
      party p(names(2));
      p.meet();
      fake::hold("fake0", "fake1");
      completion failed, flushed;
      BOOST_TEST(p.submit(0, put(p.mine(0), p.at(0, 1), 4096, &failed)));
      BOOST_TEST(p.submit(0, put(p.mine(0), p.at(0, 1), 4096, &flushed)));
      fake::fail_next("fake0", "fake1", first, 0);
      fake::release("fake0", "fake1");
      const time_point down = p[0].now() + after;
      bool lowered = false;
      BOOST_TEST(p.until([&] {
        if (!lowered && p[0].now() >= down) fake::lower_port("fake0"), lowered = true;
        return failed.idle() && flushed.idle();
      }));
      for (const completion* c : {&failed, &flushed}) {
        BOOST_TEST((c->outcome().code() == (lowered ? errc::peer_dead : errc::fabric)));
        BOOST_TEST_CONTEXT(c->outcome().text()) BOOST_TEST(says(c->outcome(), "port 1 of fake0 is down") == lowered);
      }
      BOOST_TEST(p[0].health(1).ok() != lowered);
    }
}

// A wait is ended, asleep or not, though nothing was under way: by health(), for which it is woken.
BOOST_AUTO_TEST_CASE(what_an_adapter_can_no_longer_do_ends_waits) {
  struct row { ibv_event_type event; bool ib; const char* words; };
  for (const row& r : {row{IBV_EVENT_PORT_ERR, false, "port 1 of fake0 is down"},
                       row{IBV_EVENT_CQ_ERR, false, "a completion queue of fake0 has failed"},
                       row{IBV_EVENT_SRQ_ERR, false, "the shared receive queue of fake0 has failed"},
                       row{IBV_EVENT_GID_CHANGE, false, "port 1 of fake0 has another GID 0 than peers know"},
                       row{IBV_EVENT_LID_CHANGE, true, "port 1 of fake0 has LID 5 now, where peers know it by 4"}}) BOOST_TEST_CONTEXT(r.words) {
    const no_breach none;
    fake::install(r.ib ? infiniband({4, 8, 12}) : roce(3));
    party p(names(3));
    p.meet();
    for (int i = 0; i < 20; ++i) {  // its peers know that it sleeps, so that nothing is posted from here on
      if (p[0].arm()) p[0].disarm();
      p.drive();
    }
    fake::raise("fake0", r.event);
    const auto begin = p[0].now();
    while (p[0].health(1).ok() && p[0].now() - begin < 10s) {
      p[0].sleep(p[0].arm(), begin + 10s);
      p[0].progress();
    }
    BOOST_TEST((p[0].now() - begin < 5s));
    for (const rank_t peer : {1u, 2u}) {
      const status s = p[0].health(peer);
      BOOST_TEST((s.code() == errc::peer_dead));
      BOOST_TEST_CONTEXT(s.text()) BOOST_TEST(says(s, r.words));
    }
    BOOST_TEST(p[1].health(2).ok());
    BOOST_TEST(p.run(1, put(p.mine(1), p.at(1, 2), 4096)).ok());
  }
}

BOOST_AUTO_TEST_CASE(a_port_that_comes_back_soon_is_no_harm) {
  const no_breach none;
  fake::install(roce(2));
  party p(names(2));
  p.meet();
  fake::raise("fake0", IBV_EVENT_PORT_ERR);
  std::this_thread::sleep_for(50ms);
  fake::raise("fake0", IBV_EVENT_PORT_ACTIVE);
  for (int i = 0; i < 70; ++i) {
    std::this_thread::sleep_for(10ms);
    BOOST_REQUIRE(p[0].health(1).ok());
  }
  BOOST_TEST(p.run(0, put(p.mine(0), p.at(0, 1), 4096)).ok());
}

// --- words that adapters cannot act upon -------------------------------------------------------------------------------------

// An offset that is aligned does not help where the memory is not.
BOOST_AUTO_TEST_CASE(words_of_memory_that_is_not_aligned_are_refused) {
  const no_breach none;
  fake::install(roce(2));
  party p(names(2));
  alignas(8) std::array<std::byte, 264> odd{};
  const auto region = p[1].add({odd.data() + 4, 256});
  BOOST_REQUIRE(region.ok());
  auto keys = std::make_shared<blob_table>();
  keys->push_back({});
  keys->push_back(*p[1].key(*region));
  const segment_id there = *p[0].attach(rank_map::strided(0, 2), keys);
  const far_place word{1, there, 8};
  rma_op ops[] = {signal(word, 1), signal(word, 1, signal_how::add), fetch_add(p.mine(0), word, 1, nullptr),
                  compare_swap(p.mine(0), word, 0, 1, nullptr), test::swap(p.mine(0), word, 1, nullptr),
                  put_signal(p.mine(0), word, 16, there, 16, 1)};
  for (const rma_op& op : ops) {
    const status s = p.run(0, op);
    BOOST_TEST((s.code() == errc::invalid));
    BOOST_TEST_CONTEXT(s.text()) BOOST_TEST(says(s, "rank 1 at an address that is 4 past a multiple of 8: add memory that begins"));
  }
  BOOST_TEST(p.flush(0, 1).ok());
  for (const std::byte b : odd) BOOST_REQUIRE((b == std::byte{0}));
  p.memory(0)[0] = std::byte{9};
  BOOST_TEST(p.run(0, put(p.mine(0), word, 1)).ok());  // plain bytes go anywhere
  BOOST_TEST(p.flush(0, 1).ok());
  BOOST_TEST((odd[12] == std::byte{9}));
}

// --- memory that cannot be locked -------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(too_little_locked_memory_is_one_line_with_the_mend) {
  const no_breach none;
  rlimit before{};
  ::getrlimit(RLIMIT_MEMLOCK, &before);
  const rlimit low{64 << 10, before.rlim_max};
  BOOST_REQUIRE(::setrlimit(RLIMIT_MEMLOCK, &low) == 0);
  auto plans = roce(2);
  plans[0].lockable = 2 << 20;
  plans[1].lockable = 1024;
  fake::install(plans);
  {
    party p({"fake0"});
    std::span<std::byte> memory;
    const auto refused = p[0].allocate(8 << 20, memory);
    BOOST_REQUIRE(!refused.ok());
    BOOST_TEST((refused.error().code() == errc::no_resource));
    const std::string_view text = refused.error().text();
    BOOST_TEST_CONTEXT(text) {
      BOOST_TEST(says(text, "registering 8388608 bytes with fake0"));
      BOOST_TEST(says(text, "this process may lock 64 KiB: raise it with `ulimit -l unlimited`"));
      BOOST_TEST(!says(text, "\n"));
    }
    BOOST_TEST(p.run(0, put(p.mine(0), p.at(0, 0), 4096)).ok());  // as if it had not been asked for
  }
  open_params params;
  params.device = "fake1", params.job_id = "low";
  const auto none_open = verbs::verbs_transport::open(params);
  BOOST_TEST(!none_open.ok());
  BOOST_TEST(says(none_open.error().text(), "ulimit -l unlimited"));
  ::setrlimit(RLIMIT_MEMLOCK, &before);
}

// --- addresses ---------------------------------------------------------------------------------------------------------------

// Within a subnet the LID leads there, the base LID of a port that answers to several; between subnets the GID.
BOOST_AUTO_TEST_CASE(infiniband_is_addressed_by_lid_and_between_subnets_by_gid) {
  const no_breach none;
  auto plans = infiniband({4, 8, 4});
  plans[1].lmc = 3;
  plans[2].subnet = 2;
  fake::install(plans);
  party p(names(3));
  p.meet();
  for (rank_t from = 0; from < 3; ++from)
    for (rank_t to = 0; to < 3; ++to) {
      if (from == to) continue;
      const auto e = fake::executed("fake" + std::to_string(from), "fake" + std::to_string(to)).back();
      const bool crosses = from == 2 || to == 2;
      BOOST_TEST((e.is_global != 0) == crosses);
      if (!crosses) BOOST_TEST(e.dlid == plans[to].lid);
    }
}

BOOST_AUTO_TEST_CASE(ports_that_cannot_be_used_say_why) {
  const no_breach none;
  auto plans = infiniband({0, 5});
  plans[1].state = IBV_PORT_DOWN;
  fake::install(plans);
  const auto all = verbs::survey();
  BOOST_REQUIRE(all.ok());
  BOOST_TEST(says((*all)[0].why_not, "has no LID: no subnet manager has configured it"));
  BOOST_TEST(says((*all)[1].why_not, "not active"));
  const auto none_chosen = verbs::choose(*all, {}, 0);
  BOOST_TEST(!none_chosen.ok());
  BOOST_TEST(says(none_chosen.error().text(), "fake0 has no LID"));
}

// The nearest to the cores that this process may use, then the fastest; equals are shared out.
BOOST_AUTO_TEST_CASE(the_nearest_port_is_taken_then_the_fastest) {
  const no_breach none;
  auto plans = infiniband({1, 2, 3, 4});
  for (auto& plan : plans) plan.local_cpus = "ffffffff,ffffffff";
  plans[0].local_cpus = "80000000,00000000,00000000,00000000,00000000";  // core 159, which this machine has not
  plans[0].width = 8;
  plans[1].width = 1;
  fake::install(plans);
  const auto all = verbs::survey();
  BOOST_REQUIRE(all.ok());
  const auto usable = verbs::candidates(*all);
  BOOST_REQUIRE(usable.size() == 4u);
  BOOST_TEST(usable[2]->device == "fake1");
  BOOST_TEST(usable[3]->device == "fake0");
  BOOST_TEST(verbs::choose(*all, {}, 0)->device == "fake2");
  BOOST_TEST(verbs::choose(*all, {}, 1)->device == "fake3");
  BOOST_TEST(verbs::choose(*all, {}, 2)->device == "fake2");
}

// --- relaxed ordering ----------------------------------------------------------------------------------------------------------

// With it payloads bear the mark and words do not, for a marked write may pass what was before it, and a word must not.
BOOST_AUTO_TEST_CASE(relaxed_ordering_is_for_payloads_only) {
  const no_breach none;
  for (const bool relaxed : {false, true}) {
    fake::install(roce(2));
    const std::string flag = relaxed ? ",relaxed" : "";
    party p({"fake0" + flag, "fake1" + flag});
    p.meet();
    const auto before = fake::executed("fake0", "fake1").size();
    rma_op both = put_signal(p.mine(0), p.at(0, 1), 4096, p.at(0, 1).segment, 8192, 1);
    BOOST_TEST(p.run(0, both).ok());
    both.how = signal_how::add;
    BOOST_TEST(p.run(0, both).ok());
    BOOST_TEST(p.run(0, fetch_add(p.mine(0), p.at(0, 1, 8192), 1, nullptr)).ok());
    BOOST_TEST(p.run(0, test::swap(p.mine(0), p.at(0, 1, 8192), 1, nullptr)).ok());
    const auto log = fake::executed("fake0", "fake1");
    BOOST_REQUIRE(log.size() >= before + 6);
    for (std::size_t i = before; i < log.size(); ++i) {
      const bool payload = log[i].bytes == 4096;
      BOOST_TEST(((log[i].remote_access & IBV_ACCESS_RELAXED_ORDERING) != 0) == (relaxed && payload));
    }
  }
}

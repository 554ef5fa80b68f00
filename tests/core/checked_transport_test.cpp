#include "core/transport/checked_transport.h"

#include <boost/test/unit_test.hpp>

#include "tests/core/fake_transport.h"
#include "tests/harness/ops.h"

using namespace tutti;
using test::fake_transport;

namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// Four ranks; a segment of ranks 0, 1 and 2, of which 2 exposes nothing; 64 bytes each.
struct fixture {
  fake_transport* below = nullptr;
  std::unique_ptr<transport> net;
  std::vector<std::byte> spare = std::vector<std::byte>(64);
  region_id region{};
  segment_id segment{};

  explicit fixture(std::size_t skew = 0) {
    auto f = std::make_unique<fake_transport>("net");
    below = f.get();
    below->finish_at_once = true;
    below->limits.max_bytes = 48, below->limits.max_inline = 16, below->limits.max_slices = 2;
    net = make_checked(std::move(f));
    auto addresses = std::make_shared<blob_table>();
    for (int r = 0; r < 4; ++r) addresses->push_back(test::bytes_of("a"));
    BOOST_REQUIRE(net->connect(addresses, time_point::max()).ok());
    std::span<std::byte> memory;
    const auto id = skew ? net->add(std::span{aligned_ + skew, 64}) : net->allocate(64, memory);
    BOOST_REQUIRE(id.ok());
    region = *id;
    const auto key = net->key(region);
    BOOST_REQUIRE(key.ok());
    auto keys = std::make_shared<blob_table>();
    keys->push_back(*key);
    keys->push_back(*key);
    keys->push_back({});
    const auto attached = net->attach(rank_map::strided(0, 3), keys);
    BOOST_REQUIRE_MESSAGE(attached.ok(), attached.error().text());
    segment = *attached;
  }
  test::near_place mine(std::uint64_t offset = 0) const { return {region, offset}; }
  test::far_place at(std::uint64_t offset, rank_t rank = 1) const { return {rank, segment, offset}; }

  // The text that the operation ends with; empty: it passed on to the transport below.
  std::string verdict(rma_op op) {
    completion done;
    op.done = &done;
    const std::size_t before = below->taken.size();
    BOOST_TEST(net->submit({&op, 1}) == 1u);
    BOOST_TEST(done.idle());
    BOOST_TEST((below->taken.size() == before) == done.outcome().failed());
    if (done.outcome().failed()) BOOST_TEST((done.outcome().code() == errc::invalid));
    return done.outcome().ok() ? "" : done.outcome().text();
  }

 private:
  alignas(8) std::byte aligned_[80] = {};
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_right_passes_as_it_stands) {
  fixture f;
  const slice slices[] = {{f.region, 8, 0}, {f.region, 8, 56}};
  std::uint64_t word = 0;
  const rma_op ops[] = {
      test::put(f.mine(), f.at(16), 48),
      test::put(f.mine(64), f.at(64), 0),  // nothing, at the very end
      test::put(test::plain(&word), f.at(0), 8),
      test::get(f.mine(32), f.at(32), 32),
      test::get_scatter(slices, f.at(48), nullptr),
      test::signal(f.at(56), 1),
      test::put_signal(f.mine(), f.at(0), 32, f.segment, 32, 5),
      test::fetch_add(f.mine(56), f.at(56), 1, nullptr),
      test::compare_swap(f.mine(), f.at(0), 1, 2, nullptr),
      test::swap(f.mine(), f.at(8), 1, nullptr),
  };
  BOOST_TEST(f.net->submit(ops) == std::size(ops));
  BOOST_TEST(f.below->last_span == ops);
  BOOST_TEST(f.below->taken.size() == std::size(ops));
}

BOOST_AUTO_TEST_CASE(keys_travel_without_what_was_added) {
  fixture f;
  const std::vector<std::string> bare{"net-key-0", "net-key-0", ""};
  BOOST_TEST(f.below->keys == bare, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(ranks) {
  fixture f;
  BOOST_TEST(has(f.verdict(test::signal(f.at(0, 4), 1)), "rank 4 is not in this job: its ranks are 0 to 3"));
  BOOST_TEST(has(f.verdict(test::signal(f.at(0, 3), 1)), "rank 3 is no member of segment 0"));
  BOOST_TEST(has(f.verdict(test::put(f.mine(), f.at(0, 2), 8)), "rank 2 exposes no memory"));
  BOOST_TEST(has(f.verdict(test::put(f.mine(), f.at(0, 2), 8)), "put to rank 2"));
  BOOST_TEST(!f.net->reaches(4));
  BOOST_TEST((f.net->health(4).code() == errc::invalid));
  BOOST_TEST((f.net->health(3).code() == errc::peer_dead));  // the fake's answer
}

BOOST_AUTO_TEST_CASE(ranges) {
  fixture f;
  BOOST_TEST(has(f.verdict(test::put(f.mine(), f.at(57), 8)),
                 "8 bytes at offset 57 leave the memory of rank 1, which has 64"));
  BOOST_TEST(has(f.verdict(test::get(f.mine(57), f.at(0), 8)), "8 bytes at offset 57 leave region 0, which has 64"));
  BOOST_TEST(has(f.verdict(test::put(f.mine(), f.at(65), 0)), "leave"));
  const std::uint64_t huge = ~std::uint64_t{0} - 7;  // offset + 8 is 0
  BOOST_TEST(has(f.verdict(test::put(f.mine(), f.at(huge), 8)), "leave the memory of rank 1"));
  BOOST_TEST(has(f.verdict(test::get(f.mine(huge), f.at(0), 8)), "leave region 0"));
  BOOST_TEST(has(f.verdict(test::signal(f.at(huge), 1)), "signal"));
  BOOST_TEST(has(f.verdict(test::fetch_add(f.mine(), f.at(64), 1, nullptr)), "atomic"));
  BOOST_TEST(has(f.verdict(test::fetch_add(f.mine(60), f.at(0), 1, nullptr)), "leave region 0"));
  BOOST_TEST(has(f.verdict(test::put(f.mine(), f.at(0), 49)),
                 "49 bytes in one operation, where this fabric takes 48: split"));
  BOOST_TEST(has(f.verdict(test::put_signal(f.mine(), f.at(0), 8, f.segment, 64, 1)), "signal: 8 bytes at offset 64"));
}

BOOST_AUTO_TEST_CASE(words_are_aligned_by_address) {
  {
    fixture f;
    BOOST_TEST(has(f.verdict(test::signal(f.at(4), 1)), "the word at offset 4 of rank 1 is not aligned to 8 bytes"));
    BOOST_TEST(has(f.verdict(test::swap(f.mine(), f.at(1), 1, nullptr)), "not aligned"));
    BOOST_TEST(has(f.verdict(test::put_signal(f.mine(), f.at(0), 8, f.segment, 9, 1)), "not aligned"));
  }
  fixture odd{4};  // memory that begins 4 bytes past an aligned address
  BOOST_TEST(odd.verdict(test::signal(odd.at(4), 1)) == "");
  BOOST_TEST(has(odd.verdict(test::signal(odd.at(8), 1)), "begins at an address that is not"));
}

BOOST_AUTO_TEST_CASE(local_memory) {
  fixture f;
  std::uint64_t words[8] = {};
  BOOST_TEST(f.verdict(test::put(test::plain(words), f.at(0), 16)) == "");
  BOOST_TEST(has(f.verdict(test::put(test::plain(nullptr), f.at(0), 8)), "null"));
  BOOST_TEST(f.verdict(test::put(test::plain(nullptr), f.at(0), 0)) == "");
  BOOST_TEST(f.verdict(test::put(test::plain(words), f.at(0), 17)) == "");
  BOOST_TEST(f.verdict(test::get(test::plain(words), f.at(0), 8)) == "");
  BOOST_TEST(has(f.verdict(test::put({region_id{77}, 0}, f.at(0), 8)), "local region 77 is not alive"));
}

BOOST_AUTO_TEST_CASE(slices) {
  fixture f;
  slice list[] = {{f.region, 8, 0}, {f.region, 8, 8}, {f.region, 8, 16}};
  BOOST_TEST(has(f.verdict(test::get_scatter(list, f.at(0), nullptr)), "3 slices, where this fabric takes 2: split"));
  const auto two = std::span{list}.first(2);
  BOOST_TEST(f.verdict(test::get_scatter(two, f.at(48), nullptr)) == "");
  BOOST_TEST(has(f.verdict(test::get_scatter(two, f.at(49), nullptr)), "16 bytes at offset 49"));
  list[1].local_offset = 60;
  BOOST_TEST(has(f.verdict(test::get_scatter(two, f.at(0), nullptr)), "slice 1: local: 8 bytes at offset 60"));
  list[1] = {region_id{9}, 8, 0};
  BOOST_TEST(has(f.verdict(test::get_scatter(two, f.at(0), nullptr)), "slice 1: local region 9"));
  list[1] = {f.region, 48, 0};
  BOOST_TEST(has(f.verdict(test::get_scatter(two, f.at(0), nullptr)), "56 bytes in one operation"));
  rma_op null = test::get_scatter(two, f.at(0), nullptr);
  null.scatter = nullptr;
  BOOST_TEST(has(f.verdict(null), "null"));
}

BOOST_AUTO_TEST_CASE(ids_must_be_alive) {
  fixture f;
  BOOST_TEST(has(f.verdict(test::signal({1, segment_id{5}, 0}, 1)), "segment 5 is not attached"));
  f.net->drop(f.region);
  BOOST_TEST(has(f.verdict(test::put(f.mine(), f.at(0), 8)), "local region 0 is not alive"));
  BOOST_TEST((f.net->key(f.region).error().code() == errc::invalid));
  f.net->drop(f.segment);
  BOOST_TEST(has(f.verdict(test::signal(f.at(0), 1)), "segment 0 is not attached"));
  BOOST_TEST(f.net->map(f.segment, 1) == nullptr);
  const std::size_t calls = f.below->calls.size();
  f.net->drop(f.region);  // again
  f.net->drop(f.segment);
  BOOST_TEST(f.below->calls.size() == calls);
}

BOOST_AUTO_TEST_CASE(unknown_kinds_and_modes) {
  fixture f;
  rma_op op = test::signal(f.at(0), 1);
  op.kind = static_cast<op_kind>(200);
  BOOST_TEST(has(f.verdict(op), "no operation of kind 200"));
  op = test::signal(f.at(0), 1);
  op.how = static_cast<signal_how>(7);
  BOOST_TEST(has(f.verdict(op), "zero the operation"));
}

// Wrong ones among right ones, with every room below: the rights before a refusal arrive, in order, and the wrongs are
// told once each, when they are taken.
BOOST_AUTO_TEST_CASE(wrong_operations_do_not_disturb_their_neighbours) {
  for (unsigned pattern = 0; pattern < 64; ++pattern)
    for (std::size_t room = 0; room <= 6; ++room) {
      fixture f;
      f.below->room = room;
      std::array<completion, 6> done;
      std::vector<rma_op> ops;
      for (unsigned i = 0; i < 6; ++i) {
        ops.push_back(test::put(f.mine(), f.at(pattern >> i & 1 ? 60 : 0), 8, &done[i]));
        ops.back().operand = i;
      }
      std::size_t expect = 0, left = room;
      std::vector<std::uint64_t> expect_below;
      for (; expect < 6; ++expect) {
        if (pattern >> expect & 1) continue;
        if (left == 0) break;
        --left;
        expect_below.push_back(expect);
      }
      const std::size_t taken = f.net->submit(ops);
      bool good = taken == expect && f.below->taken.size() == expect_below.size();
      for (std::size_t i = 0; good && i < expect_below.size(); ++i) good = f.below->taken[i].operand == expect_below[i];
      for (unsigned i = 0; i < 6; ++i)
        good &= done[i].idle() && done[i].outcome().ok() == !(i < taken && pattern >> i & 1);
      if (!good)
        BOOST_ERROR("pattern " << pattern << " room " << room << ": took " << taken << ", expected " << expect);
    }
}

BOOST_AUTO_TEST_CASE(without_a_completion_the_next_flush_tells) {
  fixture f;
  const rma_op first = test::put(f.mine(), f.at(60), 8), second = test::signal(f.at(4), 1),
               other = test::signal(f.at(4, 0), 1);
  BOOST_TEST(f.net->submit({&first, 1}) == 1u);
  BOOST_TEST(f.net->submit({&second, 1}) == 1u);
  BOOST_TEST(f.net->submit({&other, 1}) == 1u);
  completion done;
  f.below->flush_room = 0;
  BOOST_TEST(!f.net->flush(1, &done));  // refused: nothing told yet
  BOOST_TEST(done.outcome().ok());
  f.below->flush_room = fake_transport::all;
  BOOST_TEST(f.net->flush(2, &done));  // another rank's
  BOOST_TEST(done.outcome().ok());
  BOOST_TEST(f.net->flush(1, &done));
  BOOST_TEST(done.idle());
  BOOST_TEST(has(done.outcome().text(), "put to rank 1"));  // the first
  done.clear();
  BOOST_TEST(f.net->flush(1, &done));
  BOOST_TEST(done.outcome().ok());  // once
  BOOST_TEST(f.net->flush(no_rank, &done));
  BOOST_TEST(has(done.outcome().text(), "signal to rank 0"));
  done.clear();
  BOOST_TEST(f.net->flush(9, &done));
  BOOST_TEST(done.idle());
  BOOST_TEST(has(done.outcome().text(), "flush: rank 9 is not in this job"));
}

BOOST_AUTO_TEST_CASE(set_up) {
  fixture f;
  std::span<std::byte> memory;
  f.below->calls.clear();
  BOOST_TEST((f.net->add({}).error().code() == errc::invalid));
  BOOST_TEST((f.net->allocate(0, memory).error().code() == errc::invalid));
  auto keys = std::make_shared<blob_table>();
  keys->push_back({});
  BOOST_TEST(has(f.net->attach(rank_map::strided(0, 2), keys).error().text(), "group of 2 with 1 keys"));
  BOOST_TEST(has(f.net->attach(rank_map::strided(4, 1), keys).error().text(), "rank 4 is not in this job"));
  auto bare = std::make_shared<blob_table>();
  bare->push_back(test::bytes_of("a key of a rank that does not check"));
  const auto mixed = f.net->attach(rank_map::strided(1, 1), bare);
  BOOST_REQUIRE(!mixed.ok());
  BOOST_TEST((mixed.error().code() == errc::protocol));
  BOOST_TEST(mixed.error().peer() == 1u);
  BOOST_TEST(has(mixed.error().text(), "TUTTI_CHECK=1"));
  BOOST_TEST(f.below->calls.empty());

  const auto early = make_checked(std::make_unique<fake_transport>("net"));
  completion done;
  rma_op op = test::signal({0, segment_id{}, 0}, 1);
  op.done = &done;
  BOOST_TEST(early->submit({&op, 1}) == 1u);
  BOOST_TEST(has(done.outcome().text(), "call connect() first"));
}

// A message that breaks a rule goes no further; the next flush says which.
BOOST_AUTO_TEST_CASE(messages) {
  fixture f;
  BOOST_TEST(f.net->sendrecv() == nullptr);
  test::fake_two_sided below;
  f.below->ts = &below;
  f.below->reached_ranks = {0, 1, 2};
  two_sided* const calls = f.net->sendrecv();
  BOOST_REQUIRE(calls);
  const auto sixteen = test::bytes_of("sixteen bytes...");
  BOOST_TEST(calls->send(1, sixteen, test::bytes_of("payload")));
  BOOST_TEST(below.sent == std::vector<std::string>{"1:sixteen bytes.../payload"}, boost::test_tools::per_element());
  const auto told = [&](rank_t rank) {
    completion done;
    BOOST_TEST(f.net->flush(rank, &done));
    BOOST_TEST(done.idle());
    return done.outcome().ok() ? std::string{} : std::string{done.outcome().text()};
  };
  BOOST_TEST(told(1).empty());
  BOOST_TEST(calls->send(1, std::vector<std::byte>(17), {}));
  BOOST_TEST(has(told(1), "a message to rank 1: the header has 17 bytes, where this fabric takes 16"));
  BOOST_TEST(calls->send(1, {}, std::vector<std::byte>(33)));
  BOOST_TEST(has(told(1), "the payload has 33 bytes, where this fabric takes 32"));
  BOOST_TEST(calls->send(3, {}, {}));
  BOOST_TEST(has(told(3), "this transport does not reach that rank"));
  BOOST_TEST(calls->send(4, {}, {}));
  BOOST_TEST(has(told(no_rank), "rank 4 is not in this job"));
  BOOST_TEST(below.sent.size() == 1u);
  BOOST_TEST(told(1).empty());
  below.full = true;
  BOOST_TEST(!calls->send(1, {}, {}));
}

// What tests/conformance cannot see of multicast over IP: outsiders, other jobs, forged and cut datagrams, the choice of
// an interface, what is said when there is none, and sleeping.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

#include "core/transport/multicast.h"
#include "tests/multicast/row_of_ranks.h"

using namespace tutti;
using namespace tutti::test;

namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}

std::string text(const multicast::datagram& d) {
  return {reinterpret_cast<const char*>(d.payload.data()), d.payload.size()};
}

// A program on this host that knows the address and what a datagram looks like.
class outsider {
 public:
  explicit outsider(const ip_group_token& t) : fd_(::socket(AF_INET, SOCK_DGRAM, 0)) {
    const in_addr loopback{htonl(INADDR_LOOPBACK)};
    ::setsockopt(fd_, IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof loopback);
    group_.sin_family = AF_INET;
    group_.sin_port = htons(t.port);
    group_.sin_addr.s_addr = htonl(t.address);
  }
  ~outsider() { ::close(fd_); }
  void send(std::span<const std::byte> what) {
    const auto n = ::sendto(fd_, what.data(), what.size(), 0, reinterpret_cast<sockaddr*>(&group_), sizeof group_);
    BOOST_REQUIRE(n == static_cast<ssize_t>(what.size()));
  }

 private:
  int fd_;
  sockaddr_in group_{};
};

std::vector<std::byte> datagram(datagram_head head, std::string_view payload) {
  std::vector<std::byte> all(sizeof head + payload.size());
  std::memcpy(all.data(), &head, sizeof head);
  std::memcpy(all.data() + sizeof head, payload.data(), payload.size());
  return all;
}

bool readable(int fd) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, 20) == 1;
}

}  // namespace

// Of the authors' reference implementation: key 00..0f, message 00..(n-1).
BOOST_AUTO_TEST_CASE(siphash_agrees_with_its_reference) {
  const siphash_key key{0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
  std::byte m[15];
  for (int i = 0; i < 15; ++i) m[i] = std::byte(i);
  const auto of = [&](std::size_t n) {
    siphash h(key);
    h.add({m, n});
    return h.value();
  };
  BOOST_TEST(of(0) == 0x726fdb47dd0e0e31u);
  BOOST_TEST(of(1) == 0x74f839c593dc67fdu);
  BOOST_TEST(of(8) == 0x93f5f5799a932462u);
  BOOST_TEST(of(15) == 0xa129ca6149be45e5u);
  for (std::size_t a = 0; a <= 15; ++a)
    for (std::size_t b = a; b <= 15; ++b) {
      siphash h(key);
      h.add({m, a}), h.add({m + a, b - a}), h.add({m + b, 15 - b});
      BOOST_TEST(h.value() == 0xa129ca6149be45e5u);
    }
}

BOOST_AUTO_TEST_CASE(an_outsiders_datagrams_are_dropped) {
  row_of_ranks row(2);
  ip_group_token token;
  const auto g = join_all(row, token);
  outsider someone(token);
  datagram_head head;
  head.kind = datagram_kind::data, head.group = token.group, head.from = 0, head.tag = 7;
  unsigned sent = 0;
  const auto send = [&](std::span<const std::byte> what) { someone.send(what), ++sent; };

  send(bytes("hello"));
  send({});
  send(datagram(head, "no check"));
  const siphash_key near_miss{token.key[0], token.key[1] ^ 1};
  head.check = check_of(head, bytes("another key"), near_miss);
  send(datagram(head, "another key"));
  head.check = check_of(head, bytes("right"), token.key);
  send(datagram(head, "wrong"));           // another payload
  send(datagram(head, "righ"));            // cut off
  auto changed = head;
  changed.tag = 8;
  send(datagram(changed, "right"));
  changed = head, changed.from = 1;
  send(datagram(changed, "right"));
  changed = head, changed.group ^= 1;      // another group's of the same key
  send(datagram(changed, "right"));
  changed.check = check_of(changed, bytes("right"), token.key);
  send(datagram(changed, "right"));
  std::vector<std::byte> noise(60000, std::byte{0x5a});
  send(noise);

  // And one that is right, so that the way is known to be open; only who has the key can make it.
  send(datagram(head, "right"));
  multicast::datagram d;
  BOOST_REQUIRE(receive_soon(row[1], g[1], d));
  BOOST_TEST(text(d) == "right");
  BOOST_TEST(d.from == 0u);
  BOOST_TEST(d.tag == 7u);
  BOOST_TEST(!row[1].receive(g[1], d));
  BOOST_TEST(row[1].rejected() == sent - 1);
}

// A token comes from a peer: it can make this rank listen or ask nowhere but where groups of this kind are.
BOOST_AUTO_TEST_CASE(a_token_that_leads_elsewhere_is_refused) {
  row_of_ranks row(2);
  ip_group_token token;
  (void)join_all(row, token);
  const auto join = [&](auto change) {
    ip_group_token t = token;
    change(t);
    return row[1].join(rank_map::strided(0, 2), std::as_bytes(std::span{&t, 1}), time_point{}).error().code();
  };
  BOOST_TEST((join([](ip_group_token&) {}) == errc::timed_out));  // whoever follows it asks, and there is no time
  BOOST_TEST((join([](ip_group_token& t) { t.magic ^= 1; }) == errc::protocol));
  BOOST_TEST((join([](ip_group_token& t) { t.address = 0x7f000001; }) == errc::protocol));
  BOOST_TEST((join([](ip_group_token& t) { t.address = 0xe0000001; }) == errc::protocol));  // all hosts of a subnet
  BOOST_TEST((join([](ip_group_token& t) { t.port = 22; }) == errc::protocol));
  BOOST_TEST((join([](ip_group_token& t) { t.port = 65096; }) == errc::protocol));
  BOOST_TEST((join([](ip_group_token& t) { t.from = 0; }) == errc::protocol));
  BOOST_TEST((join([](ip_group_token& t) { t.from = 0xffffffff; }) == errc::protocol));
  BOOST_TEST((join([](ip_group_token& t) { t.from_port = 0; }) == errc::protocol));
  BOOST_TEST((join([](ip_group_token& t) { t.creator = 7; }) == errc::invalid));
}

BOOST_AUTO_TEST_CASE(two_groups_of_one_address_do_not_meet) {
  row_of_ranks one(2), other(2, {.job_id = "another job"});
  ip_group_token token, theirs;
  const auto g = join_all(one, token);
  (void)join_all(other, theirs);
  BOOST_TEST(token.group != theirs.group);
  BOOST_TEST(token.key[0] != theirs.key[0]);
  // The other job's datagram, as if its group had the same address and port.
  datagram_head head;
  head.kind = datagram_kind::data, head.group = theirs.group, head.from = 0;
  head.check = check_of(head, bytes("theirs"), theirs.key);
  outsider(token).send(datagram(head, "theirs"));
  BOOST_TEST(one[0].send(g[0], 1, bytes("ours")));
  multicast::datagram d;
  BOOST_REQUIRE(receive_soon(one[1], g[1], d));
  BOOST_TEST(text(d) == "ours");
  BOOST_TEST(one[1].rejected() == 1u);
}

BOOST_AUTO_TEST_CASE(addresses_stay_in_the_local_scope_and_differ) {
  row_of_ranks row(1);
  std::set<std::pair<std::uint32_t, std::uint16_t>> seen;
  for (int i = 0; i < 40; ++i) {
    ip_group_token t;
    (void)join_all(row, t);
    BOOST_TEST((t.address >> 16) == 0xefffu);
    BOOST_TEST(t.port >= 61000);
    seen.emplace(t.address, t.port);
  }
  BOOST_TEST(seen.size() == 40u);
}

BOOST_AUTO_TEST_CASE(too_many_groups_are_refused_and_leave_no_trace) {
  row_of_ranks row(1);
  const rank_map members = rank_map::strided(0, 1);
  std::vector<std::byte> token;
  std::vector<multicast::group_id> all;
  while (all.size() < row[0].query().max_groups)
    all.push_back(take(row[0].create(members, token, time_point::max()), "create"));
  const auto refused = row[0].create(members, token, time_point::max());
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST((refused.error().code() == errc::no_resource));
  row[0].leave(all[5]);
  BOOST_TEST((take(row[0].create(members, token, time_point::max()), "again") == all[5]));
}

BOOST_AUTO_TEST_CASE(switched_off_in_one_rank_it_is_off_in_all) {
  ip_multicast on([] { return 0u; }, [](rank_t) { return status{}; }, {.job_id = "j", .rank = 0, .size = 2});
  ip_multicast off([] { return 0u; }, [](rank_t) { return status{}; }, {.job_id = "j", .rank = 1, .size = 2, .multicast_interface = "none"});
  BOOST_TEST(on.usable() == &on);
  BOOST_TEST(off.usable() == nullptr);
  blob_table all;
  all.push_back(on.address()), all.push_back(off.address());
  BOOST_TEST(on.connect(all).ok());
  BOOST_TEST(off.connect(all).ok());
  BOOST_TEST(on.usable() == nullptr);
  BOOST_TEST(has(on.why_not().text(), "rank 1"));
  BOOST_TEST(has(off.why_not().text(), "TUTTI_MULTICAST_INTERFACE=none"));
  std::vector<std::byte> token;
  BOOST_TEST(!on.create(rank_map::strided(0, 2), token, time_point::max()).ok());
}

BOOST_AUTO_TEST_CASE(an_unknown_interface_is_told_with_those_that_exist) {
  ip_multicast m([] { return 0u; }, [](rank_t) { return status{}; }, {.job_id = "j", .multicast_interface = "eth77"});
  BOOST_TEST(m.usable() == nullptr);
  BOOST_TEST(has(m.why_not().text(), "eth77"));
  BOOST_TEST(has(m.why_not().text(), "TUTTI_MULTICAST_INTERFACE"));
  BOOST_TEST(has(m.why_not().text(), "lo (127.0.0.1)"));
  ip_multicast by_address([] { return 0u; }, [](rank_t) { return status{}; }, {.job_id = "j", .multicast_interface = "127.0.0.1"});
  BOOST_TEST(by_address.why_not().ok());
}

BOOST_AUTO_TEST_CASE(an_address_of_another_version_is_refused) {
  ip_multicast m([] { return 0u; }, [](rank_t) { return status{}; }, {.job_id = "j"});
  auto blob = m.address();
  blob[0] = std::byte{99};
  blob_table all;
  all.push_back(blob);
  BOOST_TEST((m.connect(all).code() == errc::protocol));
  blob.pop_back();
  blob_table cut;
  cut.push_back(blob);
  BOOST_TEST((m.connect(cut).code() == errc::protocol));
}

// A creator that does not answer, and one whose multicast is filtered: the joiner must not wait for ever.
BOOST_AUTO_TEST_CASE(a_silent_creator_is_given_up) {
  row_of_ranks row(2);
  std::vector<std::byte> token;
  ip_multicast alone([] { return 0u; }, [](rank_t) { return status{}; }, {.job_id = "a job", .rank = 0, .size = 2});
  blob_table all;
  all.push_back(alone.address()), all.push_back(row[1].address());
  BOOST_REQUIRE(alone.connect(all).ok());
  const rank_map members = rank_map::strided(0, 2);
  (void)take(alone.create(members, token, time_point::max()), "create");  // and never makes progress
  const auto start = std::chrono::steady_clock::now();
  const auto joined = row[1].join(members, token, start + std::chrono::milliseconds(300));
  BOOST_REQUIRE(!joined.ok());
  BOOST_TEST((joined.error().code() == errc::timed_out));
  BOOST_TEST(joined.error().peer() == 0u);
  BOOST_TEST((std::chrono::steady_clock::now() - start < std::chrono::seconds(5)));
}

// Its death is told by name, long before its silence is believed. So is another member's: the creator may have heard of
// that, and left.
BOOST_AUTO_TEST_CASE(a_death_ends_a_join) {
  const rank_map members = rank_map::strided(0, 3);
  for (const rank_t dead : {0u, 2u}) {
    row_of_ranks row(3);
    ip_multicast silent([] { return 0u; }, [](rank_t) { return status{}; }, {.job_id = "a job", .rank = 0, .size = 3});
    blob_table all;
    all.push_back(silent.address()), all.push_back(row[1].address()), all.push_back(row[2].address());
    BOOST_REQUIRE(silent.connect(all).ok());
    std::vector<std::byte> token;
    (void)take(silent.create(members, token, time_point::max()), "create");
    row.deaths[0] = {errc::peer_dead, "rank 0 left", 0, peer_left};
    row.deaths[dead] = {errc::peer_dead, "rank " + std::to_string(dead) + " died", dead};
    const auto start = std::chrono::steady_clock::now();
    const auto joined = row[1].join(members, token, time_point::max());
    BOOST_REQUIRE(!joined.ok());
    BOOST_TEST((joined.error().code() == errc::peer_dead));
    BOOST_TEST(joined.error().peer() == dead);
    BOOST_TEST((std::chrono::steady_clock::now() - start < std::chrono::seconds(1)));
    BOOST_TEST(row[1].usable() != nullptr);
  }
}

BOOST_AUTO_TEST_CASE(filtered_multicast_is_found_out_and_remembered) {
  row_of_ranks row(2);
  const rank_map members = rank_map::strided(0, 2);
  std::vector<std::byte> bytes;
  (void)take(row[0].create(members, bytes, time_point::max()), "create");
  ip_group_token t;
  std::memcpy(&t, bytes.data(), sizeof t);
  t.port ^= 1;  // the joiner listens where nothing arrives, as behind a switch that filters; the answers come
  std::memcpy(bytes.data(), &t, sizeof t);
  const auto start = std::chrono::steady_clock::now();
  const auto joined = row[1].join(members, bytes, time_point::max());
  const auto took = std::chrono::steady_clock::now() - start;
  BOOST_REQUIRE(!joined.ok());
  BOOST_TEST((joined.error().code() == errc::unavailable));
  BOOST_TEST(has(joined.error().text(), "does not arrive"));
  BOOST_TEST(has(joined.error().text(), ip_text(t.address)));
  BOOST_TEST((took < std::chrono::seconds(4)));
  const auto again = std::chrono::steady_clock::now();
  BOOST_TEST(!row[1].join(members, bytes, time_point::max()).ok());
  BOOST_TEST((std::chrono::steady_clock::now() - again < std::chrono::milliseconds(50)));
  BOOST_TEST(row[1].usable() != nullptr);  // alike in all ranks: the others know nothing of it
}

// Clause 9: what was there before arm() is the caller's to look for and does not wake; what comes after does.
BOOST_AUTO_TEST_CASE(only_what_arrives_after_arming_wakes) {
  row_of_ranks row(2);
  ip_group_token token;
  const auto g = join_all(row, token);
  multicast::datagram d;
  for (int round = 0; round < 20; ++round) {
    BOOST_TEST(row[1].arm());
    BOOST_TEST(!readable(row[1].wait_fd()));
    BOOST_TEST(row[0].send(g[0], 1, bytes("a")));
    BOOST_TEST(readable(row[1].wait_fd()));
    BOOST_TEST(row[1].arm());  // unread, and still nothing new
    BOOST_TEST(!readable(row[1].wait_fd()));
    BOOST_TEST(row[0].send(g[0], 2, bytes("b")));
    BOOST_TEST(readable(row[1].wait_fd()));
    BOOST_TEST(row[1].receive(g[1], d));
    BOOST_TEST(text(d) == "a");
    BOOST_TEST(row[1].receive(g[1], d));
    BOOST_TEST(text(d) == "b");
    BOOST_TEST(!row[1].receive(g[1], d));
  }
}

// A rank that spins asks thousands of times in the while that one call of the kernel takes: the kernel is asked once a
// progress() or arm(), and whoever waits calls these.
BOOST_AUTO_TEST_CASE(asking_while_spinning_does_not_call_the_kernel) {
  row_of_ranks row(2);
  ip_group_token token;
  const auto g = join_all(row, token);
  multicast::datagram d;
  for (const bool by_arming : {false, true}) {
    row[1].progress();
    BOOST_TEST(!row[1].receive(g[1], d));
    BOOST_TEST(row[0].send(g[0], 1, bytes("a")));
    BOOST_TEST(readable(row[1].wait_fd()));
    BOOST_TEST(!row[1].receive(g[1], d));
    if (by_arming) BOOST_TEST(row[1].arm());
    else row[1].progress();
    BOOST_TEST(row[1].receive(g[1], d));
  }
}

// The kernel's words become the library's, with the setting that mends it.
BOOST_AUTO_TEST_CASE(kernel_refusals_name_the_mend) {
  const auto through = take(find_ip_interface("lo"), "lo");
  ip_interface gone = through;
  gone.index = 9999, gone.name = "gone0";
  const auto refused = ip_socket::listening({0xefff0001, 61001}, gone);
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST(has(refused.error().text(), "239.255.0.1 port 61001 on gone0"));
  BOOST_TEST(has(refused.error().text(), "TUTTI_MULTICAST_INTERFACE"));
  // A port that somebody else holds and does not share.
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET, any.sin_port = htons(61002);
  BOOST_REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0);
  const auto taken = ip_socket::listening({0xefff0001, 61002}, through);
  BOOST_TEST(!taken.ok());
  BOOST_TEST(taken.error().native() == EADDRINUSE);
  ::close(fd);
}

BOOST_AUTO_TEST_CASE(interfaces_are_chosen_by_reach) {
  const auto mine = ip_interfaces();
  const ip_place here = place_of_this_process(mine);
  const ip_place* same[] = {&here, &here};
  BOOST_TEST(take(interface_to(mine, here, same), "one namespace").loopback);
  // A host in another namespace whose address lies in one of our subnets.
  for (const ip_interface& i : mine) {
    if (i.loopback) continue;
    ip_place there{.count = 1, .network = here.network + 1};
    there.at[0] = {(i.address & i.mask) | (((i.address & ~i.mask) + 1) & ~i.mask), i.mask};
    const ip_place* one[] = {&there};
    BOOST_TEST(take(interface_to(mine, here, one), "its subnet").name == i.name);
    // One that has our own address is another network's: a bridge for containers that every host has alike.
    there.at[0] = {i.address, i.mask};
    BOOST_TEST(!interface_to(mine, here, one).ok());
    break;
  }
}

// What a liveness connection tells: a clean end from a death, and nothing of outsiders.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <optional>

#include "providers/messages/liveness.h"

using tutti::messages::liveness;
using tutti::messages::liveness_address;
using observation = liveness::observation;

namespace {

struct watcher {
  liveness own;
  int fd = -1;
  bool stood = false;
  tutti::siphash_key key{};

  explicit watcher(const liveness_address& peer) : key(peer.key) {
    own.listen(1);
    fd = own.connect(peer).socket;
    BOOST_REQUIRE(fd >= 0);
  }
  ~watcher() { close(fd); }
  watcher(const watcher&) = delete;

  observation next(observation nothing_new) {  // what comes instead of this, within seconds
    observation told = nothing_new;
    for (int i = 0; i < 400 && (told == nothing_new || told == observation::nothing); ++i) {
      if (i) usleep(10'000);
      told = liveness::read(fd, stood, key);
      stood = stood || told == observation::stands;
    }
    return told;
  }
};

// Listens where a peer is thought to be.
struct outsider {
  int listener = socket(AF_INET, SOCK_STREAM, 0), accepted = -1;
  liveness_address address;

  outsider() {
    liveness any;
    any.listen(1);
    address = any.address();
    sockaddr_in own{};
    own.sin_family = AF_INET;
    socklen_t bytes = sizeof own;
    BOOST_REQUIRE(bind(listener, reinterpret_cast<sockaddr*>(&own), bytes) == 0 && listen(listener, 1) == 0);
    BOOST_REQUIRE(getsockname(listener, reinterpret_cast<sockaddr*>(&own), &bytes) == 0);
    address.port = ntohs(own.sin_port);
  }
  void accepts() { BOOST_REQUIRE((accepted = accept(listener, nullptr, nullptr)) >= 0); }
  ~outsider() { close(listener); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_clean_end_is_told_from_a_death) {
  for (const bool clean : {true, false}) {
    std::optional<liveness> peer{std::in_place};
    peer->listen(3);
    BOOST_REQUIRE(peer->address().port != 0);
    watcher one{peer->address()}, other{peer->address()};
    for (watcher* w : {&one, &other}) BOOST_TEST((w->next(observation::nothing) == observation::stands));
    const liveness_address there = peer->address();
    if (clean) peer->say_goodbye();
    peer.reset();  // which is all that the kernel does for a process that dies
    for (watcher* w : {&one, &other}) BOOST_TEST((w->next(observation::stands) == (clean ? observation::left : observation::ended)));
    watcher late{there};
    BOOST_TEST((late.next(observation::nothing) == observation::refused));
  }
}

// It is killed while it says goodbye: some have the key, one was accepted and has nothing yet.
BOOST_AUTO_TEST_CASE(an_end_between_accepting_and_the_key_is_a_death) {
  std::optional<liveness> peer{std::in_place};
  peer->listen(2);
  watcher accepted{peer->address()}, waiting{peer->address()};
  for (watcher* w : {&accepted, &waiting}) BOOST_TEST((w->next(observation::nothing) == observation::stands));
  const int caller = accept(peer->listener(), nullptr, nullptr);
  BOOST_REQUIRE(caller >= 0);
  close(caller);  // which is all that the kernel does, again
  peer.reset();
  for (watcher* w : {&accepted, &waiting}) BOOST_TEST((w->next(observation::stands) == observation::ended));
}

BOOST_AUTO_TEST_CASE(an_outsider_in_its_place_says_nothing_about_it) {
  for (const bool speaks : {true, false}) {
    outsider s;
    watcher w{s.address};
    BOOST_TEST((w.next(observation::nothing) == observation::stands));
    s.accepts();
    const tutti::siphash_key guess{1, 2};
    if (speaks) BOOST_REQUIRE(write(s.accepted, guess.data(), sizeof guess) == sizeof guess);
    close(s.accepted);
    BOOST_TEST((w.next(observation::stands) == observation::never));
  }
}

// Whoever calls from elsewhere finds nobody.
BOOST_AUTO_TEST_CASE(it_listens_where_it_is_told) {
  const auto hears_at = [](const liveness_address& there, std::uint32_t address) {
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET, to.sin_port = htons(static_cast<std::uint16_t>(there.port)), to.sin_addr.s_addr = htonl(address);
    const bool connected = connect(s, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
    close(s);
    return connected;
  };
  constexpr std::uint32_t other = liveness::loopback + 1;  // 127.0.0.2
  liveness anywhere, local, elsewhere;
  anywhere.listen(1);
  BOOST_TEST(hears_at(anywhere.address(), other));
  local.listen(1, liveness::loopback);
  BOOST_TEST(hears_at(local.address(), liveness::loopback));
  BOOST_TEST(!hears_at(local.address(), other));
  watcher w{local.address()};
  BOOST_TEST((w.next(observation::nothing) == observation::stands));
  elsewhere.listen(1, 0x08080808);  // no address of this host
  BOOST_TEST(hears_at(elsewhere.address(), other));
  if (anywhere.address().place.count == 0) return;
  const std::uint32_t mine = anywhere.address().place.at[0].address;
  liveness one;
  one.listen(1, mine);
  BOOST_TEST(one.address().place.count == 1u);
  BOOST_TEST(hears_at(one.address(), mine));
  BOOST_TEST(!hears_at(one.address(), liveness::loopback));
}

BOOST_AUTO_TEST_CASE(outsiders_leave_room_for_peers) {
  liveness peer;
  peer.listen(2);
  const liveness_address here = peer.address();
  int outsiders[32];
  for (int& s : outsiders) {
    s = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET, to.sin_port = htons(static_cast<std::uint16_t>(here.port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    BOOST_REQUIRE(connect(s, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
  }
  watcher w{here};
  BOOST_TEST((w.next(observation::nothing) == observation::stands));
  peer.say_goodbye();
  BOOST_TEST((w.next(observation::stands) == observation::left));
  for (const int s : outsiders) close(s);
}

// A rank ends among messages: whatever depends on it ends with its name, nothing else does, and what it sent before is received.
#include "tests/messaging/messages_env.h"

namespace {

using namespace tutti;
using namespace tutti::test;
using messaging::envelope;
using messaging::operation;

constexpr rank_t victim = 2;

void require_dead(messenger& me, completion& done, const char* what) {
  const status& s = me.wait(done);
  require(s.code() == errc::peer_dead, std::string(what) + " ends by the death, not with: " + s.text());
  require_equal(s.peer(), victim, std::string(what) + ": who died");
}

void survivor(messenger& me) {
  const rank_t peer = 1 - me.env.rank;
  const auto longer = payload_of(8, 500'000), shorter = payload_of(9, 100);
  std::vector<std::byte> a(100), b(500'000), c(100), d(100), e(500'000);
  completion from_it, from_any, from_peer, long_to_it, long_from_it, sync_to_it;
  me.start_receive(victim, 50, messenger::whole, a, from_it);
  me.start_receive(messenger::any, 51, messenger::whole, c, from_any);
  me.start_receive(peer, 52, messenger::whole, d, from_peer);
  me.start_receive(victim, 53, messenger::whole, b, long_from_it);
  me.start_send(victim, 60, longer, long_to_it);
  me.start_send(victim, 61, shorter, sync_to_it, true);
  me.until("the message before its death", [&] {
    return me.tagged().find({&me.world(), victim, 70, messenger::whole, nullptr, 0, nullptr}) != nullptr;
  });
  me.send(victim, 71, shorter);  // now it may die
  require_dead(me, from_it, "a receive from it");
  require_dead(me, long_to_it, "a long send");
  require_dead(me, sync_to_it, "a synchronous send");
  require_dead(me, long_from_it, "a receive that it had announced");
  require_dead(me, from_any, "a receive from any");
  require(from_peer.outcome(), "a receive from another goes on");
  me.send(peer, 52, shorter);
  require(me.wait(from_peer), "a message of another");
  require_payload(d, 9, "its payload");
  require_equal(me.receive(victim, 70, messenger::whole, e).bytes, 100, "what it had sent before");
  require_payload(std::span(e).first(100), 10, "its payload");
  require(me.tagged().send({&me.world(), victim, 1, shorter.data(), 100}).code() == errc::peer_dead, "a send afterwards");
  require(me.tagged().receive({&me.world(), victim, 1, messenger::whole, e.data(), 100, nullptr}).code() == errc::peer_dead, "a receive afterwards");
  require(me.tagged().receive({&me.world(), messenger::any, 1, messenger::whole, e.data(), 100, nullptr}).code() == errc::peer_dead,
          "a receive from any afterwards");
  messaging::kept* k = nullptr;
  require(me.tagged().probe({&me.world(), victim, 1, messenger::whole, nullptr, 0, nullptr}, k).code() == errc::peer_dead, "a probe afterwards");
  // The living go on, in both directions and at length.
  require(me.tagged().exchange({&me.world(), peer, 2, longer.data(), longer.size()},
                               {&me.world(), peer, 2, messenger::whole, e.data(), e.size(), nullptr}), "an exchange of the living");
  require_payload(e, 8, "its payload");
  me.until("its last words have gone", [&] { return !me.m->end().queues(); });  // as tutti_finalize does; the other may need them
}

// Its announcements may be matched when it dies, and be under way.
void dying(messenger& me) {
  const auto data = payload_of(7, 500'000), shorter = payload_of(10, 100);
  completion done[4];
  for (rank_t r = 0; r < 2; ++r) {
    me.send(r, 70, shorter);
    me.start_send(r, 54, data, done[r]);
  }
  std::vector<std::byte> in(100);
  for (rank_t r = 0; r < 2; ++r) (void)me.receive(r, 71, messenger::whole, in);  // they have the first
  for (int i = 0; i < 50; ++i) me.j->progress(), me.env.pause(std::chrono::microseconds(20));
  me.env.die();
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_depends_on_the_dead_ends_and_nothing_else) {
  for (const fabric_spec& fabric : every_fabric())
    run_ranks(fabric, 3, [&](rank_env& env) {
      messenger me(env);
      if (env.rank == victim) dying(me);
      else survivor(me);
    }, {.to_die = {victim}});
}

// A sender that only sends short messages, each complete at once, is told in the end.
BOOST_AUTO_TEST_CASE(who_only_sends_is_told) {
  for (const fabric_spec& fabric : fabrics()) {
    run_ranks(fabric, 3, [&](rank_env& env) {
      messenger me(env);
      if (env.rank == victim) env.die();
      if (env.rank != 0) return;
      const auto data = payload_of(1, 8);
      status s;
      while (s.ok()) s = me.tagged().send({&me.world(), victim, 1, data.data(), data.size()});
      require(s.code() == errc::peer_dead && s.peer() == victim, s.text());
    }, {.to_die = {victim}});
  }
}

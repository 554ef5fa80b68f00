// The optional multicast: datagrams may be lost, repeated and reordered, and are otherwise what was sent, to members
// alone. So a sender repeats each until everyone has answered by a signal, and receivers check whatever comes.
#include <array>

#include "core/transport/multicast.h"
#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using group_id = multicast::group_id;

multicast& mcast_of(rank_env& e) {
  if (!e.net().mcast()) skip("no multicast");
  return *e.net().mcast();
}

time_point soon(rank_env& e) { return e.net().now() + 10s * time_scale; }

struct group {
  rank_map members;
  std::uint64_t name;  // datagrams of different groups differ
  group_id id{};
  bool mine = false;
};

group join(rank_env& e, rank_map members, std::uint64_t name) {
  group g{members, name};
  std::vector<std::byte> token;
  g.mine = members.index_of(e.rank) != members.size();
  const rank_t creator = members[static_cast<std::uint32_t>(name % members.size())];
  if (e.rank == creator) g.id = take(mcast_of(e).create(members, token, soon(e)), "create a group");
  const auto all = e.exchange(token);
  if (g.mine && e.rank != creator) g.id = take(mcast_of(e).join(members, (*all)[creator], soon(e)), "join a group");
  e.barrier();
  return g;
}

std::uint32_t length_of(rank_env& e, std::uint32_t tag) {
  const std::uint32_t most = mcast_of(e).query().max_payload;
  const std::uint32_t lengths[] = {8, 0, 1, most, 7, 63, 64, 65, most - 1, most / 2};
  return std::min(lengths[tag % std::size(lengths)], most);
}

std::uint64_t content_of(const group& g, rank_t from, std::uint32_t tag) { return g.name * 1'000'003 + tag * 64 + from; }

bool send(rank_env& e, const group& g, std::uint32_t tag) {
  std::vector<std::byte> payload(length_of(e, tag));
  fill(payload, content_of(g, e.rank, tag));
  const bool taken = mcast_of(e).send(g.id, tag, payload);
  paint(payload, 0xEE);  // it was copied
  return taken;
}

// Takes what is there and checks it. True if `tag` of `from` was among it.
bool receive(rank_env& e, const group& g, rank_t from, std::uint32_t tag) {
  bool found = false;
  for (multicast::datagram d; mcast_of(e).receive(g.id, d);) {
    require(d.from != e.rank, "a sender received its own datagram");
    require(g.members.index_of(d.from) != g.members.size(), "a datagram of a rank that is no member");
    require_equal(d.payload.size(), length_of(e, d.tag), "length of a datagram");
    check(d.payload, content_of(g, d.from, d.tag), "a datagram");
    found |= d.from == from && d.tag == tag;
  }
  return found;
}

// Each living member in turn sends some datagrams; all others get each at last.
void everyone_sends(rank_env& e, const group& g, const area& words, std::uint32_t count, rank_t dead = no_rank) {
  if (!g.mine) return;
  for (std::uint32_t s = 0; s < g.members.size(); ++s) {
    const rank_t sender = g.members[s];
    if (sender == dead) continue;
    for (std::uint32_t tag = 1; tag <= count; ++tag) {
      const std::uint64_t answer = g.name * 1'000'000 + s * 1000 + tag;
      if (e.rank != sender) {
        e.until_arrival("a datagram", [&] { return receive(e, g, sender, tag); });
        e.submit(signal(words.at(sender, 64 * e.rank), answer));
        continue;
      }
      time_point again = e.net().now();
      e.until("all members' answers to a datagram", [&] {
        bool all = true;
        for (std::uint32_t i = 0; i < g.members.size(); ++i)
          if (const rank_t r = g.members[i]; r != sender && r != dead) all &= load(words.word(64 * r)) == answer;
        if (!all && e.net().now() >= again && send(e, g, tag)) again = e.net().now() + 2ms;
        receive(e, g, sender, tag);
        return all;
      });
    }
  }
}

area words_of(rank_env& e) { return e.allocate(64 * e.size); }

void all_members_receive(rank_env& e) {
  mcast_of(e);
  const area words = words_of(e);
  const group g = join(e, rank_map::strided(0, e.size), 1);
  everyone_sends(e, g, words, 30);
}

void groups_are_separate(rank_env& e) {
  mcast_of(e);
  const area words = words_of(e);
  if (mcast_of(e).query().max_groups < 3) skip("fewer than 3 groups at once");
  const group all = join(e, rank_map::strided(0, e.size), 1);
  const group same = join(e, rank_map::strided(0, e.size), 2);
  const group some = join(e, rank_map::listed({3, 1}), 3);
  for (int round = 0; round < 3; ++round)
    for (const group& g : {all, same, some}) everyone_sends(e, g, words, 3 + round);
  e.barrier();
  for (const group& g : {all, same, some})
    if (g.mine) receive(e, g, 0, 0);
}

void many_groups(rank_env& e) {
  const std::uint32_t count = std::min(mcast_of(e).query().max_groups, 12u);
  const area words = words_of(e);
  std::vector<group> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back(join(e, rank_map::strided(0, e.size), i + 1));
  for (const group& g : all) everyone_sends(e, g, words, 2);
}

void left_and_joined_again(rank_env& e) {
  mcast_of(e);
  const area words = words_of(e);
  for (std::uint64_t round = 1; round <= 3 * mcast_of(e).query().max_groups && round <= 40; ++round) {
    const group g = join(e, rank_map::strided(0, e.size), round);
    everyone_sends(e, g, words, 1);
    mcast_of(e).leave(g.id);
    e.barrier();
  }
}

// Faster than anyone receives: some may be lost or refused, none may be damaged, and then all goes on.
void a_flood(rank_env& e) {
  mcast_of(e);
  const area words = words_of(e);
  const group g = join(e, rank_map::strided(0, e.size), 1);
  for (int i = 0; i < 2000; ++i) {
    if (!send(e, g, 1000 + i)) e.net().progress();
    if (e.random() % 64 == 0) receive(e, g, 0, 0);
  }
  everyone_sends(e, g, words, 3);
}

// Receivers sleep with no limit; only datagrams and the sender's repeats can wake them.
void a_datagram_ends_a_sleep(rank_env& e) {
  mcast_of(e);
  if (!e.net().caps().can_sleep) skip("it cannot sleep");
  const area words = words_of(e);
  const group g = join(e, rank_map::strided(0, e.size), 1);
  constexpr std::uint32_t count = 40;
  for (std::uint32_t tag = 1; tag <= count; ++tag) {
    if (e.rank == 0) {
      e.pause(std::chrono::microseconds{e.random() % 300});
      time_point again = e.net().now();
      e.until("answers", [&] {
        if (e.net().now() >= again && send(e, g, tag)) again = e.net().now() + 5ms;
        for (rank_t r = 1; r < e.size; ++r)
          if (load(words.word(64 * r)) != tag) return false;
        return true;
      });
      continue;
    }
    const waiting_for w(e.place(), e.rank, "a datagram, asleep");
    for (bool got = false; !got;) {
      armed open = e.net().arm();
      if (!open) {
        e.net().progress();
        got = receive(e, g, 0, tag);
      } else if ((got = receive(e, g, 0, tag))) {
        e.net().disarm();
      } else {
        e.net().sleep(std::move(open), e.net().now() + 1h);
        e.net().progress();
        got = receive(e, g, 0, tag);
      }
    }
    e.submit(signal(words.at(0, 64 * e.rank), tag));
  }
}

void a_death_does_not_stop_it(rank_env& e) {
  mcast_of(e);
  constexpr rank_t victim = 2;
  const area words = words_of(e);
  const group g = join(e, rank_map::strided(0, e.size), 1);
  everyone_sends(e, g, words, 3);
  e.barrier();
  if (e.rank == victim) e.die();
  while (!e.place().is_gone(victim)) e.pause(50us);
  everyone_sends(e, {g.members, g.name, g.id, true}, words, 20, victim);
}

constexpr std::array cases{
    conformance_case{"all_members_receive", 4, all_members_receive},
    conformance_case{"groups_are_separate", 4, groups_are_separate},
    conformance_case{"many_groups", 3, many_groups},
    conformance_case{"left_and_joined_again", 3, left_and_joined_again},
    conformance_case{"a_flood", 3, a_flood},
    conformance_case{"a_datagram_ends_a_sleep", 3, a_datagram_ends_a_sleep},
    conformance_case{"a_death_does_not_stop_it", 4, a_death_does_not_stop_it, 2},
};

}  // namespace

clause multicast_clause() { return {"multicast", cases}; }

}  // namespace tutti::test

// What a member of the job sends may be anything: it ends that peer by its name, harms no memory (which the sanitizers see), and leaves
// the others alone. Rank 1 sends what looks like messages, with fields of every kind; rank 0 has receives and sends under way.
#include <random>

#include "core/transport/two_sided.h"
#include "tests/messaging/messages_env.h"

namespace {

using namespace tutti;
using namespace tutti::test;

std::uint64_t some_value(std::mt19937_64& random) {
  const std::uint64_t values[] = {0, 1, 2, 3, 8, 100, 4096, 32768, 65536, 65537, 1u << 20, std::uint64_t{1} << 32, ~std::uint64_t{0}, random()};
  return values[random() % std::size(values)];
}

void send_rubbish(messenger& me, std::mt19937_64& random) {
  two_sided& raw = *me.env.net().sendrecv();
  const std::uint64_t count = 1 + random() % 6;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::byte header[64]{}, payload[1024]{};
    std::uint64_t words[8];
    for (std::uint64_t& w : words) w = some_value(random);
    std::memcpy(header, words, sizeof words);
    const messaging::wire_prefix prefix{static_cast<std::uint8_t>(random() % 16 ? random() % 12 : random()), static_cast<std::uint8_t>(random() % 9),
                                        static_cast<std::uint16_t>(random() % 4 ? 0 : some_value(random)), 0};
    std::memcpy(header, &prefix, sizeof prefix);
    const std::size_t lengths[] = {0, 7, 8, 16, 24, 32, 40, 48, 56, 64};
    const std::span<const std::byte> head(header, lengths[random() % std::size(lengths)]);
    const std::span<const std::byte> body(payload, random() % 3 ? random() % 64 : random() % sizeof payload);
    me.env.until("room", [&] { return raw.send(0, head, body); });
  }
}

void take_rubbish(messenger& me, std::uint64_t seed) {
  std::vector<std::byte> in(5000), out(200'000), long_in(200'000);
  completion any, from_it, long_from_it, sent, sync;
  me.start_receive(messenger::any, 0, 1, in, any);
  me.start_receive(1, 0, 1, std::span(in).first(100), from_it);
  me.start_receive(1, 1, messenger::whole, long_in, long_from_it);
  me.start_send(1, 1, out, sent);
  me.start_send(1, 2, std::span(out).first(10), sync, true);
  for (int i = 0; i < 20; ++i) me.j->progress();
  me.env.barrier();  // all has been sent
  for (int i = 0; i < 20; ++i) me.j->progress();
  // The others go on, whatever became of that one.
  std::vector<std::byte> of_another(300);
  require_equal(me.receive(2, 2 * seed + 1, messenger::whole, of_another).bytes, 300, "of another");
  require_payload(of_another, seed, "of another");
  me.m.reset();
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_cannot_be_ends_its_sender_alone) {
  for (const char* fabric : {"sim:wild", "shm"})
    run_ranks({fabric}, 3, [&](rank_env& env) {
      for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        std::mt19937_64 random(seed);
        messenger me(env);
        if (env.rank == 1) me.m.reset();
        if (env.rank == 1) send_rubbish(me, random);
        if (env.rank == 0) take_rubbish(me, seed);
        else env.barrier();
        if (env.rank == 2) me.send(0, 2 * seed + 1, payload_of(seed, 300));
        me.m.reset();
        for (two_sided::message rest; env.net().sendrecv()->receive(rest);) {}
        env.barrier();
        for (two_sided::message rest; env.net().sendrecv()->receive(rest);) {}
        env.barrier();
      }
    });
}

BOOST_AUTO_TEST_CASE(its_name_is_told) {
  run_ranks({"shm"}, 2, [&](rank_env& env) {
    messenger me(env);
    if (env.rank == 1) {
      const messaging::wire_prefix prefix{static_cast<std::uint8_t>(messaging::wire_kind::fragment)};
      env.until("room", [&] { return env.net().sendrecv()->send(0, messaging::bytes_of(prefix), messaging::bytes_of(prefix)); });
    } else {
      std::byte in[8];
      const status s = me.tagged().receive({&me.world(), 1, 0, 0, in, sizeof in, nullptr});
      require(s.code() == errc::protocol && s.peer() == 1, s.text());
    }
    env.barrier();
  });
}

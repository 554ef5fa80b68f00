// Long messages that move in parts: memory that is registered, or packed, while earlier parts move; and data in pieces that move by lists.
// A decorator makes registrations dear on fabrics where they cost nothing, counts them and the operations, and refuses some.
#include <chrono>
#include <random>

#include "core/job/registration_cache.h"
#include "core/transport/forwarding_transport.h"
#include "tests/messaging/messages_env.h"

namespace {

using namespace tutti;
using namespace tutti::test;

struct seen {
  std::uint32_t rank;
  char what;  // r: memory was registered; g: a get was taken, G: one with a list; p: a put
};
std::vector<seen> log_of_all;  // of the ranks of one process, in order

class dear_registrations final : public forwarding_transport {
 public:
  dear_registrations(std::unique_ptr<transport> inner, rank_env& env, registration_cost cost, unsigned refuse_from)
      : forwarding_transport(std::move(inner)), env_(env), rank_(env.rank), refuse_from_(refuse_from), caps_(forwarding_transport::caps()) {
    caps_.registering = cost;
  }
  const capabilities& caps() const noexcept override { return caps_; }
  result<region_id> add_unowned(std::span<std::byte> memory) override {
    if (++registered_ > refuse_from_) return status(errc::no_resource, "no more memory can be locked");
    log_of_all.push_back({rank_, 'r'});
    if (caps_.registering.any() && env_.pass_time) {  // it takes its time, 20 us a call of this
      const double us = caps_.registering.call_us + static_cast<double>(memory.size()) / caps_.registering.bytes_per_ns / 1000;
      for (double passed = 0; passed < us; passed += 20) env_.pass_time();
    }
    return forwarding_transport::add_unowned(memory);
  }
  std::size_t submit(std::span<const rma_op> ops) noexcept override {
    const std::size_t n = forwarding_transport::submit(ops);
    for (const rma_op& op : ops.first(n)) {
      if (op.kind == op_kind::get_scatter) log_of_all.push_back({rank_, 'G'});
      else if (op.bytes > 4096) log_of_all.push_back({rank_, op.kind == op_kind::get ? 'g' : 'p'});
    }
    return n;
  }

 private:
  rank_env& env_;
  const rank_t rank_;
  const unsigned refuse_from_;
  unsigned registered_ = 0;
  capabilities caps_;
};

std::uint64_t count(std::uint32_t rank, char what) {
  return static_cast<std::uint64_t>(std::ranges::count_if(log_of_all, [&](const seen& s) { return s.rank == rank && s.what == what; }));
}

constexpr registration_cost an_adapters{20, 8};
constexpr unsigned never = ~0u;

void make_dear(rank_env& env, unsigned refuse_from = never, registration_cost cost = an_adapters) {
  log_of_all.reserve(100'000);
  env.wrap([&](auto inner) { return std::make_unique<dear_registrations>(std::move(inner), env, cost, refuse_from); });
}

// The log is of what follows.
void begin_log(messenger& me) {
  me.meet();
  if (me.env.rank == 0 || me.env.own_process) log_of_all.clear();
  me.meet();
}

// Rank 0 sends to rank 1; what moved is in the log. The time until this rank was done.
double send_once(messenger& me, std::span<std::byte> data, std::uint64_t number, std::uint64_t room = 0) {
  begin_log(me);
  const time_point began = me.env.net().now();
  const auto took = [&] { return std::chrono::duration<double, std::micro>(me.env.net().now() - began).count(); };
  double us = 0;
  if (me.env.rank == 0) {
    for (std::uint64_t i = 0; i < data.size(); ++i) data[i] = byte_of(number, i);
    me.send(1, number, data);
    us = took();
  } else {
    std::ranges::fill(data, std::byte{0});
    messaging::envelope found;
    completion done;
    const std::uint64_t wanted = room ? room : data.size();
    me.start_receive(0, number, messenger::whole, data.first(wanted), done, &found);
    const status& s = me.wait(done);
    us = took();
    require(s.ok() || (room && s.code() == errc::truncated), s.text());
    require_payload(data.first(wanted), number, "got");
    for (const std::byte b : data.subspan(wanted)) require(b == std::byte{0}, "nothing behind the receive");
  }
  me.meet();
  return us;
}

}  // namespace

// On a link of 10 bytes/ns, where registering is 8 bytes/ns and a call 20 us: one after the other, both ends' registrations and the get
// of 8 MB take 2.9 ms; in parts, little more than the longest of them.
BOOST_AUTO_TEST_CASE(memory_is_registered_while_earlier_parts_move) {
  run_ranks({"sim"}, 2, [](rank_env& env) {
    make_dear(env);
    double at_once = 0, in_parts = 0;
    std::vector<std::byte> data(8'000'123);
    {
      messenger me(env, "packet");
      at_once = send_once(me, data, 1);
      require_equal(count(0, 'r'), 1, "registrations of all at once");
      me.meet();
    }
    messenger me(env);
    in_parts = send_once(me, data, 1);
    require(count(0, 'r') > 1, "the sender registers in parts");
    require(count(1, 'r') > 1, "and so does the receiver");
    require(in_parts < 0.7 * at_once, std::to_string(in_parts) + " us in parts, " + std::to_string(at_once) + " us at once");
    // What is registered is found; also where another message begins elsewhere in the same memory.
    const double found = send_once(me, data, 2);
    require_equal(count(0, 'r') + count(1, 'r'), 0, "registrations of memory that is registered");
    require(found < in_parts, "which takes less");
    send_once(me, std::span(data).subspan(100'000), 3);
    require_equal(count(0, 'r') + count(1, 'r'), 0, "registrations of a part of it");
    send_once(me, data, 4, 2'500'000);  // that is all there is room for
    me.meet();
  });
}

BOOST_AUTO_TEST_CASE(a_part_that_cannot_be_registered_comes_as_a_stream) {
  for (const char* fabric : {"sim", "sim:wild", "sim:tcp"})
    for (const unsigned refuse_from : {0u, 1u, 2u, 5u})
      run_ranks({fabric}, 2, [&](rank_env& env) {
        make_dear(env, refuse_from);
        messenger me(env);
        std::vector<std::byte> data(1'500'000);
        send_once(me, data, refuse_from + 1);
        send_once(me, data, refuse_from + 10, 700'000);
      });
}

BOOST_AUTO_TEST_CASE(cheap_registrations_are_made_at_once) {
  run_ranks({"sim"}, 2, [](rank_env& env) {
    make_dear(env, never, {});
    messenger me(env);
    std::vector<std::byte> data(4'000'000);
    send_once(me, data, 1);
    require_equal(count(0, 'r'), 1, "one of the sender's memory");
    require_equal(count(1, 'r'), 0, "and none of the receiver's, which gets into what is not registered");
  });
}

namespace {

struct rows {
  std::size_t block, count;
  std::ptrdiff_t stride;
  block_layout layout() const { return take(block_layout::strided(block, 1, &count, &stride), "layout"); }
  std::size_t extent() const { return static_cast<std::size_t>(stride) * count; }
};

// One message, of which either end may lie in rows; what it takes of the endpoint's buffers.
std::uint64_t send_rows(messenger& me, std::uint64_t number, const rows* there, const rows* here, std::uint64_t bytes) {
  begin_log(me);
  const std::uint64_t before = me.m->end().buffers().bytes();
  const rows* const mine = me.env.rank == 0 ? there : here;
  std::vector<std::byte> data(mine ? mine->extent() : bytes);
  const block_layout l = mine ? mine->layout() : block_layout{};
  const auto place = [&](std::uint64_t i) { return mine ? i / mine->block * static_cast<std::size_t>(mine->stride) + i % mine->block : i; };
  if (me.env.rank == 0) {
    for (std::uint64_t i = 0; i < bytes; ++i) data[place(i)] = byte_of(number, i);
    require(me.tagged().send({&me.world(), 1, number, data.data(), bytes, false, mine ? &l : nullptr}), "send");
  } else {
    require(me.tagged().receive({&me.world(), 0, number, messenger::whole, data.data(), bytes, nullptr, mine ? &l : nullptr}), "receive");
    std::uint64_t sum = 0;
    for (const std::byte b : data) sum += b != std::byte{0};
    for (std::uint64_t i = 0; i < bytes; ++i)
      if (data[place(i)] != byte_of(number, i)) fail("byte " + std::to_string(i) + " of message " + std::to_string(number));
    require(sum <= bytes, "nothing beside the blocks");
  }
  me.meet();
  const std::uint64_t more = me.m->end().buffers().bytes() - before;
  return more < bytes / 4 ? 0 : more;  // what is kept of an announcement does not count
}

}  // namespace

BOOST_AUTO_TEST_CASE(long_pieces_move_by_lists_and_are_not_copied) {
  constexpr std::uint64_t bytes = 64 * 16384;
  const rows far_apart{16384, 64, 20'000}, close{16384, 64, 30'000};
  for (const bool registered : {false, true})
    run_ranks({"sim"}, 2, [&](rank_env& env) {
      make_dear(env, never, registered ? an_adapters : registration_cost{});
      messenger me(env);
      require_equal(send_rows(me, 1, nullptr, &far_apart, bytes), 0, "a buffer for data that go where they belong");
      require(count(1, 'G') >= 64 / 8 && count(1, 'G') < 64, "gets, of as many slices as the fabric takes");
      require_equal(send_rows(me, 2, &close, nullptr, bytes), 0, "a buffer for data that are put from where they lie");
      require_equal(count(0, 'p'), 64, "puts, of a block each");
      require_equal(send_rows(me, 3, &close, &far_apart, bytes) > 0, env.rank == 1, "one of both ends unpacks");
    });
}

BOOST_AUTO_TEST_CASE(short_pieces_are_packed_while_earlier_parts_move) {
  constexpr std::uint64_t bytes = 1 << 20;
  const rows numbers{16, bytes / 16, 32};
  run_ranks({"sim"}, 2, [&](rank_env& env) {
    make_dear(env, never, {});
    messenger me(env);
    require(send_rows(me, 1, &numbers, nullptr, bytes) > 0 || env.rank == 1, "the sender packs");
    require_equal(count(0, 'p'), 0, "puts");
    require(count(1, 'g') > 3, "the receiver gets part after part");
    require(send_rows(me, 2, nullptr, &numbers, bytes) > 0 || env.rank == 0, "the receiver unpacks");
    require_equal(count(1, 'G'), 0, "gets by lists");
  });
}

// The data of a node's rank by lists as well: out of its memory by the kernel, into the pieces.
BOOST_AUTO_TEST_CASE(in_a_node_the_kernel_copies_into_pieces) {
  run_ranks({"shm"}, 2, [](rank_env& env) {
    make_dear(env, never, {});
    messenger me(env);
    if (!me.j->facts().exposes_any) skip("the kernel copies nothing here");
    constexpr std::uint64_t bytes = 64 * 16384;
    const rows apart{16384, 64, 20'000};
    require_equal(send_rows(me, 1, nullptr, &apart, bytes), 0, "a buffer");
    if (env.rank == 1) require(count(1, 'G') > 0, "gets by lists");
  });
}

namespace {

struct list {
  std::vector<std::ptrdiff_t> offsets;
  std::vector<std::size_t> lengths;
};

// Blocks in random order, which do not overlap, of `bytes` in all.
list some_list(std::mt19937_64& random, std::uint64_t bytes) {
  const std::size_t longest[] = {40, 700, 9000, 120'000};
  const std::size_t most = longest[random() % std::size(longest)];
  list l;
  std::ptrdiff_t at = 0;
  for (std::uint64_t left = bytes; left > 0;) {
    const std::size_t n = std::min<std::uint64_t>(left, 1 + random() % most);
    at += static_cast<std::ptrdiff_t>(random() % 3 ? random() % 200 : 0);
    l.offsets.push_back(at), l.lengths.push_back(n);
    at += static_cast<std::ptrdiff_t>(n), left -= n;
  }
  const std::uint64_t seed = random();
  std::mt19937_64 one(seed), another(seed);
  std::ranges::shuffle(l.offsets, one), std::ranges::shuffle(l.lengths, another);
  return l;
}

std::vector<std::size_t> places_of(const list& l) {  // of each byte of the data
  std::vector<std::size_t> out;
  for (std::size_t b = 0; b < l.offsets.size(); ++b)
    for (std::size_t i = 0; i < l.lengths[b]; ++i) out.push_back(static_cast<std::size_t>(l.offsets[b]) + i);
  return out;
}

}  // namespace

// What either end lists, in any order, is what arrives: each byte in its place, and no other byte changed.
BOOST_AUTO_TEST_CASE(random_lists_against_a_model) {
  for (const fabric_spec& fabric : some_fabrics({"sim", "sim:wild", "sim:tcp", "sim:node", "shm", "ucx:tcp"}))
    run_ranks(fabric, 2, [](rank_env& env) {
      const std::uint64_t seed = env.seed;
      std::mt19937_64 draws(seed);
      const registration_cost costs[] = {{}, an_adapters};
      make_dear(env, never, costs[seed % 2]);
      messenger me(env);
      for (std::uint64_t n = 0; n < 25; ++n) {
        const std::uint64_t bytes = 1 + draws() % (n % 3 ? 300'000 : 1'000'000), room = draws() % 5 ? bytes : 1 + draws() % bytes;
        const list out = some_list(draws, bytes), in = some_list(draws, room);
        const list& mine = env.rank == 0 ? out : in;
        const auto l = take(block_layout::indexed(mine.offsets.size(), mine.offsets.data(), mine.lengths.data(), 0), "layout");
        std::vector<std::byte> data(static_cast<std::size_t>(l.high()), std::byte{0x5a});
        const auto places = places_of(mine);
        if (env.rank == 0) {
          for (std::size_t i = 0; i < places.size(); ++i) data[places[i]] = byte_of(n, i);
          require(me.tagged().send({&me.world(), 1, n, data.data(), bytes, false, &l}), "send");
        } else {
          const status s = me.tagged().receive({&me.world(), 0, n, messenger::whole, data.data(), room, nullptr, &l});
          require(room < bytes ? s.code() == errc::truncated : s.ok(), s.text());
          std::vector<std::byte> model(data.size(), std::byte{0x5a});
          for (std::size_t i = 0; i < places.size(); ++i) model[places[i]] = byte_of(n, i);
          require(data == model, "message " + std::to_string(n) + " of seed " + std::to_string(seed));
        }
      }
      me.meet();
    });
}

// What the proof of a message's origin costs: one check at each end of it. Prints the least of many repetitions, which a
// busy machine does not disturb, in ns; beside it SipHash-1-3 of as many bytes, and what a rank does in all to take in a put.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>

#include "tests/messages/fake_link.h"

using namespace tutti;

namespace {

template <class F>
double least_ns(F&& once) {
  using clock = std::chrono::steady_clock;
  constexpr int times = 4096;
  double least = 1e9;
  for (int repetition = 0; repetition < 400; ++repetition) {
    const auto begin = clock::now();
    for (int i = 0; i < times; ++i) once();
    least = std::min(least, std::chrono::duration<double, std::nano>(clock::now() - begin).count() / times);
  }
  return least;
}

// Of 56 bytes, to compare with.
std::uint64_t siphash_1_3(const messages::message& m, const siphash_key& k) {
  std::uint64_t a = k[0] ^ 0x736f6d6570736575u, b = k[1] ^ 0x646f72616e646f6du, c = k[0] ^ 0x6c7967656e657261u,
                d = k[1] ^ 0x7465646279746573u, words[8] = {};
  const auto round = [&] {
    a += b, b = std::rotl(b, 13) ^ a, a = std::rotl(a, 32);
    c += d, d = std::rotl(d, 16) ^ c;
    a += d, d = std::rotl(d, 21) ^ a;
    c += b, b = std::rotl(b, 17) ^ c, c = std::rotl(c, 32);
  };
  std::memcpy(words, &m, offsetof(messages::message, check));
  words[7] = std::uint64_t{offsetof(messages::message, check)} << 56;
  for (const std::uint64_t w : words) d ^= w, round(), a ^= w;
  c ^= 0xff;
  for (int i = 0; i < 3; ++i) round();
  return a ^ b ^ c ^ d;
}

}  // namespace

int main() {
  const siphash_key key{1, 2};
  messages::message m;
  m.kind = messages::message_kind::put, m.sequence = 1, m.region = 3;
  // Each depends, from its first word on, on the one before it: time until the answer is there, not throughput.
  std::printf("SipHash-2-4 of a header       %6.1f ns\n", least_ns([&] { m.sequence = check_of(m, {}, key) & 0xffff; }));
  const std::vector<std::byte> datagrams(16384);
  const double long_one = least_ns([&, n = 0]() mutable {
    if (n++ % 64 == 0) m.sequence = check_of(m, datagrams, key) & 0xffff;
  });
  std::printf("SipHash-2-4 of 16 KiB         %6.0f ns\n", 64 * long_one);
  std::printf("SipHash-1-3 of a header       %6.1f ns\n", least_ns([&] { m.sequence = siphash_1_3(m, key) & 0xffff; }));

  test::lone_rank r;
  const std::uint64_t value = 7;
  const auto payload = std::as_bytes(std::span{&value, 1});
  m = {};
  m.kind = messages::message_kind::put, m.region = r.region, m.bytes = sizeof value, m.origin = 1;
  const siphash_key hers = messages::key_between(r.key, 1, 0);
  std::uint64_t number = 0;
  const double both = least_ns([&] {
    m.sequence = ++number;
    m.check = check_of(m, {}, hers);
    r.messages().receive(std::as_bytes(std::span{&m, 1}), payload);
  });
  std::printf("authenticate and take a put   %6.1f ns\n", both);
  m.check = 0;
  std::printf("drop a message without proof  %6.1f ns\n", least_ns([&] { r.messages().receive(std::as_bytes(std::span{&m, 1}), payload); }));
  std::printf("the same, of a rank never met %6.1f ns\n", least_ns([&] {
    m.origin = 2;
    r.messages().receive(std::as_bytes(std::span{&m, 1}), payload);
  }));
  return r.word(0) == value ? 0 : 1;
}

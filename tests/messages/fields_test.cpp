// The table of what each field may be, row by row, and the blobs that ranks give each other.
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <functional>
#include <vector>

#include "tests/messages/fake_link.h"

using namespace tutti;
using namespace tutti::test;
using namespace tutti::messages;

namespace {

message sample(const rule& r, std::size_t& payload) {
  message m;
  m.kind = r.kind, m.sequence = 1;
  payload = r.payload ? 8 : 0;
  m.bytes = r.memory == extent::asked ? 8 : static_cast<std::uint32_t>(payload);
  if (r.memory != extent::none) m.region = 77, m.offset = 16;
  if (r.cookie) m.cookie = std::uint64_t{9} << 32 | 3;
  if (r.signal) m.flags = with_signal | signal_adds, m.signal_region = 78, m.signal_offset = 24, m.operand = 1;
  if (r.operand) m.operand = 5;
  if (r.expected) m.signal_offset = 6;
  return m;
}

struct change {
  const char* what;
  std::function<void(message&)> make;
  bool (*allowed)(const rule&);  // then it leaves the message sound
};

const change changes[] = {
    {"another flag", [](message& m) { m.flags |= 0x80; }, [](const rule&) { return false; }},
    {"no number", [](message& m) { m.sequence = 0; }, [](const rule&) { return false; }},
    {"a region or none", [](message& m) { m.region = m.region ? 0 : 1; }, [](const rule&) { return false; }},
    {"an offset", [](message& m) { m.offset = 32; }, [](const rule& r) { return r.memory != extent::none || r.position; }},
    {"a cookie", [](message& m) { m.cookie = 4; }, [](const rule& r) { return r.cookie; }},
    {"a cookie of no frame", [](message& m) { m.cookie = pool_frames; }, [](const rule&) { return false; }},
    {"more bytes", [](message& m) { ++m.bytes; }, [](const rule& r) { return r.memory == extent::asked; }},
    {"far too many bytes", [](message& m) { m.bytes = ~0u; }, [](const rule&) { return false; }},
    {"no bytes", [](message& m) { m.bytes = 0; }, [](const rule& r) { return !r.payload && r.memory != extent::asked; }},
    {"a signal's region", [](message& m) { m.signal_region = 1; }, [](const rule& r) { return r.signal; }},
    {"a signal's offset", [](message& m) { m.signal_offset = 8; }, [](const rule& r) { return r.signal || r.expected; }},
    {"an operand", [](message& m) { m.operand = 4; }, [](const rule& r) { return r.signal || r.operand; }},
};

constexpr std::uint64_t highest = ~std::uint64_t{0};

}  // namespace

BOOST_AUTO_TEST_CASE(each_row_of_the_table_is_kept) {
  for (const rule& r : rules) {
    std::size_t payload = 0;
    const message sound = sample(r, payload);
    BOOST_TEST_CONTEXT("kind " << static_cast<int>(r.kind)) {
      BOOST_TEST((inspect(sound, payload).what == finding::sound), inspect(sound, payload).field);
      for (const change& c : changes) {
        message m = sound;
        c.make(m);
        const finding wanted = c.allowed(r) ? finding::sound : finding::malformed;
        BOOST_TEST((inspect(m, payload).what == wanted), c.what);
      }
      BOOST_TEST((inspect(sound, payload + 1).what == finding::malformed));
      if (r.memory != extent::none) {
        message m = sound;
        m.offset = highest;
        BOOST_TEST((inspect(m, payload).what == finding::outside));
      }
    }
  }
  message m;
  m.kind = static_cast<message_kind>(rules.size()), m.sequence = 1;
  BOOST_TEST((inspect(m, 0).what == finding::malformed));
}

BOOST_AUTO_TEST_CASE(what_is_malformed_ends_its_origin_alone) {
  for (const rule& row : rules) {
    lone_rank r;
    std::size_t payload = 0;
    message m = sample(row, payload);
    m.flags |= 0x40;
    const std::vector<std::byte> bytes(payload);
    r.tell(1, m, bytes);
    BOOST_TEST((r.net->health(1).code() == errc::protocol));
    BOOST_TEST(std::string(r.net->health(1).text()).find("flags") != std::string::npos);
    BOOST_TEST(!r.ended(2));
  }
}

BOOST_AUTO_TEST_CASE(a_blob_of_another_length_is_refused) {
  lone_rank r;
  const auto address = *r.net->address();
  auto its_key = *r.net->key(region_id{r.region});
  BOOST_TEST(read_address(address).has_value());
  BOOST_TEST(read_key(its_key).has_value());
  for (std::size_t n = 0; n < address.size(); ++n)
    BOOST_TEST((!read_address(std::span{address}.first(n)) || n >= sizeof(address_head) + 1));
  for (std::size_t n = 0; n < its_key.size(); ++n) BOOST_TEST(!read_key(std::span{its_key}.first(n)));
  its_key.push_back({});
  BOOST_TEST(!read_key(its_key));
}

BOOST_AUTO_TEST_CASE(lengths_that_lie_are_refused) {
  lone_rank r;
  const auto address = *r.net->address();
  const auto with = [&](auto&& change) {
    auto head = *head_of<address_head>(address);
    change(head);
    auto blob = address;
    std::memcpy(blob.data(), &head, sizeof head);
    return read_address(blob).has_value();
  };
  BOOST_TEST(with([](address_head&) {}));
  BOOST_TEST(!with([](address_head& h) { h.link_bytes = ~0u; }));
  BOOST_TEST(!with([](address_head& h) { h.doze_key_bytes = ~0u; }));
  BOOST_TEST(!with([](address_head& h) { h.link_bytes = h.doze_key_bytes = 1u << 31; }));
  BOOST_TEST(!with([](address_head& h) { h.pid = -1; }));
  BOOST_TEST(!with([](address_head& h) { h.doze.pid = 1, h.doze.fd = 1, h.doze.bytes = 7; }));
  BOOST_TEST(!with([](address_head& h) { h.doze.pid = -1, h.doze.bytes = 64; }));
  BOOST_TEST(!with([](address_head& h) { h.line.place.count = 7; }));
  BOOST_TEST(!with([](address_head& h) { h.line.port = 1u << 16; }));
  BOOST_TEST(!with([](address_head& h) { ++h.version; }));

  const auto its_key = *r.net->key(region_id{r.region});
  const auto key_with = [&](auto&& change) {
    auto head = *head_of<key_head>(its_key);
    change(head);
    auto blob = its_key;
    std::memcpy(blob.data(), &head, sizeof head);
    return read_key(blob).has_value();
  };
  BOOST_TEST(key_with([](key_head&) {}));
  BOOST_TEST(!key_with([](key_head& h) { h.region = 0; }));
  BOOST_TEST(!key_with([](key_head& h) { h.bytes = 0; }));
  BOOST_TEST(!key_with([](key_head& h) { h.key_bytes = ~0u; }));
  BOOST_TEST(!key_with([](key_head& h) { h.memory.pid = 1, h.memory.fd = 1, h.memory.bytes = h.bytes - 1; }));
}

// Nobody but ranks of other hosts would connect there.
BOOST_AUTO_TEST_CASE(a_job_of_one_host_listens_for_nobody) {
  auto t = fake_traits();
  t.only_this_host = t.tells_losses = false;
  for (const bool one_host : {true, false}) {
    lone_rank r{t, one_host};
    const auto parts = read_address(*r.net->address());
    BOOST_REQUIRE(parts.has_value());
    BOOST_TEST((parts->head.line.port == 0) == one_host);
  }
}

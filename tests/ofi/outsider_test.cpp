// Whoever reaches a rank's port may speak libfabric to it, and gets no further.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "providers/ofi/link.h"
#include "tests/messages/outsider.h"

using namespace tutti;
using namespace tutti::test;

namespace tutti {
extern const provider ofi_provider;
}

namespace {

// `times` some 200 messages, which are more than a rank has buffers to receive into.
void an_outsider_changes_nothing(std::string_view device, int times) {
  two_ranks job{ofi_provider, device};
  BOOST_TEST(job.works(0));
  auto opened = ofi::open_device(device, false, ofi::by_keys::nothing);
  BOOST_REQUIRE_MESSAGE(opened, opened.error().text());
  fi_addr_t victim = 0;
  BOOST_REQUIRE(fi_av_insert(opened->addresses.get(), job.link_address.data(), 1, &victim, 0, nullptr) == 1);
  const auto drive = [&] {
    fi_cq_msg_entry done[16];
    (void)fi_cq_read(opened->completions.get(), done, 16);
  };
  std::uint64_t sent = 0;
  std::byte whole[sizeof(messages::message) + sizeof forged_payload];
  fi_context2 contexts[16];
  const auto send = [&](std::size_t bytes) {
    BOOST_TEST(job.until([&] {
      drive();
      return fi_send(opened->endpoint.get(), whole, bytes, nullptr, victim, &contexts[sent % 16]) == 0;
    }));
    // One after the other, for the buffer is one.
    ++sent;
    BOOST_TEST(job.until([&] { return drive(), job.messages(0).rejected() >= sent; }));
  };
  for (int i = 0; i < times; ++i)
    for (const auto& m : job.forged()) {
      std::memcpy(whole, &m, sizeof m);
      std::memcpy(whole + sizeof m, &forged_payload, sizeof forged_payload);
      send(sizeof m + (m.bytes ? sizeof forged_payload : 0));
    }
  for (std::size_t bytes = 1; bytes < sizeof(messages::message); bytes += 7) send(bytes);
  BOOST_TEST(job.messages(0).rejected() == sent);
  BOOST_TEST(job.word(0, 0) == 1u);
  BOOST_TEST(job.net[0]->health(1).ok());
  BOOST_TEST(job.works(1));
}

// Where the target's program drives what goes by remote keys, nothing but the key stands before its memory.
void a_guessed_key_changes_nothing(std::string_view device) {
  two_ranks job{ofi_provider, device};
  BOOST_TEST(job.works(0));
  auto opened = ofi::open_device(device, false, ofi::by_keys::driven);
  BOOST_REQUIRE_MESSAGE(opened, opened.error().text());
  fi_addr_t victim = 0;
  BOOST_REQUIRE(fi_av_insert(opened->addresses.get(), job.link_address.data(), 1, &victim, 0, nullptr) == 1);
  std::vector<std::byte> payload(65536, std::byte{0x5a});
  fi_context2 context;
  std::uint64_t key = 0;
  int turns = 0;
  const auto refused = [&] {  // tcp tells of the first; net of none
    fi_cq_msg_entry done;
    const ssize_t n = fi_cq_read(opened->completions.get(), &done, 1);
    if (n == -FI_EAVAIL) return true;
    (void)fi_write(opened->endpoint.get(), payload.data(), payload.size(), nullptr, victim, 0, ++key, &context);
    return device == "net" && ++turns == 20000;
  };
  BOOST_TEST(job.until(refused));
  BOOST_TEST(job.word(0, 0) == 1u);
  BOOST_TEST(std::all_of(job.memory[0].begin() + sizeof(std::uint64_t), job.memory[0].end(), [](std::byte b) { return b == std::byte{}; }));
  BOOST_TEST(job.net[0]->health(1).ok());
  BOOST_TEST(job.works(1));
}

}  // namespace

BOOST_AUTO_TEST_CASE(over_tcp) { an_outsider_changes_nothing("tcp", 2); }
BOOST_AUTO_TEST_CASE(over_udp) { an_outsider_changes_nothing("udp", 1); }
BOOST_AUTO_TEST_CASE(by_key_over_tcp) { a_guessed_key_changes_nothing("tcp"); }
BOOST_AUTO_TEST_CASE(by_key_over_net) { a_guessed_key_changes_nothing("net"); }

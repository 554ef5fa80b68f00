// Two ranks of a provider in this process, and what an outsider who knows all but their key would send to the first.
#pragma once
#include <boost/test/unit_test.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "core/transport/provider.h"
#include "providers/messages/transport.h"

namespace tutti::test {

struct two_ranks {
  std::unique_ptr<transport> net[2];
  std::span<std::byte> memory[2];
  region_id region[2];
  segment_id segment[2];
  std::vector<std::byte> link_address;  // of rank 0, as its library gives it

  two_ranks(const provider& p, std::string_view device) {
    auto addresses = std::make_shared<blob_table>(), keys = std::make_shared<blob_table>();
    for (rank_t r = 0; r < 2; ++r) {
      open_params with{.device = device, .job_id = "outsiders", .rank = r, .size = 2};
      with.multicast_interface = "none", with.key = {0x1122334455667788, 0x99aabbccddeeff00}, with.one_host = true;
      auto opened = p.open(with);
      BOOST_REQUIRE_MESSAGE(opened, opened.error().text());
      net[r] = std::move(*opened);
      region[r] = *net[r]->allocate(4096, memory[r]);
      addresses->push_back(*net[r]->address());
      keys->push_back(*net[r]->key(region[r]));
    }
    const auto link = messages::read_address((*addresses)[0])->link;
    link_address.assign(link.begin(), link.end());
    for (rank_t r = 0; r < 2; ++r) {
      BOOST_REQUIRE(net[r]->connect(addresses, {}).ok());
      segment[r] = *net[r]->attach(rank_map::strided(0, 2), keys);
    }
  }
  messages::message_transport& messages(rank_t r) { return static_cast<messages::message_transport&>(*net[r]); }
  bool until(const std::function<bool()>& holds) {
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{20}; !holds();) {
      for (auto& n : net) n->progress();
      if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
  }
  std::uint64_t word(rank_t r, std::size_t i) const { return reinterpret_cast<const std::uint64_t*>(memory[r].data())[i]; }

  // Rank 1 adds to a word of rank 0 and hears the old value.
  bool works(std::uint64_t before) {
    completion done;
    rma_op add{.kind = op_kind::fetch_add};
    std::uint64_t old = ~0u;
    add.rank = 0, add.remote = segment[1], add.local_offset = reinterpret_cast<std::uint64_t>(&old), add.operand = 1, add.done = &done;
    return until([&] { return net[1]->submit({&add, 1}) == 1; }) && until([&] { return done.idle(); }) && done.outcome().ok() &&
           old == before && word(0, 0) == before + 1;
  }

  // Each has a payload of 8 bytes where its kind has one.
  std::vector<messages::message> forged() const {
    using messages::message_kind;
    std::vector<messages::message> all;
    const auto add = [&](message_kind k, std::uint64_t sequence, std::uint64_t check) {
      messages::message m;
      m.kind = k, m.origin = 1, m.sequence = sequence, m.check = check;
      if (k == message_kind::put) m.bytes = 8;
      if (k != message_kind::bye && k != message_kind::hello) m.region = static_cast<std::uint32_t>(region[0]);
      m.operand = k == message_kind::fetch_add ? 100 : 0;
      all.push_back(m);
    };
    for (const std::uint64_t check : {std::uint64_t{0}, std::uint64_t{0x0123'4567'89ab'cdef}})
      for (std::uint64_t sequence = 1; sequence < 4; ++sequence)
        for (const auto k : {message_kind::put, message_kind::fetch_add, message_kind::hello, message_kind::bye}) add(k, sequence, check);
    for (std::uint64_t far = 1000; far < 1200; ++far) add(message_kind::put, far, far);
    return all;
  }
};

inline constexpr std::uint64_t forged_payload = 0x5a5a'5a5a'5a5a'5a5a;

}  // namespace tutti::test

// Ranks of one process and one thread, each with an ip_multicast of its own and no fabric below: what they send to each
// other is UDP through the kernel. join() needs the creator's progress: whoever is driven here
// drives them all.
#pragma once
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "core/multicast/ip_multicast.h"
#include "core/transport/multicast.h"
#include "tests/harness/expect.h"

namespace tutti::test {

class row_of_ranks {
 public:
  std::vector<status> deaths;  // by rank

  explicit row_of_ranks(std::uint32_t size, open_params params = {.job_id = "a job"}) : deaths(size) {
    for (rank_t r = 0; r < size; ++r) {
      params.rank = r, params.size = size;
      ranks_.push_back(std::make_unique<ip_multicast>([this] { return progress(), 0u; },
                                                      [this](rank_t peer) { return deaths[peer]; }, params));
    }
    blob_table all;
    for (auto& r : ranks_) all.push_back(r->address());
    for (auto& r : ranks_) require(r->connect(all), "connect");
  }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(ranks_.size()); }
  ip_multicast& operator[](rank_t r) noexcept { return *ranks_[r]; }
  void progress() {
    for (auto& r : ranks_) r->progress();
  }

 private:
  std::vector<std::unique_ptr<ip_multicast>> ranks_;
};

// All of a row in one group, created by rank 0; by rank.
inline std::vector<multicast::group_id> join_all(row_of_ranks& row, ip_group_token& token) {
  const rank_map members = rank_map::strided(0, row.size());
  std::vector<std::byte> bytes;
  std::vector<multicast::group_id> ids;
  for (rank_t r = 0; r < row.size(); ++r)
    ids.push_back(take(r ? row[r].join(members, bytes, time_point::max()) : row[0].create(members, bytes, time_point::max()),
                       r ? "join" : "create"));
  require_equal(bytes.size(), sizeof token, "a token's size");
  std::memcpy(&token, bytes.data(), sizeof token);
  return ids;
}

// The next datagram, waiting a little: the kernel delivers at once on loopback, and yet.
inline bool receive_soon(ip_multicast& m, multicast::group_id g, multicast::datagram& d) {
  for (int i = 0; i < 200; ++i) {
    if (m.receive(g, d)) return true;
    m.progress();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return false;
}

}  // namespace tutti::test

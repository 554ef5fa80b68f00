// A transport by messages over a link that is none: a test brings it whatever a wire could, and sees what it sends.
#pragma once
#include <unistd.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "providers/messages/authentication.h"
#include "providers/messages/transport.h"

namespace tutti::test {

struct sent_message {
  rank_t to;
  messages::message head;
  std::vector<std::byte> payload;
};

class fake_link final : public messages::link {
 public:
  explicit fake_link(messages::link_traits t) : traits_(t) {}
  messages::messenger* up = nullptr;
  std::deque<sent_message> sent;
  status opening;  // what becomes of it
  bool forgets = false;  // what was sent
  messages::sending answer = messages::sending::taken;
  std::vector<rank_t>* closed = nullptr;  // of whom the connection was

  const messages::link_traits& traits() const noexcept override { return traits_; }
  status start(messages::messenger& net) override { return up = &net, status{}; }
  result<std::vector<std::byte>> address() override { return std::vector<std::byte>(1); }
  status open(messages::peer& p, std::span<const std::byte>) noexcept override {
    if (opening.ok()) p.line = this;
    return opening;
  }
  void close(messages::peer& p) noexcept override {
    p.line = nullptr;
    if (closed) closed->push_back(p.rank);
  }
  messages::sending send(messages::peer& p, const messages::message& m, const std::byte* payload, std::uint32_t bytes, bool) noexcept override {
    if (!forgets && answer != messages::sending::full) sent.push_back({p.rank, m, {payload, payload + bytes}});
    return answer;
  }
  unsigned progress() noexcept override { return 0; }
  int fd() const noexcept override { return -1; }
  bool arm() noexcept override { return true; }
  void push_out(own_time) noexcept override {}

 private:
  messages::link_traits traits_;
};

inline messages::link_traits fake_traits() {
  messages::link_traits t;
  t.name = "the fake link", t.piece_bytes = 4096, t.keeps = false, t.only_this_host = true, t.reorders = true;
  return t;
}

// Rank 0 of four, or of so many, with one region; the others are this program's to play.
struct lone_rank {
  const std::uint32_t size;
  siphash_key key{0x0123456789abcdef, 0xfedcba9876543210};
  fake_link* line = nullptr;
  std::unique_ptr<transport> net;
  std::span<std::byte> memory;
  std::uint32_t region = 0;
  segment_id segment{};               // memory of rank 0, and the same name in each other
  std::vector<std::uint64_t> next = std::vector<std::uint64_t>(size, 1);
  std::vector<std::string> notices;

  explicit lone_rank(messages::link_traits traits = fake_traits(), bool one_host = true, std::uint32_t ranks = 4) : size(ranks) {
    auto made = std::make_unique<fake_link>(traits);
    line = made.get();
    open_params p{.job_id = "lone", .rank = 0, .size = size};
    p.notice = [this](const std::string& text) { notices.push_back(text); };
    p.key = key, p.one_host = one_host, p.multicast_interface = "none";
    net = std::move(*messages::message_transport::open(p, std::move(made)));
    auto all = std::make_shared<blob_table>(), keys = std::make_shared<blob_table>();
    const auto address = *net->address();
    const auto mine = *net->allocate(256, memory);
    region = static_cast<std::uint32_t>(mine);
    const auto its_key = *net->key(mine);
    for (rank_t r = 0; r < size; ++r) all->push_back(address), keys->push_back(its_key);
    (void)net->connect(all, {}).ok();
    segment = *net->attach(rank_map::strided(0, size), keys);
  }
  messages::messenger& messages() { return *line->up; }
  bool ended(rank_t r) { return net->health(r).failed(); }
  std::uint64_t word(std::size_t i) const {
    std::uint64_t value;
    std::memcpy(&value, memory.data() + 8 * i, sizeof value);
    return value;
  }

  // A message with everything that a rank of the job knows.
  messages::message from(rank_t origin, messages::message m) {
    m.origin = origin;
    if (!m.sequence) m.sequence = next[origin]++;
    m.check = check_of(m, {}, messages::key_between(key, origin, 0));
    return m;
  }
  void bring(const messages::message& m, std::span<const std::byte> payload = {}) {
    messages().receive(std::as_bytes(std::span{&m, 1}), payload);
    messages().progress();
  }
  void tell(rank_t origin, messages::message m, std::span<const std::byte> payload = {}) { bring(from(origin, m), payload); }
};

}  // namespace tutti::test

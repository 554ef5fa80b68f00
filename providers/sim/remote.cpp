// The transport of a virtual rank that is a process of its own: every call is asked of the world, which performs it on the transport that
// this rank has there (core/job/simulated_link.h; the other end is tools/sim/program.cpp). Completions are this process's: the world names
// those that ended with each progress().
#include "providers/sim/remote.h"

#include <sys/mman.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/round_up.h"
#include "core/transport/multicast.h"
#include "core/transport/two_sided.h"

namespace tutti::sim {
namespace {

using simulated::address_of;
using simulated::call;
using simulated::line;

class remote_two_sided final : public two_sided {
 public:
  remote_two_sided(line& l, const limits& of) : line_(l), limits_(of), memory_(round_up(of.max_header, 8) + of.max_payload) {}
  limits query() const noexcept override { return limits_; }
  bool send(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept override {
    return line_.ask(call::send, to, address_of(header.data()), header.size(), address_of(payload.data()), payload.size()).ok() && line_.result_of();
  }
  bool receive(message& out) noexcept override {
    if (line_.ask(call::receive, address_of(memory_.data())).failed() || !line_.result_of()) return false;
    const std::size_t header = line_.result_of(2), payload = line_.result_of(3);
    out = {static_cast<rank_t>(line_.result_of(1)), {memory_.data(), header}, {memory_.data() + round_up(header, 8), payload}};
    return true;
  }

 private:
  line& line_;
  const limits limits_;
  std::vector<std::byte> memory_;  // of the message that was received last
};

class remote_multicast final : public multicast {
 public:
  remote_multicast(line& l, const limits& of) : line_(l), limits_(of), memory_(of.max_payload) {}
  limits query() const noexcept override { return limits_; }
  result<group_id> create(const rank_map& members, std::vector<std::byte>& token, time_point deadline) override {
    const auto ranks = list_of(members);
    const status s = line_.ask(call::form, address_of(ranks.data()), ranks.size(), deadline.time_since_epoch().count());
    if (s.failed()) return s;
    const auto data = line_.data(line_.result_of(1));
    token.assign(data.begin(), data.end());
    return group_id{static_cast<std::uint32_t>(line_.result_of())};
  }
  result<group_id> join(const rank_map& members, std::span<const std::byte> token, time_point deadline) override {
    const auto ranks = list_of(members);
    const status s = line_.ask(call::join, address_of(ranks.data()), ranks.size(), address_of(token.data()), token.size(), deadline.time_since_epoch().count());
    if (s.failed()) return s;
    return group_id{static_cast<std::uint32_t>(line_.result_of())};
  }
  bool send(group_id g, std::uint32_t tag, std::span<const std::byte> payload) noexcept override {
    return line_.ask(call::cast, static_cast<std::uint32_t>(g), tag, address_of(payload.data()), payload.size()).ok() && line_.result_of();
  }
  bool receive(group_id g, datagram& out) noexcept override {
    if (line_.ask(call::hear, static_cast<std::uint32_t>(g), address_of(memory_.data())).failed() || !line_.result_of()) return false;
    out = {static_cast<rank_t>(line_.result_of(1)), static_cast<std::uint32_t>(line_.result_of(2)), {memory_.data(), line_.result_of(3)}};
    return true;
  }
  void leave(group_id g) noexcept override { (void)line_.ask(call::depart, static_cast<std::uint32_t>(g)); }

  static std::vector<rank_t> list_of(const rank_map& members) {
    std::vector<rank_t> out;
    for (std::uint32_t i = 0; i < members.size(); ++i) out.push_back(members[i]);
    return out;
  }

 private:
  line& line_;
  const limits limits_;
  std::vector<std::byte> memory_;  // of the datagram that was received last, in any group
};

class remote_transport final : public transport {
 public:
  remote_transport(line& l, const simulated::opened& of) : line_(l), caps_(of.caps), packets_(l, of.packets) {
    if (of.multicasts) datagrams_.emplace(l, of.datagrams);
  }
  ~remote_transport() override {
    (void)line_.ask(call::leave);
    for (const auto& [id, memory] : allocated_) munmap(memory.data(), memory.size());
  }

  const capabilities& caps() const noexcept override { return caps_; }
  two_sided* sendrecv() noexcept override { return &packets_; }
  multicast* mcast() noexcept override { return datagrams_ ? &*datagrams_ : nullptr; }

  // The world knows its ranks: addresses say nothing.
  result<std::vector<std::byte>> address() override { return std::vector<std::byte>(1); }
  status connect(shared_blobs addresses, time_point) override {
    if (!addresses || addresses->size() != line_.size()) return {errc::invalid, worded("connect takes one address for each of ", line_.size(), " ranks")};
    return {};
  }
  bool reaches(rank_t r) const noexcept override { return r < line_.size(); }

  result<region_id> add(std::span<std::byte> memory) override {
    if (const status s = line_.ask(call::add, address_of(memory.data()), memory.size()); s.failed()) return s;
    return region_id{static_cast<std::uint32_t>(line_.result_of())};
  }
  result<region_id> allocate(std::size_t bytes, std::span<std::byte>& memory) override {
    if (!bytes) return status(errc::invalid, "a region has at least one byte");
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return status(errc::no_resource, worded("no memory for a region of ", bytes, " bytes"));
    const std::span<std::byte> made(static_cast<std::byte*>(at), bytes);
    auto id = add(made);
    if (id) allocated_[*id] = memory = made;
    else munmap(at, bytes);
    return id;
  }
  result<std::vector<std::byte>> key(region_id id) override {
    if (const status s = line_.ask(call::key, static_cast<std::uint32_t>(id)); s.failed()) return s;
    const auto bytes = line_.data(line_.result_of());
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }
  result<segment_id> attach(const rank_map& members, shared_blobs keys) override {
    if (!keys || keys->size() != members.size()) return status(errc::invalid, "attach takes one key for each member");
    const std::vector<rank_t> ranks = remote_multicast::list_of(members);
    std::vector<std::uint64_t> lengths;
    std::vector<std::byte> bytes;
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      const auto one = (*keys)[i];
      lengths.push_back(one.size()), bytes.insert(bytes.end(), one.begin(), one.end());
    }
    if (const status s = line_.ask(call::attach, address_of(ranks.data()), address_of(lengths.data()), address_of(bytes.data()), ranks.size(), bytes.size());
        s.failed())
      return s;
    return segment_id{static_cast<std::uint32_t>(line_.result_of())};
  }
  void drop(segment_id id) noexcept override { (void)line_.ask(call::drop_segment, static_cast<std::uint32_t>(id)); }
  void drop(region_id id) noexcept override {
    (void)line_.ask(call::drop_region, static_cast<std::uint32_t>(id));
    if (const auto at = allocated_.find(id); at != allocated_.end()) munmap(at->second.data(), at->second.size()), allocated_.erase(at);
  }

  std::size_t submit(std::span<const rma_op> ops) noexcept override {
    glances_ = 0;
    if (ops.empty() || line_.ask(call::submit, address_of(ops.data()), ops.size()).failed()) return 0;
    const std::size_t taken = line_.result_of();
    for (const rma_op& op : ops.first(taken))
      if (op.done) op.done->begin();
    return taken;
  }
  bool flush(rank_t peer, completion* done) noexcept override {
    glances_ = 0;
    if (line_.ask(call::flush, peer, address_of(done)).failed() || !line_.result_of()) return false;
    if (done) done->begin();
    return true;
  }
  unsigned progress() noexcept override {
    glances_ = 0, armed_ = false;
    const status error = line_.ask(call::progress);
    const auto events = static_cast<unsigned>(line_.result_of());
    const std::size_t n = line_.result_of(1);
    for (std::size_t i = 0; i < n; ++i) {
      simulated::ending e;
      std::memcpy(&e, line_.data((i + 1) * sizeof e).data() + i * sizeof e, sizeof e);
      auto* const done = reinterpret_cast<completion*>(static_cast<std::uintptr_t>(e.completion));
      for (; e.operations > 0; --e.operations) e.failed ? done->finish(error) : done->finish();
    }
    return events;
  }

  // Nothing arrives while the world waits for a question: so the world arms when it is asked to sleep. If it was asked for something else in
  // between, something may have arrived, and the sleep is over.
  armed arm() noexcept override {
    glances_ = 0;
    armed_at_ = line_.asked();
    return armed_if(armed_ = true);
  }
  void sleep(armed token, time_point deadline) noexcept override {
    glances_ = 0;
    if (token && std::exchange(armed_, false) && line_.asked() == armed_at_) (void)line_.ask(call::sleep, deadline.time_since_epoch().count());
  }
  void disarm() noexcept override { armed_ = false; }
  // Who reads the clock in a loop waits for time to pass.
  time_point now() const noexcept override {
    if (++glances_ % 64 == 0) (void)line_.ask(call::glance);
    return line_.clock();
  }
  status health(rank_t peer) noexcept override { return line_.ask(call::health, peer); }

 private:
  line& line_;
  const capabilities caps_;
  remote_two_sided packets_;
  std::optional<remote_multicast> datagrams_;
  std::map<region_id, std::span<std::byte>> allocated_;
  bool armed_ = false;
  std::uint64_t armed_at_ = 0;  // questions asked then
  mutable unsigned glances_ = 0;
};

}  // namespace

result<std::unique_ptr<transport>> open_remote(line& l) {
  if (const status s = l.ask(call::open); s.failed()) return s;
  simulated::opened of;
  std::memcpy(&of, l.data(sizeof of).data(), sizeof of);
  return std::unique_ptr<transport>(std::make_unique<remote_transport>(l, of));
}

}  // namespace tutti::sim

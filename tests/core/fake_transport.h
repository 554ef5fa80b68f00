// A transport that carries nothing: it writes down what it is asked, and refuses, fails and reports as a test tells it.
// For the transports that are made of transports.
#pragma once
#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "core/transport/multicast.h"
#include "core/transport/transport.h"
#include "core/transport/two_sided.h"

namespace tutti::test {

inline std::vector<std::byte> bytes_of(std::string_view text) {
  std::vector<std::byte> out(text.size());
  std::memcpy(out.data(), text.data(), text.size());
  return out;
}
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Two-sided messages that come from nowhere: what it is sent is written down, and given back.
class fake_two_sided final : public two_sided {
 public:
  std::vector<std::string> sent;  // "rank:header/payload"
  std::deque<std::string> coming; // payloads, from rank 7
  bool full = false;

  limits query() const noexcept override { return {16, 32, 1000, 100}; }
  bool send(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept override {
    if (!full) sent.push_back(std::to_string(to) + ":" + text_of(header) + "/" + text_of(payload));
    return !full;
  }
  bool receive(message& out) noexcept override {
    if (coming.empty()) return false;
    given_ = bytes_of(coming.front());
    coming.pop_front();
    out = {7, {}, given_};
    return true;
  }

 private:
  std::vector<std::byte> given_;
};

class fake_transport : public transport {
 public:
  static constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

  explicit fake_transport(std::string name) : name_{std::move(name)} {
    limits.max_bytes = 1 << 20, limits.max_inline = 64, limits.max_slices = 4;
    limits.cpu_atomics_agree = limits.native_signal = limits.native_atomics = limits.native_when_added = true;
    limits.can_sleep = true;
  }
  ~fake_transport() override { if (on_destroy) on_destroy(); }

  // What a test sets.
  capabilities limits;
  std::set<rank_t> reached_ranks;
  std::uint32_t next_region = 0, next_segment = 0;
  std::size_t room = all;         // operations that submit() still takes
  std::size_t flush_room = all;   // flushes that it still takes
  bool finish_at_once = false;    // else finish_all() does
  status fails;                   // set-up calls fail with it
  std::string fails_at;           // only this one; empty: each
  int fd = -1;
  bool has_work = false;          // answer of arm()
  multicast* mc = nullptr;
  two_sided* ts = nullptr;
  unsigned events = 0;            // answer of the next progress()
  std::byte* mapped = nullptr;
  std::function<void()> on_destroy;

  // What it wrote down.
  std::vector<std::string> calls;
  std::vector<rma_op> taken;
  const rma_op* last_span = nullptr;
  std::vector<rank_t> flushed, asked;
  std::map<std::uint32_t, std::span<std::byte>> regions;
  std::set<std::uint32_t> segments;
  std::vector<std::string> addresses, keys;
  time_point slept_until{};
  bool armed = false;

  void finish_all(const status& outcome = {}) {
    for (completion* done : pending_) done->finish(outcome);
    pending_.clear();
  }

  const capabilities& caps() const noexcept override { return limits; }
  multicast* mcast() noexcept override { return mc; }
  two_sided* sendrecv() noexcept override { return ts; }
  result<std::vector<std::byte>> address() override {
    if (failing("address")) return fails;
    return bytes_of(name_ + "-address");
  }
  status connect(shared_blobs blobs, time_point) override {
    if (failing("connect")) return fails;
    for (std::size_t i = 0; i < blobs->size(); ++i) addresses.push_back(text_of((*blobs)[i]));
    return {};
  }
  bool reaches(rank_t rank) const noexcept override { return reached_ranks.count(rank) != 0; }
  result<region_id> add(std::span<std::byte> memory) override {
    if (failing("add")) return fails;
    regions[next_region] = memory;
    return region_id{next_region++};
  }
  result<region_id> allocate(std::size_t bytes, std::span<std::byte>& memory) override {
    if (failing("allocate")) return fails;
    memory = owned_.emplace_back(bytes);
    regions[next_region] = memory;
    return region_id{next_region++};
  }
  result<std::vector<std::byte>> key(region_id id) override {
    if (failing("key")) return fails;
    return bytes_of(name_ + "-key-" + std::to_string(static_cast<std::uint32_t>(id)));
  }
  result<segment_id> attach(const rank_map&, shared_blobs blobs) override {
    if (failing("attach")) return fails;
    keys.clear();
    for (std::size_t i = 0; i < blobs->size(); ++i) keys.push_back(text_of((*blobs)[i]));
    segments.insert(next_segment);
    return segment_id{next_segment++};
  }
  void drop(segment_id id) noexcept override {
    note("drop_segment");
    segments.erase(static_cast<std::uint32_t>(id));
  }
  void drop(region_id id) noexcept override {
    note("drop_region");
    regions.erase(static_cast<std::uint32_t>(id));
  }
  std::byte* map(segment_id, rank_t) noexcept override { return mapped; }

  std::size_t submit(std::span<const rma_op> ops) noexcept override {
    last_span = ops.data();
    const std::size_t n = std::min(room, ops.size());
    if (room != all) room -= n;
    for (const rma_op& op : ops.first(n)) {
      taken.push_back(op);
      hold(op.done);
    }
    return n;
  }
  bool flush(rank_t peer, completion* done) noexcept override {
    if (flush_room == 0) return false;
    if (flush_room != all) --flush_room;
    flushed.push_back(peer);
    hold(done);
    return true;
  }
  unsigned progress() noexcept override {
    note("progress");
    return std::exchange(events, 0);
  }
  tutti::armed arm() noexcept override { return armed_if(open("arm")); }
  bool arm_fd() noexcept override { return open("arm_fd"); }
  void sleep(tutti::armed, time_point deadline) noexcept override { slept_until = deadline; }
  int wait_fd() noexcept override { return fd; }
  void disarm() noexcept override { armed = false; }
  time_point now() const noexcept override { return std::chrono::steady_clock::now(); }
  status health(rank_t peer) noexcept override {
    asked.push_back(peer);
    return {errc::peer_dead, name_ + " says so", peer};
  }

 private:
  bool open(std::string call) {
    note(std::move(call));
    return armed = !has_work;
  }
  void note(std::string call) { calls.push_back(std::move(call)); }
  bool failing(const char* call) {
    note(call);
    return fails.failed() && (fails_at.empty() || fails_at == call);
  }
  void hold(completion* done) {
    if (!done) return;
    done->begin();
    if (finish_at_once) done->finish();
    else pending_.push_back(done);
  }

  std::string name_;
  std::deque<std::vector<std::byte>> owned_;
  std::vector<completion*> pending_;
};

}  // namespace tutti::test

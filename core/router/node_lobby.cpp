#include "core/router/node_lobby.h"

#include <time.h>

#include <atomic>
#include <cstring>

namespace tutti {
namespace {

using namespace std::chrono_literals;
constexpr long longest_nap_ns = 200'000;
constexpr std::chrono::nanoseconds look_every = 50ms;  // whether the owner lives

}  // namespace

struct node_lobby::entry {
  std::uint64_t name;
  union {
    std::uint32_t out;  // mates that checked out
    rank_t peer;        // of a reason
  };
  std::uint16_t bytes;
  std::uint16_t code;   // errc; ok: there is something to find
  std::byte text[longest];
};

node_lobby::~node_lobby() {
  if (has_segment_) node_.drop(segment_);
  if (has_region_) node_.drop(region_);
}

result<std::vector<std::byte>> node_lobby::address() {
  static_assert(sizeof(entry) == 256);
  if (!has_region_) {  // an address may be asked for again
    const auto region = node_.allocate(entries * sizeof(entry), mine_);
    if (!region) return region.error();
    region_ = *region, has_region_ = true;
  }
  return node_.key(region_);
}

status node_lobby::connect(const std::vector<rank_t>& mates, shared_blobs keys) {
  const auto segment = node_.attach(rank_map::listed(mates), std::move(keys));
  if (!segment) return segment.error();
  segment_ = *segment, has_segment_ = true;
  if (!node_.map(segment_, mates.front())) return {errc::unsupported, "the node transport does not map memory"};
  return {};
}

node_lobby::entry* node_lobby::table_of(rank_t owner) noexcept {
  return reinterpret_cast<entry*>(node_.map(segment_, owner));
}

// Null: nobody is called so.
node_lobby::entry* node_lobby::named(entry* table, std::uint64_t name) noexcept {
  for (entry* e = table; e && e != table + entries; ++e)
    if (std::atomic_ref<std::uint64_t>(e->name).load(std::memory_order_acquire) == name) return e;
  return nullptr;
}

status node_lobby::post(std::uint64_t name, std::span<const std::byte> text) { return post(name, errc::ok, 0, text); }

status node_lobby::post(std::uint64_t name, const status& why) {
  return post(name, why.code(), why.peer(), std::as_bytes(std::span{std::string_view{why.text()}}));
}

status node_lobby::post(std::uint64_t name, errc code, rank_t peer, std::span<const std::byte> text) {
  auto* table = reinterpret_cast<entry*>(mine_.data());
  entry* e = named(table, 0);
  // A reason that was left may have been read by now: when nothing else is free, its place is.
  for (entry* other = table; !e && other != table + entries; ++other)
    if (other->code) e = other;
  if (!e) return {errc::no_resource, "the node's lobby is full; leave a multicast group first"};
  std::atomic_ref<std::uint64_t>(e->name).store(0, std::memory_order_release);
  if (code == errc::ok) e->out = 0;
  else e->peer = peer;
  e->bytes = static_cast<std::uint16_t>(std::min<std::size_t>(text.size(), longest));
  e->code = static_cast<std::uint16_t>(code);
  if (e->bytes) std::memcpy(e->text, text.data(), e->bytes);
  std::atomic_ref<std::uint64_t>(e->name).store(name, std::memory_order_release);
  return {};
}

void node_lobby::forget(std::uint64_t name) noexcept {
  if (entry* e = named(reinterpret_cast<entry*>(mine_.data()), name))
    std::atomic_ref<std::uint64_t>(e->name).store(0, std::memory_order_release);
}

void node_lobby::check_out(rank_t owner, std::uint64_t name) noexcept {
  if (entry* e = named(table_of(owner), name))
    std::atomic_ref<std::uint32_t>(e->out).fetch_add(1, std::memory_order_acq_rel);
}

std::uint32_t node_lobby::checked_out(std::uint64_t name) const noexcept {
  entry* e = named(reinterpret_cast<entry*>(mine_.data()), name);
  return e ? std::atomic_ref<std::uint32_t>(e->out).load(std::memory_order_acquire) : 0;
}

result<std::vector<std::byte>> node_lobby::find(rank_t owner, std::uint64_t name, time_point deadline,
                                                const std::function<unsigned()>& drive) {
  entry* table = table_of(owner);
  if (!table) return status{errc::unavailable, worded("the lobby of rank ", owner, " cannot be mapped"), owner};
  time_point look = node_.now() + look_every;
  for (long nap = 1000;; nap = std::min(2 * nap, longest_nap_ns)) {
    if (const entry* e = named(table, name)) {
      std::vector<std::byte> text(e->text, e->text + std::min<std::size_t>(e->bytes, longest));
      const auto code = static_cast<errc>(e->code);
      const rank_t peer = e->peer;
      std::atomic_thread_fence(std::memory_order_acquire);
      if (named(table, name) == e) {
        if (code == errc::ok) return text;
        return status{code, std::string(reinterpret_cast<const char*>(text.data()), text.size()), peer};
      }
    }
    if (node_.now() >= deadline)
      return status{errc::timed_out, worded("rank ", owner, " left no word in its node's lobby by the deadline"),
                    owner};
    if (node_.now() >= look) {
      look = node_.now() + look_every;
      if (status s = node_.health(owner); s.failed()) return s;
    }
    if (drive() != 0) continue;
    const timespec t{0, nap};
    ::nanosleep(&t, nullptr);
  }
}

}  // namespace tutti

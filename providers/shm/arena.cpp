#include "providers/shm/arena.h"

#include <algorithm>
#include <cstring>

#include "core/base/round_up.h"

namespace tutti::shm {

namespace {

// Each chunk is as large as a quarter of all before it, within these: few files, and not much more memory than is used.
constexpr std::size_t least_chunk = 64 << 10, most_chunk = 4 << 20;
constexpr std::size_t grain = 128;  // adapters and caches fetch lines by pairs

// The head is in the second half of a grain, the region begins at the next one.
constexpr std::size_t behind_head = grain;
std::size_t room_for(std::size_t bytes) noexcept { return behind_head + round_up(bytes, grain); }

}  // namespace

result<arena::place> arena::take(std::size_t bytes, std::uint32_t serial) {
  collect();
  used_by_peers_.reserve(places_ + 1);  // so that to give back cannot fail
  for (const auto& c : chunks_) {
    if (!is_open(c->memory)) continue;
    if (auto found = take_from(*c, bytes, serial); !found || found->base()) return found;
  }
  std::size_t all = 0;
  for (const auto& c : chunks_) all += c->memory.name.bytes;
  chunks_.reserve(chunks_.size() + 1);
  auto made = std::make_unique<chunk>();
  auto memory = create_memory(std::max(std::clamp(all / 4, least_chunk, most_chunk), room_for(bytes)), "tutti-regions");
  if (!memory) return memory.error();
  made->memory = std::move(*memory);
  made->free.push_back({0, made->memory.name.bytes});
  chunks_.push_back(std::move(made));
  return take_from(*chunks_.back(), bytes, serial);
}

// None: there is no room.
result<arena::place> arena::take_from(chunk& c, std::size_t bytes, std::uint32_t serial) {
  place out;
  const std::size_t need = room_for(bytes);
  c.free.reserve(c.taken.size() + 2), c.taken.reserve(c.taken.size() + 1);  // between places, and at both ends
  const auto from = std::ranges::find_if(c.free, [&](const range& r) { return r.bytes >= need; });
  if (from == c.free.end()) return out;
  const std::size_t at = from->at;
  if (from->bytes == need) c.free.erase(from);
  else from->at += need, from->bytes -= need;
  c.taken.insert(std::ranges::upper_bound(c.taken, at, {}, &range::at), {at, need});
  ++places_;
  out.of_ = this, out.offset_ = at + behind_head, out.name_ = c.memory.name;
  out.base_ = c.memory.memory.get() + out.offset_;
  std::memset(out.base_, 0, need - behind_head);
  head_of(out.base_).serial_and_users.store(std::uint64_t{serial} << 32, std::memory_order_release);
  return out;
}

void arena::give_back(std::byte* region) noexcept {
  constexpr std::uint64_t users = 0xffffffff;
  if ((head_of(region).serial_and_users.fetch_and(users, std::memory_order_acq_rel) & users) == 0) release(region);
  else used_by_peers_.push_back(region);
  collect();
}

void arena::collect() noexcept {
  std::erase_if(used_by_peers_, [this](std::byte* region) {
    const bool left = head_of(region).serial_and_users.load(std::memory_order_acquire) == 0;
    if (left) release(region);
    return left;
  });
}

// A chunk of which nothing is used goes, unless it is the only such one: who makes and frees a team by turns needs no file each time.
void arena::release(std::byte* region) noexcept {
  const auto holds = [&](const auto& c) { return region >= c->memory.memory.get() && region < c->memory.memory.get() + c->memory.memory.bytes(); };
  const auto of = std::ranges::find_if(chunks_, holds);
  chunk& c = **of;
  const auto at = static_cast<std::size_t>(region - c.memory.memory.get()) - behind_head;
  const auto taken = std::ranges::find(c.taken, at, &range::at);
  const range freed = *taken;
  c.taken.erase(taken);
  --places_;
  auto next = std::ranges::upper_bound(c.free, at, {}, &range::at);
  if (next != c.free.begin() && std::prev(next)->at + std::prev(next)->bytes == at) {
    next = std::prev(next);
    next->bytes += freed.bytes;
  } else {
    next = c.free.insert(next, freed);
  }
  if (const auto after = std::next(next); after != c.free.end() && next->at + next->bytes == after->at) {
    next->bytes += after->bytes;
    c.free.erase(after);
  }
  if (c.taken.empty() && std::ranges::count_if(chunks_, [](const auto& one) { return one->taken.empty(); }) > 1) chunks_.erase(of);
}

result<std::byte*> arena_view::enter(const memory_name& chunk, std::uint64_t offset, std::uint32_t serial) {
  if (offset < behind_head || offset >= chunk.bytes || offset % grain != 0) return status{errc::protocol, "a key names no region"};
  const auto same = [&](const mapped& m) {
    return m.name.owner == chunk.owner && m.name.inode == chunk.inode && m.name.device == chunk.device && m.name.fd == chunk.fd;
  };
  auto at = std::ranges::find_if(chunks_, same);
  if (at == chunks_.end()) {
    chunks_.reserve(chunks_.size() + 1);
    auto memory = open_memory(chunk, "regions", 0, ~std::size_t{0}, false);
    if (!memory) return memory.error();
    chunks_.push_back({chunk, std::move(*memory)});
    at = std::prev(chunks_.end());
  }
  std::byte* const region = at->memory.get() + offset;
  ++at->uses;
  if (head_of(region).enter(serial)) return region;
  if (--at->uses == 0) chunks_.erase(at);
  return status{errc::peer_dead, worded("process ", chunk.owner.pid, " has ended or dropped the region")};
}

void arena_view::leave(std::byte* region) noexcept {
  head_of(region).leave();
  const auto at = std::ranges::find_if(chunks_, [&](const mapped& m) { return region >= m.memory.get() && region < m.memory.get() + m.memory.bytes(); });
  if (--at->uses == 0) chunks_.erase(at);
}

}  // namespace tutti::shm

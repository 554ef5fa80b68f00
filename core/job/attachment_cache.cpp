#include "core/job/attachment_cache.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

namespace tutti {

segment_id attachment_cache::use::segment() const noexcept { return of_->segment; }

attachment_cache::~attachment_cache() {
  for (entry& e : kept_) net_.drop(e.segment);
  for (entry& e : unkept_) net_.drop(e.segment);
}

void attachment_cache::unlist(place e) noexcept {
  for (auto [at, end] = found_.equal_range(e->hash); at != end; ++at)
    if (at->second == e) {
      found_.erase(at);
      return;
    }
}

bool attachment_cache::make_room() noexcept {
  if (kept_.size() < most_) return true;
  for (place e = kept_.end(); e != kept_.begin();)
    if ((--e)->uses == 0) return drop(e), true;
  return false;
}

attachment_cache::place attachment_cache::drop(place e) noexcept {
  unlist(e);
  net_.drop(e->segment);
  return kept_.erase(e);
}

void attachment_cache::drop_idle() noexcept {
  for (place e = kept_.begin(); e != kept_.end();) e = e->uses == 0 ? drop(e) : std::next(e);
}

result<attachment_cache::use> attachment_cache::acquire(rank_t peer, std::span<const std::byte> key) {
  const std::string_view text{reinterpret_cast<const char*>(key.data()), key.size()};
  const std::uint64_t hash = std::hash<std::string_view>{}(text) ^ (peer * 0x9E3779B97F4A7C15u);
  use got;
  for (auto [at, end] = found_.equal_range(hash); at != end; ++at)
    if (const place e = at->second; e->peer == peer && std::ranges::equal(e->key, key)) {
      ++hits_;
      kept_.splice(kept_.begin(), kept_, e);
      ++e->uses;
      got.of_ = &*e;
      return got;
    }
  ++misses_;
  std::list<entry> made(1);
  const place e = made.begin();
  e->peer = peer, e->hash = hash, e->self = e;
  e->key.assign(key.begin(), key.end());
  auto keys = std::make_shared<blob_table>();
  keys->push_back(key);
  auto segment = net_.attach(rank_map::strided(peer, 1), std::move(keys));
  if (!segment) return segment.error();
  unkept_.splice(unkept_.begin(), made);
  e->segment = *segment, e->uses = 1;
  got.of_ = &*e;
  if (!make_room()) return got;
  try {
    found_.emplace(hash, e);
    kept_.splice(kept_.begin(), unkept_, e);
    e->kept = true;
  } catch (const std::bad_alloc&) {  // for this one use, then
  }
  return got;
}

void attachment_cache::release(use& u) noexcept {
  entry* const e = std::exchange(u.of_, nullptr);
  if (!e || --e->uses != 0 || e->kept) return;
  net_.drop(e->segment);
  unkept_.erase(e->self);
}

}  // namespace tutti

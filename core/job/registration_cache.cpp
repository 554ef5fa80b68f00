#include "core/job/registration_cache.h"

#include <algorithm>
#include <utility>

namespace tutti {
namespace {

constexpr std::size_t page = 4096;

std::size_t size_of(unmap_watch::range r) noexcept { return r.end - r.begin; }

struct decision {
  bool keeps = false;
  std::string why;
  std::shared_ptr<unmap_watch> watch;
};

decision decide(const capabilities& caps, registrations_kept how) {
  if (how == registrations_kept::off) return {false, "not kept: TUTTI_REGISTRATION_CACHE=off", nullptr};
  if (caps.follows_mapping) return {true, "kept: none can become stale", nullptr};
  const bool interpose = how == registrations_kept::interpose;
  auto watch = unmap_watch::open(interpose ? unmap_watch::by::interposition : unmap_watch::by::userfaultfd);
  if (!watch) return {false, std::string{"not kept: nobody would tell what is unmapped: "} + watch.error().text(), nullptr};
  return {true, interpose ? "kept: libtutti-unmap tells what is unmapped" : "kept: userfaultfd tells what is unmapped", std::move(*watch)};
}

}  // namespace

region_id registration_cache::use::region() const noexcept { return of_->region; }
std::span<const std::byte> registration_cache::use::key() const noexcept { return of_->key; }

registration_cache::registration_cache(transport& net, registrations_kept how, registration_bounds bounds)
    : net_{net}, bounds_{bounds} {
  decision made = decide(net.caps(), how);
  keeps_ = made.keeps, why_ = std::move(made.why);
  if (made.watch) watch_.emplace(std::move(made.watch));
}

registration_cache::~registration_cache() {
  if (owner_.inherited()) return;
  for (entry& e : kept_) net_.drop(e.region);
  for (entry& e : unkept_) net_.drop(e.region);
}

// --- what is kept --------------------------------------------------------------------------------------------------------

registration_cache::place registration_cache::find(std::uintptr_t address) noexcept {
  auto after = by_address_.upper_bound(address);
  if (after != by_address_.begin())
    if (const place before = std::prev(after)->second; before->where.end > address) return before;
  return after == by_address_.end() ? kept_.end() : after->second;
}

void registration_cache::forget(place e) noexcept {
  by_address_.erase(e->where.begin);
  bytes_ -= size_of(e->where);
  e->kept = false;
  unkept_.splice(unkept_.begin(), kept_, e);
  if (e->uses == 0) give_back(e);
}

void registration_cache::forget(range gone) noexcept {
  for (place e = find(gone.begin); e != kept_.end() && e->where.begin < gone.end; e = find(gone.begin)) {
    ++counts_.stale;
    forget(e);
  }
}

void registration_cache::give_back(place e) noexcept {
  net_.drop(e->region);
  unkept_.erase(e);
}

// The idle one that was not used for the longest time. False: there is none.
bool registration_cache::evict_one() noexcept {
  for (place e = kept_.end(); e != kept_.begin();)
    if ((--e)->uses == 0) {
      ++counts_.evicted;
      forget(e);
      return true;
    }
  return false;
}

bool registration_cache::make_room(std::size_t bytes) noexcept {
  if (bytes > bounds_.bytes || bounds_.entries == 0) return false;
  while (bytes_ + bytes > bounds_.bytes || by_address_.size() >= bounds_.entries)
    if (!evict_one()) return false;
  return true;
}

// While something is being unmapped and nobody knows what, nothing that is kept is used for this memory.
void registration_cache::catch_up(range wanted) noexcept {
  const auto news = watch_->settle();
  if (news.all) return forget(range{0, ~std::uintptr_t{0}});
  for (const range& gone : news.gone) forget(gone);
  if (!news.sure) forget(wanted);
}

// --- a use ---------------------------------------------------------------------------------------------------------------

// An adapter has whole pages in any case.
registration_cache::range registration_cache::widened(range wanted) noexcept {
  if (!net_.caps().follows_mapping) wanted = {wanted.begin & ~(page - 1), (wanted.end + page - 1) & ~(page - 1)};
  range all = wanted;
  for (place e = find(wanted.begin); e != kept_.end() && e->where.begin < wanted.end; e = find(wanted.begin)) {
    all = {std::min(all.begin, e->where.begin), std::max(all.end, e->where.end)};
    forget(e);
  }
  return size_of(all) <= bounds_.bytes ? all : wanted;
}

result<registration_cache::place> registration_cache::register_memory(range where) {
  std::list<entry> made(1);
  const place e = made.begin();
  e->where = where, e->self = e;
  status why;
  do {
    auto region = net_.add_unowned({reinterpret_cast<std::byte*>(where.begin), size_of(where)});
    if (region) {
      e->region = *region;
      auto key = net_.key(*region);
      if (key) {
        e->key = std::move(*key);
        unkept_.splice(unkept_.begin(), made);
        return e;
      }
      net_.drop(*region);
      why = key.error();
    } else {
      why = region.error();
    }
  } while (why.code() == errc::no_resource && evict_one());
  return why;
}

result<registration_cache::use> registration_cache::acquire(std::span<std::byte> memory) {
  if (memory.empty()) return status{errc::invalid, "a registration of no bytes"};
  if (owner_.inherited()) return status{errc::invalid, "a forked child has no registrations; it must start a job of its own"};
  const auto at = reinterpret_cast<std::uintptr_t>(memory.data());
  const range wanted{at, at + memory.size()};
  use got;
  if (watch_) catch_up(wanted);
  if (place e = find(at); e != kept_.end() && e->where.begin <= at && wanted.end <= e->where.end) {
    ++counts_.hits;
    kept_.splice(kept_.begin(), kept_, e);
    ++e->uses;
    got.of_ = &*e, got.offset_ = at - e->where.begin;
    return got;
  }
  ++counts_.misses;
  range where = keeps_ ? widened(wanted) : wanted;
  const bool stays = keeps_ && make_room(size_of(where)) && (!watch_ || watch_->watch(where).ok());  // before it is registered
  if (!stays) where = wanted;
  auto made = register_memory(where);
  if (!made) return made.error();
  const place e = *made;
  if (stays) {
    try {
      by_address_.emplace(where.begin, e);
      kept_.splice(kept_.begin(), unkept_, e);
      bytes_ += size_of(where);
      e->kept = true;
    } catch (const std::bad_alloc&) {  // for this one use, then
    }
  }
  e->uses = 1;
  got.of_ = &*e, got.offset_ = at - where.begin;
  return got;
}

std::size_t registration_cache::known(std::span<const std::byte> memory) noexcept {
  if (memory.empty() || by_address_.empty()) return 0;
  const auto at = reinterpret_cast<std::uintptr_t>(memory.data()), end = at + memory.size();
  if (watch_) catch_up({at, end});
  const place e = find(at);
  return e != kept_.end() && e->where.begin <= at ? std::min(e->where.end, end) - at : 0;
}

void registration_cache::release(use& u) noexcept {
  entry* const e = std::exchange(u.of_, nullptr);
  if (e && --e->uses == 0 && !e->kept) give_back(e->self);
}

void registration_cache::revoke(use& u) noexcept {
  if (u.of_ && u.of_->kept) forget(u.of_->self);
  release(u);
}

std::string describe_registrations(const capabilities& caps, registrations_kept how) { return decide(caps, how).why; }

}  // namespace tutti

#include "messaging/matching.h"

#include <new>

namespace tutti::messaging {
namespace {

constexpr std::size_t bins_a_slab = 64, first_buckets = 64;

}  // namespace

bool matching::add_bins() noexcept {
  try {
    slabs_.reserve(slabs_.size() + 1);
    slabs_.push_back(std::make_unique<matching_bin[]>(bins_a_slab));
  } catch (const std::bad_alloc&) {
    return false;
  }
  for (std::size_t i = bins_a_slab; i-- > 0;) {
    slabs_.back()[i].next = free_;
    free_ = &slabs_.back()[i];
  }
  spare_bins_ += bins_a_slab;
  return true;
}

bool matching::grow() noexcept {
  const std::size_t wanted = buckets_ == 0 ? first_buckets : 2 * buckets_;
  std::unique_ptr<matching_bin*[]> larger(new (std::nothrow) matching_bin*[wanted]());
  if (!larger) return false;
  for (std::size_t i = 0; i < buckets_; ++i)
    while (matching_bin* const b = table_[i]) {
      table_[i] = b->next;
      matching_bin*& chain = larger[b->hash & (wanted - 1)];
      b->next = chain;
      chain = b;
    }
  table_ = std::move(larger);
  buckets_ = wanted;
  return true;
}

matching_bin& matching::bin_of(std::uint64_t team, rank_t source, std::uint64_t tag) noexcept {
  if (matching_bin* const b = find_bin(team, source, tag)) return *b;
  matching_bin* const b = free_;
  free_ = b->next;
  --spare_bins_, ++bins_in_use_;
  b->team = team, b->tag = tag, b->source = source, b->hash = hash_of(team, source, tag);
  matching_bin*& chain = table_[b->hash & (buckets_ - 1)];
  b->next = chain;
  chain = b;
  return *b;
}

void matching::drop_if_empty(matching_bin* b) noexcept {
  if (b->first_posted || b->first_arrival) return;
  matching_bin** link = &table_[b->hash & (buckets_ - 1)];
  while (*link != b) link = &(*link)->next;
  *link = b->next;
  b->next = free_;
  free_ = b;
  ++spare_bins_, --bins_in_use_;
}

void matching::post(posted_receive& r) noexcept {
  r.number = next_number_++;
  r.bin = r.mask == whole ? &bin_of(r.team, r.source, r.tag) : nullptr;
  posted_receive*& first = r.bin ? r.bin->first_posted : first_masked_;
  posted_receive*& last = r.bin ? r.bin->last_posted : last_masked_;
  r.before = first ? last : nullptr, r.after = nullptr;
  (first ? last->after : first) = &r;
  last = &r;
  r.posted = true;
  ++posted_;
  posted_any_ += r.source == no_rank;
}

void matching::withdraw(posted_receive& r) noexcept {
  posted_receive*& first = r.bin ? r.bin->first_posted : first_masked_;
  posted_receive*& last = r.bin ? r.bin->last_posted : last_masked_;
  (r.before ? r.before->after : first) = r.after;
  (r.after ? r.after->before : last) = r.before;
  r.posted = false;
  --posted_;
  posted_any_ -= r.source == no_rank;
  if (r.bin) drop_if_empty(r.bin);
}

posted_receive* matching::take_posted_slowly(std::uint64_t team, rank_t source, std::uint64_t tag) noexcept {
  posted_receive* found = nullptr;
  const auto older = [&](posted_receive* r) {
    if (r && (!found || r->number < found->number)) found = r;
  };
  if (const matching_bin* const b = find_bin(team, source, tag)) older(b->first_posted);
  if (posted_any_ > 0)
    if (const matching_bin* const b = find_bin(team, no_rank, tag)) older(b->first_posted);
  for (posted_receive* r = first_masked_; r && (!found || r->number < found->number); r = r->after)
    if (r->team == team && (r->source == source || r->source == no_rank) && ((r->tag ^ tag) & r->mask) == 0) {
      found = r;
      break;
    }
  if (found) withdraw(*found);
  return found;
}

arrival* matching::find_arrival_slowly(std::uint64_t team, rank_t source, std::uint64_t tag, std::uint64_t mask) noexcept {
  const matching_bin* const b = mask == whole ? find_bin(team, source, tag) : find_bin(team, all_sources, 0);
  if (!b) return nullptr;
  arrival* a = b->first_arrival;
  if (mask == whole) return a;
  while (a && ((source != no_rank && a->source != source) || ((a->tag ^ tag) & mask) != 0)) a = a->places[2].after;
  return a;
}

void matching::append(arrival& a, unsigned place, matching_bin& b) noexcept {
  a.places[place] = {&b, b.first_arrival ? b.last_arrival : nullptr, nullptr};
  (b.first_arrival ? b.last_arrival->places[place].after : b.first_arrival) = &a;
  b.last_arrival = &a;
}

void matching::enter(arrival& a) noexcept {
  append(a, 0, bin_of(a.team, a.source, a.tag));
  append(a, 1, bin_of(a.team, no_rank, a.tag));
  append(a, 2, bin_of(a.team, all_sources, 0));
  a.waits = true;
  ++arrivals_;
}

void matching::remove(arrival& a) noexcept {
  for (unsigned i = 0; i < 3; ++i) {
    const arrival::place p = a.places[i];
    (p.before ? p.before->places[i].after : p.bin->first_arrival) = p.after;
    (p.after ? p.after->places[i].before : p.bin->last_arrival) = p.before;
    drop_if_empty(p.bin);
  }
  a.waits = false;
  --arrivals_;
}

}  // namespace tutti::messaging

// Epochs: queueing their work, starting them, and seeing that they have finished.
#include <algorithm>
#include <atomic>

#include "providers/ofi/deferred.h"

namespace tutti::ofi {
namespace {

std::uint64_t load(const std::uint64_t& word) noexcept {
  return std::atomic_ref<const std::uint64_t>(word).load(std::memory_order_acquire);
}

}  // namespace

std::uint64_t plan::arrivals(std::uint32_t l, std::uint32_t line) const noexcept {
  const std::uint64_t shown = load(word(l, line)), first = first_epoch + l;
  return reached(shown, first) ? (shown - first) / epoch_sets + 1 : 0;
}

std::uint64_t plan::settled(std::uint32_t l) const noexcept {
  const epoch_set& own = each[l];
  std::uint64_t least = own.started;
  for (std::uint32_t g = 0, line = 0; g < gates.size(); ++g) {
    const gate& at = gates[g];
    if (at.sent) {
      const std::uint64_t counted = fi_cntr_read(own.counters[g].get()) + own.taken_off * at.counts();
      std::uint64_t others = at.starts * own.started;
      for (std::uint32_t i = 0; i < at.words.size(); ++i) others += arrivals(l, line + i);
      least = std::min(least, counted > others ? (counted - others) / at.sent : 0);
    }
    line += static_cast<std::uint32_t>(at.words.size());
  }
  return least;
}

// All that the set has queued is finished and settled, so that each of its counters has counted every such epoch in full; what
// is beyond that are arrivals of peers that are ahead, and stays.
bool deferred::take_off(plan& p, std::uint32_t l) noexcept {
  plan::epoch_set& set = p.each[l];
  const std::uint64_t epochs = set.queued - set.taken_off;
  if (set.started != set.queued || p.settled(l) != set.queued) return false;
  for (std::uint32_t i = 0; i < p.waits; ++i)
    if (p.arrivals(l, i) < set.queued) return false;
  // A count follows its word into memory; it must not be taken off before it is there.
  for (std::uint32_t g = 0; g < p.gates.size(); ++g)
    if (fi_cntr_read(set.counters[g].get()) < epochs * p.gates[g].counts()) return false;
  for (std::uint32_t g = 0; g < p.gates.size(); ++g)
    fi_cntr_add(set.counters[g].get(), std::uint64_t{0} - epochs * p.gates[g].counts());
  set.taken_off = set.queued;
  return true;
}

bool deferred::queue_next(plan& p) noexcept {
  const auto l = static_cast<std::uint32_t>(p.queued % epoch_sets);
  const auto slot = static_cast<std::uint32_t>(p.queued % slots);
  plan::epoch_set& set = p.each[l];
  constexpr std::uint64_t round = slots / epoch_sets;  // the set's epochs until the slot comes again
  if (set.queued >= round && p.settled(l) < set.queued - round + 1) return false;
  if (subtracts_ && set.queued - set.taken_off == counted_epochs && !take_off(p, l)) return false;
  p.values[slot * 8] = p.first_epoch + p.queued;
  const std::uint64_t number = set.queued - set.taken_off + 1;
  std::size_t n = std::size_t{slot} * p.sends + p.half_queued;
  for (std::uint32_t g = 0, k = 0; g < p.gates.size(); ++g)
    for (std::size_t i = 0; i < p.gates[g].behind.size(); ++i, ++k) {
      if (k < p.half_queued) continue;
      fi_deferred_work& w = p.work[n++].work;
      w.threshold = number * p.gates[g].counts();
      if (const int e = fi_control(&ofi_.domain->fid, FI_QUEUE_WORK, &w); e != 0) {
        if (e != -FI_EAGAIN && p.error.ok()) p.error = vendor_error(e, "FI_QUEUE_WORK");
        return false;
      }
      ++p.half_queued;
    }
  p.half_queued = 0;
  ++set.queued, ++p.queued;
  return true;
}

std::uint32_t deferred::queue(plan_id id, std::uint32_t epochs) noexcept {
  plan& p = at(id);
  while (p.queued - p.started < std::min(epochs, slots) && queue_next(p)) {}
  return static_cast<std::uint32_t>(p.queued - p.started);
}

bool deferred::start(plan_id id) noexcept {
  plan& p = at(id);
  if (p.started - p.finished >= epoch_sets && p.started - finished(id) >= epoch_sets) return false;
  if (p.queued == p.started && !queue_next(p)) return false;
  plan::epoch_set& set = p.each[p.started % epoch_sets];
  ++set.started, ++p.started;
  if (p.gates[0].counts() > 1 || !p.gates[0].behind.empty()) fi_cntr_add(set.counters[0].get(), 1);
  return true;
}

// The first line of the oldest unfinished epoch that nobody has signalled; waits: none.
std::uint32_t plan::missing() const noexcept {
  std::uint32_t line = 0;
  while (line < waits && reached(load(word(finished % epoch_sets, line)), first_epoch + finished)) ++line;
  return line;
}

std::uint64_t deferred::finished(plan_id id) noexcept {
  plan& p = at(id);
  while (p.finished < p.started && p.missing() == p.waits) ++p.finished;
  return p.finished;
}

std::uint32_t deferred::awaits(plan_id id) noexcept {
  plan& p = at(id);
  if (finished(id) == p.started) return any_peer;
  const std::uint32_t line = p.missing();
  return line < p.waits ? p.writers[line] : any_peer;
}

status deferred::outcome(plan_id id) noexcept {
  plan& p = at(id);
  for (std::uint32_t l = 0; l < epoch_sets && p.error.ok(); ++l)
    for (const auto& c : p.each[l].counters)
      if (fi_cntr_readerr(c.get()) != 0) p.error = {errc::fabric, "a signal of an offloaded schedule failed"};
  return p.error;
}

}  // namespace tutti::ofi

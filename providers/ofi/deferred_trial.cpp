// What a provider says about triggered operations is tried once, at open, on the endpoint itself and against itself: that
// deferred writes are done when a counter gets there, and not before; in the order of their thresholds; that arrivals and
// completions both count; that an arrival makes the descriptor readable; and whether counters take negative numbers.
#include <poll.h>
#include <sched.h>

#include <atomic>

#include "providers/ofi/deferred.h"
#include "providers/ofi/trial_time.h"

namespace tutti::ofi {
namespace {

template <class F>
bool in_time(const F& holds) {
  for (const trial_time time; !holds();) {
    if (time.over()) return false;
    ::sched_yield();
  }
  return true;
}

}  // namespace

// One rank in a ring of itself: it signals itself and waits for that. Three epochs are queued and two started.
status deferred::try_out() {
  schedule ring;
  ring.words = 1;
  ring.signal(0, 0);
  ring.wait(0, 0);
  std::vector<std::byte> blob;
  const auto id = prepare(ring, rank_map::strided(0, 1), 1, blob);
  if (!id) return id.error();
  auto blobs = std::make_shared<blob_table>();
  blobs->push_back(blob);
  if (status s = connect(*id, blobs); s.failed()) return s;
  plan& p = at(*id);
  const auto word = [&](std::uint32_t set) {
    return std::atomic_ref<const std::uint64_t>(p.word(set, 0)).load(std::memory_order_acquire);
  };
  if (queue(*id, 3) != 3) return p.error.ok() ? status{errc::unsupported, "it takes no three epochs"} : p.error;
  for (std::uint32_t e = 1; e <= 2; ++e) {
    if (word(e - 1) != 0) return {errc::unsupported, "a write was done before its counter got there"};
    if (!start(*id)) return {errc::unsupported, "an epoch could not be started"};
    if (!in_time([&] { return finished(*id) == e; })) return {errc::unsupported, "a write was not done, or did not arrive"};
    pollfd descriptor{ofi_.wait_fd, POLLIN, 0};
    if (::poll(&descriptor, 1, 1000) != 1) return {errc::unsupported, "an arrival does not make its descriptor readable"};
    if (!in_time([&] { return progress(), arm() && ::poll(&descriptor, 1, 0) == 0; }))
      return {errc::unsupported, "its descriptor stays readable"};
  }
  fid_cntr* counted = p.each[0].counters[1].get();
  if (!in_time([&] { return p.settled(0) == 1 && p.settled(1) == 1; }) || fi_cntr_read(counted) != 2)
    return {errc::unsupported, "arrivals and completions do not both count"};
  // The counter in front of the third epoch has not moved: an empty place to try this.
  fid_cntr* idle = p.each[3].counters[0].get();
  subtracts_ = fi_cntr_add(idle, 1) == 0 && fi_cntr_add(idle, ~std::uint64_t{0}) == 0 &&
               in_time([&] { return fi_cntr_read(idle) == 0; });
  if (word(2) != 0) return {errc::unsupported, "a write was done that nobody had started"};
  drop(*id);
  plans_.clear();
  return {};
}

}  // namespace tutti::ofi

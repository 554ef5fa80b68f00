#include "tools/sim/joined.h"

#include <algorithm>
#include <any>
#include <cstring>

#include "tools/sim/virtual_job.h"

namespace tutti::tools {

namespace {

// What each rank would make of the same table alike is made once: all ranks of a world run on one thread, and get the very same table.
template <class Made, class Make>
std::shared_ptr<const Made> made_once(const shared_blobs& table, Make make) {
  using shared = std::shared_ptr<const Made>;
  if (!std::any_cast<shared>(&table->derived)) table->derived = shared(std::make_shared<Made>(make(*table)));
  return *std::any_cast<shared>(&table->derived);
}

}  // namespace

std::unique_ptr<job> join_simulated(sim::world& w, rank_t r, job_options options, const std::function<void(job::admission&)>& agreed) {
  std::vector<std::byte> blob;
  auto j = need(job::offer(w.boot(r), w.net(r), std::move(options), blob));
  const auto where = made_once<layout>(need(w.boot(r).allgather(w.boot(r).host(), time_point::max())), [&](const blob_table& hosts) {
    layout made = make_layout(hosts);
    made.cores = virtual_cores(w.params(), made);
    return made;
  });
  job::admission in = *made_once<job::admission>(need(w.boot(r).allgather(blob, time_point::max())),
                                                 [&](const blob_table& all) { return need(job::digest(all, where)); });
  in.where = where;  // with the virtual cores, not this machine's
  if (agreed) agreed(in);
  need(j->accept(in));
  return j;
}

namespace {

time_point latest_of(const blob_table& clocks) {
  std::int64_t most = 0;
  for (std::size_t r = 0; r < clocks.size(); ++r) {
    std::int64_t theirs = 0;
    std::memcpy(&theirs, clocks[r].data(), sizeof theirs);
    most = std::max(most, theirs);
  }
  return time_point(std::chrono::nanoseconds(most));
}

}  // namespace

time_point latest_clock(sim::world& w, rank_t rank) {
  const std::int64_t mine = w.clock(rank).time_since_epoch().count();
  return latest_of(*need(w.boot(rank).allgather(std::as_bytes(std::span{&mine, 1}), time_point::max())));
}

time_point latest_clock(sim::world& w, job& j) {
  const std::int64_t mine = w.clock(j.rank()).time_since_epoch().count();
  const auto gathered = w.gather(j.rank(), std::as_bytes(std::span{&mine, 1}));
  result<shared_blobs> all = shared_blobs{};
  need(j.wait([&] { return all = gathered(), !all || *all; }, [] { return status{}; }, wait_note{"the clocks", no_rank, 0, 0}));
  return latest_of(*need(std::move(all)));
}

status run_ranks(sim::world& w, const std::function<void(rank_t)>& rank_main) {
  try {
    return w.run(rank_main);
  } catch (const std::exception& e) {
    return {errc::invalid, e.what()};
  }
}

}  // namespace tutti::tools

#include "tools/sim/joined.h"

#include <algorithm>
#include <cstring>

#include "tools/sim/virtual_job.h"

namespace tutti::tools {

std::unique_ptr<job> join_simulated(sim::world& w, rank_t r, job_options options, const std::function<void(job::admission&)>& agreed) {
  std::vector<std::byte> blob;
  auto j = need(job::offer(w.boot(r), w.net(r), std::move(options), blob));
  const auto hosts = need(w.boot(r).allgather(w.boot(r).host(), time_point::max()));
  auto where = std::make_shared<layout>(make_layout(*hosts));
  where->cores = virtual_cores(w.params(), *where);
  auto in = need(job::digest(*need(w.boot(r).allgather(blob, time_point::max())), where));
  in.where = where;  // with the virtual cores, not this machine's
  if (agreed) agreed(in);
  need(j->accept(in));
  return j;
}

time_point latest_clock(sim::world& w, rank_t rank) {
  const std::int64_t mine = w.clock(rank).time_since_epoch().count();
  const shared_blobs all = need(w.boot(rank).allgather(std::as_bytes(std::span{&mine, 1}), time_point::max()));
  std::int64_t most = 0;
  for (std::uint32_t r = 0; r < w.size(); ++r) {
    const auto blob = (*all)[r];
    std::int64_t theirs = 0;
    std::memcpy(&theirs, blob.data(), sizeof theirs);
    most = std::max(most, theirs);
  }
  return time_point(std::chrono::nanoseconds(most));
}

status run_ranks(sim::world& w, const std::function<void(rank_t)>& rank_main) {
  try {
    return w.run(rank_main);
  } catch (const std::exception& e) {
    return {errc::invalid, e.what()};
  }
}

}  // namespace tutti::tools

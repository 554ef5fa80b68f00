#include "tools/sim/regret.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>

#include "collectives/communicator.h"
#include "collectives/pick.h"

namespace tutti::tools {
namespace {

// Of the caller; all ranks share it, for what the data are plays no part.
struct memory {
  std::vector<std::byte> in, out;
};

template <class T>
T need(result<T> r) {
  if (!r) throw std::runtime_error(r.error().text());
  return std::move(*r);
}
void need(const status& s) {
  if (s.failed()) throw std::runtime_error(s.text());
}

std::unique_ptr<job> open_job(sim::world& w, rank_t r) {
  job_options options;
  options.world_lines = communicator::world_lines;
  std::vector<std::byte> blob;
  auto j = need(job::offer(w.boot(r), w.net(r), std::move(options), blob));
  const auto hosts = need(w.boot(r).allgather(w.boot(r).host(), time_point::max()));
  auto where = std::make_shared<layout>(make_layout(*hosts));
  where->cores = where->population;
  auto in = need(job::digest(*need(w.boot(r).allgather(blob, time_point::max())), where));
  in.where = where;  // with the virtual cores, not this machine's
  need(j->accept(in));
  return j;
}

// One rank's part in the measurement.
class rank_at_work {
 public:
  rank_at_work(sim::world& w, rank_t r, const tuning::table& measured)
      : w_(w), rank_(r), job_(open_job(w, r)), world_(need(communicator::world(*job_, with(measured)))) {}

  // Of a call, in us.
  double time(const std::function<status()>& call) {
    for (std::uint32_t i = 0; i < data_layout::sets_in_turn; ++i) need(call());  // makes what it needs
    const time_point start = latest() + std::chrono::milliseconds(1);
    w_.compute(rank_, std::chrono::duration<double, std::micro>(start - w_.clock(rank_)).count());
    for (int i = 0; i < calls_in_a_row; ++i) need(call());
    return std::chrono::duration<double, std::micro>(latest() - start).count() / calls_in_a_row;
  }

  std::vector<candidate> barriers() {
    return need(barriers_for(job_->where(), job_->facts(), job_->fabric(), job_->net().mcast() != nullptr, world_->group().nodes(),
                             world_->options()));
  }
  double time_barrier(const candidate& c) {
    communicator_options options;
    options.barrier = as_wanted(c);
    const auto team = need(world_->split(0, 0, options));
    return time([&] { return team->barrier().enter(); });
  }
  std::vector<candidate> rows(collective of, std::uint64_t bytes) {
    need(world_->data().agree_on_facts());
    return need(world_->data().candidates(of, bytes));
  }
  double time_row(const candidate& c, const collective_call& call) {
    world_->data().take(call.of, c);
    return time([&] { return world_->run(call); });
  }

 private:
  static communicator_options with(const tuning::table& measured) {
    communicator_options o;
    o.measured = std::shared_ptr<const tuning::table>(&measured, [](const tuning::table*) {});
    return o;
  }
  // The clock that is furthest on.
  time_point latest() {
    const std::int64_t mine = w_.clock(rank_).time_since_epoch().count();
    const shared_blobs all = need(w_.boot(rank_).allgather(std::as_bytes(std::span{&mine, 1}), time_point::max()));
    std::int64_t most = 0;
    for (std::uint32_t r = 0; r < w_.size(); ++r) {
      const auto blob = (*all)[r];
      std::int64_t theirs = 0;
      std::memcpy(&theirs, blob.data(), sizeof theirs);
      most = std::max(most, theirs);
    }
    return time_point(std::chrono::nanoseconds(most));
  }

  sim::world& w_;
  rank_t rank_;
  std::unique_ptr<job> job_;
  std::unique_ptr<communicator> world_;
};

}  // namespace

const sim_choice::candidate_time& sim_choice::best() const {
  return *std::ranges::min_element(all, {}, &candidate_time::us);
}

tuning::table known_of_the_simulator() {
  tuning::table t;
  tuning::calibration& c = t.fabrics.emplace_back();
  for (std::size_t i = 0; i < tuning::parameter_count; ++i)
    if (tuning::parameters()[i].name.ends_with("ed_bytes_per_ns")) c.values[i] = {.value = 0, .source = "the simulator"};
  return t;
}

result<std::vector<sim_choice>> measure_choices(const sim::parameters& p, collective of, std::span<const std::uint64_t> sizes,
                                                const tuning::table& known) {
  if (of == collective::alltoallv) return std::vector<sim_choice>{};  // of which the members know no size alike
  std::uint64_t most = 0;
  for (const std::uint64_t bytes : sizes) most = std::max(most, has_block_each(of) ? bytes * p.ranks : bytes);
  memory shared{std::vector<std::byte>(most), std::vector<std::byte>(most)};
  std::vector<sim_choice> out;
  sim::world w(p);
  try {
    const status ran = w.run([&](rank_t r) {
      rank_at_work rank(w, r, known);
      const auto contest = [&](std::uint64_t bytes, const std::vector<candidate>& all, const std::function<double(const candidate&)>& time) {
        sim_choice one{of, p.ranks, bytes, {}};
        for (const candidate& c : all)
          if (c.runnable) one.all.push_back({to_string(c), time(c), c.cost_us});
        if (r == 0) out.push_back(std::move(one));
      };
      if (of == collective::barrier) return contest(0, rank.barriers(), [&](const candidate& c) { return rank.time_barrier(c); });
      std::vector<std::vector<candidate>> rows;  // as they are before one of them is taken
      for (const std::uint64_t bytes : sizes) rows.push_back(rank.rows(of, bytes));
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::uint64_t bytes = sizes[i];
        const collective_call call{.of = of, .bytes = bytes, .in = shared.in.data(),
                                   .out = of == collective::broadcast ? shared.in.data() : shared.out.data(),
                                   .op = *find_reduction(datatype::float64, operation::sum)};
        contest(bytes, rows[i], [&](const candidate& c) { return rank.time_row(c, call); });
      }
    });
    if (ran.failed()) return ran;
  } catch (const std::exception& e) {
    return status(errc::invalid, e.what());
  }
  return out;
}

}  // namespace tutti::tools

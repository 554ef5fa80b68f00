#include "tools/sim/regret.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "collectives/communicator.h"
#include "collectives/pick.h"
#include "collectives/price.h"
#include "tools/sim/joined.h"
#include "tools/sim/processor_watch.h"

namespace tutti::tools {
namespace {

// Of the caller; all ranks share it, for what the data are plays no part.
struct memory {
  std::vector<std::byte> in, out;
};

// `wrong`: what the job takes one of the machine's constants for.
std::unique_ptr<job> open_job(sim::world& w, rank_t r, const misjudged& wrong) {
  job_options options;
  options.world_lines = communicator::world_lines;
  return join_simulated(w, r, std::move(options), [&](job::admission& in) {
    costs facts;
    facts.network = in.facts.network, facts.node = in.facts.node;
    for (const tuning::parameter& p : tuning::parameters())
      if (p.name == wrong.constant) p.set(facts, wrong.value * wrong.factor);
    in.facts.network = facts.network, in.facts.node = facts.node;
  });
}

// One rank's part in the measurement.
class rank_at_work {
 public:
  rank_at_work(sim::world& w, rank_t r, const tuning::table& measured, const misjudged& wrong = {},
               const std::optional<tuning::online_settings>& online = {})
      : w_(w), rank_(r), job_(open_job(w, r, wrong)), world_(need(communicator::world(*job_, with(measured, online)))) {}

  // Of a call, in us: of several in a row, all ranks beginning the first one at once, until the last rank has left the last one. As in
  // a price, one call alone counts one part in so many.
  double time(const std::function<status()>& call) {
    for (std::uint32_t i = 0; i < data_layout::sets_in_turn; ++i) need(call());  // makes what it needs
    const time_point start = latest_clock(w_, rank_) + std::chrono::milliseconds(1);
    w_.compute(rank_, std::chrono::duration<double, std::micro>(start - w_.clock(rank_)).count());
    for (int i = 0; i < alone_counts; ++i) need(call());
    return std::chrono::duration<double, std::micro>(latest_clock(w_, rank_) - start).count() / alone_counts;
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
    need(world_->data().choices().agree_on_facts());
    return need(world_->data().choices().candidates(of, bytes));
  }
  double time_row(const candidate& c, const collective_call& call) {
    world_->data().take(call.of, c);
    return time([&] { return world_->run(call); });
  }
  // What a job runs once so many calls have been made.
  candidate after(const collective_call& call, int calls) {
    for (int i = 0; i < calls; ++i) need(world_->run(call));
    return world_->data().latest();
  }

 private:
  static communicator_options with(const tuning::table& measured, const std::optional<tuning::online_settings>& online) {
    communicator_options o;
    o.online = online;
    o.measured = std::shared_ptr<const tuning::table>(&measured, [](const tuning::table*) {});
    return o;
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

const sim_choice::candidate_time& sim_choice::of_candidate(std::string_view name) const {
  return *std::ranges::find(all, name, &candidate_time::name);
}

tuning::table known_of_the_simulator(const sim::parameters& p) {
  tuning::table t;
  tuning::calibration& c = t.fabrics.emplace_back();
  for (std::size_t i = 0; i < tuning::parameter_count; ++i) {
    const std::string_view name = tuning::parameters()[i].name;
    if (name == "turn_per_rank_us") c.values[i] = {.value = p.cores.turn_us, .source = "the simulator"};
    else if (name == "reduced_bytes_per_ns") c.values[i] = {.value = p.copies.added_bytes_per_ns, .source = "the simulator"};
    else if (name.ends_with("ed_bytes_per_ns")) c.values[i] = {.value = p.copies.bytes_per_ns, .source = "the simulator"};
  }
  return t;
}

namespace {

// Of one caller; all ranks share its memory.
collective_call call_of(collective of, std::uint64_t bytes, memory& m) {
  return {.of = of, .bytes = bytes, .in = m.in.data(), .out = of == collective::broadcast ? m.in.data() : m.out.data(),
          .op = *find_reduction(datatype::uint64, operation::sum)};
}

memory memory_for(collective of, std::uint32_t ranks, std::uint64_t bytes) {
  const std::uint64_t all = has_block_each(of) ? bytes * ranks : bytes;
  return {std::vector<std::byte>(all), std::vector<std::byte>(all)};
}

}  // namespace

result<std::vector<sim_choice>> measure_choices(const sim::parameters& p, collective of, std::span<const std::uint64_t> sizes) {
  if (of == collective::alltoallv) return std::vector<sim_choice>{};  // of which the members know no size alike
  const tuning::table known = known_of_the_simulator(p);
  memory shared = memory_for(of, p.ranks, std::ranges::max(sizes));
  std::vector<sim_choice> out;
  sim::world w(p);
  const processor_watch watch(w);
  const status ran = run_ranks(w, [&](rank_t r) {
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
    for (std::size_t i = 0; i < sizes.size(); ++i)
      contest(sizes[i], rows[i], [&](const candidate& c) { return rank.time_row(c, call_of(of, sizes[i], shared)); });
  });
  if (ran.failed()) return ran;
  return out;
}

std::vector<misjudged> each_misjudged(const sim::parameters& p, double factor) {
  const misjudged all[] = {{"node.latency_us", p.node_cost.latency_us},      {"node.overhead_us", p.node_cost.overhead_us},
                           {"node.gap_us", p.node_cost.gap_us},              {"node.bytes_per_ns", p.node_cost.bytes_per_ns},
                           {"network.latency_us", p.cost.latency_us},        {"network.overhead_us", p.cost.overhead_us},
                           {"network.gap_us", p.cost.gap_us},                {"network.bytes_per_ns", p.cost.bytes_per_ns},
                           {"multicast.latency_us", p.mcast_latency_us}};
  std::vector<misjudged> out;
  for (const misjudged& m : all)
    for (const double by : {factor, 1 / factor})
      if (p.ranks_per_node > 1 || !m.constant.starts_with("node")) out.push_back({m.constant, m.value, by});
  return out;
}

result<std::vector<misjudged_choice>> measure_misjudged(const sim::parameters& p, const misjudged& wrong, std::span<const sim_choice> truth) {
  std::vector<misjudged_choice> out(truth.size());
  tuning::table known = known_of_the_simulator(p);
  for (std::size_t i = 0; i < tuning::parameter_count; ++i)  // what is no fact of the job
    if (tuning::parameters()[i].name == wrong.constant && wrong.constant.starts_with("multicast"))
      known.fabrics[0].values[i] = {.value = wrong.value * wrong.factor, .source = "to be wrong"};
  const collective of = truth[0].of;
  memory shared = memory_for(of, p.ranks, std::ranges::max(truth, {}, &sim_choice::bytes).bytes);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const sim_choice& one = truth[i];
    sim::world w(p);
    const processor_watch watch(w);
    const status ran = run_ranks(w, [&](rank_t r) {
      rank_at_work rank(w, r, known, wrong, tuning::online_settings{.one_in = 1, .setup = 0, .exchange = 0});
      const std::string chosen = to_string(rank.rows(of, one.bytes).front());
      const std::string learnt = to_string(rank.after(call_of(of, one.bytes, shared), static_cast<int>(512 * one.all.size())));
      if (r == 0) out[i] = {one.of_candidate(chosen).us / one.best().us, one.of_candidate(learnt).us / one.best().us};
    });
    if (ran.failed()) return ran;
  }
  return out;
}

}  // namespace tutti::tools

#include "tools/perf/measured_provider.h"

#include <future>

namespace tutti::tools {
double share(team& t, double value) {
  auto all = t.exchange_values(value);
  require(all.error());
  return (*all)[0];
}

result<shared_blobs> shared_bootstrap::allgather(std::span<const std::byte> mine, time_point deadline) {
  if (driven_.empty()) return b_.allgather(mine, deadline);
  auto all = std::async(std::launch::async, [&] { return b_.allgather(mine, deadline); });
  while (all.wait_for(std::chrono::microseconds(200)) != std::future_status::ready) driven_.progress();
  return all.get();
}

result<std::unique_ptr<measured_provider>> measured_provider::open(bootstrap& boot, driven_jobs& driven,
                                                                   const std::string& spec, std::uint32_t bytes, bool by_table) {
  std::unique_ptr<measured_provider> p(new measured_provider);
  p->name_ = spec;
  p->driven_ = &driven;
  status trouble;
  const config_option given[] = {{"provider", spec}, {"tune", "off"}};
  auto settings = config::load(std::span(given).first(by_table ? 1 : 2));
  if (!settings) return settings.error();  // alike in all ranks
  job_options options = options_from(*settings);
  options.world_lines = communicator::world_lines;
  communicator_options engines;
  choose_by_settings(*settings, options, engines);
  auto j = job::open(std::make_unique<shared_bootstrap>(boot, driven), *settings, std::move(options));
  if (j) {
    p->job_ = std::move(*j);
    driven.add(*p->job_);
    trouble = p->set_up(bytes, std::move(engines));
  } else {
    trouble = j.error();
  }
  const std::byte fine{trouble.ok()};
  auto all = shared_bootstrap(boot, driven).allgather({&fine, 1}, time_point::max());
  if (trouble.failed()) return trouble;
  if (!all) return all.error();
  for (std::size_t r = 0; r < (*all)->size(); ++r)
    if ((**all)[r].empty() || (**all)[r][0] == std::byte{0})
      return status(errc::unavailable, "rank " + std::to_string(r) + " could not open it", static_cast<rank_t>(r));
  return p;
}

status measured_provider::set_up(std::uint32_t bytes, communicator_options engines) {
  auto w = communicator::world(*job_, std::move(engines));
  if (!w) return w.error();
  world_ = std::move(*w);
  bytes_ = bytes;
  auto region = job_->net().allocate(data + (job_->rank() < 2 || job_->rank() == beyond_the_node() ? bytes : 0), memory_);
  if (!region) return region.error();
  region_ = *region;
  auto key = job_->net().key(region_);
  if (!key) return key.error();
  auto keys = world_->group().exchange(*key);
  if (!keys) return keys.error();
  auto segment = job_->net().attach(world_->group().members(), *keys);
  if (!segment) return segment.error();
  segment_ = *segment;
  return world_->barrier().enter();  // it works at all
}

measured_provider::~measured_provider() {
  teams_.clear();
  if (!job_) return;
  driven_->remove(*job_);
  if (!memory_.empty()) {
    job_->net().drop(segment_);
    job_->net().drop(region_);
  }
}

communicator* measured_provider::team_with(const std::string& barrier, std::string& why_not) {
  communicator_options options;
  options.barrier = barrier;
  auto team = world_->split(0, 0, options);
  if (!team) return why_not = team.error().text(), nullptr;
  teams_.push_back(std::move(*team));
  return teams_.back().get();
}

row& measured_provider::add(std::vector<row>& rows, std::string group, std::string name, std::function<void(int)> run) {
  row& r = rows.emplace_back();
  r.what.provider = name_, r.what.group = std::move(group), r.what.name = std::move(name);
  r.run = std::move(run);
  return r;
}

void measured_provider::submit(const rma_op& op) {
  while (job_->net().submit({&op, 1}) == 0) job_->progress();
}

void measured_provider::flush(rank_t peer) {
  completion done;
  while (!job_->net().flush(peer, &done)) job_->progress();
  require(job_->wait(done, "flush"));
}

void measured_provider::wait_word(std::uint32_t line, std::uint64_t value, rank_t from) {
  const std::atomic_ref<std::uint64_t> word(*my_line(line));
  require(job_->wait([&] { return reached(word.load(std::memory_order_acquire), value); },
                     [&] { return job_->world().look(from); }, {"ping-pong", from, 0, value}));
}

}  // namespace tutti::tools

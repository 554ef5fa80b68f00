#include "tools/perf/lane.h"

#include <cstring>
#include <stdexcept>

#include "core/ops.h"
#include "core/provider.h"

namespace tutti::tools {
namespace {

constexpr std::uint32_t lines = 64;

}  // namespace

void require(const status& s) {
  if (!s.ok()) throw std::runtime_error(s.text());
}

result<std::unique_ptr<lane>> lane::open(bootstrap& boot, const config& settings, const std::string& spec) {
  std::unique_ptr<lane> l(new lane);
  l->name_ = spec;
  status trouble;
  auto choice = find_provider(spec);
  if (choice) {
    open_params params = params_from(settings, boot);
    params.device = choice->device;
    auto net = choice->impl->open(params);
    if (net) {
      job_options options = options_from(settings);
      options.world_lines = communicator::world_lines;
      auto j = job::open(std::make_unique<borrowed_bootstrap>(boot), std::move(*net), std::move(options));
      if (j) l->job_ = std::move(*j);
      else trouble = j.error();
    } else {
      trouble = net.error();
      // The peers that could open are in the job's two exchanges: take part with nothing to offer.
      for (int i = 0; i < 2; ++i) (void)boot.allgather({}, time_point::max());
    }
  } else {
    return choice.error();
  }
  if (trouble.ok()) trouble = l->set_up();
  const std::byte fine{trouble.ok()};
  auto all = boot.allgather({&fine, 1}, time_point::max());
  if (!trouble.ok()) return trouble;
  if (!all) return all.error();
  for (std::size_t r = 0; r < (*all)->size(); ++r)
    if ((**all)[r].empty() || (**all)[r][0] == std::byte{0})
      return status(errc::unavailable, "rank " + std::to_string(r) + " could not open it", static_cast<rank_t>(r));
  return l;
}

status lane::set_up() {
  auto w = communicator::world(*job_, {});
  if (!w) return w.error();
  world_ = std::move(*w);
  auto region = job_->net().allocate(2ull * big + lines * 64, memory_);
  if (!region) return region.error();
  region_ = *region;
  auto key = job_->net().key(region_);
  if (!key) return key.error();
  auto keys = world_->group().exchange(*key);
  if (!keys) return keys.error();
  auto segment = job_->net().attach(world_->group().members(), *keys);
  if (!segment) return segment.error();
  segment_ = *segment;
  return {};
}

lane::~lane() {
  teams_.clear();
  if (job_ && !memory_.empty()) {
    job_->net().drop(segment_);
    job_->net().drop(region_);
  }
}

void lane::submit(const rma_op& op) {
  while (job_->net().submit({&op, 1}) == 0) job_->progress();
}

void lane::flush(rank_t peer) {
  completion done;
  while (!job_->net().flush(peer, &done)) job_->progress();
  require(job_->wait(done, "flush"));
}

void lane::wait_word(std::uint32_t line, std::uint64_t value, rank_t from) {
  const std::atomic_ref<std::uint64_t> word(*my_line(line));
  require(job_->wait([&] { return reached(word.load(std::memory_order_acquire), value); },
                     [&] { return job_->world().look(from); }, {"ping-pong", from, 0, value}));
}

void lane::add_barriers(std::vector<row>& rows, const std::string& only) {
  const std::string_view chosen = world_->barrier().algorithm().name;
  for (const barrier_algorithm& a : barrier_algorithms()) {
    if (!only.empty() && only != a.name && !(only == "chosen" && a.name == chosen)) continue;
    if (a.needs_multicast && !job_->net().mcast()) continue;
    communicator_options options;
    options.barrier = a.name;
    std::vector<std::uint32_t> everyone;
    for (std::uint32_t i = 0; i < job_->size(); ++i) everyone.push_back(i);
    auto team = world_->create(everyone, options);
    require(team.error());
    teams_.push_back(std::move(*team));
    communicator* c = teams_.back().get();
    row& r = rows.emplace_back();
    r.lane = name_, r.group = "barrier", r.name = a.name, r.chosen = a.name == chosen;
    r.run = [c](int iterations) {
      for (int i = 0; i < iterations; ++i)
        if (status s = c->barrier().enter(); !s.ok()) require(s);
    };
  }
}

void lane::add_one_sided(std::vector<row>& rows) {
  if (job_->size() < 2) return;
  const rank_t me = job_->rank();
  auto add = [&](std::string group, std::string name, auto run) -> row& {
    row& r = rows.emplace_back();
    r.lane = name_, r.group = std::move(group), r.name = std::move(name);
    r.run = run;
    return r;
  };
  auto active = [this, me](op_kind kind, std::uint32_t bytes, int depth) {
    return [=, this](int iterations) {
      if (me != 0) return;
      completion done;
      const bool atomic = kind == op_kind::fetch_add;
      const rma_op op = atomic ? atomic_op(kind, region_, line_offset(2), {1, segment_, line_offset(3)}, 1, &done)
                               : move_op(kind, region_, 0, 1, segment_, big, bytes, &done);
      for (int i = 0; i < iterations; i += depth) {
        for (int k = 0; k < depth; ++k) submit(op);
        if (kind == op_kind::put) flush(1);
        else require(job_->wait(done, "one-sided"));
      }
      require(job_->wait(done, "one-sided"));
    };
  };
  add("one-sided", "put 8 B + flush", active(op_kind::put, 8, 1));
  add("one-sided", "put 8 B + signal", [this, me](int iterations) {
    if (me > 1) return;
    rma_op op = with_signal(move_op(op_kind::put, region_, 0, 1 - me, segment_, line_offset(1), 8, nullptr), segment_,
                            line_offset(0), 0);
    for (int i = 0; i < iterations; ++i) {
      op.operand = ++ping_;
      if (me == 0) submit(op);
      wait_word(0, ping_, 1 - me);
      if (me == 1) submit(op);
    }
  }).halves = 2;
  add("one-sided", "get 8 B", active(op_kind::get, 8, 1));
  add("one-sided", "fetch-add", active(op_kind::fetch_add, 8, 1));
  for (auto [name, kind] : {std::pair{"put 1 MiB", op_kind::put}, std::pair{"get 1 MiB", op_kind::get}}) {
    row& r = add("bandwidth", name, active(kind, big, 1));
    r.in = unit::gigabytes_per_s;
    r.bytes = big;
  }
}

}  // namespace tutti::tools

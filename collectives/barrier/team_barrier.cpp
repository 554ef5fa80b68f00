#include "collectives/barrier/team_barrier.h"

#include <vector>

namespace tutti {
namespace {

constexpr std::uint32_t printable_size = 64;

}  // namespace

std::uint32_t team_barrier::lines_for(const barrier_candidate& c, std::span<const std::uint32_t> node_of,
                                      std::uint32_t size) {
  return program::lines(
      c.algorithm->words({.size = size, .radix = c.radix, .node_of = node_of, .leaders = c.leaders}));
}

result<std::unique_ptr<team_barrier>> team_barrier::open(team& t, const barrier_candidate& c,
                                                         std::uint64_t first_epoch) {
  const barrier_algorithm& a = *c.algorithm;
  const std::vector<std::uint32_t> nodes = a.on_nodes ? t.nodes() : std::vector<std::uint32_t>{};
  std::unique_ptr<team_barrier> b(new team_barrier(t, c));
  schedule plan = a.make(
      {.rank = t.index(), .size = t.size(), .radix = c.radix, .node_of = nodes, .leaders = c.leaders});
  // The control memory was counted when the team was made; a larger need now would be a mistake of the caller.
  if (const auto lines = lines_for(c, nodes, t.size()); lines > t.lines())
    return status(errc::invalid, "barrier " + std::string(a.name) + " needs " + std::to_string(lines) +
                                     " lines of control memory, the team was made with " + std::to_string(t.lines()));
  if (plan.uses_multicast) {
    auto mc = reliable_multicast::open(t, 0, first_epoch);
    if (!mc) return mc.error().during("barrier " + std::string(a.name));
    b->mc_ = std::move(*mc);
  }
  if (first_epoch != 1) {  // every word begins one epoch back; peers may write only after that
    for (const step& s : plan.steps)
      if (s.kind == step_kind::wait || (s.kind == step_kind::arrive && s.peer == t.index()))
        t.set_own(control::engine + s.word, (first_epoch - 1) * s.multiple);
    if (auto ready = t.exchange({}); !ready) return ready.error();
  }
  auto bound = program::bind(plan, t, control::engine, b->mc_.get());
  if (!bound) return bound.error().during("barrier " + std::string(a.name));
  b->program_ = std::move(*bound);
  b->run_ = std::make_unique<run>(b->program_);
  b->started_ = b->completed_ = first_epoch - 1;
  if (t.size() <= printable_size) b->plan_ = std::move(plan);
  return b;
}

team_barrier::~team_barrier() { team_.parent_job().dismiss(*this); }

std::size_t team_barrier::bytes() const noexcept { return sizeof *this + sizeof(run) + program_.bytes(); }

void team_barrier::begin_next() noexcept {
  run_->begin(completed_ + 1);
  running_ = true;
}

void team_barrier::advance() noexcept {
  while (running_ && run_->advance()) {
    running_ = false;
    if (!run_->outcome().ok()) {
      error_ = run_->outcome();
      completed_ = started_;
      break;
    }
    ++completed_;
    if (completed_ != started_) begin_next();
  }
  if (!running_) team_.parent_job().dismiss(*this);
}

std::uint64_t team_barrier::start() noexcept {
  if (!error_.ok()) return completed_;
  ++started_;
  if (!running_) {
    begin_next();
    if (run_->advance() && run_->outcome().ok()) {  // a team of one, or the last to arrive
      running_ = false;
      ++completed_;
    } else {
      team_.parent_job().enlist(*this);
      if (run_->finished()) advance();
    }
  }
  return started_;
}

bool team_barrier::test(std::uint64_t request) noexcept {
  return reached(completed_, request) || !error_.ok();
}

status team_barrier::wait(std::uint64_t request, time_point deadline) noexcept {
  if (!test(request)) {
    job& j = team_.parent_job();
    const wait_note note = run_->waiting_for(algorithm_->name.data());
    const status s = j.wait([&] { return advance(), test(request); },
                            [&] {
                              const wait_note now = run_->waiting_for("");
                              return team_.look(now.from);
                            },
                            note, deadline);
    if (!s.ok()) {
      if (s.code() == errc::timed_out) {  // the barrier goes on, and may be waited for again
        j.enlist(*this);
        return s;
      }
      error_ = s;
      team_.fail(s);
      return error_;
    }
  }
  return error_;
}

status team_barrier::enter(time_point deadline) noexcept {
  if (!error_.ok()) return error_;
  if (started_ != completed_) return wait(start(), deadline);
  // Alone in flight: run without enlisting.
  ++started_;
  begin_next();
  if (run_->advance() && run_->outcome().ok()) {
    running_ = false;
    ++completed_;
    return {};
  }
  return wait(started_, deadline);
}

}  // namespace tutti

#include "collectives/barrier/team_barrier.h"

#include <algorithm>
#include <vector>

namespace tutti {
namespace {

constexpr std::uint32_t printable_size = 64;

}  // namespace

std::uint32_t team_barrier::lines_for(const candidate& c, std::span<const std::uint32_t> node_of,
                                      std::uint32_t size) {
  return program::lines(
      c.row->words({.size = size, .radix = c.radix, .node_of = node_of, .inner = c.inner}));
}

result<std::unique_ptr<team_barrier>> team_barrier::offer(team& t, const candidate& c,
                                                          std::uint64_t first_epoch, std::vector<std::byte>& blob) {
  const algorithm& a = *c.row;
  const std::vector<std::uint32_t> nodes = a.needs.nodes ? t.nodes() : std::vector<std::uint32_t>{};
  std::unique_ptr<team_barrier> b(new team_barrier(t, c));
  b->plan_ = a.make({.rank = t.index(), .size = t.size(), .radix = c.radix, .node_of = nodes, .inner = c.inner});
  // The control memory was counted when the team was made; a larger need now would be a mistake of the caller.
  if (const auto lines = program::lines(b->plan_.words); lines > t.lines())
    return status(errc::invalid, "barrier " + std::string(a.name) + " needs " + std::to_string(lines) +
                                     " lines of control memory, the team was made with " + std::to_string(t.lines()));
  blob.clear();
  if (b->plan_.uses_multicast) b->mc_ = std::make_unique<reliable_multicast>(t, 0, first_epoch, blob, published_lines{control_lines::of(t, control::release)});
  if (a.needs.offload) {
    b->offloaded_ = offloaded_run::offer(t, b->plan_, first_epoch, blob);
  } else if (first_epoch != 1) {  // every word begins one epoch back; peers may write only after that
    for (const step& s : b->plan_.steps)
      if (s.kind == step_kind::wait || (s.kind == step_kind::arrive && s.peer == t.index()))
        t.set_own(control::engine + s.word, (first_epoch - 1) * s.multiple);
  }
  b->started_ = b->completed_ = first_epoch - 1;
  return b;
}

status team_barrier::accept(const shared_blobs& all) {
  const std::string what = "barrier " + std::string(row().name);
  if (offloaded_) {
    if (const status s = offloaded_->accept(all); !s.ok()) return s.during(what);
    if (team_.size() > printable_size) plan_ = {};
    return {};
  }
  if (mc_)
    if (const status s = mc_->accept((*all)[0]); !s.ok()) return s.during(what);
  auto bound = program::bind(plan_, team_, control_lines::of(team_, control::engine), mc_.get());
  if (!bound) return bound.error().during(what);
  program_ = std::move(*bound);
  program_.touch();
  run_ = std::make_unique<run>(program_);
  if (team_.size() > printable_size) plan_ = {};
  return {};
}

result<std::unique_ptr<team_barrier>> team_barrier::open(team& t, const candidate& c,
                                                         std::uint64_t first_epoch) {
  std::vector<std::byte> blob;
  auto b = offer(t, c, first_epoch, blob);
  if (!b) return b.error();
  const bool exchanges = (*b)->mc_ || (*b)->offloaded_;
  const time_point deadline = t.parent_job().net().now() + t.parent_job().options().setup_timeout;
  shared_blobs blobs;
  if (exchanges) {
    auto all = t.exchange(blob, deadline);
    if (!all) return all.error();
    blobs = std::move(*all);
  }
  const status accepted = (*b)->accept(blobs);
  if (!exchanges && first_epoch == 1) return accepted.ok() ? std::move(b) : result<std::unique_ptr<team_barrier>>(accepted);
  // Whatever went wrong in one of them is an error in all: they must go on alike.
  if (const status s = agreed(t, accepted, deadline); !s.ok()) return s;
  return b;
}

team_barrier::~team_barrier() { team_.parent_job().dismiss(*this); }

std::size_t team_barrier::bytes() const noexcept { return sizeof *this + sizeof(run) + program_.bytes(); }

wait_note team_barrier::waiting_for(const char* what) const noexcept {
  if (!offloaded_) return run_->waiting_for(what);
  const std::uint32_t peer = offloaded_->awaits();
  return {.what = what, .from = peer < team_.size() ? team_.rank_of(peer) : no_rank, .have = completed_, .want = started_};
}

// Enlisted while something is unfinished: any progress of this rank then starts what could not be started yet, and sees
// whether somebody has reported a death.
void team_barrier::push_offloaded() noexcept {
  (void)offloaded_->start(started_);
  completed_ = offloaded_->completed();
  job& j = team_.parent_job();
  if (completed_ != started_) {
    error_ = team_.health();
    if (error_.ok()) return j.enlist(*this);
    completed_ = started_;
  }
  j.dismiss(*this);
}

void team_barrier::begin_next() noexcept {
  run_->begin(completed_ + 1);
  running_ = true;
}

void team_barrier::advance() noexcept {
  if (offloaded_) {
    if (error_.ok()) push_offloaded();
    return;
  }
  while (running_ && run_->advance()) {
    running_ = false;
    if (!run_->outcome().ok()) {
      error_ = run_->outcome();
      team_.fail(error_);
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
  if (offloaded_) {
    push_offloaded();
  } else if (!running_) {
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
  if (offloaded_ && error_.ok() && !reached(completed_, request)) completed_ = offloaded_->completed();
  return reached(completed_, request) || !error_.ok();
}

status team_barrier::wait(std::uint64_t request, time_point deadline) noexcept {
  if (!test(request)) {
    job& j = team_.parent_job();
    const wait_note note = waiting_for(row().name.data());
    const status s = j.wait([&] { return advance(), test(request); },
                            [&] {
                              const status dead = team_.look(waiting_for("").from);
                              return dead.ok() && offloaded_ ? offloaded_->outcome() : dead;
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
  if (started_ != completed_ || offloaded_) return wait(start(), deadline);
  // Alone in flight: run without enlisting.
  ++started_;
  begin_next();
  job& j = team_.parent_job();
  // The common end, without the wait's ceremony: a word is seen sooner by looking often than by coming back each time.
  const std::uint32_t looks = j.crowded() ? 1 : 64;
  for (std::uint32_t turn = 0; turn < looks; ++turn) {
    if (run_->advance(looks)) {
      if (!run_->outcome().ok()) break;
      running_ = false;
      ++completed_;
      return {};
    }
    j.progress();
  }
  return wait(started_, deadline);
}

}  // namespace tutti

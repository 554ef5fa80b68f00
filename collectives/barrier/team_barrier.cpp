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
  std::unique_ptr<team_barrier> b(new team_barrier(t, c, first_epoch));
  b->plan_ = a.make({.rank = t.index(), .size = t.size(), .radix = c.radix, .node_of = nodes, .inner = c.inner});
  // The control memory was counted when the team was made; a larger need now would be a mistake of the caller.
  if (const auto lines = program::lines(b->plan_.words); lines > t.lines())
    return status(errc::invalid, worded("barrier ", a.name, " needs ", lines, " lines of control memory, the team was made with ",
                                        t.lines()));
  blob.clear();
  if (b->plan_.uses_multicast) b->mc_ = std::make_unique<reliable_multicast>(t, 0, first_epoch, blob, published_lines{control_lines::of(t, control::release)});
  if (a.needs.offload) {
    b->test_steps_ = true;  // a load for each wait of the schedule
    b->offloaded_ = offloaded_run::offer(t, b->plan_, first_epoch, blob);
    return b;
  }
  if (first_epoch != 1)  // every word begins one epoch back; peers may write only after that
    for (const step& s : b->plan_.steps)
      if (s.kind == step_kind::wait || (s.kind == step_kind::arrive && s.peer == t.index()))
        t.set_own(control::engine + s.word, (first_epoch - 1) * s.multiple);
  auto bound = program::bind(b->plan_, t, control_lines::of(t, control::engine), b->mc_.get());
  if (!bound) return bound.error().during("barrier " + std::string(a.name));
  b->program_ = std::move(*bound);
  b->position_ = std::make_unique<tutti::run>(b->program_);
  if (t.size() > printable_size) b->plan_ = {};
  return b;
}

status team_barrier::accept(const shared_blobs& all) {
  const std::string what = "barrier " + std::string(row().name);
  if (offloaded_) {
    if (const status s = offloaded_->accept(all); s.failed()) return s.during(what);
    if (team_.size() > printable_size) plan_ = {};
    return {};
  }
  if (mc_)
    if (const status s = mc_->accept((*all)[0]); s.failed()) return s.during(what);
  program_.touch();
  return {};
}

result<std::unique_ptr<team_barrier>> team_barrier::open(team& t, const candidate& c,
                                                         std::uint64_t first_epoch) {
  std::vector<std::byte> blob;
  auto b = offer(t, c, first_epoch, blob);
  if (!b) return b.error();
  const bool exchanges = (*b)->mc_ || (*b)->offloaded_;
  const time_point deadline = t.parent_job().setup_deadline();
  shared_blobs blobs;
  if (exchanges) {
    auto all = t.exchange(blob, deadline);
    if (!all) return all.error();
    blobs = std::move(*all);
  }
  const status accepted = (*b)->accept(blobs);
  if (!exchanges && first_epoch == 1) return accepted.ok() ? std::move(b) : result<std::unique_ptr<team_barrier>>(accepted);
  // Whatever went wrong in one of them is an error in all: they must go on alike.
  if (const status s = t.agreed(accepted, deadline); s.failed()) return s;
  return b;
}

std::size_t team_barrier::bytes() const noexcept { return sizeof *this + sizeof(tutti::run) + program_.bytes(); }

// The fabric takes epochs ahead of those that have finished.
std::uint64_t team_barrier::start() noexcept {
  if (record_) record_->enter(kind_of(collective::barrier));
  const std::uint64_t epoch = operation_sequence::start();
  if (offloaded_ && error_.ok()) (void)offloaded_->start(epoch);
  return epoch;
}

status team_barrier::enter(time_point deadline) noexcept {
  if (record_) record_->enter(kind_of(collective::barrier));
  return run(*this, deadline);
}

void team_barrier::begin(std::uint64_t epoch) noexcept {
  if (offloaded_) (void)offloaded_->start(epoch);
  else position_->begin(epoch);
}

bool team_barrier::go_on(std::uint32_t looks, status& error) noexcept {
  if (!offloaded_) {
    if (!position_->advance(looks)) return false;
    if (position_->outcome().failed()) error = position_->outcome();
    return true;
  }
  (void)offloaded_->start(started_);
  if (reached(offloaded_->completed(), completed_ + 1)) return true;
  error = team_.health();
  return error.failed();
}

status team_barrier::look() noexcept {
  const rank_t from = waiting_for().from;
  status trouble = team_.look(from);
  if (trouble.ok() && offloaded_) trouble = offloaded_->outcome();
  return trouble.ok() && record_ ? record_->mismatch({&from, 1}) : trouble;
}

wait_note team_barrier::waiting_for() const noexcept {
  const char* const what = row().name.data();
  if (!offloaded_) return position_->waiting_for(what);
  const std::uint32_t peer = offloaded_->awaits();
  return {.what = what, .from = peer < team_.size() ? team_.rank_of(peer) : no_rank, .have = completed_, .want = started_};
}

}  // namespace tutti

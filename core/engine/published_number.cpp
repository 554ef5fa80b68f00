#include "core/engine/published_number.h"

#include <utility>

#include "core/transport/ops.h"
#include "core/transport/wait_out.h"

namespace tutti {
namespace {

using namespace std::chrono_literals;

// Between the queries of one wait: a query costs little, and for so long a rank that lost something may be held longer.
constexpr std::chrono::nanoseconds most_between = 10ms;

// By which members that miss the same datagram lose patience one after the other: what a fabric takes for a get.
constexpr std::chrono::nanoseconds turn = 500ns;

}  // namespace

published_number::published_number(team& t, const published_lines& lines, std::uint64_t first)
    : team_(t), lines_(lines), known_(first), timer_(t.index() * turn, most_between) {
  publish(first);
}

published_number::~published_number() { wait_out(team_.parent_job().net(), {&gets_}); }

bool published_number::impatient(std::uint64_t wait) noexcept {
  if (reading_) return false;
  job& j = team_.parent_job();
  const time_point now = j.net().now();
  bool lost = false;
  if (wait_ != wait) {
    wait_ = wait;
    doubted_ = false;
    timer_.begin(now);
  } else {
    lost = timer_.expired(now);
    doubted_ |= lost;
  }
  j.wake_at(timer_.next());
  return lost;
}

void published_number::came(std::uint64_t wait, std::chrono::nanoseconds others) noexcept {
  if (wait_ == wait) timer_.learn(team_.parent_job().net().now(), others);
}

bool published_number::ask(std::uint32_t root) noexcept {
  const bool taken = read(root, lines_.at(published_lines::number), lines_.at(published_lines::landing), sizeof(std::uint64_t));
  asked_ |= taken;
  return taken;
}

bool published_number::read(std::uint32_t root, std::uint64_t from, std::uint64_t to, std::uint32_t bytes) noexcept {
  const rma_op op = move_op(op_kind::get, lines_.region, to, team_.rank_of(root), lines_.segment, from, bytes, &gets_);
  const bool taken = team_.parent_job().net().submit({&op, 1}) == 1;
  reading_ |= taken;
  return taken;
}

std::optional<status> published_number::answer() noexcept {
  if (!reading_ || !gets_.idle()) return std::nullopt;
  reading_ = false;
  const status how = gets_.outcome();
  gets_.clear();
  if (std::exchange(asked_, false) && how.ok())
    known_ = lines_.word(published_lines::landing).load(std::memory_order_acquire);
  return how;
}

}  // namespace tutti

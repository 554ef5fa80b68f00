#include "core/job/wait_board.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/job/agreement.h"
#include "core/job/job.h"
#include "core/transport/ops.h"
#include "core/transport/wait_out.h"

namespace tutti {
namespace {

constexpr std::size_t most_asked = 64;          // ranks, in one search
constexpr std::uint32_t patience = 10;          // looks: half a second, then a rank does not answer

}  // namespace

wait_board::wait_board(job& j)
    : job_(j), at_(control_lines::of(j.world(), control::engine + j.world().lines() + agreement::lines(j.size()))) {}

wait_board::~wait_board() { wait_out(job_.net(), {&got_}); }  // a page lands in the team's memory

// Whole words, since another rank may read them now.
void wait_board::write(const page& p) noexcept {
  const auto words = std::bit_cast<in_words>(p);
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto* const to = reinterpret_cast<std::uint64_t*>(at_.base + at_.at(0)) + i;
    std::atomic_ref(*to).store(i == 0 ? words[i] | 1 : words[i], i + 1 == words.size() ? std::memory_order_release : std::memory_order_relaxed);
  }
  at_.word(0).store(words[0], std::memory_order_release);
}

bool wait_board::look(const wait_note& note, bool late, bool lasts) noexcept {
  try {
    const std::string words = note.words ? "in " + (*note.words)() : std::string("for ") + note.what;
    publish(note, words, lasts);
    return late && note.told && search(note, words);
  } catch (const std::bad_alloc&) {  // then nobody is told
    seen_.clear();
    return false;
  }
}

void wait_board::publish(const wait_note& note, const std::string& words, bool lasts) noexcept {
  number_ += 2;
  const std::uint32_t how = waits | (note.words && note.exact ? exactly : 0) | (lasts ? 0 : for_a_time);
  page p{.number = number_, .waits = how, .awaited = note.from, .words = {}, .number_behind = number_};
  std::memcpy(p.words, words.data(), std::min(words.size(), sizeof p.words - 1));
  write(p);
  told_ = true;
  shown_waits::one shown{shown_waits::state::waits, {}};
  static_assert(sizeof shown.words >= sizeof p.words);
  std::memcpy(shown.words, p.words, sizeof p.words);
  shown_.show(job_.rank(), shown);
}

void wait_board::withdraw() noexcept {
  seen_.clear();
  if (!std::exchange(told_, false)) return;
  number_ += 2;
  write({.number = number_, .waits = 0, .awaited = no_rank, .words = {}, .number_behind = number_});
  shown_.show(job_.rank(), {shown_waits::state::waits_not, {}});
}

void wait_board::pause() noexcept {
  if (told_) shown_.show(job_.rank(), {shown_waits::state::waits_not, {}});
}

bool wait_board::ask(rank_t whom) noexcept {
  if (!got_.idle()) return false;  // of an earlier search
  got_.clear();
  const rma_op op = move_op(op_kind::get, at_.region, at_.at(page_lines), whom, at_.segment, at_.at(0), sizeof(page), &got_);
  if (job_.net().submit({&op, 1}) == 0) return false;
  asking_ = asked_ = whom;
  return true;
}

bool wait_board::end(const std::string& more) {
  found_ += more;
  seen_.clear();
  return true;
}

bool wait_board::go_on_at(rank_t next) {
  if (seen_.size() >= most_asked) return end("");
  seen_.push_back(next);
  asking_ = no_rank, silent_looks_ = 0, seen_number_ = 0;
  (void)ask(next);
  return false;
}

bool wait_board::go_through_all(bool circle) {
  any_ = true, circle_ = circle;
  seen_.clear();
  return go_on_at((job_.rank() + 1) % job_.size());
}

// True: it has ended.
bool wait_board::search(const wait_note& note, const std::string& words) {
  const rank_t me = job_.rank();
  if (seen_.empty()) {
    found_ = words;
    any_ = false, exact_ = note.exact;
    if (job_.size() == 1) return end("; there is no other rank");
    if (note.from == me) return end("; that is this rank itself");
    return note.from == no_rank ? go_through_all(false) : go_on_at(note.from);
  }
  const rank_t whom = seen_.back();
  const std::string name = "; rank " + std::to_string(whom);
  if (asking_ == no_rank || !got_.idle()) {
    if (asking_ == no_rank) (void)ask(whom);
    const rank_t silent = got_.idle() ? whom : asked_;  // perhaps since an earlier search, and then nobody else can be asked
    return ++silent_looks_ >= patience && end("; rank " + std::to_string(silent) + " is in no call of tutti, or does not answer");
  }
  asking_ = no_rank;
  if (got_.outcome().failed()) return end(name + " does not answer");
  in_words landed;
  std::memcpy(&landed, at_.base + at_.at(page_lines), sizeof landed);
  page p = std::bit_cast<page>(landed);
  if (p.number != p.number_behind) return false;  // torn: it is asked again
  p.words[sizeof p.words - 1] = 0;
  if (p.waits & for_a_time && (seen_number_ == 0 || p.number == seen_number_)) {
    seen_number_ = p.number;
    return false;  // it is asked again
  }
  if (!p.waits) return end(name + " waits in no call of tutti");
  const std::string waiting = name + " waits " + p.words;
  if (any_) {
    const rank_t next = (whom + 1) % job_.size();
    if (next != me) return go_on_at(next);
    return end(circle_ ? "; so they wait for each other" : "; all others wait as well" + waiting);
  }
  found_ += waiting;
  exact_ = exact_ && (p.waits & exactly) != 0;
  if (p.awaited == whom) return end("; that is this rank itself");
  if (p.awaited == me || std::ranges::find(seen_, p.awaited) != seen_.end())  // unless another is late that one of them waits for too
    return exact_ ? end("; so they wait for each other") : go_through_all(true);
  return p.awaited >= job_.size() ? go_through_all(false) : go_on_at(p.awaited);
}

}  // namespace tutti

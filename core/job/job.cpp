#include "core/job/job.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "core/job/attachment_cache.h"
#include "core/job/idle_turns.h"
#include "core/job/registration_cache.h"
#include "core/job/slot_pool.h"
#include "core/job/team.h"
#include "core/job/wait_board.h"

namespace tutti {
job::~job() {
  attachments_.reset();
  registrations_.reset();
  board_.reset();
  world_.reset();     // drops its segment before the transport goes
  owned_net_.reset(); // leaves before the launcher is told
}

void job::tell_late(time_point since, const std::string& where) {
  late_notices& late = options_.late;
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(net_->now() - since);
  try {
    const std::string text = "waited " + std::to_string(waited.count()) + " s " + where;
    if (options_.notice) return options_.notice(text);
    late.unheard(text);
  } catch (const std::bad_alloc&) {  // then nobody is told
  }
  late.after *= 2;
}

transfer_costs job::costs() const {
  transfer_costs out{.network = facts_.network, .node = facts_.node};
  if (options_.measured) options_.measured(out, fabric_);
  return out;
}

registration_cache& job::registrations() {
  if (registrations_) return *registrations_;
  registration_bounds bounds;
  bounds.bytes = options_.registration_bytes;
  if (bounds.bytes == 0 && net_->caps().follows_mapping) {
    bounds.bytes = ~std::size_t{0} / 2;
  } else if (bounds.bytes == 0) {
    const auto memory = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    bounds.bytes = memory / 8 / std::max<std::uint32_t>(1, where_->population[where_->node_of[rank_]]);
  }
  registrations_ = std::make_unique<registration_cache>(*net_, options_.registrations, bounds);
  return *registrations_;
}

attachment_cache& job::attachments() {
  if (!attachments_) attachments_ = std::make_unique<attachment_cache>(*net_);
  return *attachments_;
}

void job::drop_idle_attachments() noexcept {
  if (attachments_) attachments_->drop_idle();
}

slot_pool& job::slots() {
  if (!slots_) slots_ = std::make_unique<slot_pool>();
  return *slots_;
}

void job::enlist(background& b) noexcept {
  if (b.enlisted_) return;
  b.enlisted_ = true;
  b.next_ = first_;
  first_ = &b;
}

void job::dismiss(background& b) noexcept {
  if (!b.enlisted_) return;
  b.enlisted_ = false;
  for (background** p = &first_; *p; p = &(*p)->next_)
    if (*p == &b) {
      *p = b.next_;
      return;
    }
}

unsigned job::progress() noexcept {
  const unsigned events = net_->progress();
  advance_background();
  return events;
}

void job::advance_background() noexcept {
  for (background* b = first_; b;) {
    background* next = b->next_;  // advance() may dismiss its own
    b->advance();
    b = next;
  }
}

status job::wait(completion& done, const char* what, time_point deadline) {
  status s = wait([&] { return done.idle(); }, [] { return status{}; }, wait_note{what, no_rank, 0, 0}, deadline);
  return s.ok() ? done.outcome() : s;
}

status job::wait_slowly(function_ref<bool> ready, function_ref<status> look, const wait_note& note,
                        time_point deadline) {
  const wait_note* outer = note_;
  note_ = &note;
  const time_point now = net_->now();
  time_point next_look = now + look_every;
  idle_turns idle(now);
  const rank_t from = note.from;
  paused_wait& last = paused_[from % paused_.size()];
  const bool again = last.what == note.what && last.from == from && now - last.ended < look_every;
  const time_point began = again ? last.began + (now - last.ended) : now;  // its pauses do not count
  time_point next_notice = !note.words ? time_point::max() : !again ? late_from(now) : last.next_notice;
  if (again && next_notice != time_point::max()) next_notice += now - last.ended;
  last.what = nullptr;
  // Who waits again and again for less than that is to hear of a death as well.
  time_point& looked = looked_[from % looked_.size()];
  status end;
  auto still = [&] {  // asked while a sleep is open, which progress of the transport would close
    advance_background();
    return !ready();
  };
  for (std::uint32_t turn = 0; !ready(); ++turn) {
    const std::uint64_t slept = waiting_.sleeps();
    waiting_.step(*net_, turn, still, std::min({deadline, next_look, options_.idle ? idle.next() : time_point::max(), wake_at_}));
    if (first_) advance_background();
    const bool has_slept = slept != waiting_.sleeps();
    if (!has_slept && turn % 32 != 31 && !idle.in_burst()) continue;
    const time_point t = net_->now();
    if (options_.idle) {
      options_.idle();
      const bool was_in_burst = idle.in_burst();
      idle.called(t, has_slept);
      if (was_in_burst || idle.in_burst()) waiting_.yield_again(idle.yields());
    }
    if (t >= wake_at_) wake_at_ = time_point::max();  // whoever set it is asked again by ready() or progress()
    if (t >= next_look || (t >= deadline && t >= looked + look_every)) {
      next_look = t + look_every;
      looked = t;
      if (board_ && board_->look(note, t >= next_notice, deadline == time_point::max())) {
        tell_late(began, board_->found());
        next_notice = t + (t - began);
      }
      if (status s = look(); s.failed() && !ready()) {
        end = note.words ? s : s.during(note.what);  // a call of the program's, which is named where it ends; not an algorithm's name
        break;
      }
    }
    if (t >= deadline && !ready()) {
      const bool of_all = note.from == no_rank;
      end = of_all ? status(errc::timed_out, worded(note.what, ": the deadline passed"))
                   : status(errc::timed_out, worded(note.what, ": the deadline passed while waiting for rank ", note.from),
                                                    note.from);
      last = {.what = note.what, .from = from, .ended = net_->now(), .began = began, .next_notice = next_notice};
      break;
    }
  }
  if (board_) last.what ? board_->pause() : board_->withdraw();
  note_ = outer;
  return end;
}

layout make_layout(const blob_table& host_ids) {
  layout out;
  std::map<host_id, std::uint32_t> number;
  for (std::size_t r = 0; r < host_ids.size(); ++r) {
    host_id id{};
    std::memcpy(id.data(), host_ids[r].data(), std::min(id.size(), host_ids[r].size()));
    auto [at, fresh] = number.try_emplace(id, static_cast<std::uint32_t>(number.size()));
    if (fresh) out.population.push_back(0);
    out.node_of.push_back(at->second);
    ++out.population[at->second];
  }
  return out;
}

cpu_share layout::share_of(std::uint32_t node) const {
  std::vector<process_name> all;
  for (std::size_t r = 0; r < process.size(); ++r)
    if (node_of[r] == node) all.push_back(process[r]);
  return {std::move(all), node < cores.size() ? cores[node] : 0};
}

double layout::most_ranks_per_core() const noexcept {
  double most = 0;
  for (std::uint32_t n = 0; n < nodes(); ++n) most = std::max(most, ranks_per_core(n));
  return most;
}

}  // namespace tutti

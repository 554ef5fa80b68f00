#include "tools/sim/timed_run.h"

#include <algorithm>

namespace tutti::tools {

timed_run::timed_run(const sim::world& w, std::uint64_t epochs, time_point start, const progress_fn& progress)
    : world_(w), progress_(progress), epochs_(epochs), before_(w.stats()), start_(start), end_(start), first_(start), entered_(w.size()) {
  samples_.reserve(w.size() * epochs);
}

void timed_run::watch(virtual_job::script& s) {
  s.enters = [this](rank_t r, std::uint64_t) { entered_[r] = world_.clock(r); };
  s.leaves = [this](rank_t r, std::uint64_t epoch) {
    const time_point left = world_.clock(r);
    end_ = std::max(end_, left);
    if (epoch == 1) first_ = std::max(first_, left);
    samples_.push_back(static_cast<float>(in_us(left) - in_us(entered_[r])));
    if (progress_ && samples_.size() % 64 == 0) progress_(static_cast<double>(samples_.size()) / static_cast<double>(world_.size() * epochs_));
  };
}

sim_figures timed_run::figures(std::uint64_t done) {
  const auto each = [done](double n) { return done ? n / static_cast<double>(done) : 0; };
  const sim::statistics& now = world_.stats();
  sim_figures f;
  f.ranks = world_.size(), f.calls = done;
  f.us = each(in_us(end_) - in_us(start_)), f.first_us = in_us(first_) - in_us(start_);
  f.messages = each(static_cast<double>(now.messages - before_.messages));
  f.payload = each(static_cast<double>(now.bytes - before_.bytes));
  f.datagrams = each(static_cast<double>(now.datagrams_sent - before_.datagrams_sent));
  f.busiest = world_.busiest(), f.lasted_us = in_us(end_), f.trace = now.trace;
  f.each = spread_of(samples_);
  return f;
}

}  // namespace tutti::tools

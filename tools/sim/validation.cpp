#include "tools/sim/validation.h"

#include <algorithm>
#include <cmath>

#include "tools/sim/collective.h"
#include "tools/sim/measure.h"

namespace tutti::tools {
namespace {

constexpr std::uint64_t calls = 16;

result<sim_figures> simulate(const sim::parameters& p, const tuning::row& r, const std::string& algorithm) {
  if (r.of == collective::barrier) return measure_barrier(p, {.barrier = algorithm}, calls);
  return measure_collective(p, {r.of, algorithm, r.bytes, calls});
}

}  // namespace

const predicted_time& predicted_row::fastest() const { return least(&predicted_time::measured_us); }
const predicted_time& predicted_row::foretold() const { return least(&predicted_time::predicted_us); }

const predicted_time& predicted_row::least(double predicted_time::* us) const {
  const predicted_time* best = nullptr;
  for (const predicted_time& t : all)
    if (t.predicted_us > 0 && (!best || t.*us < best->*us)) best = &t;
  return *best;
}

prediction_error error_of(std::span<const predicted_time* const> all) {
  prediction_error e;
  double bias = 0, off = 0, worst = 0;
  for (const predicted_time* const t : all) {
    const double ratio = std::log(t->predicted_us / t->measured_us);
    bias += ratio, off += std::abs(ratio), worst = std::max(worst, std::abs(ratio)), ++e.many;
  }
  const auto many = static_cast<double>(std::max<std::size_t>(1, e.many));
  e.bias = std::exp(bias / many), e.typical = std::exp(off / many), e.worst = std::exp(worst);
  return e;
}

std::vector<predicted_row> predict(const machine& m, const tuning::table& t, const progress_fn& progress) {
  std::vector<predicted_row> out;
  const auto is_of = [&](const tuning::row& r) { return r.fabric == m.name; };
  const auto many = static_cast<double>(std::ranges::count_if(t.rows, is_of));
  double done = 0;
  for (const tuning::row& r : t.rows) {
    if (!is_of(r)) continue;
    predicted_row row{&r, {}};
    const sim::parameters p = machine_of(m, t, r);
    for (const tuning::timing& timed : r.timings) {
      if (timed.us <= 0) continue;
      predicted_time& one = row.all.emplace_back(predicted_time{tuning::name_of(timed.algorithm), timed.us, timed.spread, 0, ""});
      const auto f = simulate(p, r, one.algorithm);
      if (f) one.predicted_us = f->us;
      else one.why_not = f.error().text();
    }
    if (std::ranges::any_of(row.all, [](const predicted_time& x) { return x.predicted_us > 0; })) out.push_back(std::move(row));
    if (progress) progress(++done / many);
  }
  return out;
}

}  // namespace tutti::tools

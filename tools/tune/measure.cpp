#include "tools/tune/measure.h"

#include <algorithm>
#include <stdexcept>

#include "tools/tune/contest.h"

namespace tutti::tools {
namespace {

constexpr double first_chunk = 1e-3, longest_chunk = 4e-3;  // seconds
constexpr double first_margin = 1, least_margin = 0.1;

std::string of_machine(const std::vector<text_pair>& machine, const char* what) {
  const auto found = std::ranges::find(machine, what, &text_pair::first);
  return found == machine.end() || found->second.empty() ? "unknown" : found->second;
}

std::string in_words(collective of, std::uint64_t bytes) {
  return std::string(name_of(of)) + (bytes ? " of " + std::to_string(bytes) + " bytes" : "");
}

// The sizes that were not reached: where one candidate of several was measured, nothing was compared.
std::size_t add_rows(tuning::table& out, tournament& t, collective of, measured_provider& p) {
  std::size_t not_reached = 0;
  const layout& where = p.of().where();
  for (const size_contest& one : t.contests()) {
    tuning::row r{.of = of, .fabric = p.of().fabric(), .ranks = p.of().size(), .nodes = where.nodes(),
                  .ranks_per_core = where.most_ranks_per_core(), .bytes = one.bytes, .when = of_machine(out.machine, "when"),
                  .host = of_machine(out.machine, "host")};
    for (const timed_candidate& c : one.all) {
      if (c.us.count() == 0) continue;
      const double us = one.us(c), low = typical(c.us);
      const double spread = low > 0 ? (c.us.quantile(0.75) - low) / low : 0;
      r.timings.push_back({{std::string(c.what.row->name), c.what.radix, std::string(c.what.inner)}, us, spread,
                           static_cast<std::uint32_t>(c.us.count())});
    }
    std::ranges::stable_sort(r.timings, {}, &tuning::timing::us);
    if (r.timings.size() >= std::min<std::size_t>(2, one.all.size())) out.rows.push_back(std::move(r));
    else ++not_reached;
  }
  return not_reached;
}

// Rank 0's clock decides for all.
bool past(measured_provider& p, std::chrono::steady_clock::time_point end) {
  return share(p.world().group(), std::chrono::steady_clock::now() > end ? 1 : 0) != 0;
}

// The sizes that were not reached.
std::size_t measure_one(tuning::table& out, measured_provider& p, collective of, std::span<const std::uint64_t> sizes,
                        std::chrono::steady_clock::time_point end, const progress_file& told) {
  if (past(p, end)) return of == collective::barrier ? 1 : of == collective::alltoallv ? 0 : sizes.size();
  std::vector<text_pair> left_out;
  tournament t(p, of, sizes, left_out);
  double chunk = first_chunk, margin = first_margin;
  for (int round = 1;; ++round) {
    t.round(chunk, end, [&](const size_contest& one) {
      told.say(p.name() + ", " + in_words(of, one.bytes) + ", round " + std::to_string(round) + ", " +
               std::to_string(std::ranges::count(one.all, true, &timed_candidate::in)) + " of " + std::to_string(one.all.size()) + " candidates");
    });
    if (!t.halve(margin) || past(p, end)) break;
    margin = std::max(least_margin, margin / 2), chunk = std::min(longest_chunk, 2 * chunk);
  }
  return add_rows(out, t, of, p);
}

}  // namespace

tuning::table measure_table(bootstrap& boot, const measuring_plan& plan, const progress_file& told) {
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [](double s) { return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(s)); };
  tuning::table out;
  out.machine = describe_machine();
  std::vector<collective> all = plan.collectives;
  for (unsigned i = 0; plan.collectives.empty() && i < collectives; ++i) all.push_back(static_cast<collective>(i));
  const std::span<const std::uint64_t> sizes = plan.sizes.empty() ? sizes_to_measure() : std::span(plan.sizes);
  std::string trouble = "no provider named";
  std::size_t parts = plan.providers.size() * all.size();
  for (const std::string& spec : plan.providers) {
    told.say("opening " + spec);
    driven_jobs driven;
    auto p = measured_provider::open(boot, driven, spec, mebibyte, false);
    if (!p) {
      trouble = p.error().text(), parts -= all.size();
      continue;
    }
    told.say("calibrating " + spec);
    out.fabrics.push_back((*p)->calibrate(of_machine(out.machine, "when")));
    std::size_t not_reached = 0;
    for (const collective of : all) {
      const double left = plan.seconds - seconds_since(begin);
      const auto end = std::chrono::steady_clock::now() + seconds(std::max(0.0, left / static_cast<double>(parts--)));
      not_reached += measure_one(out, **p, of, sizes, end, told);
    }
    trouble = "the time was over before anything was measured: give more --minutes";
    if (not_reached > 0 && boot.rank() == 0)
      std::fprintf(stderr, "tutti tune: %zu sizes of collectives were not reached in time over %s at %u ranks; costs decide there\n",
                   not_reached, spec.c_str(), (*p)->of().size());
    require((*p)->world().group().settle());
  }
  if (out.rows.empty() && boot.rank() == 0) throw std::runtime_error(trouble);
  return out;
}

void merge(tuning::table& all, tuning::table part) {
  if (all.machine.empty()) all.machine = std::move(part.machine);
  for (tuning::row& r : part.rows) all.rows.push_back(std::move(r));
  for (tuning::calibration& c : part.fabrics) {
    const auto known = std::ranges::find(all.fabrics, c.fabric, &tuning::calibration::fabric);
    if (known == all.fabrics.end()) {
      all.fabrics.push_back(std::move(c));
      continue;
    }
    for (std::size_t i = 0; i < tuning::parameter_count; ++i)
      if (!known->values[i]) known->values[i] = std::move(c.values[i]);
  }
}

}  // namespace tutti::tools

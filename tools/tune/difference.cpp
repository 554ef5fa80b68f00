#include "tools/tune/difference.h"

#include <algorithm>
#include <cmath>

#include "collectives/explain_text.h"
#include "tools/perf/words.h"

namespace tutti::tools {
namespace {

constexpr double much = 0.1;

bool far(double before, double after, double spread) {
  const double less = std::min(before, after);
  return std::abs(after - before) > std::max(much, spread) * (less > 0 ? less : 1e-9);
}

std::string words_of(const tuning::row& r) {
  std::string out = r.fabric;
  out.append(", ").append(std::to_string(r.ranks)).append(" ranks");
  if (r.nodes > 1) out.append(" on ").append(std::to_string(r.nodes)).append(" nodes");
  out.append(", ").append(name_of(r.of));
  if (r.bytes) out.append(" ").append(short_bytes(static_cast<double>(r.bytes)));
  return out;
}

std::string words_of(const tuning::timing& t) { return tuning::name_of(t.algorithm) + " " + short_number(t.us) + " us"; }

const tuning::row* same_call(const tuning::table& in, const tuning::row& r) {
  const auto found = std::ranges::find_if(in.rows, [&](const tuning::row& o) {
    return o.of == r.of && o.fabric == r.fabric && o.ranks == r.ranks && o.nodes == r.nodes && o.bytes == r.bytes &&
           o.ranks_per_core == r.ranks_per_core;
  });
  return found == in.rows.end() ? nullptr : &*found;
}

}  // namespace

std::string difference(const tuning::table& before, const tuning::table& after) {
  std::string out;
  std::size_t alike = 0;
  for (const tuning::row& a : before.rows) {
    const tuning::row* const b = same_call(after, a);
    if (!b) {
      out += "- " + words_of(a) + ": " + words_of(a.timings[0]) + "\n";
      continue;
    }
    const tuning::timing &was = a.timings[0], &is = b->timings[0];
    const bool other = tuning::name_of(was.algorithm) != tuning::name_of(is.algorithm);
    if (other || far(was.us, is.us, was.spread + is.spread)) out += "  " + words_of(a) + ": " + words_of(was) + " -> " + words_of(is) + "\n";
    else ++alike;
  }
  for (const tuning::row& b : after.rows)
    if (!same_call(before, b)) out += "+ " + words_of(b) + ": " + words_of(b.timings[0]) + "\n";
  for (const tuning::calibration& a : before.fabrics)
    if (const tuning::calibration* const b = after.of_fabric(a.fabric))
      for (std::size_t i = 0; i < tuning::parameter_count; ++i)
        if (a.values[i] && b->values[i] && far(a.values[i]->value, b->values[i]->value, a.values[i]->spread + b->values[i]->spread))
          out += "  " + a.fabric + ", " + std::string(tuning::parameters()[i].name) + ": " + short_number(a.values[i]->value) + " -> " +
                 short_number(b->values[i]->value) + "\n";
  return out + std::to_string(alike) + " calls as before\n";
}

}  // namespace tutti::tools

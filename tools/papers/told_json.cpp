// As JSON.
#include <nlohmann/json.hpp>

#include "tools/papers/told.h"
#include "tools/papers/told_words.h"

namespace tutti::tools::papers {

std::string json_of(const std::vector<outcome>& all) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const outcome& o : all) {
    nlohmann::ordered_json one{{"figure", o.what->id}, {"title", o.notes->title}, {"paper", o.source->title}};
    if (!o.on.empty()) one["on"] = o.on;
    for (const curve_of& c : o.curves.curves) {
      auto& points = one["curves"][c.key] = nlohmann::ordered_json::array();
      for (const auto& [x, y] : c.at) points.push_back({x, y});
    }
    for (const verdict& v : o.verdicts) {
      nlohmann::ordered_json s{{"text", v.of->text}, {"quote", v.of->quote}};
      if (v.of->is == statement::kind::order) {
        if (v.measured) s["holds"] = v.holds, s["ours"] = v.detail;
      } else {
        s["paper"] = v.of->paper, s["unit"] = v.of->unit, s["calibrates"] = v.calibrates;
        if (v.measured) s["ours"] = v.ours, s["deviation"] = v.deviation();
      }
      if (o.on.empty() && v.off()) s["cause"] = cause_of(v);
      one["statements"].push_back(std::move(s));
    }
    out.push_back(std::move(one));
  }
  return out.dump(2) + "\n";
}

}  // namespace tutti::tools::papers

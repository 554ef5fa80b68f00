// The barriers themselves.
#include <algorithm>

#include "core/transport/offload.h"
#include "tools/perf/measured_provider.h"

namespace tutti::tools {
void measured_provider::add_barriers(std::vector<row>& rows, const std::string& only, const std::vector<int>& fan_ins,
                        std::vector<text_pair>& left_out) {
  const candidate& chosen = world_->barrier().choice();
  const auto wanted = parse_wanted(collective::barrier, only == "chosen" ? "" : only);
  require(wanted.error());
  bool any_chosen = false;
  auto add_one = [&](const std::string& spec, const std::string& name) {
    std::string why;
    communicator* const c = team_with(spec, why);
    if (!c) {
      left_out.emplace_back(name_ + " " + name, why);
      return;
    }
    const candidate& made = c->barrier().choice();
    row& r = add(rows, "barrier", name, [c](int iterations) {
      for (int i = 0; i < iterations; ++i)
        if (status s = c->barrier().enter(); s.failed()) require(s);
    });
    r.what.chosen = made.row == chosen.row && made.radix == chosen.radix && made.inner == chosen.inner;
    any_chosen = any_chosen || r.what.chosen;
  };
  if (!wanted->name.empty() && only.find(':') != only.npos) return add_one(only, only);
  for (const algorithm& a : algorithms(collective::barrier)) {
    if (only == "chosen" && &a != chosen.row) continue;
    if (!wanted->name.empty() && find_algorithm(collective::barrier, wanted->name) != &a) continue;
    if (a.needs.multicast && !job_->net().mcast()) continue;
    if (a.needs.offload && !job_->net().offloader()) continue;
    const std::string name(a.name);
    if (a.default_radix == 0 || fan_ins.empty()) {
      add_one(only == "chosen" ? "" : name, name);
      continue;
    }
    // With that of all ranks there is but one step; no larger one is another algorithm.
    const int most = static_cast<int>(std::max(job_->size(), a.least_radix));
    for (const int l : fan_ins)
      if (l >= static_cast<int>(a.least_radix) && l <= most)
        add_one(name + ":" + std::to_string(l), name + ":" + std::to_string(l));
  }
  // What would be chosen has parameters of its own.
  if (!any_chosen && only.empty() && fan_ins.empty()) add_one("", as_wanted(chosen));
}

}  // namespace tutti::tools

// For a terminal.
#include <algorithm>
#include <cstdio>
#include <set>

#include "tools/papers/told.h"
#include "tools/papers/told_words.h"

namespace tutti::tools::papers {
namespace {

void print_verdicts(const std::vector<verdict>& all) {
  std::printf("  %-66s %14s %18s  %s\n", "", "paper", "ours", "deviation");
  for (const verdict& v : all) {
    const said s = words_of(v);
    if (v.of->is == statement::kind::order) std::printf("  %-66s %14s %18s  %s: %s\n", v.of->text.c_str(), "", "", s.deviation.c_str(), s.ours.c_str());
    else std::printf("  %-66s %14s %18s  %s\n", v.of->text.c_str(), s.paper.c_str(), s.ours.c_str(), s.deviation.c_str());
  }
}

// A column a curve, a row an x.
void print_picture(const picture& p, const measured& m) {
  std::vector<const curve_of*> curves;
  std::set<double> xs;
  for (const std::string& key : p.keys)
    if (const curve_of* c = m.find(key)) {
      curves.push_back(c);
      for (const auto& [x, y] : c->at) xs.insert(x);
    }
  if (curves.empty()) return;
  std::printf("\n%s, %s\n  %12s", p.title.c_str(), p.y_label.c_str(), p.x_label.c_str());
  for (const curve_of* c : curves) std::printf(" %*s", static_cast<int>(std::max<std::size_t>(10, c->name.size())), c->name.c_str());
  std::printf("\n");
  for (const double x : xs) {
    std::printf("  %12s", printed("%g", x).c_str());
    for (const curve_of* c : curves) {
      const auto y = c->at.find(x);
      std::printf(" %*s", static_cast<int>(std::max<std::size_t>(10, c->name.size())), y == c->at.end() ? "" : printed("%.4g", y->second).c_str());
    }
    std::printf("\n");
  }
}

}  // namespace

void print_outcome(const outcome& o) {
  std::printf("%s: %s\n%s%s\n", o.what->id, o.notes->title.c_str(), o.source->title.c_str(),
              o.on.empty() ? "" : (", on " + o.on + ": ratios alone can be compared").c_str());
  for (const picture& p : o.curves.pictures) print_picture(p, o.curves);
  std::printf("\n");
  print_verdicts(o.verdicts);
  if (!o.on.empty()) return;
  for (const verdict& v : o.verdicts)
    if (v.off()) std::printf("\n%s: %s\n", v.of->text.c_str(), cause_of(v).c_str());
}

void print_summary(const std::vector<outcome>& all) {
  std::size_t stated = 0, near = 0, orders = 0, held = 0;
  for (const outcome& o : all) {
    std::printf("%s: %s\n", o.what->id, o.notes->title.c_str());
    print_verdicts(o.verdicts);
    for (const verdict& v : o.verdicts) {
      if (!v.measured || v.calibrates) continue;
      (v.of->is == statement::kind::order ? orders : stated) += 1;
      (v.of->is == statement::kind::order ? held : near) += !v.off();
    }
  }
  if (!all[0].on.empty()) return;
  std::printf("\n%zu of %zu stated numbers are met within 10 %%, %zu of %zu orders hold\n", near, stated, held, orders);
  for (const outcome& o : all)
    for (const verdict& v : o.verdicts)
      if (v.off()) std::printf("\n%s, %s (%s): %s\n", o.what->id, v.of->text.c_str(), words_of(v).deviation.c_str(), cause_of(v).c_str());
}

}  // namespace tutti::tools::papers

// `tutti papers`: the figures and tables of five papers, measured again.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "core/base/nearest.h"
#include "tools/command.h"
#include "tools/papers/told.h"
#include "tools/perf/report.h"
#include "tools/perf/status_line.h"
#include "tools/process.h"

namespace tutti::tools {
namespace {

using namespace papers;

struct choices {
  std::vector<std::string> figures;
  bool all = false;
  std::string live, json, html, folder;
  std::vector<std::string> loops;  // hidden: what a rank of a live run measures
  double seconds = 1;
};

int complain(const std::string& text, int code) {
  std::fprintf(stderr, "tutti papers: %s\n", text.c_str());
  return code;
}

// From where the command lies: in the build as in an installation.
std::string papers_folder(const choices& c) {
  if (!c.folder.empty()) return c.folder;
  const std::string here = own_path();
  const std::string beside = here.substr(0, here.rfind('/') + 1);
  for (const char* way : {TUTTI_PAPERS_FROM_BUILT, TUTTI_PAPERS_FROM_BIN})
    if (access((beside + way + "/kini.json").c_str(), R_OK) == 0) return beside + way;
  throw std::runtime_error("the files of the papers are missing; they belong to " + beside + TUTTI_PAPERS_FROM_BIN + ": install tutti again, or name "
                           "their folder by --folder");
}

std::string known() {
  std::string names;
  for (const papers::figure* f : all_figures()) names += (names.empty() ? "" : " ") + std::string(f->id);
  return names;
}

const papers::figure* figure_named(const std::string& name, std::string& why_not) {
  std::vector<std::string_view> names;
  for (const papers::figure* f : all_figures()) {
    if (name == f->id) return f;
    names.emplace_back(f->id);
  }
  const std::string_view nearest = nearest_name(name, names);
  why_not = "no figure `" + name + "`; " + (nearest.empty() ? "" : "did you mean " + std::string(nearest) + "? ") + "There are " + known();
  return nullptr;
}

class library {
 public:
  explicit library(std::string folder) : folder_(std::move(folder)) {}
  const paper& of(const papers::figure& f) {
    auto& p = papers_[f.paper];
    if (!p) p = std::make_unique<paper>(read_paper(folder_, f.paper));
    return *p;
  }
  const figure_notes& notes(const papers::figure& f) {
    const paper& p = of(f);
    const auto found = p.figures.find(f.id);
    if (found == p.figures.end()) throw std::runtime_error(folder_ + "/" + f.paper + ".json says nothing of " + f.id);
    return found->second;
  }

 private:
  const std::string folder_;
  std::map<std::string, std::unique_ptr<paper>> papers_;
};

int list(library& papers) {
  std::string last;
  for (const papers::figure* f : all_figures()) {
    if (last != f->paper) std::printf("%s%s\n", last.empty() ? "" : "\n", papers.of(*f).title.c_str());
    last = f->paper;
    std::printf("  %-18s%s%s\n", f->id, papers.notes(*f).title.c_str(), f->live ? "" : "  (simulated only)");
  }
  std::printf("\n`tutti papers FIGURE` measures one again, `tutti papers --all` all of them.\n");
  return 0;
}

outcome measure(const papers::figure& f, library& papers, const std::string& provider) {
  outcome o{.what = &f, .source = &papers.of(f), .notes = &papers.notes(f), .curves = {}, .verdicts = {}, .on = provider};
  if (provider.empty()) {
    simulated_lab here(o.source->machines);
    f.measure(here, o.curves);
  } else {
    live_lab here(provider);
    f.measure(here, o.curves);
  }
  o.verdicts = judge(o.notes->statements, o.curves, provider.empty());
  return o;
}

int run(const choices& c) {
  if (!c.loops.empty()) return measure_as_rank(c.loops, c.seconds), 0;
  library papers(papers_folder(c));
  std::vector<const papers::figure*> wanted;
  for (const std::string& name : c.figures) {
    std::string why_not;
    const papers::figure* f = figure_named(name, why_not);
    if (!f) return complain(why_not, usage_error);
    wanted.push_back(f);
  }
  if (wanted.empty() && !c.all) return list(papers);
  if (c.all)
    for (const papers::figure* f : all_figures())
      if (c.live.empty() || f->live) wanted.push_back(f);
  std::vector<outcome> all;
  status_line doing(isatty(2) != 0);
  for (const papers::figure* f : wanted) {
    if (!c.live.empty() && !f->live)
      return complain(std::string(f->id) + " is measured in simulation only" +
                          (f->instead ? std::string("; on a real fabric `") + f->instead + "` measures it" : ""), usage_error);
    doing.show(std::string(f->id) + " ...");
    all.push_back(measure(*f, papers, c.live));
  }
  doing.clear();
  if (c.all || all.size() > 1) print_summary(all);
  else print_outcome(all[0]);
  if (!c.json.empty()) write_text(c.json, json_of(all));
  if (!c.html.empty()) write_text(c.html, page_of(all));
  return 0;
}

std::function<int()> declare(options app) {
  auto c = std::make_shared<choices>();
  app.add("figures", c->figures, "as `kini-6`; none: lists those that there are");
  app.add("--all", c->all, "all of them, on one page; then what deviates by more than 10 %, and why");
  app.add("--live", c->live, "measure on this provider (shm, ucx:tcp) instead of the simulated machines: ratios alone can be compared");
  app.add("--json", c->json, "write what was measured to this file");
  app.add("--html", c->html, "write a page with plots to this file; nothing else is needed to read it");
  app.add("--folder", c->folder, "where the papers' files are; those that came with tutti have the sources of every number");
  app.add("--loop", c->loops, "").hidden();
  app.add("--seconds", c->seconds, "").hidden();
  app.footer("The files say of each number of a machine which sentence of the paper it comes from. What deviates is no error: the exit\n"
             "status is 0 unless something could not be measured.");
  return [c] {
    try {
      return run(*c);
    } catch (const std::exception& e) {
      return complain(e.what(), 1);
    }
  };
}

}  // namespace

const command papers_command{"papers", "The figures of the papers that tutti is built on, measured again", declare};

}  // namespace tutti::tools

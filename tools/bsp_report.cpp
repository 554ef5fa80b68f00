// `tutti bsp-report`: what the supersteps of a BSP program cost, from the file that TUTTI_BSP_PROFILE made it write.
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "tools/bsp_report/figures.h"
#include "tools/bsp_report/page.h"
#include "tools/command.h"
#include "tools/perf/words.h"

namespace tutti::tools {
namespace {

struct choices {
  std::string file, html, csv;
};

int show(const choices& c) {
  try {
    ledger_file file = read_ledger(c.file);
    resolve_sites(file.sites);
    const bsp_analysis a = analyse(file);
    const std::string html = c.html.empty() ? c.file + ".html" : c.html;
    write_text(html, to_page(file, a));
    if (!c.csv.empty()) write_text(c.csv, to_csv(file));
    std::printf("%zu supersteps of %u processes, %s, metadata by %s; most worth mending:\n", file.supersteps.size(),
                file.processes, short_time(a.total.measured).c_str(), ways_taken(file, a.by_way).c_str());
    for (const site_summary& s : a.to_mend)
      std::printf("  %s: %s\n", s.name.c_str(), advice(file, s).c_str());
    std::printf("The page is %s\n", html.c_str());
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tutti bsp-report: %s\n", e.what());
    return 1;
  }
}

std::function<int()> declare(options app) {
  auto c = std::make_shared<choices>();
  app.add("file", c->file, "what a program run with TUTTI_BSP_PROFILE=FILE wrote").required();
  app.add("-o,--html", c->html, "the page to write; default: FILE.html");
  app.add("--csv", c->csv, "a table to write besides: a line for each superstep and process");
  return [c] { return show(*c); };
}

}  // namespace

const command bsp_report_command{"bsp-report", "What each superstep of a BSP program cost, as a page", declare};

}  // namespace tutti::tools

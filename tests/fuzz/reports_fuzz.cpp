// Files that somebody else may have made: a profile of a BSP program, and a report of `tutti perf --json`. Each is refused in
// words, or becomes a page whose text cannot be taken for markup.
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tools/bsp_report/page.h"
#include "tools/perf/report.h"

using namespace tutti::tools;

namespace {

void require(bool good) {
  if (!good) std::abort();
}

// Of `text`, whose own words may contain those of numbers that are none.
void require_page(const std::string& page, const std::string& text) {
  require(page.starts_with("<!DOCTYPE html>") && page.find("<script") == page.npos);
  for (const char* none : {"nan", "inf\""}) require(page.find(none) == page.npos || text.find(none) != text.npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  try {
    const ledger_file file = ledger_from_json(text);
    const bsp_analysis a = analyse(file);
    for (const site_summary& s : a.to_mend) require(!advice(file, s).empty());
    require_page(to_page(file, a), text);
  } catch (const std::exception& e) {
    require(*e.what());
  }
  try {
    const report r = from_json(text);
    require_page(to_page(r), text);
    require(to_json(from_json(to_json(r))) == to_json(r));
  } catch (const std::exception& e) {
    require(*e.what());
  }
  return 0;
}

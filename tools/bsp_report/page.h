// A profile as one page: nothing outside it is needed to read it, no script runs in it.
#pragma once
#include <string>

#include "tools/bsp_report/analysis.h"

namespace tutti::tools {

std::string to_page(const ledger_file&, const bsp_analysis&);

}  // namespace tutti::tools

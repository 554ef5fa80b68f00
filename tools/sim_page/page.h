// The results of `tutti sim` as one page with plots, which needs nothing else to be read.
#pragma once
#include <span>

#include "tools/sim/figures.h"
#include "tools/sim/machine.h"

namespace tutti::tools {

std::string to_page(const machine&, std::span<const sim_figures>);

}  // namespace tutti::tools

// What changed from one tuning table to another, for people.
#pragma once
#include <string>

#include "collectives/tuning/table.h"

namespace tutti::tools {

// A line for each call whose best candidate is another, or whose time is more than 10 % off and beyond the spread of both; what only
// one of them has; and calibrations that are as far off.
std::string difference(const tuning::table& before, const tuning::table& after);

}  // namespace tutti::tools

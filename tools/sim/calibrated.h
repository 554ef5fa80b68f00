// A simulated machine made of what `tutti tune` measured of a fabric, for planning and to see how true a simulation is.
#pragma once
#include <string_view>

#include "collectives/tuning/table.h"
#include "tools/sim/machine.h"

namespace tutti::tools {

// The fabric's calibration as a machine: each value with its source and date. What only several nodes could tell is taken as inside a
// node, and says so. Where the table is of one node, all ranks share one; cores are those of the ranks that shared some. Errors:
// invalid, the table has no link measured of that fabric, naming those that it has; `fabric` may be empty if there is one alone.
result<machine> machine_of(const tuning::table&, std::string_view fabric);

// Each fabric whose links the table measured, or that one alone. Errors: invalid, as above.
result<std::vector<machine>> machines_of(const tuning::table&, std::string_view fabric = {});

// The same as the machine was when the row was measured: its ranks, nodes and cores; and copies and sums of what a call of the row
// touches, as fast as caches allow.
sim::parameters machine_of(const machine&, const tuning::table&, const tuning::row&);

}  // namespace tutti::tools

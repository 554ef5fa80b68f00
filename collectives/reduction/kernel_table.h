// The loops of the built-in operations by type and operation, null where these make no sense together.
#pragma once
#include <array>

#include "collectives/reduction/reduction.h"

namespace tutti::reductions {

using kernel_table = std::array<std::array<reduction::loop*, operations>, datatypes>;

extern const kernel_table baseline;  // for any processor that the library runs on

}  // namespace tutti::reductions

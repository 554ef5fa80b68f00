// The loops of the built-in operations by type and operation, null where the two make no sense together; a table for each kind
// of processor that they are compiled for.
#pragma once
#include <span>

#include "collectives/reduction/reduction.h"

namespace tutti::reductions {

struct kernel_table {
  reduction::loop* loops[datatypes][operations];
};

extern const kernel_table baseline;  // for any processor that the library runs on
extern const kernel_table avx2;      // x86-64 with AVX2 and F16C

// Those that this processor runs; the last is the fastest.
std::span<const kernel_table* const> usable_tables() noexcept;

}  // namespace tutti::reductions

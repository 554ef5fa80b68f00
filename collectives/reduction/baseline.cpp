#include "collectives/reduction/kernels.h"

namespace tutti::reductions {

constexpr kernel_table loops = all_loops();
const kernel_table baseline = loops;

}  // namespace tutti::reductions

#include "collectives/reduction/kernels.h"

namespace tutti::reductions {

constinit const kernel_table baseline = all_loops();

}  // namespace tutti::reductions

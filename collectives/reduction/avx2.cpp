// Compiled with -mavx2 -mf16c on x86-64 (CMakeLists.txt), and empty elsewhere. AVX-512 was measured as well: up to twice as fast
// within the caches where AVX2 lacks an instruction (min of int64), a tenth elsewhere, no faster from memory.
#ifdef __AVX2__
#include "collectives/reduction/kernels.h"

namespace tutti::reductions {

constinit const kernel_table avx2 = all_loops();

}  // namespace tutti::reductions
#endif

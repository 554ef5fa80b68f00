// The parameters of the BSP machine (Valiant 1990; Hill et al. 1998, bsp_s(3)) as a program finds them: measured once in a
// parallel part, by an engine made for that on the same team, so that nothing of the program's own superstep is touched.
#pragma once
#include "bsp/scheme.h"
#include "core/job/team.h"

namespace tutti::bsp {

struct parameters {
  double flops = 0;        // of a process, a second
  double sync_s = 0;       // of a superstep in which nothing is moved
  double word_s = 0;       // of a word of 8 bytes more for each process to send and to receive
};

// Of a DAXPY of 1000 doubles, the best of 20 rounds: 10 ms on a slow core. Local. By the transport's clock, as all here; in a
// simulated world whose clock stands still while a process works, by this machine's.
double daxpy_flops(const transport&);

// Collective: 100 supersteps without and 20 with a total exchange of 128 KiB from each process; the best of 5 rounds. The values
// are process 0's in all processes.
result<parameters> measure_parameters(team&, scheme);

}  // namespace tutti::bsp

// The BSP programs of examples/bsp over growing numbers of processes: from where on more of them pay.
#pragma once

namespace tutti::tools {

struct applications_plan {
  int ranks = 4;   // the most processes: 1, 2, 4, ... and these
  int rounds = 5;
};

// Prints a table; the exit status. Throws std::runtime_error where there are no programs.
int measure_applications(const applications_plan&);

}  // namespace tutti::tools

// Which launcher started this process, told from the variables it left. Pure, so that tests need no launcher.
#pragma once
#include "core/job/config.h"

namespace tutti {

// The variables as they are, and as they were when the program began (empty: not known).
launcher_traces trace_launcher(const environment& now, const environment& at_start);

}  // namespace tutti

// Which launcher started this process, told from the variables it left. Pure, so that tests need no launcher.
#pragma once
#include "core/config.h"

namespace tutti {

launcher_traces trace_launcher(const environment&);

}  // namespace tutti

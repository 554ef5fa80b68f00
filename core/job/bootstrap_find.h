// The bootstrap that fits how this process was started.
#pragma once
#include <memory>

#include "core/job/bootstrap.h"
#include "core/job/config.h"

namespace tutti {

// A simulated world (`tutti sim ./program`): its ranks. A PMIx launcher: its job, within timeout_s. No launcher: a job of one, at once. A launcher of several ranks that
// speaks another protocol: `unavailable`, naming it and the remedy, since N jobs of one are never what was meant; so too
// where the process has overwritten its launcher's variables (config.h, launcher_traces::rewritten).
result<std::unique_ptr<bootstrap>> find_bootstrap(const config&);

}  // namespace tutti

// `tutti info --explain message`: by which route a message travels.
#pragma once
#include "core/job/job.h"
#include "tools/info/explain.h"

namespace tutti::tools {

// As ranks of a job over this fabric would send it, of one node and, where several_nodes, of two. `costs`: where they are from.
int explain_messages(job&, const question&, bool several_nodes, const std::string& costs);

}  // namespace tutti::tools

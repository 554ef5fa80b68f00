// Where the libraries are that MPI programs preload (mpi/).
#pragma once
#include <optional>
#include <string>

namespace tutti::tools {

// Of "openmpi" or "mpich". Nothing: `why_not` says where it was looked for, and what to do.
std::optional<std::string> preloaded_library(const std::string& mpi, std::string& why_not);

}  // namespace tutti::tools

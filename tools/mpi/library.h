// Where the libraries are that MPI programs preload (mpi/).
#pragma once
#include <optional>
#include <string>

namespace tutti::tools {

// Of "openmpi" or "mpich". Nothing: in none of the places that `places` then lists.
std::optional<std::string> preloaded_library(const std::string& mpi, std::string& places);

}  // namespace tutti::tools

// The bootstrap of a job that a PMIx launcher started: prterun, Open MPI's mpirun, srun --mpi=pmix, tutti run.
#pragma once
#include <memory>
#include <string>

#include "core/job/bootstrap.h"

namespace tutti {

// Only when config::launcher().pmix says that a server waits. Starts libpmix's progress thread, which lives as long as
// the bootstrap. Destroying the bootstrap tells the server and waits for no peer. Several may exist in a process, made and used
// in the same order on all ranks. `ended`: the path of the file of core/job/ended_ranks.h, which need not exist.
result<std::unique_ptr<bootstrap>> make_pmix_bootstrap(time_point deadline, const std::string& ended);

// Of the libpmix that runs here: "4.2.2".
std::string pmix_version();

}  // namespace tutti

// The communicators that tutti serves: each has a team of the same ranks in the same order. Those of MPI alone (between groups, or made
// by MPI_Comm_create_group, which only the new members call) have none, and all their calls are MPI's.
#pragma once
#include <cstdint>

#include "api/tutti.h"
#include "mpi/real.h"

namespace tutti::mpi {

struct communicator {
  MPI_Comm handle;
  tutti_team_t team;
  int rank, size;
  // Requests of the program that are not complete, or may be started again. MPI_Comm_free leaves them to end by themselves;
  // tutti_team_free() does not.
  int under_way = 0;
};

// Null: MPI's own. Valid until the communicator is freed.
communicator* taken(MPI_Comm) noexcept;

// MPI_COMM_WORLD and MPI_COMM_SELF. False: tutti_error_text() tells why not.
bool take_first_communicators();
void forget_communicators() noexcept;

}  // namespace tutti::mpi

// What sends, receives and probes share: whether tutti takes one, and what it looks for.
#pragma once
#include <cstdint>

#include "api/tutti.h"
#include "mpi/communicator.h"
#include "mpi/report.h"

namespace tutti::mpi {

// The communicator, if tutti takes what goes to that rank or comes from it; null, and noted: MPI does. `from`: a receive, or a probe, of
// no data.
communicator* taker(call&, MPI_Comm, int rank, int tag, const void* data, MPI_Count count, MPI_Datatype, bool from);

struct selection {
  std::uint32_t from;
  std::uint64_t tag, mask;
  selection(const communicator& c, int source, int t) noexcept
      : from(source == MPI_ANY_SOURCE ? TUTTI_ANY : static_cast<std::uint32_t>(source)), tag(c.tag(t == MPI_ANY_TAG ? 0 : t)),
        mask(t == MPI_ANY_TAG ? ~std::uint64_t{UINT32_MAX} : TUTTI_WHOLE_TAG) {}
};

}  // namespace tutti::mpi

// MPI's operations on MPI's types, in tutti's words. What tutti does not know itself (operations of the program, pairs of Fortran's
// types) MPI computes, by MPI_Reduce_local() on pieces of the data.
#pragma once
#include <cstddef>
#include <memory>

#include "api/tutti.h"
#include "mpi/datatype.h"

namespace tutti::mpi {

struct reduction {
  tutti_datatype_t type = 0;  // 0: tutti cannot take it
  tutti_operation_t operation = 0;
  bool gapless = true;        // else elements are staged, `extent` bytes each
  std::shared_ptr<const void> used;  // to be kept until the call ends
};

reduction reduction_of(MPI_Op, const datatype&);
// MPI_Reduce_local() for any number of elements: its code.
int reduce_here(const void* in, void* inout, std::size_t count, MPI_Datatype, MPI_Op);
// The program frees the type. True: calls under way use it, and it is freed with the last of them.
bool reductions_keep(MPI_Datatype);

}  // namespace tutti::mpi

// MPI's operations on MPI's types, in tutti's words. What tutti does not know itself (operations of the program, pairs of Fortran's
// types) MPI computes, by MPI_Reduce_local() on pieces of the data.
#pragma once
#include <cstddef>

#include "api/tutti.h"
#include "mpi/datatype.h"
#include "mpi/report.h"

namespace tutti::mpi {

struct reduction {
  tutti_datatype_t type = 0;  // 0: tutti cannot take it, and why
  tutti_operation_t operation = 0;
  bool gapless = true;        // else elements are staged, `extent` bytes each
  reason why = reason::type;
};

bool is_programs(MPI_Op) noexcept;
// Throws where memory is out: whether tutti takes a call is alike in all members.
reduction reduction_of(MPI_Op, const datatype&);
// Whether MPI_Compare_and_swap takes the type: integers, logicals and bytes, no derived ones (MPI 4.0, 12.3.4).
bool is_comparable(MPI_Datatype) noexcept;
// MPI_Reduce_local() for any number of elements: its code.
int reduce_here(const void* in, void* inout, std::size_t count, MPI_Datatype, MPI_Op);
void reductions_forget(MPI_Datatype);  // which the program frees

}  // namespace tutti::mpi

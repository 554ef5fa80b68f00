// What the report at MPI_Finalize tells (TUTTI_MPI_REPORT=1): of each function, how often it went by tutti and how often by MPI, why the
// latter, bytes, time, and the algorithm that tutti chooses for their mean size.
#pragma once
#include <cstddef>
#include <cstdint>

#include "mpi/real.h"

namespace tutti::mpi {

#define TUTTI_MPI_REPORTED(X)                                                                                                   \
  X(Send) X(Ssend) X(Rsend) X(Bsend) X(Isend) X(Issend) X(Irsend) X(Ibsend) X(Recv) X(Irecv) X(Sendrecv) X(Sendrecv_replace)    \
  X(Probe) X(Iprobe) X(Mprobe) X(Improbe) X(Mrecv) X(Imrecv) X(Start) X(Wait) X(Waitall) X(Waitany) X(Waitsome) X(Test)         \
  X(Testall) X(Testany) X(Testsome)                                                                                             \
  X(Barrier) X(Bcast) X(Reduce) X(Allreduce) X(Gather) X(Gatherv) X(Scatter) X(Scatterv) X(Allgather) X(Allgatherv)             \
  X(Alltoall) X(Alltoallv) X(Alltoallw) X(Reduce_scatter) X(Reduce_scatter_block) X(Scan) X(Exscan)                             \
  X(Ibarrier) X(Ibcast) X(Ireduce) X(Iallreduce) X(Igather) X(Igatherv) X(Iscatter) X(Iscatterv) X(Iallgather)                  \
  X(Iallgatherv) X(Ialltoall) X(Ialltoallv) X(Ialltoallw) X(Ireduce_scatter) X(Ireduce_scatter_block) X(Iscan) X(Iexscan)       \
  X(Neighbor_allgather) X(Neighbor_allgatherv) X(Neighbor_alltoall) X(Neighbor_alltoallv) X(Neighbor_alltoallw)                 \
  X(Ineighbor_allgather) X(Ineighbor_allgatherv) X(Ineighbor_alltoall) X(Ineighbor_alltoallv) X(Ineighbor_alltoallw)            \
  X(Win_create) X(Win_allocate) X(Win_allocate_shared) X(Win_create_dynamic) X(Win_free) X(Win_fence) X(Win_start)              \
  X(Win_complete) X(Win_post) X(Win_wait) X(Win_test) X(Win_lock) X(Win_unlock) X(Win_lock_all) X(Win_unlock_all)               \
  X(Win_flush) X(Win_flush_all) X(Win_flush_local) X(Win_flush_local_all) X(Win_sync)                                           \
  X(Put) X(Get) X(Rput) X(Rget) X(Accumulate) X(Raccumulate) X(Get_accumulate) X(Rget_accumulate) X(Fetch_and_op)               \
  X(Compare_and_swap)

enum class function : std::uint8_t {
#define TUTTI_MPI_X(name) name,
  TUTTI_MPI_REPORTED(TUTTI_MPI_X)
#undef TUTTI_MPI_X
  count_
};

// Why a call went to MPI.
enum class reason : std::uint8_t {
  none,          // tutti took it
  setting,       // TUTTI_MPI says so, of the function or of so many bytes
  communicator,  // not one of tutti's: between groups, made by MPI_Comm_idup, or before MPI_Init; or of neighbours named twice
  nobody,        // to or from MPI_PROC_NULL
  arguments,     // wrong ones, of which MPI tells
  type,          // a reduction of elements that tutti cannot take
  operation,     // a reduction by an operation of the program's, which tutti may not call here
  request,       // a request of MPI's own
  nothing,       // no request, or null ones alone
  window,        // a window that MPI has alone
  shortage,      // a member had no memory, or few files left, for a window of tutti's
  count_
};

// A call under way, from its beginning to the end of this object.
class call {
 public:
  explicit call(function f) noexcept : function_(f), began_(reports_ ? now() : 0) {}
  ~call() {
    if (reports_) [[unlikely]] note();
  }
  call(const call&) = delete;
  call& operator=(const call&) = delete;
  void passed(reason why) noexcept { why_ = why; }
  void moved(std::size_t bytes) noexcept { bytes_ += bytes; }
  const char* name() const noexcept;  // "MPI_Send"

  static void report_from_now_on() noexcept { reports_ = true; }
  static bool reports() noexcept { return reports_; }

 private:
  static std::uint64_t now() noexcept;  // ns
  [[gnu::cold]] void note() noexcept;
  static inline bool reports_ = false;
  function function_;
  reason why_ = reason::none;
  std::size_t bytes_ = 0;
  std::uint64_t began_;
};

// Collective over MPI_COMM_WORLD: the sums over all ranks, by rank 0, on stderr.
void print_report(const char* fabric);

}  // namespace tutti::mpi

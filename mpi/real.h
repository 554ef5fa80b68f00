// MPI's own functions, which this library's stand before. All of the library is compiled against one MPI's <mpi.h> at a time, Open MPI's
// or MPICH's, and made a library for each.
//
// The library defines PMPI_X, which has the body, and MPI_X, which jumps to it. Open MPI's Fortran functions and MPICH's module mpi_f08
// call PMPI_X. MPI's own functions are those that the loader finds behind this library.
//
// A profiling tool defines MPI_X, and calls PMPI_X. Before this library (a program's own objects, or LD_PRELOAD) it is called first by the
// loader's order. Behind it (a program is linked with the tool) the loader finds this library first: then MPI_X jumps to the tool's, which
// is the next of that name and not MPI's. Either way the tool's PMPI_X is this library's.
#pragma once
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#pragma GCC visibility push(default)  // which MPICH's header leaves to the compiler's options
#include <mpi.h>
#pragma GCC visibility pop

// Every function of MPI's that is called here, whether it is replaced or not.
#define TUTTI_MPI_REAL(X)                                                                                                       \
  X(Init) X(Init_thread) X(Finalize) X(Query_thread) X(Get_library_version)                                                     \
  X(Comm_size) X(Comm_rank) X(Comm_group) X(Group_free) X(Group_translate_ranks) X(Comm_test_inter) X(Comm_call_errhandler)     \
  X(Add_error_class) X(Add_error_code) X(Add_error_string)                                                                      \
  X(Type_size_x) X(Type_get_extent) X(Type_get_envelope) X(Type_get_contents) X(Type_free)                                      \
  X(Reduce_local) X(Op_commutative) X(Op_free)                                                                                  \
  X(Status_set_elements_x) X(Status_set_cancelled)                                                                              \
  X(Comm_dup) X(Comm_dup_with_info) X(Comm_split) X(Comm_split_type) X(Comm_create) X(Comm_free) X(Comm_disconnect)             \
  X(Cart_create) X(Cart_sub) X(Graph_create) X(Dist_graph_create) X(Dist_graph_create_adjacent)                                 \
  X(Comm_create_group) X(Intercomm_create) X(Intercomm_merge) X(Comm_spawn) X(Comm_spawn_multiple) X(Comm_accept)               \
  X(Comm_connect) X(Comm_join)                                                                                                  \
  X(Send) X(Ssend) X(Rsend) X(Bsend) X(Isend) X(Issend) X(Irsend) X(Ibsend) X(Recv) X(Irecv) X(Sendrecv) X(Sendrecv_replace)    \
  X(Probe) X(Iprobe) X(Mprobe) X(Improbe) X(Mrecv) X(Imrecv) X(Send_init) X(Ssend_init) X(Rsend_init) X(Bsend_init)             \
  X(Recv_init) X(Start) X(Startall) X(Wait) X(Waitall) X(Waitany) X(Waitsome) X(Test) X(Testall) X(Testany) X(Testsome)          \
  X(Request_free)                                                                                                               \
  X(Request_get_status) X(Cancel) X(Buffer_detach) X(Grequest_start) X(Grequest_complete)                                       \
  X(Barrier) X(Bcast) X(Reduce) X(Allreduce) X(Gather) X(Gatherv) X(Scatter) X(Scatterv) X(Allgather) X(Allgatherv)             \
  X(Alltoall) X(Alltoallv) X(Alltoallw) X(Reduce_scatter) X(Reduce_scatter_block) X(Scan) X(Exscan)                             \
  X(Ibarrier) X(Ibcast) X(Ireduce) X(Iallreduce) X(Igather) X(Igatherv) X(Iscatter) X(Iscatterv) X(Iallgather)                  \
  X(Iallgatherv) X(Ialltoall) X(Ialltoallv) X(Ialltoallw) X(Ireduce_scatter) X(Ireduce_scatter_block) X(Iscan) X(Iexscan)       \
  X(Neighbor_allgather) X(Neighbor_allgatherv) X(Neighbor_alltoall) X(Neighbor_alltoallv) X(Neighbor_alltoallw)                 \
  X(Ineighbor_allgather) X(Ineighbor_allgatherv) X(Ineighbor_alltoall) X(Ineighbor_alltoallv) X(Ineighbor_alltoallw)            \
  X(Topo_test) X(Cartdim_get) X(Cart_shift) X(Graph_neighbors_count) X(Graph_neighbors) X(Dist_graph_neighbors_count)           \
  X(Dist_graph_neighbors)                                                                                                       \
  X(Win_create) X(Win_allocate) X(Win_allocate_shared) X(Win_shared_query) X(Win_create_dynamic) X(Win_free) X(Win_fence) X(Win_start)              \
  X(Win_complete) X(Win_post) X(Win_wait) X(Win_lock) X(Win_unlock) X(Win_lock_all) X(Win_unlock_all) X(Win_flush)              \
  X(Win_flush_all) X(Win_flush_local) X(Win_flush_local_all)                                                                    \
  X(Win_test) X(Win_sync) X(Win_get_group) X(Win_get_attr) X(Win_call_errhandler) X(Win_get_errhandler) X(Comm_get_attr)         \
  X(Comm_create_keyval) X(Comm_free_keyval) X(Comm_set_attr)                                                                    \
  X(Comm_get_errhandler) X(Comm_set_errhandler) X(Errhandler_free) X(Group_size)                                                \
  X(Put) X(Get) X(Rput) X(Rget) X(Accumulate) X(Raccumulate) X(Get_accumulate) X(Rget_accumulate) X(Fetch_and_op)                \
  X(Compare_and_swap)                                                                                                           \
  X(File_open) X(File_close) X(File_set_view) X(File_set_size) X(File_preallocate) X(File_sync)                                 \
  X(File_read_all) X(File_write_all) X(File_read_at_all) X(File_write_at_all) X(File_read_ordered) X(File_write_ordered)        \
  X(File_set_atomicity) X(File_set_info) X(File_seek_shared)                                                                    \
  X(File_read_all_begin) X(File_read_all_end) X(File_write_all_begin) X(File_write_all_end)                                     \
  X(File_read_at_all_begin) X(File_read_at_all_end) X(File_write_at_all_begin) X(File_write_at_all_end)                         \
  X(File_read_ordered_begin) X(File_read_ordered_end) X(File_write_ordered_begin) X(File_write_ordered_end)

// Those of MPI 4, with counts of any size among them.
#if MPI_VERSION >= 4
#define TUTTI_MPI_REAL_LARGE(X)                                                                                                 \
  X(Isendrecv) X(Isendrecv_replace) X(Isendrecv_c) X(Isendrecv_replace_c) X(Buffer_detach_c)                                    \
  X(Send_c) X(Ssend_c) X(Rsend_c) X(Bsend_c) X(Isend_c) X(Issend_c) X(Irsend_c) X(Ibsend_c) X(Recv_c) X(Irecv_c)                \
  X(Sendrecv_c) X(Sendrecv_replace_c) X(Mrecv_c) X(Imrecv_c) X(Send_init_c) X(Ssend_init_c) X(Rsend_init_c) X(Bsend_init_c)     \
  X(Recv_init_c)                                                                                                                \
  X(Bcast_c) X(Reduce_c) X(Allreduce_c) X(Gather_c) X(Gatherv_c) X(Scatter_c) X(Scatterv_c) X(Allgather_c) X(Allgatherv_c)      \
  X(Alltoall_c) X(Alltoallv_c) X(Alltoallw_c) X(Reduce_scatter_c) X(Reduce_scatter_block_c) X(Scan_c) X(Exscan_c)               \
  X(Ibcast_c) X(Ireduce_c) X(Iallreduce_c) X(Igather_c) X(Igatherv_c) X(Iscatter_c) X(Iscatterv_c) X(Iallgather_c)              \
  X(Iallgatherv_c) X(Ialltoall_c) X(Ialltoallv_c) X(Ialltoallw_c) X(Ireduce_scatter_c) X(Ireduce_scatter_block_c)               \
  X(Iscan_c) X(Iexscan_c)                                                                                                       \
  X(Neighbor_allgather_c) X(Neighbor_allgatherv_c) X(Neighbor_alltoall_c) X(Neighbor_alltoallv_c) X(Neighbor_alltoallw_c)       \
  X(Ineighbor_allgather_c) X(Ineighbor_allgatherv_c) X(Ineighbor_alltoall_c) X(Ineighbor_alltoallv_c) X(Ineighbor_alltoallw_c)  \
  X(Put_c) X(Get_c) X(Rput_c) X(Rget_c) X(Accumulate_c) X(Raccumulate_c) X(Get_accumulate_c) X(Rget_accumulate_c)               \
  X(Win_create_c) X(Win_allocate_c) X(Win_allocate_shared_c) X(Type_get_envelope_c) X(Type_get_contents_c)
#else
#define TUTTI_MPI_REAL_LARGE(X)
#endif

// Those that MPICH has as macros.
#ifdef OPEN_MPI
#define TUTTI_MPI_REAL_HANDLES(X) X(Request_c2f) X(Request_f2c) X(Message_c2f) X(Message_f2c)
#else
#define TUTTI_MPI_REAL_HANDLES(X)
#endif

namespace tutti::mpi {

// What functions count with; and those that have _c at the end of their names, of MPI 4, in which any number has room.
namespace small {
using count_t = int;
using distance_t = int;
}  // namespace small
namespace large {
using count_t = MPI_Count;
using distance_t = MPI_Aint;
}  // namespace large

struct real_functions {
#define TUTTI_MPI_X(name) decltype(&::PMPI_##name) name;
  TUTTI_MPI_REAL(TUTTI_MPI_X)
  TUTTI_MPI_REAL_LARGE(TUTTI_MPI_X)
  TUTTI_MPI_REAL_HANDLES(TUTTI_MPI_X)
#undef TUTTI_MPI_X
};
extern real_functions real;        // filled while the program is loaded, as the next is
extern real_functions first_called;  // what MPI_X jumps to: a tool's function, or PMPI_X here

// The function of that name behind this library, if it is a profiling tool's: neither missing nor MPI's, as `of_mpi` is.
void* of_tool(const char* name, const void* of_mpi) noexcept;
template <class F>
F* tool_or(const char* name, F* of_mpi, F* otherwise) noexcept {
  void* const found = of_tool(name, reinterpret_cast<const void*>(of_mpi));
  return found ? reinterpret_cast<F*>(found) : otherwise;
}

// The name of the MPI that the program runs with; null: it is the one of this library.
const char* other_mpi() noexcept;
// Takes this library, and nothing else, out of LD_PRELOAD; true: it was there. A program does so once it is a rank: what it starts is not
// for tutti, unless it says so again. A shell, or whatever else starts the rank, still hands the variable on.
bool leave_environment() noexcept;

}  // namespace tutti::mpi

// Defines `name` as a function with the parameters of `body`, which hands them on to `to`. (The friend of a template is the only definition
// that gets its parameters from a type and keeps a name of C's.)
#define TUTTI_MPI_JUMP(name, body, to)                                                                \
  extern "C" __attribute__((visibility("default"))) decltype(body) name;                              \
  template <class>                                                                                    \
  struct jump_of_##name;                                                                              \
  template <class Result, class... Parameters>                                                        \
  struct jump_of_##name<Result(Parameters...)> {                                                      \
    [[gnu::used]] friend Result name(Parameters... parameters) { return (to)(parameters...); }        \
  };                                                                                                  \
  template struct jump_of_##name<decltype(body)>;                                                     \
  [[gnu::used]] static constexpr auto kept_##name = &name;
// The MPI_X of a PMPI_X that was just defined (TUTTI_MPI_ENTRY of world.h does).
#define TUTTI_MPI_ALSO(name) TUTTI_MPI_JUMP(MPI_##name, PMPI_##name, ::tutti::mpi::first_called.name)
// A definition twice, each with count_t and distance_t of its own: that of a function, and that of the one with _c.
#define TUTTI_MPI_SMALL(...) namespace tutti::mpi { namespace small __attribute__((visibility("default"))) { __VA_ARGS__ } }
#if MPI_VERSION >= 4
#define TUTTI_MPI_LARGE(...) namespace tutti::mpi { namespace large __attribute__((visibility("default"))) { __VA_ARGS__ } }
#else
#define TUTTI_MPI_LARGE(...)
#endif
#ifdef OPEN_MPI
#define TUTTI_MPI_NAME "Open MPI"
#else
#define TUTTI_MPI_NAME "MPICH"
#endif

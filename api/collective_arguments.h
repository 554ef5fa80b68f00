// What the arguments of a collective of the C API say, or what is wrong with them.
#pragma once
#include "api/use.h"

namespace tutti::api {

// Each fills the call, or refuses with a text that begins with `call`, and nothing has happened.
tutti_status_t read_broadcast(tutti_team&, std::uint32_t root, void* data, std::size_t bytes, const char* call, collective_call&);

struct reduce_arguments {
  const void* in;
  void* out;
  std::size_t count;
  tutti_datatype_t type;
  tutti_operation_t operation;
};
tutti_status_t read_reduction(tutti_team&, collective, std::uint32_t root, const reduce_arguments&, const char* call, collective_call&);
// A reduce_scatter; `counts`: of elements, by member.
tutti_status_t read_reduce_scatter(tutti_team&, const void* in, void* out, const std::size_t* counts, tutti_datatype_t,
                                   tutti_operation_t, const char* call, collective_call&);

// A gather, scatter, allgather or alltoall of blocks of `bytes` bytes.
tutti_status_t read_blocks(tutti_team&, collective, std::uint32_t root, const void* in, std::size_t bytes, void* out, const char* call,
                           collective_call&);

// A block for each member: numbers of elements, and where they begin, in bytes. No offsets: one behind the other. No types: bytes.
struct block_arguments {
  const std::size_t* counts;
  const std::size_t* offsets;
  const tutti_datatype_t* types = nullptr;
};
tutti_status_t read_gatherv(tutti_team&, std::uint32_t root, const void* in, std::size_t bytes, void* out, const block_arguments&,
                            const char* call, collective_call&);
tutti_status_t read_scatterv(tutti_team&, std::uint32_t root, const void* in, const block_arguments&, void* out, std::size_t bytes,
                             const char* call, collective_call&);
tutti_status_t read_allgatherv(tutti_team&, const void* in, std::size_t bytes, void* out, const block_arguments&, const char* call,
                               collective_call&);
tutti_status_t read_alltoallv(tutti_team&, const void* in, const block_arguments& sends, void* out, const block_arguments& takes,
                              const char* call, collective_call&);

// Both with types.
tutti_status_t read_alltoallw(tutti_team&, const void* in, const block_arguments& sends, void* out, const block_arguments& takes,
                              const char* call, collective_call&);

// Blocks of `bytes` bytes to and from the neighbours. An allgather sends the same one to all.
tutti_status_t read_neighbors(tutti_team&, const tutti_neighbors_t*, bool same_to_all, const void* in, std::size_t bytes, void* out,
                              const char* call, collective_call&);

}  // namespace tutti::api

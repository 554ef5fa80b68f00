// The collectives, each in three forms: blocking, nonblocking and persistent.
#include "api/collective_arguments.h"

using namespace tutti;
using namespace tutti::api;

namespace {

static_assert(static_cast<unsigned>(TUTTI_BYTES) == static_cast<unsigned>(datatype::bytes));
static_assert(static_cast<unsigned>(TUTTI_MAXLOC) == static_cast<unsigned>(operation::maxloc));

// `read` fills the call from the arguments, or refuses them.
template <class Read>
tutti_status_t run_blocking(tutti_team_t handle, const char* call, Read read) {
  const use team(handle, call);
  if (!team) [[unlikely]] return team.refuse("the team");
  return guarded(team->ctx, call, [&] {
    collective_call c;
    if (const auto bad = read(*team, call, c); bad != TUTTI_OK) [[unlikely]] return bad;
    return finish(team->ctx, team->comm->run(c).during(call));
  });
}

// A request for what `begin` starts; none, where that fails.
template <class Begin>
tutti_status_t with_request(tutti_context* ctx, const char* call, tutti_request_t* request, Begin begin) {
  if (!request) [[unlikely]] return refuse_null(ctx, call, "request");
  return guarded(ctx, call, [&] {
    request_slot* const slot = ctx->requests.take(ctx);  // first: what is started cannot be taken back
    if (!slot) [[unlikely]] return out_of_memory(ctx, call);
    const status s = begin(*slot);
    if (s.failed()) [[unlikely]] {
      ctx->requests.give(slot);
      return report(ctx, s.during(call));
    }
    *request = {slot, slot->ticket};
    return TUTTI_OK;
  });
}

template <class Read>
tutti_status_t run_nonblocking(tutti_team_t handle, const char* call, tutti_request_t* request, Read read) {
  const use team(handle, call, by_handlers_too);
  if (!team) [[unlikely]] return team.refuse("the team");
  return guarded(team->ctx, call, [&] {
    collective_call c;
    if (const auto bad = read(*team, call, c); bad != TUTTI_OK) [[unlikely]] return bad;
    return with_request(team->ctx, call, request, [&](request_slot& slot) { return begin(*team->comm, c, slot); });
  });
}

template <class Read>
tutti_status_t make_persistent(tutti_team_t handle, const char* call, tutti_request_t* request, Read read) {
  const use team(handle, call, by_handlers_too);
  if (!team) return team.refuse("the team");
  return guarded(team->ctx, call, [&] {
    collective_call c;
    if (const auto bad = read(*team, call, c); bad != TUTTI_OK) return bad;
    return with_request(team->ctx, call, request, [&](request_slot& slot) {
      slot.again = std::make_unique<persistent_call>(team->comm.get(), c);
      return status{};
    });
  });
}

tutti_status_t read_barrier(tutti_team&, const char*, collective_call& c) { return c.of = collective::barrier, TUTTI_OK; }

}  // namespace

status api::begin(communicator& comm, const collective_call& c, request_slot& slot) {
  if (c.of == collective::barrier) {
    team_barrier& b = comm.barrier();
    if (b.outcome().failed()) [[unlikely]] return b.outcome();
    slot.of = &b, slot.number = b.start();
    return {};
  }
  const auto number = comm.start(c);
  if (!number) return number.error();
  slot.of = &comm.data(), slot.number = *number;
  return {};
}

tutti_status_t tutti_barrier(tutti_team_t handle) {
  const use team(handle, "tutti_barrier");
  if (!team) [[unlikely]] return team.refuse("the team");
  const status s = team->comm->barrier().enter();
  return s.ok() ? TUTTI_OK : report(team->ctx, s.during("tutti_barrier"));
}

tutti_status_t tutti_ibarrier(tutti_team_t team, tutti_request_t* request) {
  return run_nonblocking(team, __func__, request, read_barrier);
}

tutti_status_t tutti_barrier_init(tutti_team_t team, tutti_request_t* request) {
  return make_persistent(team, __func__, request, read_barrier);
}

// The three forms of tutti_`name`, whose parameters behind the team follow. `reading` fills the call `c` of team `t`, named `call`.
#define THREE_FORMS(name, reading, ...)                                                                                           \
  tutti_status_t tutti_##name(tutti_team_t team, __VA_ARGS__) {                                                                  \
    return run_blocking(team, __func__, [&](tutti_team& t, const char* call, collective_call& c) { return reading; });            \
  }                                                                                                                               \
  tutti_status_t tutti_i##name(tutti_team_t team, __VA_ARGS__, tutti_request_t* request) {                                       \
    return run_nonblocking(team, __func__, request, [&](tutti_team& t, const char* call, collective_call& c) { return reading; }); \
  }                                                                                                                               \
  tutti_status_t tutti_##name##_init(tutti_team_t team, __VA_ARGS__, tutti_request_t* request) {                                 \
    return make_persistent(team, __func__, request, [&](tutti_team& t, const char* call, collective_call& c) { return reading; }); \
  }

THREE_FORMS(broadcast, read_broadcast(t, root, data, bytes, call, c), uint32_t root, void* data, size_t bytes)
THREE_FORMS(reduce, read_reduction(t, collective::reduce, root, {in, out, count, type, operation}, call, c), uint32_t root, const void* in,
            void* out, size_t count, tutti_datatype_t type, tutti_operation_t operation)
THREE_FORMS(allreduce, read_reduction(t, collective::allreduce, 0, {in, out, count, type, operation}, call, c), const void* in, void* out,
            size_t count, tutti_datatype_t type, tutti_operation_t operation)
THREE_FORMS(scan, read_reduction(t, collective::scan, 0, {in, out, count, type, operation}, call, c), const void* in, void* out,
            size_t count, tutti_datatype_t type, tutti_operation_t operation)
THREE_FORMS(exscan, read_reduction(t, collective::exscan, 0, {in, out, count, type, operation}, call, c), const void* in, void* out,
            size_t count, tutti_datatype_t type, tutti_operation_t operation)
THREE_FORMS(reduce_scatter, read_reduce_scatter(t, in, out, counts, type, operation, call, c), const void* in, void* out,
            const size_t* counts, tutti_datatype_t type, tutti_operation_t operation)
THREE_FORMS(reduce_scatter_block,
            read_reduce_scatter(t, in, out, std::vector<std::size_t>(t.group().size(), count).data(), type, operation, call, c),
            const void* in, void* out, size_t count, tutti_datatype_t type, tutti_operation_t operation)

THREE_FORMS(gather, read_blocks(t, collective::gather, root, in, bytes, out, call, c), uint32_t root, const void* in, size_t bytes, void* out)
THREE_FORMS(scatter, read_blocks(t, collective::scatter, root, in, bytes, out, call, c), uint32_t root, const void* in, size_t bytes, void* out)
THREE_FORMS(allgather, read_blocks(t, collective::allgather, 0, in, bytes, out, call, c), const void* in, size_t bytes, void* out)
THREE_FORMS(alltoall, read_blocks(t, collective::alltoall, 0, in, bytes, out, call, c), const void* in, size_t bytes, void* out)

THREE_FORMS(gatherv, read_gatherv(t, root, in, bytes, out, {out_bytes, out_offsets}, call, c), uint32_t root, const void* in, size_t bytes,
            void* out, const size_t* out_bytes, const size_t* out_offsets)
THREE_FORMS(scatterv, read_scatterv(t, root, in, {in_bytes, in_offsets}, out, bytes, call, c), uint32_t root, const void* in,
            const size_t* in_bytes, const size_t* in_offsets, void* out, size_t bytes)
THREE_FORMS(allgatherv, read_allgatherv(t, in, bytes, out, {out_bytes, out_offsets}, call, c), const void* in, size_t bytes, void* out,
            const size_t* out_bytes, const size_t* out_offsets)
THREE_FORMS(alltoallv, read_alltoallv(t, in, {in_bytes, in_offsets}, out, {out_bytes, out_offsets}, call, c), const void* in,
            const size_t* in_bytes, const size_t* in_offsets, void* out, const size_t* out_bytes, const size_t* out_offsets)
THREE_FORMS(alltoallw, read_alltoallw(t, in, {in_counts, in_offsets, in_types}, out, {out_counts, out_offsets, out_types}, call, c),
            const void* in, const size_t* in_counts, const size_t* in_offsets, const tutti_datatype_t* in_types, void* out,
            const size_t* out_counts, const size_t* out_offsets, const tutti_datatype_t* out_types)

THREE_FORMS(neighbor_allgather, read_neighbors(t, neighbors, true, in, bytes, out, call, c), const tutti_neighbors_t* neighbors,
            const void* in, size_t bytes, void* out)
THREE_FORMS(neighbor_alltoall, read_neighbors(t, neighbors, false, in, bytes, out, call, c), const tutti_neighbors_t* neighbors,
            const void* in, size_t bytes, void* out)

tutti_status_t tutti_operation_create(tutti_t handle, tutti_reduce_function function, size_t element_bytes, int commutative,
                                      void* function_context, tutti_operation_t* operation) {
  const use ctx(handle, "tutti_operation_create", by_handlers_too);
  if (!ctx) return ctx.refuse("ctx");
  if (!operation) return refuse_null(ctx.get(), "tutti_operation_create", "operation");
  return guarded(ctx.get(), "tutti_operation_create", [&] {
    auto op = user_reduction(function, element_bytes, commutative != 0, function_context);
    if (!op) return report(ctx.get(), op.error().during("tutti_operation_create"));
    auto made = make_owned<tutti_user_operation>();
    made->ctx = ctx.get(), made->op = *op;
    *operation = reinterpret_cast<tutti_operation_t>(handle_of(made.get()));
    ctx->reduce_operations.push_back(std::move(made));
    return TUTTI_OK;
  });
}

tutti_status_t tutti_operation_free(tutti_t handle, tutti_operation_t* operation) {
  const use ctx(handle, "tutti_operation_free", by_handlers_too);
  if (!ctx) return ctx.refuse("ctx");
  if (!operation) return refuse_null(ctx.get(), "tutti_operation_free", "operation");
  if (*operation == 0) return TUTTI_OK;
  const auto named = [&](const auto& o) { return reinterpret_cast<tutti_operation_t>(handle_of(o.get())) == *operation; };
  if (std::erase_if(ctx->reduce_operations, named) == 0)
    return refuse(ctx.get(), "tutti_operation_free: the operation was freed before, or is none of this context; built-in ones stay");
  *operation = 0;
  return TUTTI_OK;
}

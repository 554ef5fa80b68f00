// The collectives, each in three forms: blocking, nonblocking and persistent.
#include <algorithm>

#include "api/use.h"

using namespace tutti;
using namespace tutti::api;

namespace {

static_assert(static_cast<unsigned>(TUTTI_BYTES) == static_cast<unsigned>(datatype::bytes));
static_assert(static_cast<unsigned>(TUTTI_MAXLOC) == static_cast<unsigned>(operation::maxloc));

struct reduce_arguments {
  const void* in;
  void* out;
  std::size_t count;
  tutti_datatype_t type;
  tutti_operation_t operation;
};

constexpr tutti_operation_t first_handle = 4096;  // below, numbers of built-in operations

tutti_status_t check_root(tutti_team& team, std::uint32_t root, const char* call) {
  const std::uint32_t size = team.group().size();
  if (root < size) return TUTTI_OK;
  return refuse(team.ctx, "%s: root %u is not in the team of %u; use 0 to %u", call, root, size, size - 1);
}

tutti_status_t read_broadcast(tutti_team& team, std::uint32_t root, void* data, std::size_t bytes, const char* call, collective_call& out) {
  if (const auto bad = check_root(team, root, call); bad != TUTTI_OK) return bad;
  if (!data && bytes > 0) return refuse_null(team.ctx, call, "data");
  out = {.root = root, .bytes = bytes, .out = static_cast<std::byte*>(data)};
  return TUTTI_OK;
}

// The arithmetic that type and operation stand for.
tutti_status_t read_operation(tutti_team& team, const reduce_arguments& a, const char* call, reduction& out) {
  const auto type = static_cast<datatype>(std::min(static_cast<unsigned>(a.type), datatypes));  // what is none stays none
  if (a.operation < first_handle) {
    const auto found = find_reduction(type, static_cast<operation>(std::min<tutti_operation_t>(a.operation, operations)));
    if (!found) return report(team.ctx, found.error().during(call));
    out = *found;
    return TUTTI_OK;
  }
  const tutti_user_operation* const made = find(reinterpret_cast<tutti_user_operation*>(a.operation));
  if (!made) return refuse(team.ctx, "%s: the operation was freed before, or is none; use TUTTI_SUM and its like, or what "
                           "tutti_operation_create() gave", call);
  if (made->ctx != team.ctx) return refuse(team.ctx, "%s: the operation belongs to another context", call);
  out = made->op;
  if (type == datatype::bytes || size_of(type) == out.element_size) return TUTTI_OK;
  return refuse(team.ctx, "%s: the operation was made for elements of %zu bytes, and those of this type have %zu", call, out.element_size,
                size_of(type));
}

tutti_status_t read_reduce(tutti_team& team, collective of, std::uint32_t root, const reduce_arguments& a, const char* call,
                           collective_call& out) {
  if (const auto bad = check_root(team, root, call); bad != TUTTI_OK) return bad;
  out = {.of = of, .root = root, .in = static_cast<const std::byte*>(a.in), .out = static_cast<std::byte*>(a.out)};
  if (const auto bad = read_operation(team, a, call, out.op); bad != TUTTI_OK) return bad;
  if (__builtin_mul_overflow(a.count, out.op.element_size, &out.bytes) || out.bytes > PTRDIFF_MAX)
    return refuse(team.ctx, "%s: count %zu of elements of %zu bytes is beyond what a process can address", call, a.count,
                  out.op.element_size);
  const bool has_result = of == collective::allreduce || team.group().index() == root;
  if (a.count > 0 && !a.in) return refuse_null(team.ctx, call, "in");
  if (a.count > 0 && has_result && !a.out) return refuse_null(team.ctx, call, "out");
  if (has_result && a.in != a.out && out.in < out.out + out.bytes && out.out < out.in + out.bytes)
    return refuse(team.ctx, "%s: in and out overlap in part; pass the same address for both to reduce in place", call);
  return TUTTI_OK;
}

// `read` fills the call from the arguments, or refuses them.
template <class Read>
tutti_status_t run_blocking(tutti_team_t handle, const char* call, Read read) {
  const use team(handle, call);
  if (!team) [[unlikely]] return team.refuse("the team");
  collective_call c;
  if (const auto bad = read(*team, c); bad != TUTTI_OK) [[unlikely]] return bad;
  return guarded(team->ctx, call, [&] { return finish(team->ctx, team->comm->run(c).during(call)); });
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
  const use team(handle, call);
  if (!team) [[unlikely]] return team.refuse("the team");
  collective_call c;
  if (const auto bad = read(*team, c); bad != TUTTI_OK) [[unlikely]] return bad;
  return with_request(team->ctx, call, request, [&](request_slot& slot) { return begin(*team->comm, c, slot); });
}

template <class Read>
tutti_status_t make_persistent(tutti_team_t handle, const char* call, tutti_request_t* request, Read read) {
  const use team(handle, call);
  if (!team) return team.refuse("the team");
  collective_call c;
  if (const auto bad = read(*team, c); bad != TUTTI_OK) return bad;
  return with_request(team->ctx, call, request, [&](request_slot& slot) {
    slot.again = std::make_unique<persistent_call>(team->comm.get(), c);
    return status{};
  });
}

tutti_status_t read_barrier(tutti_team&, collective_call& c) { return c.of = collective::barrier, TUTTI_OK; }

auto broadcast_of(std::uint32_t root, void* data, std::size_t bytes, const char* call) {
  return [=](tutti_team& t, collective_call& c) { return read_broadcast(t, root, data, bytes, call, c); };
}
auto reduce_of(collective of, std::uint32_t root, const reduce_arguments& a, const char* call) {
  return [=](tutti_team& t, collective_call& c) { return read_reduce(t, of, root, a, call, c); };
}

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
  return finish(team->ctx, team->comm->barrier().enter());
}

tutti_status_t tutti_ibarrier(tutti_team_t team, tutti_request_t* request) {
  return run_nonblocking(team, __func__, request, read_barrier);
}

tutti_status_t tutti_barrier_init(tutti_team_t team, tutti_request_t* request) {
  return make_persistent(team, __func__, request, read_barrier);
}

tutti_status_t tutti_broadcast(tutti_team_t team, uint32_t root, void* data, size_t bytes) {
  return run_blocking(team, __func__, broadcast_of(root, data, bytes, __func__));
}

tutti_status_t tutti_ibroadcast(tutti_team_t team, uint32_t root, void* data, size_t bytes, tutti_request_t* request) {
  return run_nonblocking(team, __func__, request, broadcast_of(root, data, bytes, __func__));
}

tutti_status_t tutti_broadcast_init(tutti_team_t team, uint32_t root, void* data, size_t bytes, tutti_request_t* request) {
  return make_persistent(team, __func__, request, broadcast_of(root, data, bytes, __func__));
}

tutti_status_t tutti_reduce(tutti_team_t team, uint32_t root, const void* in, void* out, size_t count, tutti_datatype_t type,
                            tutti_operation_t operation) {
  return run_blocking(team, __func__, reduce_of(collective::reduce, root, {in, out, count, type, operation}, __func__));
}

tutti_status_t tutti_ireduce(tutti_team_t team, uint32_t root, const void* in, void* out, size_t count, tutti_datatype_t type,
                             tutti_operation_t operation, tutti_request_t* request) {
  return run_nonblocking(team, __func__, request, reduce_of(collective::reduce, root, {in, out, count, type, operation}, __func__));
}

tutti_status_t tutti_reduce_init(tutti_team_t team, uint32_t root, const void* in, void* out, size_t count, tutti_datatype_t type,
                                 tutti_operation_t operation, tutti_request_t* request) {
  return make_persistent(team, __func__, request, reduce_of(collective::reduce, root, {in, out, count, type, operation}, __func__));
}

tutti_status_t tutti_allreduce(tutti_team_t team, const void* in, void* out, size_t count, tutti_datatype_t type,
                               tutti_operation_t operation) {
  return run_blocking(team, __func__, reduce_of(collective::allreduce, 0, {in, out, count, type, operation}, __func__));
}

tutti_status_t tutti_iallreduce(tutti_team_t team, const void* in, void* out, size_t count, tutti_datatype_t type,
                                tutti_operation_t operation, tutti_request_t* request) {
  return run_nonblocking(team, __func__, request, reduce_of(collective::allreduce, 0, {in, out, count, type, operation}, __func__));
}

tutti_status_t tutti_allreduce_init(tutti_team_t team, const void* in, void* out, size_t count, tutti_datatype_t type,
                                    tutti_operation_t operation, tutti_request_t* request) {
  return make_persistent(team, __func__, request, reduce_of(collective::allreduce, 0, {in, out, count, type, operation}, __func__));
}

tutti_status_t tutti_operation_create(tutti_t handle, tutti_reduce_function function, size_t element_bytes, int commutative,
                                      void* function_context, tutti_operation_t* operation) {
  const use ctx(handle, "tutti_operation_create");
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
  const use ctx(handle, "tutti_operation_free");
  if (!ctx) return ctx.refuse("ctx");
  if (!operation) return refuse_null(ctx.get(), "tutti_operation_free", "operation");
  if (*operation == 0) return TUTTI_OK;
  const auto named = [&](const auto& o) { return reinterpret_cast<tutti_operation_t>(handle_of(o.get())) == *operation; };
  if (std::erase_if(ctx->reduce_operations, named) == 0)
    return refuse(ctx.get(), "tutti_operation_free: the operation was freed before, or is none of this context; built-in ones stay");
  *operation = 0;
  return TUTTI_OK;
}

// What stands behind the handles of the C API, and how its functions report.
#pragma once
#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "api/handles.h"
#include "api/implicit.h"
#include "api/joined_puts.h"
#include "api/requests.h"
#include "api/tutti.h"
#include "collectives/communicator.h"
#include "core/job/config.h"
#include "core/job/window.h"
#include "messaging/messages.h"
#include "messaging/packing_memory.h"

struct tutti_team {
  tutti_context* ctx = nullptr;
  std::unique_ptr<tutti::communicator> comm;
  std::uint64_t windows_made = 0;  // alike in all members; with the one that is being made
  bool making_window = false;
  tutti::team& group() noexcept { return comm->group(); }
};

struct tutti_window {
  tutti_context* ctx = nullptr;
  tutti_team* team = nullptr;
  std::uint64_t number = 0;               // of the team's windows, the first is 1
  std::unique_ptr<tutti::window> memory;
  bool allocated = false;                 // by tutti_window_create()
  tutti::implicit_operations implicit;  // gets, atomics and operations with layouts, without a request
};

namespace tutti::api {

// How many errors of calls without a context there were in this process: api/status.cpp.
std::uint64_t thread_errors() noexcept;

// What active messages ask of the program: api/active.cpp.
struct handler_world final : messaging::active_messages::surroundings {
  tutti_context* ctx = nullptr;
  tutti_context* handle() noexcept override;
  window_state part(std::uint64_t team, std::uint64_t window, std::span<std::byte>& out) noexcept override;
};

}  // namespace tutti::api

struct tutti_user_operation {
  tutti_context* ctx = nullptr;
  tutti::reduction op;
};

// Members are destroyed from the last to the first: windows and teams, then the job with its transport, and only then
// the completions that operations in flight may name.
struct tutti_context {
  tutti::status last;
  tutti::request_pool requests;
  tutti::completion farewell;         // of the last words, which are not waited for long
  std::unique_ptr<tutti::job> job;
  tutti::messaging::packing_memory packing;  // of operations with layouts
  tutti::api::handler_world handlers_see;
  std::unique_ptr<tutti::messaging::messages> messages;  // null: no call of messages was made
  tutti::api::owned<tutti_team> world;
  std::vector<tutti::api::owned<tutti_team>> teams;
  std::vector<tutti::api::owned<tutti_window>> windows;
  std::vector<tutti::api::owned<tutti_user_operation>> reduce_operations;
  tutti::joined_puts puts;            // that are held back
  std::uint32_t node = 0, local_rank = 0, local_size = 1;
  std::uint64_t piece = 0;            // the most bytes of one operation
  bool peers_need_progress = false;   // some of what they do to this rank's memory goes on in its calls
  std::uint32_t operations = 0;       // since it last gave them some
  bool checked = false;               // TUTTI_CHECK=1
  std::atomic<bool> in_handler = false;          // of an active message, which makes some calls only (api/use.h)
  std::atomic<const void*> entered_by = nullptr; // the thread of the call that is under way
  std::atomic<const char*> under_way = nullptr;  // the call that is, where they are checked
  std::uint64_t thread_errors_before = tutti::api::thread_errors();  // before `last`, or before the context was made
};

namespace tutti::api {

// Keeps the error for tutti_error_text() and gives its code. Null: for this thread.
tutti_status_t report(tutti_context*, status) noexcept;

inline tutti_status_t finish(tutti_context* ctx, const status& s) noexcept {
  if (s.ok()) [[likely]] return TUTTI_OK;
  return report(ctx, s);
}

// A call that is wrong. Out of line and cold: the texts are made here only.
[[gnu::cold]] tutti_status_t refuse(tutti_context*, const char* format, ...) noexcept
    __attribute__((format(printf, 2, 3)));
// A handle or an out-parameter that is NULL.
[[gnu::cold]] tutti_status_t refuse_null(tutti_context*, const char* call, const char* what) noexcept;

[[gnu::cold]] tutti_status_t out_of_memory(tutti_context*, const char* call) noexcept;

// Runs what may allocate, set-up code and the making of texts: no exception leaves.
template <class F>
tutti_status_t guarded(tutti_context* ctx, const char* call, F&& body) noexcept {
  try {
    return body();
  } catch (const std::exception&) {  // bad_alloc, or length_error from sizes that cannot be had either
    return out_of_memory(ctx, call);
  }
}

// Makes the engines of messages.
[[gnu::cold]] tutti_status_t open_messages(tutti_context*, const char* call) noexcept;

// Starts a collective; the slot is to stand for it.
status begin(communicator&, const collective_call&, request_slot&);

// Messages that go from its memory or into it are to know of it; they exist.
void tell_messages(tutti_window&) noexcept;

// Starts the message of a persistent request.
status begin_message(tutti_context*, persistent_call&, request_slot&);

// Seconds from now; negative: never. False: not a number.
bool deadline_in(job&, double seconds, time_point& out) noexcept;

}  // namespace tutti::api

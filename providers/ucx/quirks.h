// What UCX does that a transport cannot live with, and what is done about each: every workaround is here or is named here, and
// the rest of this folder calls them by name. All were seen with UCX 1.13, the version of Debian 12. An entry says what goes
// wrong and what is done; whoever moves to a later version tries them one by one.
#pragma once
#include <ucp/api/ucp.h>

#include <chrono>
#include <string>
#include <string_view>

#include "core/base/own_time.h"
#include "core/base/status.h"

namespace tutti::messages {
class messenger;
}

namespace tutti::ucx::quirks {

// --- Opening ---------------------------------------------------------------------------------------------------------

// Too few descriptors. UCX aborts the process where it gets none in the middle of opening. They are counted beforehand.
status room_to_open();

// Signal handlers. UCX takes over the signals of crashes when it is loaded, which is the application's business. They are
// given back, unless UCX_HANDLE_ERRORS is set.
void leave_signals_alone();

// Reasons are printed. UCX returns a bare code and prints the reason, and a library must not print. While one of these lives
// UCX's words come here, to become part of a status. Later errors come as codes and callbacks, and nothing more is printed,
// unless UCX_LOG_LEVEL is set. Log level and handlers are UCX's globals: one of these at a time.
class printed_reasons {
 public:
  printed_reasons();
  ~printed_reasons();
  printed_reasons(const printed_reasons&) = delete;
  printed_reasons& operator=(const printed_reasons&) = delete;

  // The status with UCX's words. /dev/shm too small: UCX's own words do not say what there is, these do.
  status explain(const status& outcome) const;

 private:
  std::string words_;
};

// Memory hooks. UCX rewrites the C library's mmap, munmap, mremap and others in place, to learn when memory that it has
// registered goes away, and does so as soon as it is loaded. Its mremap loses the address that comes with MREMAP_FIXED, so the
// program's memory goes to another place (UCX 1.13). Only an adapter's registrations need the hooks: the module is loaded with
// UCX_MEM_MMAP_HOOK_MODE=none (providers/registry.cpp), and they are installed by the first worker that may come to use an
// adapter. They stay then, since UCX does not end well once its mode says less than is installed. Where the environment says
// something, or somebody else loaded UCX before, nothing is changed.
bool needs_memory_hooks(std::string_view device) noexcept;
void allow_memory_hooks() noexcept;

// Settings. With UCX's defaults a peer's death is noticed after many seconds, connecting blocks, and an interface without
// endpoints is left to a thread of UCX (ADAPTIVE_PROGRESS), so that progress() does not see that a connection to it was reset.
// Over tcp, what is sent straight from the caller's memory is completed twice where the peer dies meanwhile, upon which UCX
// aborts the process ("comp->count > 0"): there it copies, into segments that take a whole piece. What the environment sets
// stays as it is.
status apply_settings(ucp_config_t*, std::string_view device);

// --- Messages --------------------------------------------------------------------------------------------------------

// Unknown ids. UCX keeps the handlers of active messages in an array that it neither clears as it grows nor bounds as it
// looks one up: an outsider's message with another id made it call what lay there. So the handler is installed for every id
// that a message can have, which takes 1.5 MiB of each worker, and a millisecond.
ucs_status_t install_for_every_id(ucp_worker_h, ucp_am_handler_param_t);

// Kept answers. With the first message that UCX keeps it asks the peer for the name of its endpoint. If the peer has to keep
// its answer, because its own connection to here is not made yet, and that connection fails or its worker is closed, an
// assertion in UCX ends the process. Whoever was heard has a connection to here, and its answer goes at once; and whoever
// hears opens its own connection, and greets. So nothing is left to UCX to keep before the peer was heard, or this time has
// passed: some fabrics do not take even a greeting at once. Adapters are connected by UCX beforehand, and need no such wait.
inline constexpr std::chrono::milliseconds longest_greeting{100};

// Connections that were reset. UCX builds an endpoint upon the connection that the peer made to here; if that was reset
// meanwhile, an assertion ends the process in the next progress. peer_table::open_endpoint() has UCX see to what has
// been reset right before it opens one, which ADAPTIVE_PROGRESS=n makes possible. There remains a rest: on tcp, a peer that
// ends between the look and the opening can still end this process (tcp_ep.c:478), seen in about one of a hundred deaths
// while connecting.

// Lost wake-ups. Connections are accepted by a thread of UCX, and the first message can arrive between that thread and
// ucp_worker_arm(), which then sees neither. So no sleep is long: short while nobody is connected, when it is likely, and
// hardly noticeable after that.
inline constexpr std::chrono::milliseconds longest_sleep_alone{2}, longest_sleep{50};

// --- Memory ----------------------------------------------------------------------------------------------------------

// Keys of memory that is gone. UCX crashes when it unpacks a key of shared memory whose memory is gone; a key of an adapter is
// a number, which means nothing until it is used. So only adapters' memory is reached by keys. And UCX's own allocation is not
// zeroed in every case: memory is allocated by the transport, and only registered with UCX.
bool keys_are_safe(std::string_view device) noexcept;

// --- Closing ---------------------------------------------------------------------------------------------------------

// Answers that wait. UCX aborts when it closes an endpoint, or destroys the worker, while this rank's answer to a connection
// that a peer has begun still waits to be sent, or while its own endpoint is connecting. UCX does not show those answers, but
// it does not call a worker flushed while a tcp connection is being made or bytes wait, and an answer waits for nothing else.
// So: let things come to rest, then flush until UCX says at once that there is nothing to flush; who does not drive UCX after
// that leaves it so. Only tcp's interfaces know; those of shared memory, which call themselves flushed in any case, have an
// answer wait only for a peer that has 64 messages unread.
//
// A flush does not end while there are endpoints that have failed: messenger::close_suspects() closes those. And bytes that waited on a
// connection which failed are never counted off; but where no connection is left, nothing can wait.
//
// False: a peer did not take its answer in time, and the worker may not be destroyed: better to lose its memory and
// descriptors (link::abandon()) than the process. `fd` is the worker's descriptor.
bool come_to_rest(ucp_worker_h, int fd, own_time longest, messages::messenger&) noexcept;

}  // namespace tutti::ucx::quirks

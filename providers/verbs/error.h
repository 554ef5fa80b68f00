// Verbs' errors as statuses: errno of calls, and error completions.
#pragma once
#include <infiniband/verbs.h>

#include <new>
#include <string>

#include "core/base/status.h"

namespace tutti::verbs {

// A sentence that is kept, made where nothing may throw. Without memory for it, one that needs none.
template <class F>
std::string sentence(F&& make) noexcept {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return "; no memory";
  }
}

// `error` is an errno; what failed, and the kernel's words. Locked memory that is too little gets its remedy.
status os_error(const text_parts& what, int error, rank_t peer = no_rank) noexcept;

// A completion with an error, of an operation upon `peer`: what it means, the vendor's words and code. peer_dead where
// the peer's adapter does not answer, invalid where the peer refused an access, else fabric.
status completion_error(const ibv_wc&, rank_t peer) noexcept;

// The queue pair was broken by something else: what was in flight may or may not have taken effect.
status broken_connection(rank_t peer, std::string_view why) noexcept;

// An atomic that was completed without its old value (bounce_buffers.h).
status unanswered(rank_t peer) noexcept;

}  // namespace tutti::verbs

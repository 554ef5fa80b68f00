#include "providers/verbs/error.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "providers/common/peer_life.h"

namespace tutti::verbs {
namespace {

status because(errc code, int error, rank_t peer) noexcept {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  if (error != ENOMEM || limit.rlim_cur == RLIM_INFINITY) return {code, std::strerror(error), peer, error};
  return {code, worded(std::strerror(error), "; this process may lock ", limit.rlim_cur >> 10,
                       " KiB: raise it with `ulimit -l unlimited`, in /etc/security/limits.conf or by the launcher"), peer, error};
}

}  // namespace

status os_error(const text_parts& what, int error, rank_t peer) noexcept {
  errc code = errc::fabric;
  if (error == ENOMEM || error == EMFILE || error == ENFILE || error == EAGAIN || error == ENOSPC) code = errc::no_resource;
  if (error == EACCES || error == EPERM || error == ENODEV || error == ENOSYS) code = errc::unavailable;
  return because(code, error, peer).during(what);
}

status completion_error(const ibv_wc& wc, rank_t peer) noexcept {
  char vendor[96];
  std::snprintf(vendor, sizeof vendor, "%s (status %d, vendor 0x%x)", ibv_wc_status_str(wc.status),
                static_cast<int>(wc.status), wc.vendor_err);
  const auto says = [&](errc code, const char* before, const char* after) {
    return status(code, worded(before, "rank ", peer, after, vendor), peer, wc.status);
  };
  switch (wc.status) {
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
    case IBV_WC_REM_ABORT_ERR: return says(errc::peer_dead, "", " does not answer: ");
    case IBV_WC_REM_ACCESS_ERR:
      return says(errc::invalid, "the memory named on ", " is not, or no longer, exposed: ");
    // Nothing that is posted here is invalid. Soft-RoCE (of Linux 6.1, where it was tried) repeats what was lost in an order
    // that its other end refuses now and then: `ib_write_bw` alone meets with that as well, where 3 % of all packets get lost.
    case IBV_WC_REM_INV_REQ_ERR:
      return says(errc::fabric, "an operation upon ",
                  " failed; soft-RoCE says so of sound requests, too, where packets get lost: see docs/fabrics.md: ");
    case IBV_WC_WR_FLUSH_ERR: return broken_connection(peer, vendor);
    default: return says(errc::fabric, "an operation upon ", " failed: ");
  }
}

status broken_connection(rank_t peer, std::string_view why) noexcept {
  return {errc::fabric, worded("the connection to rank ", peer,
                               " broke while the operation was in flight, which may or may not have taken effect: ", why),
          peer, IBV_WC_WR_FLUSH_ERR};
}

status unanswered(rank_t peer) noexcept {
  return {errc::fabric, worded("an atomic upon rank ", peer,
                               " took effect, but its old value did not come: soft-RoCE completes some so, "
                               "where packets overtake each other: see docs/fabrics.md"), peer};
}

}  // namespace tutti::verbs

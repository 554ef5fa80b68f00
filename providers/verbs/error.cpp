#include "providers/verbs/error.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "providers/common/peer_life.h"

namespace tutti::verbs {
namespace {

std::string locked_memory() {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return {};
  return "; this process may lock " + std::to_string(limit.rlim_cur >> 10) +
         " KiB: raise it with `ulimit -l unlimited`, in /etc/security/limits.conf or by the launcher";
}

std::string name_of(rank_t peer) { return "rank " + std::to_string(peer); }

}  // namespace

status os_error(std::string what, int error, rank_t peer) {
  errc code = errc::fabric;
  if (error == ENOMEM || error == EMFILE || error == ENFILE || error == EAGAIN || error == ENOSPC) code = errc::no_resource;
  if (error == EACCES || error == EPERM || error == ENODEV || error == ENOSYS) code = errc::unavailable;
  what += ": ";
  what += std::strerror(error);
  if (error == ENOMEM) what += locked_memory();
  return {code, std::move(what), peer, error};
}

status completion_error(const ibv_wc& wc, rank_t peer) noexcept {
  char vendor[96];
  std::snprintf(vendor, sizeof vendor, "%s (status %d, vendor 0x%x)", ibv_wc_status_str(wc.status),
                static_cast<int>(wc.status), wc.vendor_err);
  const auto says = [&](errc code, const char* before, const char* after) {
    return worded(code, peer, wc.status, [&] { return before + name_of(peer) + after + vendor; });
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
  return worded(errc::fabric, peer, IBV_WC_WR_FLUSH_ERR, [&] {
    return "the connection to " + name_of(peer) + " broke while the operation was in flight, which may or may not have " +
           "taken effect: " + std::string{why};
  });
}

status unanswered(rank_t peer) noexcept {
  return worded(errc::fabric, peer, 0, [&] {
    return "an atomic upon " + name_of(peer) + " took effect, but its old value did not come: soft-RoCE completes some so, " +
           "where packets overtake each other: see docs/fabrics.md";
  });
}

}  // namespace tutti::verbs

// How UCX is brought to a state in which its worker can be destroyed.
#include <unistd.h>

#include <algorithm>

#include "providers/messages/silence.h"
#include "providers/ucx/link.h"

namespace tutti::ucx {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto quiet = 2ms, longest_settling = 50ms;

// Whether UCX has a connection that it reads from or writes to. In doubt: yes.
bool has_connections(int worker_fd) noexcept {
  bool any = false;
  const bool known = messages::for_each_connection(
      worker_fd, [](int, void* found) { *static_cast<bool*>(found) = true; }, &any);
  return any || !known;
}

}  // namespace

// Handed to UCX is not yet handed to the kernel.
void ucx_link::push_out(own_time longest) noexcept {
  std::vector<void*> flushes;
  ucp_request_param_t params{};
  for (peer* p : net_->opened()) {
    if (!p->line || p->life.now() != peer_life::stage::alive || p->queue.front()) continue;
    void* request = ucp_ep_flush_nbx(endpoint_of(*p), &params);
    try {
      if (UCS_PTR_IS_PTR(request)) flushes.push_back(request);
    } catch (...) {
      ucp_request_free(request);
    }
  }
  for (void* request : flushes) {
    while (ucp_request_check_status(request) == UCS_INPROGRESS && !longest.over(clock::now()))
      if (!net_->progress()) ::usleep(50);
    ucp_request_free(request);
  }
}

// UCX 1.13 aborts when it closes an endpoint, or destroys the worker, while this rank's answer to a connection that a
// peer has begun still waits to be sent. UCX does not show those answers, but it does not call a worker flushed while a
// tcp connection is being made or bytes wait, and an answer waits for nothing else. So: let things come to rest, then
// flush until UCX says at once that there is nothing to flush; who does not drive UCX after that leaves it so. False: a
// peer did not take its answer in time. Only tcp's interfaces know; those of shared memory, which call themselves
// flushed in any case, have an answer wait only for a peer that has 64 messages unread.
//
// The flush has a flaw: bytes that waited on a connection which failed are never counted off, and then it does not end.
// But where no connection is left, nothing can wait.
bool ucx_link::settle(own_time longest) noexcept {
  own_time settling{longest_settling, clock::now()};
  for (own_time rest{quiet, clock::now()}; !settling.over(clock::now()) && !rest.over(clock::now());)
    if (ucp_worker_progress(ucx_.worker)) rest = {quiet, clock::now()};
    else ::usleep(50);
  // A flush does not end while there are endpoints that have failed.
  ucp_request_param_t params{};
  for (;;) {
    net_->close_suspects();
    void* request = ucp_worker_flush_nbx(ucx_.worker, &params);
    if (!UCS_PTR_IS_PTR(request)) return true;
    bool busy;
    own_time rest{longest_settling, clock::now()};
    while ((busy = ucp_request_check_status(request) == UCS_INPROGRESS) && !longest.over(clock::now())) {
      if (ucp_worker_progress(ucx_.worker)) rest = {longest_settling, clock::now()};
      else if (rest.over(clock::now()) && !has_connections(fd_)) break;
      ::usleep(50);
      net_->close_suspects();
    }
    ucp_request_free(request);
    if (busy) return !has_connections(fd_);
  }
}


}  // namespace tutti::ucx

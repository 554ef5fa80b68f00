// What a provider advertises is tried once, at open, on the endpoint itself: that a message comes through, and that the
// descriptor for waiting is readable when there is something to read, and only then. (net's never becomes unreadable
// again after the first completion; its fi_trywait() does nothing.)
#include <poll.h>
#include <sched.h>

#include <cstring>

#include "providers/ofi/link.h"
#include "providers/ofi/trial_time.h"

namespace tutti::ofi {
namespace {

using namespace std::chrono_literals;

constexpr auto least_competition = 20us;  // of its threads, for a message: several system calls and a switch to them
constexpr auto moment = 500ms;  // in which a descriptor has to become readable, though its provider's thread shares a core

}  // namespace

status ofi_link::try_messages() {
  auto name = address();
  if (!name) return name.error();
  // Never removed: shm would unmap its own memory.
  if (const int n = fi_av_insert(ofi_.addresses.get(), name->data(), 1, &self_, 0, nullptr); n != 1)
    return vendor_error(n < 0 ? n : FI_EADDRNOTAVAIL, "fi_av_insert of its own address");
  repost();
  if (const status first = message_to_itself(false); first.failed()) return first;
  if (ofi_.wait_fd >= 0 && message_to_itself(true).failed()) ofi_.wait_fd = -1;
  return {};
}

// Sends a message to this very endpoint and takes it in. `waits`: by way of the descriptor.
status ofi_link::message_to_itself(bool waits) {
  const trial_time time;
  buffer& out = *free_;
  std::memset(out.data, waits, sizeof(message));
  bool sent = false, came = false;
  if (unposted_) repost();
  if (waits && (!rests() || fd_readable(0ms))) return {errc::unsupported, "its descriptor is always readable"};
  for (ssize_t e = -FI_EAGAIN; e != 0;) {
    e = fi_send(ofi_.endpoint.get(), out.data, sizeof(message), descriptor_, self_, &out.context);
    if (e != 0 && e != -FI_EAGAIN) return vendor_error(e, "a message to itself");
    fi_cq_msg_entry none;
    if (e != 0) fi_cq_read(ofi_.completions.get(), &none, 0);
    if (time.over()) return {errc::unavailable, "a message to itself could not be sent in time"};
  }
  while (!sent || !came) {
    if (waits && rests() && !fd_readable(moment)) return {errc::unsupported, "its descriptor does not wake"};
    fi_cq_msg_entry done{};
    const ssize_t n = fi_cq_read(ofi_.completions.get(), &done, 1);
    if (n == 1) {
      ticket& t = *static_cast<ticket*>(done.op_context);
      if (t.what == asked::reach) {  // remote_memory::try_before()
        static_cast<transfer&>(t).posted = false;
        continue;
      }
      buffer& b = static_cast<buffer&>(t);
      const bool receives = b.what == asked::receive;
      (receives ? came : sent) = true;
      if (receives && (done.len != sizeof(message) || b.data[0] != out.data[0]))
        return {errc::fabric, "a message to itself arrived as another"};
      if (receives) give_back(b);
      continue;
    }
    if (n != -FI_EAGAIN) return vendor_error(n, "a message to itself");
    if (time.over()) return {errc::unavailable, "a message to itself did not arrive in time"};
    if (unposted_) repost();  // what it had no memory for a moment ago
    sched_yield();
  }
  repost();
  return {};
}

// A library that moves every message by threads of its own keeps processors from ranks, and makes each message wait for its
// threads' turn where ranks outnumber cores: milliseconds, whether it goes by messages or by remote keys. Processor time is
// the same on a busy machine as on an idle one, so it tells this from mere slowness. Those that use the caller's thread take none.
// The rank's own time counts its looking in vain, which a busy machine prolongs; so beside it there is a bound of its own.
status ofi_link::oversubscribes(const own_threads& threads) {
  using std::chrono::nanoseconds;
  constexpr int messages = 16;
  const nanoseconds theirs_before = threads.cpu_time(), mine_before = own_cpu_time();
  for (int i = 0; i < messages; ++i)
    if (const status s = message_to_itself(false); s.failed()) return s;
  const nanoseconds own = own_cpu_time() - mine_before, theirs = threads.cpu_time() - theirs_before;
  if (theirs < own / 2 && theirs < messages * least_competition) return {};
  const auto in_us = [](nanoseconds all) { return std::to_string(all.count() / 1000 / messages); };
  return {errc::unsupported, worded("only when named: threads of its own took ", in_us(theirs),
                                    " us of processor time for a message, the rank ", in_us(own), " us")};
}

bool ofi_link::rests() noexcept {
  fid* queue = &ofi_.completions->fid;
  return fi_trywait(ofi_.fabric.get(), &queue, 1) == 0;
}

bool ofi_link::fd_readable(std::chrono::milliseconds timeout) const noexcept {
  pollfd p{ofi_.wait_fd, POLLIN, 0};
  return ::poll(&p, 1, static_cast<int>(timeout.count())) > 0;
}

}  // namespace tutti::ofi

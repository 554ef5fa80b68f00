// What libfabric and its providers do that a transport cannot live with, and what is done about each: every workaround is here
// or is named here, and the rest of this folder calls them by name. All were seen with libfabric 1.17, the version of Debian 12.
// An entry says whose fault it is, what goes wrong and what is done; whoever moves to a later version tries them one by one.
// What can be tried on the endpoint itself, such as a descriptor that does not wake, is no entry: trial.cpp, remote_trial.cpp.
#pragma once
#include <rdma/fabric.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/status.h"
#include "providers/ofi/linkage.h"
#include "providers/ofi/send_window.h"

struct fid_ep;

namespace tutti::ofi::quirks {

// --- Opening ---------------------------------------------------------------------------------------------------------

// A slow start (verbs, ofi_rxm). libfabric starts in its first fi_getinfo() of a process. Some of what it asks of the C library
// then costs more than all the rest of joining a job over tcp, and no hint spares it:
//  - verbs reads /proc/kallsyms twice through, 0.1 s of processor time, whether or not it is wanted (FI_PROVIDER leaves
//    providers out only after they have started): can this kernel register a GPU's memory with an adapter? Where there is no
//    adapter (/sys/class/infiniband), it is told that there is no such file.
//  - ofi_rxm, which makes RDM endpoints of tcp's connections, clears 4096 receive buffers of 16 KiB for each endpoint, if
//    FI_OFI_RXM_MSG_RX_SIZE does not say otherwise. A quarter serves as well. (Smaller buffers would save more, and cost half
//    of the bandwidth: what does not fit goes in segments.)
//  - ofi_rxm looks after connections that are being made every 10 ms, if FI_OFI_RXM_CM_PROGRESS_INTERVAL does not say
//    otherwise. Each takes some of these; it is told 0.5 ms.
// Both could be set in the environment; but no library may call setenv() beside other threads, and a child would inherit it.
// So for this one call libfabric's own references to fopen() and getenv() lead here (linkage.h). A libfabric that somebody
// else has started already asks nothing.
class first_call {
 public:
  // `device`: the only one that is wanted; empty: all are looked for, and ofi_rxm does as it does.
  explicit first_call(std::string_view device) noexcept;

 private:
  const bool first_;
  const diversion files_, variables_;
};

// Too few descriptors. Where libfabric gets none in the middle of opening it tries again for seconds. They are counted before.
status room_to_open();

// shm, /dev/shm too small. It finds itself unfit, and only says that there is no data, where /dev/shm cannot hold the memory of
// as many endpoints as the machine has cores. The status says what there is; ok for others and where there is room.
status too_small_for(std::string_view provider);

// shm, files left behind. An endpoint's memory is a file of /dev/shm that is named by its address, which begins with the
// process's pid, and nobody but its process would remove it. Where a process died and left its own, and this one was given the
// same pid since, libfabric looks whether the file's owner lives, finds this process, and says busy. So the files of peers that died
// are removed in the end. Not sooner: who has yet to take in such a peer's first message opens the file then, and where there is none,
// libfabric crashes. And if an endpoint is busy its file is removed: no other process can own a file of this name, and this one
// has opened no endpoint by it yet. Any other provider's address names no file, and nothing happens.
//
// shm, other users' files. The name can be guessed, and libfabric takes the file that is there, whoever made it: its owner could
// read and change what the ranks send, or cut it short, which ends the rank by SIGBUS. A file that another user owns, or may
// write, is refused, before the endpoint is enabled and again after that, since it may have come meanwhile.
void remove_file_of(std::span<const std::byte> address) noexcept;
void remove_file_of_dead(std::span<const std::byte> address) noexcept;  // unless another process has its pid by now
status enable(fid_ep&);  // as fi_enable()

// sockets, early messages. It counts messages that came before there was a buffer for them, never counts one off, and takes no
// more after 1 MiB. It is given all it can count.
void count_no_early_messages(fi_info&);

// ofi_rxm, unbound endpoints. It crashes closing an endpoint without addresses: a failed fi_ep_bind() loses the endpoint.

// --- Messages --------------------------------------------------------------------------------------------------------

// shm, answers in order. It takes answers in their order: one that a rank which died, or dropped its memory, never gives
// keeps back those of all others. And it copies under the lock of the target's queue: who is stopped or killed in the middle
// stops those who send to it. So nothing goes there by remote key, nor is longer than what it injects, which asks for no answer.
bool answers_in_order(const fi_info&);

// udp, repetitions. See send_window.h, whose bounds these are; endless for all others.
send_window usual_window(const fi_info&) noexcept;

// --- Deferred work ---------------------------------------------------------------------------------------------------

// sockets, work for the dead. It cannot cancel deferred work, and what is due to a dead peer can stay in front of all other
// work of the endpoint. schedule_runner.h goes on upon another one.
//
// sockets, narrow counters. It compares 32 bits with a sign, and knows of no wrap. deferred.h takes off what it has counted.

// --- Closing ---------------------------------------------------------------------------------------------------------

// ofi_rxm over tcp, half-made connections. A connection that a peer begins while this rank leaves has been accepted by the
// library before it reads what it is for. If the endpoint is closed in between, its descriptor is lost for good. So libfabric is
// driven until nothing has come for this long, some of the intervals above; what begins later finds nobody who accepts it.
inline constexpr std::chrono::milliseconds quiet_before_closing{2};

// sockets, late copies. Its thread copies to and from whatever memory a peer's operation or one of this rank's has named,
// whether or not its registration was closed since: only where the operation begins does it look for that. (Memory unmapped
// before that crashed ranks inside libfabric.) Closing the endpoint takes its work from the thread under the thread's own lock,
// so ofi_link::let_go() closes it before any memory goes, and remote_memory::lingers() has dropped memory stay.

}  // namespace tutti::ofi::quirks

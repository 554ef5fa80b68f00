// What libfabric asks of the C library while it starts, which is in its first fi_getinfo() of a process. Some of its questions
// cost more than all the rest of joining a job over tcp, and no hint spares them:
//
//  - Its verbs provider reads /proc/kallsyms twice through, 0.1 s of processor time, whether or not it is wanted (FI_PROVIDER
//    leaves providers out only after they have started): can this kernel register a GPU's memory with an adapter? Where
//    there is no adapter, which /sys/class/infiniband tells, it may as well be told that there is no such file.
//  - ofi_rxm, which makes RDM endpoints of tcp's connections, clears 4096 receive buffers of 16 KiB for each endpoint, if
//    FI_OFI_RXM_MSG_RX_SIZE does not say otherwise; a quarter serves as well. (Smaller buffers would save more, and cost half
//    of the bandwidth: what does not fit goes in segments.)
//  - ofi_rxm looks after connections that are being made every 10 ms, if FI_OFI_RXM_CM_PROGRESS_INTERVAL does not say
//    otherwise. So each takes some of these, and one that has not been looked at when the endpoint is closed costs its
//    descriptor (ofi_link::settle()).
//
// Both could be set in the environment; but no library may call setenv() beside other threads, and a child would inherit it.
//
// So for this one call libfabric's own references to fopen() and getenv(), words of its linkage table, lead here: a dynamic
// linker's work, done again, as UCX does it for munmap() and its like. All other objects keep theirs. What cannot be done is
// left, and costs the time. A libfabric that is linked statically, or that somebody else has started already, asks nothing.
#pragma once
#include <string_view>

namespace tutti::ofi {

class first_call {
 public:
  // `device`: the only one that is wanted; empty: all are looked for, and ofi_rxm does as it does.
  explicit first_call(std::string_view device) noexcept;
  ~first_call();
  first_call(const first_call&) = delete;
  first_call& operator=(const first_call&) = delete;

 private:
  bool diverted_ = false;
};

}  // namespace tutti::ofi

// What a vendor's library does when a call of its own fails, and tutti cannot prevent. Nothing else may end so.
#pragma once
#include <string_view>

namespace tutti::test {

struct known_fault {
  std::string_view provider;  // its first word
  std::string_view call;      // that failed, made by the vendor's library unless something is only left over
  std::string_view ends;      // as the campaign calls it
  std::string_view reason;
};

inline constexpr known_fault known_faults[] = {
    {"ucx", "pipe", "CRASH", "UCX 1.13 asserts that its thread for events could be started"},
    {"ucx", "epoll_create", "CRASH", "UCX 1.13 asserts that its thread for events could be started"},
    {"ucx", "pthread_create", "CRASH", "UCX 1.13 asserts that its thread for events could be started"},
    {"ucx", "epoll_ctl", "CRASH", "UCX 1.13 calls it fatal where a connection's events cannot be asked for"},
    {"ucx", "fopen", "CRASH", "UCX 1.13 calls it fatal where it cannot read what it asks of the system while making a worker"},
    {"ucx", "accept", "LEFTOVER", "UCX 1.13 keeps the connection"},
    {"ucx", "accept", "CRASH", "UCX 1.13 asserts which socket it listens at (tcp_iface.c:369) where a connection could not be taken"},
    {"ucx", "setsockopt", "LEFTOVER", "UCX 1.13 cannot be brought to rest with a connection half made, and is left as it is"},
    {"ucx", "socket", "LEFTOVER", "UCX 1.13 cannot be brought to rest with a connection half made, and is left as it is"},
    {"ucx", "connect", "LEFTOVER", "UCX 1.13 cannot be brought to rest with a connection half made, and is left as it is"},
    {"ofi", "operator new", "LEFTOVER", "libfabric 1.17 keeps a connection that a peer was making when the endpoint was closed"},
    {"ofi", "setsockopt", "CRASH", "libfabric 1.17's rxm closes twice a connection that failed while it was made"},
    {"ofi", "epoll_ctl", "HANG", "libfabric 1.17's tcp loses a connection whose events it could not ask for, and says nothing"},
    {"ofi", "setsockopt", "HANG", "libfabric 1.17's tcp loses a connection that it could not set up, and says nothing"},
    {"ofi", "socket", "SLOW", "libfabric 1.17's rxm waits seconds before it connects again"},
    {"ofi", "fi_bind", "LEFTOVER", "libfabric 1.17's rxm crashes where an endpoint is closed that has no addresses, so it is not"},
};

}  // namespace tutti::test

// libpmix 4.2 listens on TCP, and the uid that it checks is the one that a client declares. It also trusts whoever reaches
// its port with its thread and its memory: it waits for the first bytes of a connection without a limit, takes tools that
// give themselves a name, and crashes when it is to refuse one. So no stranger's connection may reach it. It has no
// setting for that; but it calls accept(), and a program's own definition of a function goes before the library's.
//
// The kernel tells whose a loopback connection is: the other end is a socket of this host too, and stands in the table of
// them with the uid of the process that made it. An end that its owner has closed already has lost its uid, which the
// table shows as 0 and root's: such a row has no inode, and belongs to nobody here. The table is read after the connection
// was accepted, and an end's four numbers are not used again while this one is open, so the row is that end's or none.
#include "tools/run/own_connections.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>

namespace tutti::run {
namespace {

std::atomic<bool> own_only{false};

bool is_own(int fd) noexcept {
  sockaddr_in here{}, there{};
  socklen_t here_bytes = sizeof here, there_bytes = sizeof there;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&here), &here_bytes) != 0 || here.sin_family != AF_INET ||
      getpeername(fd, reinterpret_cast<sockaddr*>(&there), &there_bytes) != 0 || there.sin_family != AF_INET)
    return false;
  const std::unique_ptr<FILE, int (*)(FILE*)> table{std::fopen("/proc/self/net/tcp", "re"), std::fclose};
  char line[512];
  while (table && std::fgets(line, sizeof line, table.get())) {
    unsigned address, port, to, to_port, uid;
    unsigned long inode;
    if (std::sscanf(line, "%*u: %8X:%4X %8X:%4X %*X %*X:%*X %*X:%*X %*X %u %*u %lu", &address, &port, &to, &to_port, &uid,
                    &inode) == 6 &&
        address == there.sin_addr.s_addr && port == ntohs(there.sin_port) && to == here.sin_addr.s_addr &&
        to_port == ntohs(here.sin_port))
      return uid == getuid() && inode != 0;
  }
  return false;
}

}  // namespace

void take_own_connections_only() noexcept { own_only = true; }

}  // namespace tutti::run

extern "C" __attribute__((visibility("default"))) int accept(int listener, sockaddr* __restrict address,
                                                             socklen_t* __restrict bytes) {
  const int fd = accept4(listener, address, bytes, 0);
  if (fd < 0 || !tutti::run::own_only || tutti::run::is_own(fd)) return fd;
  close(fd);
  errno = EAGAIN;  // nobody is there: the caller goes on listening
  return -1;
}

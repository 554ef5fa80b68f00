// libpmix 4.2 listens on TCP, and the uid that it checks is the one that a client declares. It also trusts whoever reaches
// its port with its thread and its memory: it waits for the first bytes of a connection without a limit, takes tools that
// give themselves a name, and crashes when it is to refuse one. So no outsider's connection may reach it. It has no
// setting for that; but it calls accept(), and a program's own definition of a function goes before the library's.
//
// The kernel tells whose a loopback connection is: the other end is a socket of this host too, and it knows the uid of the
// process that made it. An end that its owner has closed already has lost its uid, which shows as 0 and root's: such a one has
// no inode, and belongs to nobody here. The kernel is asked after the connection was accepted, and an end's four numbers are not
// used again while this one is open, so what it tells is of that end or of none. It is asked for this one socket (sock_diag(7));
// where that finds none, its table of all sockets is read through, which takes milliseconds for each rank of a large job.
#include "tools/run/own_connections.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>

namespace tutti::launching {
namespace {

std::atomic<bool> own_only{false};

bool owns(std::uint32_t uid, std::uint64_t inode) noexcept { return uid == getuid() && inode != 0; }

// Nothing: it does not answer, or says that there is none such, as it does too where its module for TCP (tcp_diag) cannot be
// loaded. Where there is no such connection it may also tell of who listens at that end's port.
std::optional<bool> is_own_says_kernel(const sockaddr_in& here, const sockaddr_in& there) noexcept {
  struct {
    nlmsghdr head{};
    inet_diag_req_v2 what{};
  } question;
  question.head.nlmsg_len = sizeof question, question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST;
  question.what.sdiag_family = AF_INET, question.what.sdiag_protocol = IPPROTO_TCP, question.what.idiag_states = ~0u;
  inet_diag_sockid& end = question.what.id;
  end.idiag_sport = there.sin_port, end.idiag_src[0] = there.sin_addr.s_addr;
  end.idiag_dport = here.sin_port, end.idiag_dst[0] = here.sin_addr.s_addr;
  end.idiag_cookie[0] = end.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  struct {
    nlmsghdr head;
    inet_diag_msg found;
    char attributes[1024];
  } answer;
  const int kernel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (kernel < 0) return {};
  const bool asked = send(kernel, &question, sizeof question, 0) == static_cast<ssize_t>(sizeof question);
  const ssize_t bytes = asked ? recv(kernel, &answer, sizeof answer, 0) : -1;
  close(kernel);
  const inet_diag_sockid& told = answer.found.id;
  if (bytes >= NLMSG_LENGTH(static_cast<int>(sizeof answer.found)) && answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY)
    return told.idiag_sport == end.idiag_sport && told.idiag_src[0] == end.idiag_src[0] && told.idiag_dport == end.idiag_dport &&
           told.idiag_dst[0] == end.idiag_dst[0] && owns(answer.found.idiag_uid, answer.found.idiag_inode);
  return {};
}

bool is_own_says_table(const sockaddr_in& here, const sockaddr_in& there) noexcept {
  const std::unique_ptr<FILE, int (*)(FILE*)> table{std::fopen("/proc/self/net/tcp", "re"), std::fclose};
  char line[512];
  while (table && std::fgets(line, sizeof line, table.get())) {
    unsigned address, port, to, to_port, uid;
    unsigned long inode;
    if (std::sscanf(line, "%*u: %8X:%4X %8X:%4X %*X %*X:%*X %*X:%*X %*X %u %*u %lu", &address, &port, &to, &to_port, &uid,
                    &inode) == 6 &&
        address == there.sin_addr.s_addr && port == ntohs(there.sin_port) && to == here.sin_addr.s_addr &&
        to_port == ntohs(here.sin_port))
      return owns(uid, inode);
  }
  return false;
}

bool is_own(int fd) noexcept {
  sockaddr_in here{}, there{};
  socklen_t here_bytes = sizeof here, there_bytes = sizeof there;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&here), &here_bytes) != 0 || here.sin_family != AF_INET ||
      getpeername(fd, reinterpret_cast<sockaddr*>(&there), &there_bytes) != 0 || there.sin_family != AF_INET)
    return false;
  const auto own = is_own_says_kernel(here, there);
  return own ? *own : is_own_says_table(here, there);
}

}  // namespace

void take_own_connections_only() noexcept { own_only = true; }

}  // namespace tutti::launching

extern "C" __attribute__((visibility("default"))) int accept(int listener, sockaddr* __restrict address,
                                                             socklen_t* __restrict bytes) {
  const int fd = accept4(listener, address, bytes, 0);
  if (fd < 0 || !tutti::launching::own_only || tutti::launching::is_own(fd)) return fd;
  close(fd);
  errno = EAGAIN;  // nobody is there: the caller goes on listening
  return -1;
}

// Deaths across hosts, for links whose library keeps them to itself: libfabric closes a connection that its peer has left
// and connects again when there is something to send, so that a rank which waits for an answer, or for a word, waits for
// ever. On one host a pidfd tells; this is its counterpart: a TCP connection upon which nothing is ever sent.
//
// Each rank listens and never accepts. The kernel completes the connections of others all the same, and resets them when
// the process ends, however it ends. So they cost the rank that is watched no descriptor, the one that watches one for each
// peer on another host that it has an endpoint to. It is the peer's kernel that answers the probes of one that has been
// idle for a second: a process that computes for long, or is stopped, is not taken for dead; a host that leaves two probes
// without an answer is, after three seconds.
//
// A connection that once stood is believed, and a reset of one that was being made on a subnet that both have an address in:
// that is the peer's own kernel, by which nobody listens any more where the peer did until its end. Else one that never came
// about (a firewall, which keeps quiet or answers by ICMP; no interface in common; an address that means another host to this
// one) says nothing about the peer.
//
// Goodbye. A rank that leaves tells so by the fabric, but not to one whose first message has not come yet, and the word may
// be late where a packet is lost. So before it closes its listener it accepts the connections that wait there, one after the
// other, and hands each a key, drawn at random, that its peers have with its address. Whoever reads the key knows that the end
// is a clean one; the kernel of a process that dies resets what was not accepted, and what was and has not been handed the key.
//
// Outsiders. Nobody believes anything of those who connect here: they are never read, so there is nothing to check; each
// takes one of the places that the kernel keeps (net.core.somaxconn, of which the peers need as many as they are) until the
// end. The other way round, who connects to a peer's port may find an outsider there, by an address that means another host:
// it does not know the key, and an orderly end without it, or other words, say nothing about the peer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/multicast/ip_interface.h"
#include "core/base/siphash.h"

namespace tutti::messages {

struct liveness_address {
  ip_place place;
  std::uint32_t port = 0;  // 0: none
  siphash_key key{};       // of the goodbye
};

class liveness {
 public:
  liveness() = default;
  liveness(const liveness&) = delete;
  liveness& operator=(const liveness&) = delete;
  ~liveness();

  void close() noexcept;
  int listener() const noexcept { return listener_; }  // -1: none

  // None where the kernel would not keep `peers` connections that are not accepted (net.core.somaxconn), or has no IPv4.
  // `only`: an address of this host, or loopback's, at which alone it listens; 0, or what is no address of its: at any.
  static constexpr std::uint32_t loopback = 0x7f000001;
  void listen(std::uint32_t peers, std::uint32_t only = 0);
  // Accepts all who are connected by now, and hands each a word and the end. Returns why there is no further one (EAGAIN).
  int answer(std::span<const std::byte> word) const noexcept;
  void say_goodbye() noexcept;  // to all who are connected; nobody can connect any more
  const liveness_address& address() const noexcept { return here_; }

  // A socket that is being connected, for the caller to watch by `events` and to close; -1: there can be none. `beside`: by
  // an address on a subnet of this host.
  struct attempt {
    int socket = -1;
    bool beside = false;
    bool refused = false;  // at once, so that there is no socket
  };
  attempt connect(const liveness_address& peer) const noexcept;
  static constexpr std::uint32_t events = 1u << 31 | 0x2005;  // EPOLLET | EPOLLRDHUP | EPOLLIN | EPOLLOUT

  enum class observation : std::uint8_t { nothing, stands, never, refused, ended, left, silent };
  // What an event of it means. `stood`: an earlier one meant that it stands. `key`: of the peer's address.
  static observation read(int socket, bool stood, const siphash_key& key) noexcept;

 private:
  int listener_ = -1;
  liveness_address here_;
};

}  // namespace tutti::messages

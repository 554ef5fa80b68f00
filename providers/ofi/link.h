// Messages between ranks over a libfabric endpoint of kind RDM.
//
// Order. FI_ORDER_SAS is asked for: messages of one origin are matched to this rank's receive buffers in the order in
// which they were sent. How they complete is another matter (a provider may still be moving the payload of an earlier
// one), so a message may come early, and the transport holds it until those before it came (link_traits::reorders). Its
// buffer goes back at once: no origin, and no outsider, keeps the buffers from the others.
//
// Memory. Messages are copied into buffers of this link, so that a message is `taken` at once or not at all, none of it is
// a caller's memory, and only these buffers need registration where a provider asks for it (FI_MR_LOCAL). Small ones are
// injected.
//
// Where the library reaches a peer's memory by itself, puts, gets and signals go that way; elsewhere long payloads do, which
// would be copied twice here (remote_memory.h).
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "core/transport/offload.h"
#include "providers/messages/link.h"
#include "providers/messages/transport.h"
#include "providers/ofi/context.h"
#include "providers/ofi/remote_memory.h"
#include "providers/ofi/schedule_runner.h"
#include "providers/ofi/own_threads.h"

namespace tutti::ofi {

using messages::message;
using messages::sending;

inline constexpr std::uint32_t receive_buffers = 64;
inline constexpr std::uint32_t send_buffers = 64;
// With its header. Providers answer longer ones by a rendezvous, which costs a round trip each: ofi_rxm's limit.
inline constexpr std::uint32_t buffer_bytes = 16384;

// Registered if the provider asks for that; one fi_mr for all buffers.
struct buffer : ticket {
  buffer* next = nullptr;      // free
  peer* to = nullptr;          // send: whose message it is,
  connection* line = nullptr;  // and by which connection it goes
  send_window::time sent;      // where the window moves
  std::byte* data = nullptr;
};

class ofi_link final : public messages::link {
 public:
  static result<std::unique_ptr<link>> open(std::string_view device);
  static status worth_taking(std::string_view device);  // or why it is left to those who name it
  ~ofi_link() override;

  const messages::link_traits& traits() const noexcept override { return traits_; }
  status start(messenger&) override;
  result<std::vector<std::byte>> address() override;
  std::uint32_t ip_address() const noexcept override;
  status open(peer&, std::span<const std::byte> address) noexcept override;
  void close(peer&) noexcept override;
  void peer_died(std::span<const std::byte> address) noexcept override;
  sending send(peer&, const message&, const std::byte* payload, std::uint32_t bytes, bool may_keep) noexcept override;
  unsigned progress() noexcept override;
  int fd() const noexcept override { return both_fds_ >= 0 ? both_fds_ : ofi_.wait_fd; }
  offload* offloader() noexcept override { return deferred_.get(); }
  bool arm() noexcept override;
  messages::one_sided* reach() noexcept override { return reach_.get(); }
  void push_out(own_time longest) noexcept override;
  bool settle(own_time longest) noexcept override;
  void let_go() noexcept override;

 private:
  ofi_link() = default;
  static result<std::unique_ptr<ofi_link>> make(std::string_view device, bool waits, by_keys);
  status make_buffers();
  status add_deferred_work();
  status try_messages();                         // trial.cpp
  status message_to_itself(bool waits);
  status oversubscribes(const own_threads&);
  bool rests() noexcept;                         // true: there is nothing to read
  bool fd_readable(std::chrono::milliseconds timeout) const noexcept;
  bool post(buffer&) noexcept;
  void repost() noexcept;
  void completed(const fi_cq_msg_entry&) noexcept;
  void arrived(buffer&, std::size_t bytes) noexcept;
  void sent(buffer&) noexcept;
  void give_back(buffer&) noexcept;
  unsigned take_error() noexcept;

  messages::link_traits traits_;
  messenger* net_ = nullptr;
  std::unique_ptr<std::byte[]> memory_;
  std::unique_ptr<buffer[]> buffers_;
  handles ofi_;                                  // closed before the memory goes
  owned<fid_mr> registered_;                     // and this before the domain
  std::unique_ptr<remote_memory> reach_;            // likewise; where the library has remote keys
  void* descriptor_ = nullptr;
  fi_addr_t self_ = FI_ADDR_UNSPEC;
  std::uint32_t inject_bytes_ = 0;
  send_window usual_window_;                     // to each peer
  buffer* free_ = nullptr;                       // for sending
  buffer* unposted_ = nullptr;                   // receive buffers that libfabric has not taken back yet
  std::uint32_t sending_ = 0;                    // buffers that libfabric sends
  messages::connection_list<connection> connections_;
  std::unique_ptr<schedule_runner> deferred_;          // where the provider can
  int both_fds_ = -1;                            // an epoll of both endpoints' descriptors
  std::vector<std::vector<std::byte>> dead_;     // addresses of peers that died (quirks.h)
};

}  // namespace tutti::ofi

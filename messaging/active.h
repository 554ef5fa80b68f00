// Active messages of one rank: a message runs a function at its target, the handler. The rules for users are at "active messages" of
// api/tutti.h.
//
// Who waits for what. Between two ranks there are one-way messages, requests, and replies. A sender waits in the call: for room in the
// fabric, and with a request also while most_requests of its requests to that rank are under way. While it waits it takes whatever comes and
// runs handlers. Handlers never wait: from within one, a request or one-way message that would have to wait is refused instead.
//
// Why a reply is never refused. It goes into the endpoint's queue where the fabric has no room. A reply answers one request of the peer that
// waits in the queue or is handed over, and the peer counts that request as under way until the reply has come to it. So at most
// most_requests replies wait for a peer. (Only memory for one can be lacking; then the handler is told, and may try again.)
//
// Why two ranks that flood each other go on. A rank that waits takes what comes, so the fabric takes each sender's offers at last
// (core/transport/two_sided.h). That is enough for one-way messages and for what stands in the endpoint's queues. A request under
// way has come to its target at last, too; it is then either answered, or done with and owed. Owed ones are told with whatever goes that way,
// or by a message of their own once they are credit_at, half of all: a sender that is out of requests has more than half of them unreturned,
// so it never waits for what is held back. No handler waits for anything, so none holds up what another waits for.
//
// What bounds memory. For each peer that this rank has exchanged messages with: most_requests replies, most_requests long messages, two
// messages of credit (each tells of credit_at requests that the peer counts as under way until then) and one refusal wait at most. Requests and
// one-way messages wait nowhere. The rest is the transport's, and bounded there.
//
// Order. All messages to a peer leave in the order of the calls, through the endpoint: those that find something queued wait behind it.
// A long message is announced when its data are at the target, which a flush tells; it may come behind later ones.
//
// On the wire. The header is a wire_prefix, whose flags are the number of arguments and whose number is the handler's, and up to seven
// arguments. Behind it, in the payload: the eighth argument; of a long message its wire_long; the data.
#pragma once
#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/transport/transport.h"
#include "messaging/endpoint.h"

namespace tutti::messaging {
class active_messages;
struct peer;
}  // namespace tutti::messaging

struct tutti_context;

// The message that a handler is called for. One for each rank, since handlers do not nest; so a handle of it that is kept too long names one
// that is over, or the next one.
struct tutti_am {
  tutti::messaging::active_messages* engine = nullptr;
  tutti::messaging::peer* from = nullptr;
  bool live = false;       // the handler runs
  bool request = false;    // to which a reply may be made,
  bool replied = false;    // and was made
};

namespace tutti::messaging {

using active_handler = void (*)(tutti_am*, const std::uint64_t* arguments, std::size_t count, void* payload, std::size_t bytes, void* context);

// Kinds of active messages on the wire.
enum class active_kind : std::uint8_t {
  request = kinds_of_an_engine,
  one_way,
  reply,
  long_request,
  credit,          // nothing but the requests that are done with, in prefix.credits, as every active message may tell
  refused          // the number is that of a message for which there was no handler
};

struct wire_long {
  std::uint64_t team, window;   // which window: team::id(), and how many the team had made before
  std::uint64_t offset, bytes;  // of the data in the target's part of it
};

class active_messages final : public message_engine {
 public:
  static constexpr std::size_t most_arguments = 8, handlers = 1024;
  static constexpr std::uint32_t most_requests = 64, credit_at = most_requests / 2;

  // What the engine needs to know of the program around it.
  class surroundings {
   public:
    virtual ~surroundings() = default;
    virtual tutti_context* handle() noexcept { return nullptr; }  // for tutti_am_context()
    // This rank's part of a window. Later: the window is being made, and another member has it already.
    enum class window_state : std::uint8_t { there, later, gone };
    virtual window_state part(std::uint64_t /*team*/, std::uint64_t /*window*/, std::span<std::byte>&) noexcept { return window_state::gone; }
  };
  // `in_handler` is true while a handler runs.
  active_messages(endpoint&, surroundings&, std::atomic<bool>& in_handler) noexcept;
  ~active_messages();
  active_messages(const active_messages&) = delete;
  active_messages& operator=(const active_messages&) = delete;

  // Errors: invalid (a number that is taken). Null: takes the handler away. The number is below `handlers`.
  status set_handler(std::uint32_t number, active_handler, void* context);
  std::size_t most_bytes() const noexcept { return end_.limits().max_payload - sizeof(std::uint64_t); }

  struct contents {
    std::uint32_t number;
    std::span<const std::uint64_t> arguments;  // at most most_arguments
    std::span<const std::byte> payload;        // at most most_bytes()
  };
  // Arguments are checked by the caller. Block, unless called by a handler, which gets no_resource instead.
  // Errors: no_resource, peer_dead, invalid (an earlier message to this rank was refused; this one was not sent).
  status request(rank_t to, const contents& c) noexcept { return send(active_kind::request, to, c); }
  status send(rank_t to, const contents& c) noexcept { return send(active_kind::one_way, to, c); }
  // Errors: invalid (the message is over, one-way, or has its reply), no_resource (memory).
  status reply(tutti_am&, const contents&) noexcept;

  // A long message in three steps, since the data are put in between. reserve() is a request's wait; announce() sends the message once the puts
  // that were submitted before are complete at the target; cancel() gives the place back.
  struct long_message;
  status reserve(rank_t to, const contents&, const wire_long&, long_message*& out) noexcept;
  void announce(long_message&) noexcept;
  void cancel(long_message&) noexcept;

  // What the program was not told yet: a message of its own that was refused, or requests without answer from a rank that is lost.
  status trouble() noexcept { return troubles_ == 0 ? status{} : take_trouble(); }
  bool in_handler() const noexcept { return message_.live; }
  tutti_context* owner() const noexcept { return around_.handle(); }

  bool take(peer& from, const wire_prefix&, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept override;
  void advance() noexcept override;
  void lost(peer&) noexcept override;

 private:
  struct handler {
    active_handler run = nullptr;
    void* context = nullptr;
  };
  class outgoing_message;
  status send(active_kind, rank_t to, const contents&) noexcept;
  bool offer(peer&, outgoing_message&) noexcept;
  status wait_for_room(peer&, active_kind, outgoing_message*) noexcept;
  status ready_for(peer*) noexcept;              // none, lost, or a refusal that is not told
  [[gnu::cold]] status take_trouble() noexcept;
  [[gnu::cold]] status take_refusal(peer&) noexcept;
  void asked(peer&) noexcept;                    // one more request is under way
  bool credited(peer&, std::uint32_t) noexcept;  // so many fewer; false: there were not so many
  void ask_after(peer&) noexcept;
  bool deliver(peer&, active_kind, const wire_prefix&, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept;
  bool is_early(const wire_prefix&, std::span<const std::byte> payload) noexcept;
  void refuse(peer&, std::uint32_t number) noexcept;
  [[gnu::cold]] void notice(const peer&, std::uint32_t number, const char* why) noexcept;
  void settle(peer&) noexcept;
  void told(peer& p) noexcept { p.active.open -= std::exchange(p.active.owed, 0); }  // all that was owed
  bool step(long_message&) noexcept;             // false: it goes on
  void step_long() noexcept;
  void recycle(long_message&) noexcept;

  endpoint& end_;
  surroundings& around_;
  std::atomic<bool>& in_handler_;
  tutti_am message_;
  std::uint32_t troubles_ = 0;           // things of which the program is to be told: of peers, and failed_
  status failed_;                        // of the data of a long message, the first
  time_point next_ask_{};
  bool short_of_memory_ = false;         // some credit could not be told
  std::unique_ptr<handler[]> handlers_;  // null: none was ever set
  std::bitset<handlers> noticed_;        // numbers of which the target's program was told
  long_message* long_ = nullptr;         // that wait for their data
  long_message* free_ = nullptr;
};

}  // namespace tutti::messaging

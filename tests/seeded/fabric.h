// A fabric for providers/messages (link.h) between the machine's processes. It keeps a link's promise, messages in order
// and each at most once, and nothing more: it delivers late, in batches or one by one, refuses, keeps, and loses connections,
// all by the seed.
//
// What a link has taken waits in the process at first (in its library), and is lost with it; progress() and push_out() move
// it to the wire, where it outlives the process.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "providers/messages/link.h"
#include "providers/messages/transport.h"
#include "tests/seeded/machine.h"

namespace tutti::test {

struct fabric_knobs {
  messages::link_traits traits;
  nanoseconds longest_way{1'000'000};    // of a message
  std::uint64_t refuse_one_in = 0;       // full, though there is room
  std::uint64_t keep_one_in = 0;
  std::uint64_t forget_wake_one_in = 0;  // a wake-up that the library loses
  std::uint32_t room = 8;                // messages to one peer in the library and on the wire
};

class fabric {
 public:
  fabric(std::uint32_t ranks, fabric_knobs);
  std::unique_ptr<messages::link> link_of(rank_t);
  void lose_connection(rank_t, rank_t);  // for good, both ways, with all that is on it

  struct packet {
    enum class kind : std::uint8_t { message, lost } what = kind::message;
    rank_t from = 0;
    std::vector<std::byte> bytes;
  };
  struct line {                          // from one rank to another
    bool open = false, broken = false;   // broken: the link has told, or will when it is used
    nanoseconds since{-1};               // when it was opened
    std::vector<std::vector<std::byte>> library;
    std::deque<packet> wire;
    nanoseconds last{0};
    messages::peer* towards = nullptr;   // of the origin's process
    const messages::message* kept = nullptr;
    const std::byte* kept_payload = nullptr;
    std::uint32_t kept_bytes = 0;
    bool kept_lost = false;
  };
  struct port {
    process* owner = nullptr;            // null: not yet, or no more
    std::deque<packet> inbox;
    std::shared_ptr<object> notify;      // the link's descriptor
    bool armed = false, ready = false;
    std::vector<line> lines;             // by peer
  };
  port& at(rank_t r) { return ports_[r]; }
  void opened(rank_t, process& owner);
  void seek(rank_t from, rank_t to);     // `from` has opened a line
  void put_on_wire(rank_t from, rank_t to);
  void closed(rank_t, bool orderly);     // the link or its process
  void cut(rank_t from, rank_t to);      // `from` closes its line
  const fabric_knobs& knobs() const noexcept { return knobs_; }

 private:
  void arrive(rank_t from, rank_t to);
  void deliver(rank_t to, packet);
  void tell_lost(rank_t whom, rank_t of, nanoseconds when);

  fabric_knobs knobs_;
  std::vector<port> ports_;
  std::vector<int> hosts_;
};

}  // namespace tutti::test

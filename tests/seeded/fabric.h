// A fabric for providers/messages (link.h) between the machine's processes. It keeps a link's promise, messages in order
// and each at most once, and nothing more: it delivers late, in batches or one by one, refuses, keeps, and loses connections,
// all by the seed.
//
// Where the knobs say so it reaches memory by keys as well (one_sided.h), as an adapter does: what is put arrives in any order
// but behind a fence, no get overtakes an earlier put, and what is under way is read, or written, at the last moment.
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
  bool reaches = false;                  // one_sided
  bool in_order = false;                 // one_sided::in_order()
  std::uint32_t room = 8;                // messages to one peer in the library and on the wire
};

class fabric {
 public:
  fabric(std::uint32_t ranks, fabric_knobs);
  std::unique_ptr<messages::link> link_of(rank_t);
  void lose_connection(rank_t, rank_t);  // for good, both ways, with all that is on it

  struct packet {
    enum class kind : std::uint8_t { message, lost, reached, failed } what = kind::message;
    rank_t from = 0;
    std::vector<std::byte> bytes;
    messages::frame* f = nullptr;        // of reached and failed
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
    // By key: when all so far is in effect, when what a fence covers is, what that fenced off waits for; which connection it is.
    nanoseconds all_by{0}, done_by{0}, not_before{0};
    unsigned life = 0;
  };
  struct exposure {
    std::byte* base = nullptr;           // null: deregistered
    std::size_t bytes = 0;
  };
  struct port {
    process* owner = nullptr;            // null: not yet, or no more
    std::deque<packet> inbox;
    std::shared_ptr<object> notify;      // the link's descriptor
    bool armed = false, ready = false;
    std::vector<line> lines;             // by peer
    std::vector<exposure> registered;
    std::uint32_t under_way = 0;         // operations by key that the link is yet to tell of
  };
  port& at(rank_t r) { return ports_[r]; }
  void opened(rank_t, process& owner);
  void seek(rank_t from, rank_t to);     // `from` has opened a line
  void put_on_wire(rank_t from, rank_t to);
  // By key. `f` is told of at the end, if there is one. A put without payload of its own reads `from` when it is executed.
  struct reach {
    rank_t from, to;
    std::uint32_t key;
    std::uint64_t offset;
    std::byte* mine;                     // of the origin
    std::uint32_t bytes;
    bool puts;
    messages::frame* f;
    std::vector<std::byte> payload;
  };
  void post(reach);
  void post_flush(rank_t from, rank_t to, messages::frame&);
  void closed(rank_t, bool orderly);     // the link or its process
  void cut(rank_t from, rank_t to);      // `from` closes its line
  const fabric_knobs& knobs() const noexcept { return knobs_; }

 private:
  void arrive(rank_t from, rank_t to);
  void deliver(rank_t to, packet);
  void execute(const reach&, unsigned life);
  void finish(rank_t origin, rank_t towards, messages::frame*, bool ok);
  void tell_lost(rank_t whom, rank_t of, nanoseconds when);

  fabric_knobs knobs_;
  std::vector<port> ports_;
  std::vector<int> hosts_;
};

}  // namespace tutti::test

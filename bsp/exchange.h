// What two processes exchange in a sync once the metadata is known: chunks that are read in place, and chunks that travel.
//
// Each process sends another, in this order: its get requests, the answers to the other's, its puts and messages, the
// data of large puts that it pushes, its large hp puts. It takes them in the same order, but holds answers back
// until it has served all gets upon its memory, and puts until it has written all answers to its own gets (superstep.cpp).
//
// No deadlock: a process holds things back only until the requests of all have come and been served, and then until
// the answers to its own have come. Requests come first from everybody and are served whenever they come, into memory
// of this process, so they never wait for room that others must make. Once a process has served all, it takes answers
// whenever they come; and they are before the puts in every channel, so nothing that is held back stands in their way.
//
// Large hp puts come last. They wait for nothing, since nobody else may use their targets in this superstep.
//
// A put that came in part is waited for before any other process's puts are written, so that of two puts to one place
// one is there whole. That delays nobody for good: the rest comes whatever this process does with its other channels.
//
// Sending and placing alternate (Birk 2006, 3.1): a chunk for each process in Latin order, then what has arrived.
//
// Large puts. Their data are packed apart from the records, one put after the other, so that when the superstep ends they
// can go either way, as is the cheapest for this destination (bulk_choice.h): they stay, and the target reads them straight
// to their places; or they are pushed through the channel, behind all records, and copied out of its slots. Bytes that are
// pushed come in the order of their records, so the records, which are before them in the channel, say where each belongs.
// They are placed when records are: once the gets upon this memory are served and one's own answered. Bytes that are read
// are read when all else is written, from every process (puller.h). So of two puts to one place one is there whole: a put
// that came in part keeps others from being written, as records do; and of those that are read none runs beside one that
// it meets.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "bsp/agreement.h"
#include "bsp/outbox.h"
#include "bsp/peer_memory.h"
#include "bsp/placer.h"
#include "bsp/puller.h"
#include "bsp/registered_memory.h"
#include "messaging/channel.h"

namespace tutti::bsp {

class exchange {
 public:
  exchange(const context&, arena&, std::vector<outbox>&, peer_memory&, placer&, agreement&, registered_memory&);
  ~exchange();

  // The exchange of a superstep. `out`, `in`: the metadata flags, mine and everyone's. Blocks until this process's part is
  // done. Errors: protocol; as of the placer, the agreement and the fabric.
  status run(std::span<const std::uint8_t> out, std::span<const std::uint8_t> in);
  // Chunks of the superstep under way, or of the one before, that the fabric still reads.
  completion& sending() noexcept { return sending_[c_.half()]; }

  // A record of a large put, which the placer met.
  status on_bulk(std::uint32_t from, const bulk_head&, const area& to);
  std::uint64_t bulk_reads() const noexcept { return puller_.operations(); }

 private:
  struct arrival {                         // of a large put that is pushed
    std::byte* to;
    std::uint64_t bytes;
    bool goes_on;                          // the next one is of the same put
  };
  // The exchange with one process: the channel, which stays; and how far this superstep's is.
  struct peer {
    std::unique_ptr<messaging::channel> line;
    bool offered = false;                  // my half of it, to the other
    bool needs_line = false;
    std::uint8_t flags = 0;                // what it has for me
    stage sending = stage::done, receiving = stage::done;
    bool served = false;                   // its requests, all of them
    bool asked = false;                    // it has not answered mine, all of them
    bool eager_waits = false;              // the chunk that came with its metadata was not taken
    bool checked = false;                  // its registrations and tag size against mine
    unfinished open;
    std::uint64_t answers_taken = 0;       // chunks
    location answers_next = 0;
    std::uint64_t pushed = 0;              // bytes that it pushes to me
    std::vector<arrival> coming;           // to here, in this order,
    std::size_t placed = 0;                // of which so many are complete
  };
  static constexpr std::uint32_t direct_front = 64;  // of a chunk: head and header, before the bytes of an hp put
  static constexpr std::uint32_t no_process = ~std::uint32_t{0};

  status pump(bool& done);
  status introduce(std::uint32_t pid);
  void send_to(std::uint32_t pid);
  bool send_bulk(std::uint32_t pid) noexcept;
  bool send_direct(std::uint32_t pid) noexcept;
  status receive_from(std::uint32_t pid);
  status read_from(std::uint32_t pid, bool& complete);
  status read_answers(std::uint32_t pid, bool& complete);
  status place_in_place(std::uint32_t from);
  status take_from(std::uint32_t pid, bool& complete);
  status place_bulk(std::uint32_t pid, std::span<const std::byte> bytes, bool last);
  status serve(std::uint32_t pid, std::span<const std::byte> requests);
  bool tell_answers(std::uint32_t pid, bool all) noexcept;

  const context& c_;
  arena& memory_;
  std::vector<outbox>& boxes_;
  peer_memory& read_;
  placer& placer_;
  agreement& agreement_;
  registered_memory& registered_;
  std::vector<peer> peers_;
  bool all_in_place_ = true;               // nobody needs a channel for what is packed
  puller puller_;
  completion sending_[2];                  // by half
  bool moved_ = false;                     // something went on in this turn
  std::uint32_t mid_put_ = no_process;     // whose put was written in part only: nobody else's turn
  std::uint32_t unplaced_ = 0;             // peers whose puts have not all come
  std::uint32_t unserved_ = 0, unanswered_ = 0;  // peers whose requests I have not served; who have not answered mine
};

}  // namespace tutti::bsp

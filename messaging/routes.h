// By which route a message travels, from its bytes and from what holds between its ranks. One place: the engine asks it for each message
// that needs more than one message of the fabric, and `tutti info --explain message` prints it. It reckons by costs that all ranks have
// agreed on (job::costs()), so the two ends of a pair reckon alike.
//
// A price is the time from the send until the receiver has the data, both ends waiting in the library, of data that stay in the caches.
// With m = L + 2 o, the time of one message of the fabric, and a turn of a shared core where ranks outnumber cores:
//   eager      m, the wire, and one copy more: into the fabric's buffers and out of them, where a rendezvous copies once. Inside a node,
//              with a core for each rank, both ends copy at the same time, but for what one message of the fabric carries
//   get        3 m (the announcement, the request and the data), a microsecond of bookkeeping at the two ends, and the wire
//   in place   2 m and the bookkeeping, and one copy by the end that maps the other's memory
//   kernel     2 m and the bookkeeping, and one copy by the kernel (process_vm_readv): a call, and looking up each page
//   staged     3 m and the bookkeeping, and the receiver's copy; the sender's is made at the same time. Besides, for each slot, two
//              messages, and what both ends need to take up where they were
//   stream     3 m and the bookkeeping, then as eager
//   lists      of data in pieces: as get, with two messages more, since the receiver asks for a put of each piece and a flush ends them
//   packed     of data in pieces: as get, from a buffer in which they are packed part after part while earlier parts move
//
// Parts. Where memory here must be made ready first, registered or packed, that takes a time for each part and one by the byte. In parts
// of p bytes, of which there are k, a transfer takes ready(p) + (k - 1) max(ready(p), wire(p)) + wire(p) and, for each part but the
// first, a message of its key and what attaching that takes. The p that is cheapest among the powers of two is taken; all bytes, where
// that is.
//
// Thresholds follow from the prices. A short message is eager: up to the size at which the copy saved pays the round trip, and what one
// message of the fabric carries in any case. It is copied where it must wait. A longer one is eager while that is the cheapest, if it
// is plain, and never beyond 64 KiB, a quarter of what is kept of a sender; where it must wait, it is announced. From `kernel_from` bytes on
// the kernel's one copy is cheaper than the two through staging memory. With the priors of shared memory messages are short up to 9920
// bytes, eager up to 64 KiB, and copied by the kernel beyond; with two ranks a core they are short up to 35,520 bytes, since
// what needs an answer waits for turns.
#pragma once
#include <cstdint>
#include <string_view>

#include "core/job/job.h"
#include "core/transport/transfer_costs.h"
#include "core/transport/two_sided.h"
#include "messaging/design.h"

namespace tutti::messaging {

inline constexpr std::uint32_t longest_eager = 64 * 1024;

enum class route : std::uint8_t { eager, in_place, kernel, staged, get, lists, packed, stream };
inline constexpr route all_routes[] = {route::eager, route::in_place, route::kernel, route::staged, route::get, route::lists, route::packed, route::stream};
std::string_view name_of(route) noexcept;
std::string_view text_of(route) noexcept;  // what happens, for people

// What is to travel.
struct message_load {
  std::uint64_t bytes = 0;
  bool in_window = false;  // of memory that stays registered (tagged::expose())
  bool in_pieces = false;
  std::uint64_t pieces = 1;
};

class pair_routes {
 public:
  struct facts {
    loggp link;
    transfer_costs costs;
    double turn_us = 0;          // until a rank that waits has its core back, where ranks share cores
    two_sided::limits limits{};
    registration_cost registering;
    std::uint32_t max_slices = 0;
    bool mapped = false;         // each maps memory that the other allocates: two ranks of a node
    bool kernel_copies = false;  // and the kernel copies what the other did not
    const messaging::design* design = &designs[0];
  };
  // Between ranks of a node, or of two.
  static facts facts_of(job&, const two_sided::limits&, bool near_by) noexcept;

  pair_routes() noexcept = default;
  explicit pair_routes(const facts&) noexcept;

  const facts& about() const noexcept { return facts_; }
  std::uint32_t short_limit() const noexcept { return short_; }        // bytes of the longest that is eager whatever its memory
  std::uint32_t eager_limit() const noexcept { return eager_; }         // and of the longest plain one
  std::uint64_t kernel_from() const noexcept { return kernel_from_; }  // bytes from which on; never: ~0

  // The one to take. What it needs may not be to be had (no memory for staging, none that can be registered): then see next().
  route of(const message_load& m) const noexcept {
    return m.bytes <= (m.in_window || m.in_pieces ? short_ : eager_) ? route::eager : rendezvous(m);
  }
  route rendezvous(const message_load&) const noexcept;  // likewise, of a message that may not be eager
  route next(route failed, const message_load&) const noexcept;
  bool possible(route, const message_load&) const noexcept;
  double price_us(route, const message_load&) const noexcept;
  // Bytes of a part of a transfer whose memory is made ready part after part: registered, packed, or both; all: as one.
  std::uint64_t part_of(std::uint64_t bytes, bool registers, bool packs, std::uint64_t pieces = 1) const noexcept;
  // Whether what is got goes into so many pieces by lists of slices, rather than through a buffer.
  bool scatters(std::uint64_t bytes, std::uint64_t pieces) const noexcept;
  // Whether memory is registered beforehand, rather than named as unregistered in each operation.
  bool registers(std::uint64_t bytes) const noexcept;

 private:
  double ready_us(std::uint64_t bytes, bool registers, bool packs, double bytes_of_a_piece) const noexcept;
  double in_parts_us(std::uint64_t bytes, std::uint64_t part, bool registers, bool packs, std::uint64_t pieces) const noexcept;
  std::uint32_t reckon_short() const noexcept;
  std::uint32_t reckon_eager() const noexcept;
  std::uint64_t reckon_kernel() const noexcept;

  facts facts_;
  std::uint32_t short_ = 0, eager_ = 0;
  std::uint64_t kernel_from_ = ~std::uint64_t{0};
};

}  // namespace tutti::messaging

// Frames: messages and operations by key, with all that they need from submit() until they end.
#pragma once
#include <memory>
#include <new>
#include <span>

#include "core/base/copy.h"
#include "core/transport/transport.h"
#include "providers/common/linked.h"
#include "providers/messages/rules.h"
#include "providers/messages/wire.h"

namespace tutti::messages {

inline constexpr std::uint32_t max_inline = 256;
inline constexpr std::uint32_t request_limit = 32;   // unanswered requests to one peer; it keeps room for the answers

struct peer;

// Room for the bytes of a two-sided message that are too many for frame::small.
struct large_copy {
  large_copy* next = nullptr;
  std::byte bytes[max_packet_bytes];
};

enum class frame_kind : std::uint8_t {
  message,
  word,   // a signal by key that has to wait for writes under way
  flush,  // of what was put by key
};

// A message with all it needs until it is sent and, for a request, answered; or an operation by key. Never allocated on the
// data path.
struct frame {
  frame* next = nullptr;       // in a free list or in its peer's queue; of a write under way: the one begun after it
  peer* to = nullptr;          // null: free
  message head;                // a link that keeps it reads it until it says that the message was sent
  const std::byte* source = nullptr;
  std::uint64_t left = 0;      // bytes of payload still to be handed to the link
  std::uint32_t piece = 0;     // bytes in the link's hands
  bool sent = false;           // all of it
  bool request = false;        // lives until it is answered
  bool answered = false;
  bool signals = false;        // the last piece carries the signal
  bool marks = false;          // asked for by the transport itself: peer::marking
  rma_op op;                   // requests: where the answer goes; its `done` counts until the frame is finished
  std::uint64_t traffic = 0;   // mark: peer::traffic when it was queued
  std::uint64_t value = 0;     // get: bytes that have landed
  linked_stack<frame>* home = nullptr;  // the free list it goes back to; null: it is one of a kind
  std::byte* small = nullptr;  // max_inline bytes, for sources that are copied
  large_copy* large = nullptr; // taken for a packet until the frame is finished
  std::uint32_t index = 0;     // in the pool
  std::uint32_t life = 0;      // how often it was used: an answer to an earlier life must not end this one

  // By key:
  frame_kind what = frame_kind::message;
  std::uint32_t parts = 0;     // operations of the link that are under way for it
  frame* before = nullptr;     // of a write under way: the one begun before it
  std::uint64_t number = 0;    // of a write: how many its peer has seen with it; of a flush: how many it covers
  std::uint64_t needs = 0;     // word: writes that must be done before; signal by message: that must lie in the peer's memory
  void* key = nullptr;         // word
  status outcome;              // the first error of its parts

  void begin(peer& towards, message_kind kind) noexcept {
    to = &towards;
    head = {};
    head.kind = kind;
    source = nullptr, left = 0, piece = 0, value = 0;
    sent = request = answered = signals = marks = false;
    op.done = nullptr, op.kind = op_kind::put, op.local = unregistered_memory;
    what = frame_kind::message;
    number = needs = 0;
  }
};

// The answers to the requests of one peer: room for all that it may have under way, and one more, for the last piece of an
// answer can be at the peer, and its next request here, before the link says that the piece was sent.
class answer_pool {
 public:
  // `keeps`: the link may go on reading what it is to send, while the region of a piece is dropped. So it keeps a copy of that.
  bool reserve(bool keeps, std::uint32_t piece_bytes) noexcept {  // false: no memory
    if (frames_) return true;
    if (keeps && !copy_) copy_.reset(new (std::nothrow) std::byte[piece_bytes]);
    if (!keeps || copy_) frames_.reset(new (std::nothrow) frame[request_limit + 1]);
    for (std::uint32_t i = 0; frames_ && i <= request_limit; ++i) frames_[i].home = &free_, free_.push(frames_[i]);
    return frames_ != nullptr;
  }
  frame* take(peer& towards, message_kind kind) noexcept {  // null: all are in use
    frame* const f = free_.pop();
    if (f) f->begin(towards, kind);
    return f;
  }
  const std::byte* copy_of(std::span<const std::byte> piece) noexcept {
    if (!piece.empty()) copy_bytes(copy_.get(), piece.data(), piece.size());
    return copy_.get();
  }

 private:
  std::unique_ptr<frame[]> frames_;
  std::unique_ptr<std::byte[]> copy_;
  linked_stack<frame> free_;
};

}  // namespace tutti::messages

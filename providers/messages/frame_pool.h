// The frames of this rank's operations: pool_frames (rules.h), so that a cookie names one.
//
// A frame is on its peer's queue until all of it was sent; a request then lives on until it is answered. Whatever ends it,
// finish() does so once. While the link keeps a piece (peer::kept), only sender::sent() may end that frame.
#pragma once
#include "providers/messages/peer.h"

namespace tutti::messages {

class frame_pool {
 public:
  void open() {
    frames_ = std::make_unique<frame[]>(pool_frames);
    small_ = std::make_unique<std::byte[]>(std::size_t{pool_frames} * max_inline);
    for (std::uint32_t i = pool_frames; i-- > 0;) {
      frames_[i].index = i;
      frames_[i].small = small_.get() + std::size_t{i} * max_inline;
      frames_[i].home = &free_;
      free_.push(frames_[i]);
    }
  }

  // Null: all are in use, or the peer has as many as it may have.
  frame* take(peer& towards, message_kind kind) noexcept {
    frame* const f = towards.queue.size() + towards.under_way < queue_limit ? free_.pop() : nullptr;
    if (f) f->begin(towards, kind), ++busy_;
    return f;
  }
  frame* take_request(peer& towards, message_kind kind) noexcept {  // one that is answered
    frame* const f = towards.unanswered < request_limit ? take(towards, kind) : nullptr;
    if (!f) return nullptr;
    f->request = true;
    f->head.cookie = std::uint64_t{f->life} << 32 | f->index;
    ++towards.unanswered;
    return f;
  }
  // Ends a frame of this pool or of another list, and tells its completion, or the peer's next flush. An answer that comes later
  // finds that it has begun another life.
  void finish(frame& f, const status& outcome) noexcept {
    peer& p = *f.to;
    if (f.home == &free_) {
      if (f.op.done) f.op.done->finish(outcome);
      else if (!f.marks && f.head.kind != message_kind::packet) p.report(outcome);
      if (f.large) large_.push(*std::exchange(f.large, nullptr));
      --busy_;
    }
    if (f.request) --p.unanswered;
    if (f.marks) p.marking = false;
    ++f.life;
    f.to = nullptr;
    if (f.home) f.home->push(f);
  }

  // Where a packet of so many bytes is copied to, until its frame is finished; null: there is no room.
  std::byte* bytes_of(frame& f, std::size_t bytes) noexcept {
    if (bytes <= max_inline) return f.small;
    if (!larges_) {
      larges_.reset(new (std::nothrow) large_copy[large_copies]);
      for (std::uint32_t i = 0; larges_ && i < large_copies; ++i) large_.push(larges_[i]);
    }
    f.large = large_.pop();
    return f.large ? f.large->bytes : nullptr;
  }
  static constexpr std::size_t large_bytes() noexcept { return large_copies * sizeof(large_copy); }

  std::uint32_t busy() const noexcept { return busy_; }
  std::span<frame> all() noexcept { return {frames_.get(), frames_ ? pool_frames : 0u}; }

 private:
  static constexpr std::uint32_t large_copies = 32;
  std::unique_ptr<frame[]> frames_;
  std::unique_ptr<std::byte[]> small_;
  linked_stack<frame> free_;
  std::unique_ptr<large_copy[]> larges_;  // from the first packet on that needs one
  linked_stack<large_copy> large_;
  std::uint32_t busy_ = 0;
};

}  // namespace tutti::messages

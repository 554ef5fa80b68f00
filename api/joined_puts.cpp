#include "api/joined_puts.h"

#include <algorithm>
#include <cstring>

#include "api/context.h"
#include "core/transport/ops.h"
#include "messaging/layout_transfer.h"

namespace tutti {

joined_puts::~joined_puts() {
  if (holds_) ctx_->job->dismiss(*this);
}

// A put of no bytes is not worth a copy either.
void joined_puts::serve(tutti_context* ctx) noexcept {
  ctx_ = ctx;
  job& j = *ctx->job;
  const bool maps = j.net().caps().maps_node && j.facts().maps_node;
  near_ = maps ? 0 : messaging::short_block(j.facts().node);
  far_ = j.where().nodes() > 1 ? messaging::short_block(j.facts().network) : 0;
  longest_ = j.size() > 1 ? std::max(near_, far_) : 0;
}

std::size_t joined_puts::longest_towards(const tutti_window* w, std::uint32_t rank) const noexcept {
  const auto& node_of = ctx_->job->where().node_of;
  return node_of[w->memory->group().rank_of(rank)] == node_of[ctx_->job->rank()] ? near_ : far_;
}

bool joined_puts::take_short(tutti_window* w, std::uint32_t rank, std::uint64_t offset, const void* source, std::size_t bytes) noexcept {
  constexpr std::uint32_t calls_between = 32;  // as other operations do, which might be all that the rank does for long
  if (ctx_->peers_need_progress && ++ctx_->operations % calls_between == 0) ctx_->job->progress();
  const bool follows = w == window_ && rank == rank_ && offset == end_ && bytes > 0 && bytes <= longest_towards(w, rank);
  const std::size_t room = std::min<std::uint64_t>(messaging::packing_memory::slot_bytes, ctx_->piece);
  if (holds_ && (!follows || used_ + bytes > room) && release().failed()) return false;
  window_ = w, rank_ = rank, end_ = offset + bytes;
  if (!follows || bytes > room) return false;
  if (!holds_) {
    done_ = w->implicit.towards(rank, ctx_, ctx_->requests);
    if (!done_ || !ctx_->packing.ready(ctx_->job->net())) return false;
    slot_ = ctx_->packing.begin({.done = done_});
    if (slot_.empty()) return false;
    used_ = 0, holds_ = true;
    ctx_->job->enlist(*this);
  }
  std::memcpy(slot_.data() + used_, source, bytes);
  used_ += bytes;
  return true;
}

bool joined_puts::offer() noexcept {
  if (!holds_) return true;
  const messaging::packing_memory& packing = ctx_->packing;
  transport& net = ctx_->job->net();
  rma_op op = move_op(op_kind::put, packing.region(), packing.offset_of(slot_.data()), window_->memory->group().rank_of(rank_),
                      window_->memory->segment(), end_ - used_, static_cast<std::uint32_t>(used_), done_);
  if (used_ <= net.caps().max_inline) op.local = unregistered_memory, op.local_offset = reinterpret_cast<std::uintptr_t>(slot_.data());
  if (net.submit({&op, 1}) == 0) return false;
  holds_ = false;
  ctx_->job->dismiss(*this);
  return true;
}

// While this waits for room, other progress may have handed it over.
status joined_puts::release_now() noexcept {
  if (offer()) return {};
  const wait_note note{"room in a queue", window_->memory->group().rank_of(rank_), 0, 0};
  return ctx_->job->wait([&] { return offer(); }, [] { return status{}; }, note);
}

void joined_puts::forget(const tutti_window* w) noexcept {
  if (window_ != w) return;
  if (holds_) ctx_->job->dismiss(*this);
  holds_ = false, window_ = nullptr;
}

}  // namespace tutti

#include "bsp/direct_get.h"

#include <algorithm>
#include <cstring>

#include "core/transport/ops.h"
#include "core/transport/wait_out.h"

namespace tutti::bsp {

direct_gets::direct_gets(team& t, const window& own, const window_layout& layout, const registrar& areas,
                         const std::uint64_t& epoch)
    : team_(t), job_(t.parent_job()), window_(own), layout_(layout), areas_(areas), epoch_(epoch), base_(own.base()),
      asked_(t.size()), served_(t.size()) {
  job_.enlist(*this);
}

direct_gets::~direct_gets() {
  job_.dismiss(*this);
  wait_out(job_.net(), {&sending_, &answering_});
}

status direct_gets::fetch(std::uint32_t pid, std::uint32_t area, std::uint64_t offset, std::byte* into, std::uint64_t bytes) {
  const rank_t rank = team_.rank_of(pid);
  const std::uint32_t me = team_.index();
  while (bytes > 0) {
    const auto piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, window_layout::piece_bytes));
    const request r{epoch_, offset, area, piece, ++pieces_};
    std::memcpy(base_ + layout_.request_out(), &r, sizeof r);
    // The second says that there is a request from somebody: one word to look at, for who is asked by nobody.
    const rma_op ops[] = {
        with_signal(move_op(op_kind::put, window_.region(), layout_.request_out(), rank, window_.segment(), layout_.request_in(me),
                            sizeof r, &sending_),
                    window_.segment(), layout_.request_word(me), ++asked_[pid]),
        signal_op({rank, window_.segment(), layout_.requests()}, 1, signal_how::add, not_before::everything)};
    std::size_t taken = 0;
    const auto here = [&] {
      if (taken < 2) taken += job_.net().submit(std::span(ops).subspan(taken));
      return taken == 2 && sending_.idle() && load_acquire(base_ + window_layout::landed()) == pieces_;
    };
    const wait_note note{"bsp_direct_get", rank, 0, epoch_};
    if (status s = job_.wait(here, [&] { return team_.look(rank); }, note); !s.ok()) return s;
    if (!sending_.outcome().ok()) return sending_.outcome();
    std::memcpy(into, base_ + layout_.landing(), piece);
    into += piece, offset += piece, bytes -= piece;
  }
  return {};
}

void direct_gets::advance() noexcept {
  if (answer_waits_) {
    if (job_.net().submit({&answer_, 1}) == 0) return;
    answer_waits_ = false;
  }
  if (load_acquire(base_ + window_layout::requests()) == all_served_ || !answering_.idle()) return;
  for (std::uint32_t pid = 0; pid < team_.size(); ++pid) {
    const std::uint64_t number = load_acquire(base_ + layout_.request_word(pid));
    if (number != served_[pid] && serve(pid, number)) return;
  }
}

// False: not yet.
bool direct_gets::serve(std::uint32_t pid, std::uint64_t number) noexcept {
  request r;
  std::memcpy(&r, base_ + layout_.request_in(pid), sizeof r);
  if (r.epoch != epoch_) return false;
  served_[pid] = number;
  ++all_served_;
  const area* const a = areas_.at(r.area);
  const bool inside = a && r.bytes <= window_layout::piece_bytes && r.offset <= a->bytes && r.bytes <= a->bytes - r.offset;
  if (!inside) return true;  // which the asker has seen to
  std::memcpy(base_ + layout_.answer_out(), a->base + r.offset, r.bytes);
  const rank_t rank = team_.rank_of(pid);
  answer_ = with_signal(move_op(op_kind::put, window_.region(), layout_.answer_out(), rank, window_.segment(), layout_.landing(),
                                r.bytes, &answering_),
                        window_.segment(), window_layout::landed(), r.piece);
  answer_waits_ = job_.net().submit({&answer_, 1}) == 0;
  return true;
}

}  // namespace tutti::bsp

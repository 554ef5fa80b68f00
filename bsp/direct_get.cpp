#include "bsp/direct_get.h"

#include <algorithm>
#include <cstring>

#include "core/base/copy.h"
#include "core/transport/ops.h"
#include "core/transport/wait_out.h"

namespace tutti::bsp {

direct_gets::direct_gets(const context& c, const registrar& areas) : c_(c), areas_(areas), asked_(c.size), served_(c.size) {
  c_.job.enlist(*this);
}

direct_gets::~direct_gets() {
  c_.job.dismiss(*this);
  wait_out(c_.net, {&sending_, &answering_});
}

status direct_gets::fetch(std::uint32_t pid, std::uint32_t area, std::uint64_t offset, std::byte* into, std::uint64_t bytes) {
  const rank_t rank = c_.rank_of(pid);
  while (bytes > 0) {
    const auto piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, window_layout::piece_bytes));
    const request r{c_.epoch, offset, area, piece, ++pieces_};
    std::memcpy(c_.base + c_.layout.request_out(), &r, sizeof r);
    // The second says that there is a request from somebody: one word to look at, for who is asked by nobody.
    const rma_op ops[] = {
        with_signal(move_op(op_kind::put, c_.window->region(), c_.layout.request_out(), rank, c_.window->segment(),
                            c_.layout.request_in(c_.me),
                            sizeof r, &sending_),
                    c_.window->segment(), c_.layout.request_word(c_.me), ++asked_[pid]),
        signal_op({rank, c_.window->segment(), c_.layout.requests()}, 1, signal_how::add, not_before::everything)};
    std::size_t taken = 0;
    const auto here = [&] {
      if (taken < 2) taken += c_.net.submit(std::span(ops).subspan(taken));
      return taken == 2 && sending_.idle() && load_acquire(c_.base + window_layout::landed()) == pieces_;
    };
    const wait_note note{"bsp_direct_get", rank, 0, c_.epoch};
    if (status s = c_.job.wait(here, [&] { return c_.team.look(rank); }, note); s.failed()) return s;
    if (sending_.outcome().failed()) return sending_.outcome();
    copy_bytes(into, c_.base + c_.layout.landing(), piece);
    into += piece, offset += piece, bytes -= piece;
  }
  return {};
}

void direct_gets::advance() noexcept {
  if (answer_waits_) {
    if (c_.net.submit({&answer_, 1}) == 0) return;
    answer_waits_ = false;
  }
  if (load_acquire(c_.base + window_layout::requests()) == all_served_ || !answering_.idle()) return;
  for (std::uint32_t pid = 0; pid < c_.size; ++pid) {
    const std::uint64_t number = load_acquire(c_.base + c_.layout.request_word(pid));
    if (number != served_[pid] && serve(pid, number)) return;
  }
}

// False: not yet.
bool direct_gets::serve(std::uint32_t pid, std::uint64_t number) noexcept {
  request r;
  std::memcpy(&r, c_.base + c_.layout.request_in(pid), sizeof r);
  if (r.epoch != c_.epoch) return false;
  served_[pid] = number;
  ++all_served_;
  const area* const a = areas_.at(r.area);
  const bool inside = a && r.bytes <= window_layout::piece_bytes && r.offset <= a->bytes && r.bytes <= a->bytes - r.offset;
  if (!inside) return true;  // which the asker has seen to
  copy_bytes(c_.base + c_.layout.answer_out(), a->base + r.offset, r.bytes);
  const rank_t rank = c_.rank_of(pid);
  answer_ = with_signal(move_op(op_kind::put, c_.window->region(), c_.layout.answer_out(), rank, c_.window->segment(),
                                c_.layout.landing(),
                                r.bytes, &answering_),
                        c_.window->segment(), window_layout::landed(), r.piece);
  answer_waits_ = c_.net.submit({&answer_, 1}) == 0;
  return true;
}

}  // namespace tutti::bsp

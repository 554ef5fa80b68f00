#include "providers/verbs/send_queue.h"

#include <algorithm>

namespace tutti::verbs {

void send_queue::open(ibv_qp* qp, std::uint32_t depth, std::uint32_t name) {
  if (!records_ || depth_ != depth) records_ = std::make_unique<posted[]>(depth);
  qp_ = qp, depth_ = depth, name_ = name;
  head_ = tail_ = silent_ = reads_ = 0;
}

int send_queue::post(std::span<ibv_send_wr> wrs, std::span<const posted> what) noexcept {
  for (std::size_t i = 0; i < wrs.size(); ++i) {
    ibv_send_wr& wr = wrs[i];
    wr.wr_id = std::uint64_t{name_} << 32 | (head_ + static_cast<std::uint32_t>(i));
    wr.next = i + 1 < wrs.size() ? &wrs[i + 1] : nullptr;
    const bool awaited = what[i].done || what[i].kind == work::flush || what[i].kind == work::probe;
    const bool holds = what[i].kind == work::swap || what[i].kind == work::packet;
    if (awaited || holds || what[i].index || ++silent_ >= depth_ / 4) {
      wr.send_flags |= IBV_SEND_SIGNALED;
      silent_ = 0;
    }
  }
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(qp_, wrs.data(), &bad)) return error;
  for (const posted& p : what) {
    records_[head_++ & (depth_ - 1)] = p;
    if (p.kind == work::read) ++reads_;
  }
  return 0;
}

}  // namespace tutti::verbs

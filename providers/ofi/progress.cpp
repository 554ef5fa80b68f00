// What libfabric reports: messages that came, buffers that were sent, errors.
#include <algorithm>

#include "providers/ofi/link.h"

namespace tutti::ofi {

bool ofi_link::post(buffer& b) noexcept {
  return fi_recv(ofi_.endpoint.get(), b.data, buffer_bytes, descriptor_, FI_ADDR_UNSPEC, &b.context) == 0;
}

void ofi_link::repost() noexcept {
  while (unposted_ && post(*unposted_)) unposted_ = unposted_->next;
}

unsigned ofi_link::progress() noexcept {
  constexpr std::size_t batch = 16;
  fi_cq_msg_entry done[batch];
  unsigned events = 0;
  for (int rounds = 0; rounds < 4; ++rounds) {
    const ssize_t n = fi_cq_read(ofi_.completions.get(), done, batch);
    if (n == -FI_EAVAIL) {
      events += take_error();
      continue;
    }
    if (n <= 0) break;
    for (ssize_t i = 0; i < n; ++i) completed(done[i]);
    events += static_cast<unsigned>(n);
    if (static_cast<std::size_t>(n) < batch) break;
  }
  if (deferred_) events += deferred_->progress();
  if (reach_) reach_->progress();
  if (unposted_) repost();
  return events;
}

void ofi_link::completed(const fi_cq_msg_entry& what) noexcept {
  ticket& t = *static_cast<ticket*>(what.op_context);
  switch (t.what) {
    case asked::receive: return arrived(static_cast<buffer&>(t), what.len);
    case asked::send: return sent(static_cast<buffer&>(t));
    case asked::reach: return reach_->completed(static_cast<transfer&>(t), {});
  }
}

void ofi_link::sent(buffer& b) noexcept {
  b.next = free_;
  free_ = &b;
  if (b.line->window.moves()) b.line->window.acknowledged(b.sent, std::chrono::steady_clock::now());
  --b.line->sending;
  --sending_;
}

void ofi_link::give_back(buffer& b) noexcept {
  b.next = unposted_;
  unposted_ = &b;
}

void ofi_link::arrived(buffer& b, std::size_t bytes) noexcept {
  const std::span<const std::byte> whole{b.data, std::min<std::size_t>(bytes, buffer_bytes)};
  const std::size_t head = std::min(whole.size(), sizeof(message));
  net_->receive(whole.first(head), whole.subspan(head));
  give_back(b);
}

unsigned ofi_link::take_error() noexcept {
  fi_cq_err_entry what{};
  if (fi_cq_readerr(ofi_.completions.get(), &what, 0) != 1 || !what.op_context) return 0;
  ticket& t = *static_cast<ticket*>(what.op_context);
  if (t.what == asked::receive) {
    give_back(static_cast<buffer&>(t));
    return 1;
  }
  char words[256];
  const char* said = fi_cq_strerror(ofi_.completions.get(), what.prov_errno, what.err_data, words, sizeof words);
  const auto because = [&](const char* doing, rank_t rank) {
    return vendor_error(what.err, worded(doing, " (", said ? said : "no words", ")"), rank);
  };
  if (t.what == asked::reach) {
    auto& reached = static_cast<transfer&>(t);
    reach_->completed(reached, because("reaching", reached.f ? reached.f->to->rank : no_rank));
    return 1;
  }
  buffer& b = static_cast<buffer&>(t);
  peer& p = *b.to;
  sent(b);
  net_->suspect(p, because("sending", p.rank));
  return 1;
}

// True: libfabric makes its descriptor readable for whatever comes from now on.
bool ofi_link::arm() noexcept {
  return ofi_.wait_fd < 0 || (!unposted_ && (!reach_ || reach_->rests()) && rests() && (!deferred_ || deferred_->arm()));
}

}  // namespace tutti::ofi

// Operations that wait for a queue pair: the first ones to a peer, and those behind an error that broke its connection.
//
// To refuse them would be in the letter of clause 2, but a caller who addresses ten peers would then connect to them one
// after the other. So some are kept for each, bounded, and begun in their order as soon as there is a queue pair. An
// operation that waits counts once more in its completion, and in the regions that it names.
#include "providers/verbs/transport.h"

namespace tutti::verbs {
namespace {

template <class Use>
void each_region(const rma_op& op, Use&& use) {
  if (op.kind == op_kind::get_scatter)
    for (unsigned i = 0; i < op.slices; ++i) use(op.scatter[i].local);
  else if (op.kind != op_kind::signal)
    use(op.local);
}

}  // namespace

void verbs_transport::look_again(peer& p) noexcept { p.ready = p.confirmed && !p.failing && !p.waiting; }

bool verbs_transport::put_by(const rma_op& op, peer& p) noexcept {
  if (!p.confirmed && !p.failing) {
    if (status s = manager_.want(p.rank); s.failed()) return ends_at_once(op, p, s);
    handle_events();  // towards itself it is connected now
    if (!p.alive()) return ends_at_once(op, p, p.life.end());
    if (p.ready) return start(op, p);
    // The connection that came may have been forgotten for want of memory: what waits from here on needs another.
    if (status s = manager_.want(p.rank); s.failed()) return ends_at_once(op, p, s);
  }
  if (!p.waiting) {
    p.waiting.reset(new (std::nothrow) backlog);
    if (!p.waiting) return false;
    ++waiting_;
    look_again(p);
  }
  backlog& b = *p.waiting;
  if (b.count == backlog::most) return false;
  const std::uint32_t place = (b.first + b.count++) % backlog::most;
  rma_op& kept = b.ops[place] = op;
  const bool copies = (op.kind == op_kind::put || op.kind == op_kind::put_signal) && op.local == unregistered_memory;
  if (copies && op.bytes <= b.copies[place].size()) {
    if (op.bytes) std::memcpy(b.copies[place].data(), reinterpret_cast<const void*>(op.local_offset), op.bytes);
    kept.local_offset = reinterpret_cast<std::uint64_t>(b.copies[place].data());
  }
  if (op.done) op.done->begin();
  each_region(op, [&](region_id r) { regions_.use(r, 1); });
  return true;
}

void verbs_transport::pump(peer& p) noexcept {
  if (!p.confirmed || p.failing || !p.alive()) return;
  backlog& b = *p.waiting;
  while (b.count && start(b.ops[b.first], p)) {
    const rma_op& op = b.ops[b.first];
    b.first = (b.first + 1) % backlog::most, --b.count;
    each_region(op, [&](region_id r) { regions_.use(r, -1); });
    if (op.done) op.done->finish();
    if (p.failing) return;  // that was not even posted: the rest waits for another queue pair
  }
  if (b.count) return;
  p.waiting.reset();
  --waiting_;
  look_again(p);
}

void verbs_transport::end_backlog(peer& p, const status& why) noexcept {
  if (!p.waiting) return;
  const std::unique_ptr<backlog> gone = std::move(p.waiting);
  --waiting_;
  for (std::uint32_t i = 0; i < gone->count; ++i) {
    const rma_op& op = gone->ops[(gone->first + i) % backlog::most];
    each_region(op, [&](region_id r) { regions_.use(r, -1); });
    tell(p, op.done, why);
  }
  look_again(p);
}

}  // namespace tutti::verbs

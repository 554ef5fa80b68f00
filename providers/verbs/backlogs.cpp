#include "providers/verbs/backlogs.h"

#include <cstring>
#include <new>

namespace tutti::verbs {

void backlog_closer::operator()(backlog* b) const noexcept { delete b; }

// In the regions that it names.
void backlogs::count(const rma_op& op, int how) noexcept {
  if (op.kind == op_kind::get_scatter)
    for (unsigned i = 0; i < op.slices; ++i) regions_.use(op.scatter[i].local, how);
  else if (op.kind != op_kind::signal)
    regions_.use(op.local, how);
}

bool backlogs::keep(const rma_op& op, peer& p) noexcept {
  if (!p.waiting) {
    p.waiting.reset(new (std::nothrow) backlog);
    if (!p.waiting) return false;
    ++waiting_;
    p.look_again();
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
  count(op, 1);
  return true;
}

rma_op backlogs::leave(peer& p) noexcept {
  backlog& b = *p.waiting;
  const rma_op op = b.ops[b.first];
  b.first = (b.first + 1) % backlog::most, --b.count;
  count(op, -1);
  if (b.count) return op;
  p.waiting.reset();
  --waiting_;
  p.look_again();
  return op;
}

void backlogs::begun(peer& p) noexcept {
  if (completion* done = leave(p).done) done->finish();
}

void backlogs::end(peer& p, const status& why) noexcept {
  while (p.waiting) p.tell(leave(p).done, why);
}

}  // namespace tutti::verbs

// The first operation to a region, operations upon another process's own memory, and errors.
#include <sys/uio.h>
#include <time.h>

#include <cerrno>

#include "providers/shm/transport.h"

namespace tutti::shm {

namespace {

bool has_payload(const rma_op& op) noexcept {
  switch (op.kind) {
    case op_kind::put:
    case op_kind::get:
    case op_kind::put_signal: return op.bytes > 0;
    case op_kind::get_scatter: return op.slices > 0;
    default: return false;
  }
}

bool is_atomic(op_kind k) noexcept {
  return k == op_kind::fetch_add || k == op_kind::compare_swap || k == op_kind::swap;
}

bool has_word(const rma_op& op) noexcept {
  return op.kind == op_kind::signal || op.kind == op_kind::put_signal || is_atomic(op.kind);
}

status dropped(const peer& p) {
  return {errc::invalid, worded("rank ", p.rank, " has dropped the region"), p.rank};
}

mail_kind kind_of(const rma_op& op) noexcept {
  switch (op.kind) {
    case op_kind::fetch_add: return mail_kind::fetch_add;
    case op_kind::compare_swap: return mail_kind::compare_swap;
    case op_kind::swap: return mail_kind::swap;
    default: return op.how == signal_how::set ? mail_kind::set : mail_kind::add;
  }
}

}  // namespace

// Clause 3: to the operation's completion, else to the peer's next flush.
void shm_transport::fail(const rma_op& op, peer* p, const status& why) noexcept {
  if (op.done) {
    op.done->begin();
    op.done->finish(why);
  } else if (p && p->deferred.ok()) {
    p->deferred = why;
  }
}

// While its pidfd is not readable, a peer's pid cannot be another's; nor is it within the same millisecond, since no kernel gives out
// all its pids in so short a time. So of the copies of a millisecond the first one asks.
bool shm_transport::lives(peer& p) noexcept {
  timespec tick{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &tick);
  const auto now = static_cast<std::uint32_t>(tick.tv_sec * 1000 + tick.tv_nsec / 1'000'000);
  if (p.lived_at == now && p.life.alive() && !p.page->left.load(std::memory_order_acquire)) return true;
  if (check(p)) return false;
  p.lived_at = now;
  return true;
}

// The kernel copies between the two processes, synchronously.
status shm_transport::copy_user(const rma_op& op, peer& p, const key_blob& key) noexcept {
  if (!lives(p)) return p.life.end();
  if (const auto* serial = user_serial(*p.page, region_id{key.region}); serial && serial->load(std::memory_order_acquire) != key.serial)
    return dropped(p);
  iovec local[256];
  unsigned long n = 1;
  std::uint64_t bytes = op.bytes;
  if (op.kind == op_kind::get_scatter) {
    bytes = 0;
    for (n = 0; n < op.slices; ++n) {
      const slice& s = op.scatter[n];
      local[n] = {local_address(s.local, s.local_offset), s.bytes};
      bytes += s.bytes;
    }
  } else {
    local[0] = {local_address(op.local, op.local_offset), bytes};
  }
  const iovec remote{reinterpret_cast<void*>(key.address + op.remote_offset), bytes};
  const bool in = op.kind == op_kind::get || op.kind == op_kind::get_scatter;
  const pid_t pid = p.name.owner.pid;
  const ssize_t moved = in ? ::process_vm_readv(pid, local, n, &remote, 1, 0)
                           : ::process_vm_writev(pid, local, n, &remote, 1, 0);
  if (moved == static_cast<ssize_t>(bytes)) return {};
  const int error = moved < 0 ? errno : EFAULT;
  if (error == ESRCH && ends(p)) return p.life.end();  // it has no memory any more
  status s = os_error(worded("cannot copy ", bytes, " bytes ", (in ? "from" : "to"), " the memory of rank ", p.rank), error);
  return {s.code(), s.text(), p.rank, error};
}

// False: full, and no trace left.
bool shm_transport::submit_slowly(const rma_op& op) noexcept {
  peer* p = find(op.rank);
  if (!p || !p->life.alive()) {
    fail(op, p, p ? p->life.end() : status{errc::invalid, worded("rank ", op.rank, not_on_this_node), op.rank});
    return true;
  }
  settle(*p);

  status why;
  key_blob payload_key{}, word_key{};
  std::byte *payload = nullptr, *word = nullptr;
  if (has_payload(op)) payload = resolve(op.remote, *p, payload_key, why);
  if (has_word(op)) word = resolve(is_atomic(op.kind) ? op.remote : op.signal, *p, word_key, why);
  if (why.failed()) {
    if (why.code() == errc::peer_dead)
      why = has_let_go(*p) ? p->life.end() : is_held(p->name) ? dropped(*p) : closed_by_itself(*p);
    fail(op, p, why);
    return true;
  }

  // The place in the mailbox is taken before the payload moves, so that a full one is found before anything is done.
  const bool by_mail = has_word(op) && (!word || p->mail_pending);
  claim c;
  int slot = -1;
  if (by_mail) {
    if (is_atomic(op.kind) && (slot = free_question()) < 0) return false;
    c = claim_mail(*p);
    if (!c.slot) return false;
    c.slot->kind = mail_kind::nothing;
  }
  if (has_payload(op)) {
    if (payload) do_payload(op, payload + op.remote_offset, *p);
    else why = copy_user(op, *p, payload_key);
  }
  if (why.failed()) {
    fail(op, p, why);
  } else if (by_mail) {
    key_of(is_atomic(op.kind) ? op.remote : op.signal, *p, word_key);
    c.slot->region = word_key.region;
    c.slot->serial = word_key.serial;
    c.slot->offset = is_atomic(op.kind) ? op.remote_offset : op.signal_offset;
    c.slot->operand = op.operand;
    c.slot->expected = op.expected;
    c.slot->kind = kind_of(op);
    if (slot >= 0) ask(slot, *p, op, *c.slot);
  } else if (has_word(op)) {
    do_word(op, word + (is_atomic(op.kind) ? op.remote_offset : op.signal_offset), *p);
  }
  if (by_mail) publish_mail(*p, c);
  return true;
}

}  // namespace tutti::shm

// The rules of clause 13, and what becomes of an operation, or a two-sided message, that breaks one.
#include <algorithm>

#include "core/transport/checked_impl.h"

namespace tutti {
namespace {

status wrong(const text_parts& text) noexcept { return {errc::invalid, text}; }

constexpr bool inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t size) noexcept {
  return bytes <= size && offset <= size - bytes;
}

}  // namespace

status checked_transport::verify_remote(const char* what, segment_id id, rank_t rank, std::uint64_t offset,
                                        std::uint64_t bytes, bool word) const {
  const auto found = segments_.find(number(id));
  if (found == segments_.end())
    return wrong(worded(what, ": segment ", number(id), " is not attached: it was dropped or never was"));
  const group& g = found->second;
  const std::uint32_t i = g.members.index_of(rank);
  if (i >= g.extents.size())
    return wrong(worded(what, ": rank ", rank, " is no member of segment ", number(id)));
  const extent& e = g.extents[i];
  if (e.bytes == 0)
    return wrong(worded(what, ": rank ", rank, " exposes no memory in segment ", number(id)));
  if (!inside(offset, bytes, e.bytes))
    return wrong(worded(what, ": ", bytes, " bytes at offset ", offset, " leave the memory of rank ", rank, ", which has ",
                        e.bytes));
  if (word && (offset + e.skew) % 8 != 0)
    return wrong(worded(what, ": the word at offset ", offset, " of rank ", rank, " is not aligned to 8 bytes",
                        (e.skew ? ", since that rank's memory begins at an address that is not" : "")));
  return {};
}

status checked_transport::verify_local(region_id id, std::uint64_t offset, std::uint64_t bytes) const {
  if (bytes == 0) return {};
  if (id == unregistered_memory) return offset ? status{} : wrong("the local address is null");
  const auto region = regions_.find(number(id));
  if (region == regions_.end())
    return wrong(worded("local region ", number(id), " is not alive: it was dropped or never was"));
  if (!inside(offset, bytes, region->second.size()))
    return wrong(worded("local: ", bytes, " bytes at offset ", offset, " leave region ", number(id), ", which has ",
                        region->second.size()));
  return {};
}

status checked_transport::verify_slices(const rma_op& op, std::uint64_t& total) const {
  if (op.slices > caps().max_slices)
    return wrong(worded(op.slices, " slices, where this fabric takes ", caps().max_slices,
                        (caps().max_slices ? ": split the get" : ": use one get for each")));
  if (op.slices && !op.scatter) return wrong("the list of slices is null");
  for (std::uint8_t i = 0; i < op.slices; ++i) {
    const slice& s = op.scatter[i];
    if (const status bad = verify_local(s.local, s.local_offset, s.bytes); bad.failed())
      return bad.during(worded("slice ", i));
    total += s.bytes;
  }
  return {};
}

status checked_transport::verify(const rma_op& op) const {
  if (const status s = rank_error(op.rank); s.failed()) return s;
  bool put = false, get = false, scatter = false, signal = false, atomic = false;
  switch (op.kind) {
    case op_kind::put: put = true; break;
    case op_kind::get: get = true; break;
    case op_kind::get_scatter: scatter = true; break;
    case op_kind::signal: signal = true; break;
    case op_kind::put_signal: put = signal = true; break;
    case op_kind::fetch_add:
    case op_kind::compare_swap:
    case op_kind::swap: atomic = true; break;
    default: return wrong(worded("there is no operation of kind ", static_cast<unsigned>(op.kind)));
  }
  if (signal && (op.how > signal_how::add || op.order > not_before::everything))
    return wrong("a signal with an unknown `how` or `order`: zero the operation before you fill it");
  std::uint64_t bytes = put || get ? op.bytes : 0;
  if (scatter)
    if (const status s = verify_slices(op, bytes); s.failed()) return s;
  if (bytes > caps().max_bytes)
    return wrong(worded(bytes, " bytes in one operation, where this fabric takes ", caps().max_bytes, ": split it"));
  if (put || get || scatter)
    if (const status s = verify_remote("remote", op.remote, op.rank, op.remote_offset, bytes, false); s.failed()) return s;
  if (atomic)
    if (const status s = verify_remote("atomic", op.remote, op.rank, op.remote_offset, 8, true); s.failed()) return s;
  if (signal)
    if (const status s = verify_remote("signal", op.signal, op.rank, op.signal_offset, 8, true); s.failed()) return s;
  if (scatter) return {};
  return verify_local(op.local, op.local_offset, atomic ? 8 : bytes);
}

// The operation counts as taken; its completion has seen it begin and end.
void checked_transport::report(const rma_op& op, status error) {
  static constexpr const char* names[] = {"put",        "get",       "get_scatter",  "signal",
                                          "put_signal", "fetch_add", "compare_swap", "swap"};
  const auto kind = static_cast<std::size_t>(op.kind);
  error = error.during(worded(kind < std::size(names) ? names[kind] : "operation", " to rank ", op.rank));
  if (op.done) {
    op.done->begin();
    op.done->finish(error);
    return;
  }
  report(op.rank, std::move(error));
}

void checked_transport::report(rank_t rank, status error) {
  for (const auto& [of, first] : untold_)
    if (of == rank) return;
  untold_.emplace_back(rank, std::move(error));
}

status checked_transport::verify_message(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) const {
  if (const status s = rank_error(to); s.failed()) return s;
  if (!inner().reaches(to)) return wrong("this transport does not reach that rank");
  const two_sided::limits most = two_sided_.query();
  const auto part = [](const char* what, std::span<const std::byte> bytes, std::uint32_t at_most) {
    if (bytes.size() > at_most)
      return wrong(worded(what, " has ", bytes.size(), " bytes, where this fabric takes ", at_most));
    return !bytes.empty() && !bytes.data() ? wrong(worded(what, " lies at no address")) : status{};
  };
  const status s = part("the header", header, most.max_header);
  return s.ok() ? part("the payload", payload, most.max_payload) : s;
}

bool checked_transport::checked_two_sided::send(rank_t to, std::span<const std::byte> header,
                                                std::span<const std::byte> payload) noexcept {
  status s = net_.verify_message(to, header, payload);
  if (s.ok()) return net_.inner().sendrecv()->send(to, header, payload);
  net_.report(to, s.during(worded("a message to rank ", to)));
  return true;
}

std::size_t checked_transport::submit(std::span<const rma_op> ops) noexcept {
  std::size_t taken = 0;
  while (taken < ops.size()) {
    std::size_t end = taken;
    status found;
    while (end < ops.size() && (found = verify(ops[end])).ok()) ++end;
    if (end > taken) {
      const std::size_t got = inner().submit(ops.subspan(taken, end - taken));
      taken += got;
      if (taken < end) break;  // full: what lies behind, right or wrong, is not taken yet
    }
    if (found.failed()) report(ops[taken++], std::move(found));
  }
  return taken;
}

bool checked_transport::flush(rank_t peer, completion* done) noexcept {
  if (peer == no_rank || rank_error(peer).ok()) {
    if (!inner().flush(peer, done)) return false;
  } else if (done) {  // not forwarded; an error of an operation to that rank, which is told below, says the same
    done->begin();
    done->finish(rank_error(peer).during("flush"));
  }
  if (!done) return true;
  std::erase_if(untold_, [&](const auto& error) {
    if (peer != no_rank && peer != error.first) return false;
    done->begin();
    done->finish(error.second);
    return true;
  });
  return true;
}

}  // namespace tutti

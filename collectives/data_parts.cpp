// The parts of a collective operation: what one run of its schedule moves, where that lies, and by which numbers members know each other's.
#include <algorithm>
#include <array>
#include <string>

#include "collectives/data_collectives.h"

namespace tutti {
// What holds for all parts of an operation in which there is a block for each member.
void data_collectives::lay_out_blocks() noexcept {
  data_.in.stride = data_.out.stride = now_.bytes;
  const bool one_in = now_.of == collective::gather || now_.of == collective::allgather;
  const bool one_out = now_.of == collective::scatter || now_.of == collective::reduce_scatter;
  if (one_in) data_.in.first = team_.index();
  if (one_out) data_.out.first = team_.index();
  const block_lists* const l = now_.lists.get();
  if (!l) return;
  const auto given = [](const std::vector<std::uint64_t>& list) { return list.empty() ? nullptr : list.data(); };
  data_.in.lengths = (one_in ? l->out_lengths : l->in_lengths).data(), data_.in.begins = given(l->in_begins);
  data_.out.lengths = (one_out ? l->in_lengths : l->out_lengths).data(), data_.out.begins = given(l->out_begins);
}

// Where an alltoallv's members make unlike numbers of runs with each other, each pair counts those in which there was something. What
// is given tells both lengths of the pair.
void data_collectives::number_words() noexcept {
  resource& r = *by_->by;
  const auto number = [&](std::vector<std::uint64_t>& runs, std::vector<std::uint64_t>& values, const partition& blocks, const partition& back) {
    for (std::uint32_t peer = 0; peer < team_.size(); ++peer)
      if (blocks.length(peer) > 0)
        values[peer] = ++runs[peer] << digest_bits | ((digest_ ^ checksum(std::array{blocks.lengths[peer], back.lengths[peer]})) & digest_mask);
  };
  number(r.sent, sends_, data_.in, data_.out), number(r.taken, takes_, data_.out, data_.in);
  data_.sends = sends_.data(), data_.takes = takes_.data();
  if (r.of->data.needs_pairs) data_.sets = {r.of->data.sets(), r.words_bytes, r.set_bytes};
}

void data_collectives::place_slots(const partition& part) noexcept {
  resource& r = *by_->by;
  const std::uint64_t at = r.slots_at + r.next_set;
  by_->code.move_slots(staging, r.memory.base() + at, at, r.slot_bytes);
  if (r.of->data.needs_pairs) return;  // what the sets are is found with each pair's number
  // With one set of lines nobody puts before its taker has left the run before: the next run may have any slots.
  const std::uint64_t used = (part.bytes + part.piece - 1) / part.piece * r.slot_bytes;
  r.next_set += r.of->data.sets() > 1 ? r.set_bytes : std::min(used, r.set_bytes);
  if (r.next_set + r.set_bytes > r.slots_room) r.next_set = 0;
}

// Registers the caller's memory from `buffer` on, as far as peers are to reach it; a copy of it, if the result comes in its place.
status data_collectives::expose(std::uint32_t buffer) {
  const bool one = now_.of == collective::gather || now_.of == collective::allgather || now_.of == collective::broadcast;
  std::uint64_t bytes = one ? now_.bytes : now_.bytes * team_.size();
  if (const partition& in = data_.in; in.lengths) {
    bytes = 0;
    const std::uint32_t first = one ? team_.index() : 0, end = one ? first + 1 : team_.size();
    for (std::uint32_t i = first; i < end; ++i)
      if (in.lengths[i] > in.over) bytes = std::max(bytes, (in.begins ? in.begins[i] : 0) + in.lengths[i]);
  }
  std::byte* base = buffer == data_in ? const_cast<std::byte*>(now_.in) : now_.out;
  if ((now_.of == collective::alltoall || now_.of == collective::alltoallv) && now_.in == now_.out) {
    if (data_.in.from == 0) replaced_.assign(base, base + bytes);
    base = replaced_.data();
    by_->code.move(data_in, base);
  }
  if (bytes == 0) return {};
  registration_cache& kept = team_.parent_job().registrations();
  kept.release(exposed_);
  auto use = kept.acquire({base, bytes});
  if (!use) return use.error();
  exposed_ = *use;
  if (exposed_.key().size() > longest_key)
    return {errc::unsupported, worded("keys of ", exposed_.key().size(), " bytes are too long to be told, at most ", longest_key)};
  data_.mine = {exposed_.key(), exposed_.offset()};
  return {};
}

// Words are runs << 16 | digest. Who reads a word finds the other's digest there, or a later run's: then the other has left this
// one, having found the digests the same.
status data_collectives::begin_part() {
  auto found = bind(by_row_, now_.root);
  if (!found) return found.error();
  by_ = *found;
  by_->used = ++parts_;
  resource& r = *by_->by;
  const algorithm& row = *by_row_.row;
  const partition part = next_run(row, by_->room, end_ - at_, now_.element());
  for (partition* const p : {&data_.in, &data_.out}) p->bytes = part.bytes, p->piece = part.piece, p->from = at_;
  data_.words_at = r.of->data.needs_pairs ? 0 : r.uses++ % r.of->data.sets() * r.words_bytes;
  data_.signals_all = r.of->data.needs_everyone;  // nobody is a run ahead of a rank whose block is empty
  by_->code.move(data_in, const_cast<std::byte*>(now_.in));
  by_->code.move(data_out, now_.out);
  if (by_->code.exposed() != no_block)
    if (status s = expose(by_->code.exposed()); s.failed()) return s;
  constexpr std::uint64_t at = data_layout::line_data_at;
  if (row.data.in_lines && part.piece <= data_layout::line_data_bytes)
    by_->code.move_slots(staging, r.memory.base() + data_.words_at + at, data_.words_at + at, control::line_bytes);
  else
    place_slots(part);
  if (now_.of == collective::alltoallv) number_words();
  else ++runs_;
  by_->position->begin(runs_ << digest_bits | digest_, digest_mask, data_);
  at_ += moved_by(row, part);
  return {};
}

// After a failure the caller may change its memory though a late member has not read it: that one is to get an error, not other data.
void data_collectives::conceal(bool failed) noexcept {
  if (!exposed_) return;
  registration_cache& kept = team_.parent_job().registrations();
  if (failed) kept.revoke(exposed_);
  else kept.release(exposed_);
}

}  // namespace tutti

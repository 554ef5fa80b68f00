#include "collectives/bcast/broadcast_roll.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/transport/ops.h"
#include "core/transport/wait_out.h"

namespace tutti {
namespace {

std::string in_words(std::uint64_t bytes, std::uint64_t root) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes") + " with root " + std::to_string(root);
}

}  // namespace

result<std::unique_ptr<broadcast_roll>> broadcast_roll::open(team& t) {
  std::unique_ptr<broadcast_roll> r(new broadcast_roll(t));
  auto memory = window::open(t, {nullptr, all});  // zeroed
  if (!memory) return memory.error();
  r->memory_ = std::move(*memory);
  return r;
}

broadcast_roll::~broadcast_roll() { wait_out(team_.parent_job().net(), {&got_}); }  // a page lands in memory_

void broadcast_roll::enter(std::uint32_t root, std::uint64_t bytes) noexcept {
  page& p = mine();
  p.last[(p.calls + 1) % p.last.size()] = {bytes, root};
  std::atomic_ref(p.calls).store(p.calls + 1, std::memory_order_release);
  looks_ = 0;
  next_ = 0;
}

bool broadcast_roll::ask(rank_t whom) noexcept {
  got_.clear();
  const rma_op op = move_op(op_kind::get, memory_->region(), landing, whom, memory_->segment(), 0, sizeof(page), &got_);
  if (team_.parent_job().net().submit({&op, 1}) == 0) return false;
  asking_ = whom;
  return true;
}

std::uint64_t broadcast_roll::odd_call() const noexcept {
  const page &a = mine(), &b = theirs();
  const std::uint64_t kept = a.last.size(), newest = std::max(a.calls, b.calls);
  for (std::uint64_t call = newest < kept ? 1 : newest - kept + 1; call <= std::min(a.calls, b.calls); ++call)
    if (in(a, call) != in(b, call)) return call;
  return 0;
}

status broadcast_roll::doubt(std::span<const rank_t> awaited) noexcept {
  const bool round = std::has_single_bit(++looks_);
  if (asking_ != no_rank) {
    if (!got_.idle()) return {};
    const rank_t from = std::exchange(asking_, no_rank);
    const page& p = theirs();
    if (got_.outcome().ok() && (p.stranger != 0 || odd_call() != 0)) {
      if (suspect_ == from && std::memcmp(&before_, &p, sizeof p) == 0) return tell(from);
      suspect_ = from;
      before_ = p;
      ask(from);
      return {};
    }
    suspect_ = no_rank;
  }
  if (round) next_ = 0;
  while (next_ < awaited.size()) {
    const rank_t whom = awaited[next_++];
    if (whom == no_rank || whom == team_.rank_of(team_.index())) continue;
    ask(whom);
    break;
  }
  return {};
}

// Where roots differ, it may be somebody else who wrote what `from` should have: so everyone is asked until it shows.
status broadcast_roll::differs(rank_t from) noexcept {
  job& j = team_.parent_job();
  const time_point end = j.net().now() + std::chrono::seconds(1);
  for (std::uint32_t i = 0; i <= team_.size(); ++i) {
    const rank_t whom = i == 0 ? from : team_.rank_of(i - 1);
    if (whom == team_.rank_of(team_.index())) continue;
    const wait_note note{"broadcast: what another rank gives", whom, 0, 0};
    const auto dead = [&] { return j.net().health(whom); };
    if (!j.wait([&] { return got_.idle(); }, dead, note, end).ok()) continue;  // of an earlier question
    asking_ = no_rank;
    if (!j.wait([&] { return (asking_ == whom || ask(whom)) && got_.idle(); }, dead, note, end).ok()) continue;
    asking_ = no_rank;
    if (got_.outcome().ok() && (theirs().stranger != 0 || odd_call() != 0)) return tell(whom);
  }
  const what& w = in(mine(), calls());
  return {errc::protocol, "not all members give " + in_words(w.bytes, w.root) + ", as this rank does" + rule};
}

// What theirs() shows; and puts it on the own page, for those who wait for this rank.
status broadcast_roll::tell(rank_t from) noexcept {
  const page& p = theirs();
  page& own = mine();
  const std::uint64_t call = odd_call();
  const bool directly = call != 0;
  const rank_t stranger = directly ? from : static_cast<rank_t>(p.stranger - 1);
  const what strange = directly ? in(p, call) : p.strange, usual = directly ? in(own, call) : p.usual;
  own.strange = strange, own.usual = usual;
  std::atomic_ref(own.stranger).store(std::uint64_t{stranger} + 1, std::memory_order_release);
  return {errc::protocol, "rank " + std::to_string(stranger) + " gives " + in_words(strange.bytes, strange.root) + ", " +
                              (directly ? "this rank " : "another rank ") + in_words(usual.bytes, usual.root) + rule};
}

status broadcast_roll::late(const status& s) const {
  const what& w = in(mine(), calls());
  const std::string gives = "; this rank gives " + in_words(w.bytes, w.root) + ", and all members must";
  return {s.code(), std::string(s.text()) + gives, s.peer(), s.native()};
}

}  // namespace tutti

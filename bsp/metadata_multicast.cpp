// Gather and multicast (Birk 2006, 3.2). Every process puts its row of flags to process 0, the root. Once the root has all
// rows it turns them into a block for each process, in its own memory, and multicasts: all blocks, where they fit into a
// datagram; else a bit for each process, whether anybody has anything for it, and those of whom that is true get their
// block from the root.
//
// Objections come to the root with the rows, in the stamps that say that these are there. The first byte of the datagram and
// of each block then says whether anybody objects, so all learn it however they learn the rest.
//
// Loss. The release and its repair are core/engine/reliable_multicast.h's: a process that has waited for longer than patience
// reads at the root which epoch it released last. Where that is the awaited one, it reads its block too. The paper's node
// asks its manager instead; here the manager need not answer, so it may be anywhere in its program by then.
//
// Safety. Only the awaited epoch is taken; the root cannot release a later one, since it lacks this process's row. All
// blocks are complete before the epoch is released, and a block is read by a get of its own once that is known. The root
// writes the blocks of epoch e over those of an earlier one of this half, e - 2 or where supersteps between went by words
// e - 4 and so on, once it has all rows of e, which a process sends after it has left all earlier ones, so nobody reads a
// block that changes. Rows are covered likewise: who sends one for e has left e - 1, so the root has entered e - 1, and
// left whatever it took in before.
#include <algorithm>
#include <cstring>
#include <vector>

#include "bsp/window_layout.h"
#include "bsp/metadata_exchange.h"
#include "bsp/wire.h"
#include "core/transport/multicast.h"
#include "core/transport/ops.h"
#include "core/engine/reliable_multicast.h"
#include "core/transport/wait_out.h"
#include "core/job/window.h"

namespace tutti::bsp {
namespace {

constexpr std::uint32_t root = 0;
// The first byte of a datagram and of a block; a datagram without `whole` has but a bit for each process.
constexpr std::byte objects_bit{1}, whole{2};

class by_multicast final : public metadata_exchange {
 public:
  explicit by_multicast(team& t) : team_(t), job_(t.parent_job()), n_(t.size()) {}

  ~by_multicast() override { wait_out(job_.net(), {&done_}); }

  status open() {
    auto w = window::open(team_, {nullptr, team_.index() == root ? blocks(2, 0) : own_bytes()});
    if (!w) return w.error();
    memory_ = std::move(*w);
    std::vector<std::byte> token;
    const published_lines lines{memory_->segment(), memory_->region(), memory_->base(), 0};
    const multicast* const mc = job_.net().mcast();
    const std::uint32_t payload = mc ? mc->query().max_payload : 0;
    const std::uint32_t fits = payload - std::min(payload, reliable_multicast::head_bytes);
    const std::uint64_t all = 1 + std::uint64_t{n_} * n_;
    in_datagram_ = all <= fits;
    release_ = std::make_unique<reliable_multicast>(team_, root, 1, token, lines, in_datagram_ ? all : bits());
    if (status s = release_->form(token); s.failed()) return s;
    const status room = mc && fits < bits() ? status(errc::unsupported, worded("a datagram of ", payload, " bytes is too "
                                                     "small for ", n_, " processes")) : status{};
    return team_.agreed(room, job_.setup_deadline());
  }

  void begin(std::uint64_t epoch, std::span<const std::uint8_t> to, bool objects) noexcept override {
    epoch_ = epoch;
    objected_ = objects;
    state_ = state::sending;
    gathered_ = 0;
    heard_ = false;
    if (team_.index() == root) std::memcpy(memory_->base() + row(half(), root), to.data(), n_);
    else std::memcpy(memory_->base() + own_row(half()), to.data(), n_);
  }

  bool advance(std::span<std::uint8_t> from) noexcept override {
    return team_.index() == root ? gather(from) : follow(from);
  }

  bool objected() const noexcept override { return objected_; }
  rank_t awaited() const noexcept override {
    return team_.index() != root ? team_.rank_of(root) : gathered_ < n_ ? team_.rank_of(gathered_) : no_rank;
  }
  const status& outcome() const noexcept override { return done_.outcome(); }

 private:
  enum class state : std::uint8_t { sending, waiting, asking, over };

  unsigned half() const noexcept { return epoch_ & 1; }

  // --- the root ------------------------------------------------------------------------------------------------
  bool gather(std::span<std::uint8_t> from) noexcept {
    std::byte* const base = memory_->base();
    if (state_ == state::sending) {
      for (; gathered_ < n_; ++gathered_) {
        if (gathered_ == root) continue;
        const std::uint64_t stamp = load_acquire(base + word(half(), gathered_));
        if (stamp_epoch(stamp) != epoch_) return false;
        objected_ = objected_ || stamp_objects(stamp);
      }
      make_blocks();
      state_ = state::waiting;
    }
    if (state_ == state::waiting) {
      if (!release_->send(epoch_, in_datagram_ ? 1 + n_ * n_ : bits())) return false;
      state_ = state::over;
    }
    take(base + blocks(half(), root) + 1, from);
    return true;
  }

  void make_blocks() noexcept {
    std::byte* const base = memory_->base();
    std::byte* const body = release_->body().data();
    const std::byte objects = objected_ ? objects_bit : std::byte{};
    body[0] = objects | (in_datagram_ ? whole : std::byte{});
    if (!in_datagram_) std::memset(body + 1, 0, bits() - 1);
    for (std::uint32_t q = 0; q < n_; ++q) {
      std::byte* const block = base + blocks(half(), q);
      block[0] = objects;
      std::byte any{};
      for (std::uint32_t p = 0; p < n_; ++p) any |= block[1 + p] = base[row(half(), p) + q];
      if (in_datagram_) std::memcpy(body + 1 + std::size_t{q} * n_, block + 1, n_);
      else if (any != std::byte{}) body[1 + q / 8] |= std::byte{1} << (q % 8);
    }
  }

  // --- the others ----------------------------------------------------------------------------------------------
  bool follow(std::span<std::uint8_t> from) noexcept {
    transport& net = job_.net();
    const std::uint32_t me = team_.index();
    const rank_t manager = team_.rank_of(root);
    if (state_ == state::sending) {
      const rma_op op = with_signal(move_op(op_kind::put, memory_->region(), own_row(half()), manager, memory_->segment(),
                                            row(half(), me), n_, &done_),
                                    memory_->segment(), word(half(), me), make_stamp(epoch_, objected_));
      if (net.submit({&op, 1}) == 0) return false;
      state_ = state::waiting;
    }
    if (state_ == state::waiting) {
      if (!heard_ && !release_->arrived(epoch_)) return false;
      if (!heard_ && hear(release_->received(), from)) {
        state_ = state::over;
      } else {
        heard_ = true;  // released for certain: the block is there to be read
        const rma_op op = move_op(op_kind::get, memory_->region(), own_block(), manager, memory_->segment(), blocks(half(), me),
                                  1 + n_, &done_);
        if (!done_.idle() || net.submit({&op, 1}) == 0) return false;
        state_ = state::asking;
      }
    }
    if (state_ == state::asking && done_.idle()) {
      const std::byte* const block = memory_->base() + own_block();
      objected_ = (block[0] & objects_bit) != std::byte{};
      take(block + 1, from);
      state_ = state::over;
    }
    return state_ == state::over && done_.idle();
  }

  // Whether the datagram came, and told all there is to know.
  bool hear(std::span<const std::byte> body, std::span<std::uint8_t> from) noexcept {
    const std::uint32_t me = team_.index();
    if (body.empty() || body.size() != ((body[0] & whole) != std::byte{} ? 1 + std::size_t{n_} * n_ : bits())) return false;
    objected_ = (body[0] & objects_bit) != std::byte{};
    if ((body[0] & whole) != std::byte{}) {
      take(body.data() + 1 + std::size_t{me} * n_, from);
      return true;
    }
    if ((body[1 + me / 8] >> (me % 8) & std::byte{1}) != std::byte{}) return false;
    std::fill(from.begin(), from.end(), std::uint8_t{0});
    return true;
  }

  void take(const std::byte* block, std::span<std::uint8_t> from) const noexcept {
    for (std::uint32_t p = 0; p < n_; ++p)
      if (p != team_.index()) from[p] = std::to_integer<std::uint8_t>(block[p]);
  }

  std::uint32_t bits() const noexcept { return 1 + n_ / 8 + 1; }  // bytes of a body that has a bit for each
  // After the lines of the release, at the root: arrival words, rows and blocks of each process. Elsewhere: my row, twice,
  // and where a block comes to.
  std::uint64_t line() const noexcept { return round_up(n_ + 1, 64); }
  std::uint64_t word(unsigned h, std::uint32_t p) const noexcept {
    return published_lines::bytes + 8ull * (h * std::uint64_t{n_} + p);
  }
  std::uint64_t row(unsigned h, std::uint32_t p) const noexcept {
    return round_up(word(2, 0), 64) + line() * (h * std::uint64_t{n_} + p);
  }
  std::uint64_t blocks(unsigned h, std::uint32_t p) const noexcept {
    return row(2, 0) + line() * (h * std::uint64_t{n_} + p);
  }
  std::uint64_t own_row(unsigned h) const noexcept { return published_lines::bytes + h * line(); }
  std::uint64_t own_block() const noexcept { return own_row(2); }
  std::uint64_t own_bytes() const noexcept { return own_row(3); }

  team& team_;
  job& job_;
  std::uint32_t n_, gathered_ = 0;
  std::uint64_t epoch_ = 0;
  state state_ = state::over;
  std::unique_ptr<window> memory_;
  std::unique_ptr<reliable_multicast> release_;
  bool in_datagram_ = false, objected_ = false, heard_ = false;
  completion done_;
};

}  // namespace

result<std::unique_ptr<metadata_exchange>> make_multicast(team& t) {
  auto m = std::make_unique<by_multicast>(t);
  if (status s = m->open(); s.failed()) return s;
  return std::unique_ptr<metadata_exchange>(std::move(m));
}

}  // namespace tutti::bsp

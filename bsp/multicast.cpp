// Gather and multicast (Birk 2006, 3.2). Every process puts its row of flags to process 0, the root. Once the root has all
// rows it turns them into a block for each process, in its own memory, and multicasts: all blocks, where they fit into a
// datagram; else a bit for each process, whether anybody has anything for it, and those of whom that is true get their
// block from the root.
//
// Objections come to the root with the rows, in the stamps that say that these are there. The root's own stamp, at the
// head of the datagram and of each block, then says whether anybody objects, so all learn it however they learn the rest.
//
// Loss. Nothing is acknowledged. A process that has waited for longer than patience reads the stamp of its block at the
// root: where that is the awaited one, the release was lost, and it reads the block; else the root has not released
// yet, and it waits on. The paper's node asks its manager instead; here the manager need not answer, so it may be
// anywhere in its program by then.
//
// Safety. A datagram names its epoch, and only the awaited one is taken; the root cannot release a later one, since it
// lacks this process's row. A block is complete before its stamp is stored, and the stamp is read before the block, by a
// get of its own. The root writes the blocks of epoch e over those of an earlier one of this half, e - 2 or where
// supersteps between went by words e - 4 and so on, once it has all rows of e, which a process sends after it has left
// all earlier ones, so nobody reads a block that changes. Rows are covered likewise: who sends one for e has left e - 1,
// so the root has entered e - 1, and left whatever it took in before. Datagrams that nobody took, because a read was
// faster, stay in the group while supersteps go by words, and are passed over by their epoch when next one is awaited.
#include <algorithm>
#include <cstring>
#include <vector>

#include "bsp/board.h"
#include "bsp/info_exchange.h"
#include "bsp/wire.h"
#include "core/ops.h"
#include "core/wait_out.h"
#include "core/window.h"

namespace tutti::bsp {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::nanoseconds first_patience = 1ms, most_patience = 50ms;
constexpr std::uint32_t root = 0;
constexpr std::uint32_t tag_blocks = 1, tag_bits = 2;

class by_multicast final : public info_exchange {
 public:
  explicit by_multicast(team& t) : team_(t), job_(t.parent_job()), n_(t.size()) {}

  ~by_multicast() override {
    wait_out(job_.net(), {&done_});
    if (joined_) job_.net().mcast()->leave(group_);
  }

  status open() {
    auto w = window::open(team_, {nullptr, team_.index() == root ? blocks(2, 0) : own_bytes()});
    if (!w) return w.error();
    memory_ = std::move(*w);
    // The root forms the group and tells how; then all tell whether they are in it.
    multicast* const mc = job_.net().mcast();
    const time_point deadline = job_.net().now() + job_.options().setup_timeout;
    std::vector<std::byte> token;
    status trouble;
    if (!mc) {
      trouble = status(errc::unsupported, "this transport has no multicast");
    } else if (team_.index() == root) {
      auto g = mc->create(team_.members(), token, deadline);
      if (g) group_ = *g, joined_ = true;
      else trouble = g.error(), token.clear();
    }
    auto tokens = team_.exchange(token);
    if (!tokens) return tokens.error();
    if (team_.index() != root && trouble.ok()) {
      if ((**tokens)[root].empty()) {
        trouble = status(errc::unavailable, "process 0 could not form a multicast group", team_.rank_of(root));
      } else {
        auto g = mc->join(team_.members(), (**tokens)[root], deadline);
        if (g) group_ = *g, joined_ = true;
        else trouble = g.error();
      }
    }
    const std::byte fine{trouble.ok()};
    auto all = team_.exchange({&fine, 1});
    if (!trouble.ok()) return trouble;
    if (!all) return all.error();
    for (std::uint32_t i = 0; i < n_; ++i)
      if ((**all)[i][0] == std::byte{0})
        return {errc::unavailable, "process " + std::to_string(i) + " could not join the multicast", team_.rank_of(i)};
    in_datagram_ = std::uint64_t{n_} * n_ + sizeof(std::uint64_t) <= mc->query().max_payload;
    if (n_ / 8 + 1 + sizeof(std::uint64_t) > mc->query().max_payload)
      return {errc::unsupported, "a datagram of " + std::to_string(mc->query().max_payload) + " bytes is too small for " +
                                     std::to_string(n_) + " processes"};
    letter_.resize(sizeof(std::uint64_t) + (in_datagram_ ? std::size_t{n_} * n_ : n_ / 8 + 1));
    return {};
  }

  void begin(std::uint64_t epoch, std::span<const std::uint8_t> to, bool objects) noexcept override {
    epoch_ = epoch;
    objected_ = objects;
    state_ = state::sending;
    gathered_ = 0;
    patience_ = first_patience;
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
  enum class state : std::uint8_t { sending, waiting, asking_stamp, asking_block, over };

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
      release();
      state_ = state::waiting;
    }
    if (state_ == state::waiting) {
      if (!job_.net().mcast()->send(group_, in_datagram_ ? tag_blocks : tag_bits, letter_)) return false;
      state_ = state::over;
    }
    take(base + blocks(half(), root) + sizeof(std::uint64_t), from);
    return true;
  }

  void release() noexcept {
    std::byte* const base = memory_->base();
    const std::uint64_t stamp = make_stamp(epoch_, objected_);
    std::memcpy(letter_.data(), &stamp, sizeof stamp);
    std::byte* const body = letter_.data() + sizeof stamp;
    if (!in_datagram_) std::memset(body, 0, n_ / 8 + 1);
    for (std::uint32_t q = 0; q < n_; ++q) {
      std::byte* const block = base + blocks(half(), q);
      std::byte any{};
      for (std::uint32_t p = 0; p < n_; ++p) {
        const std::byte flags = base[row(half(), p) + q];
        block[sizeof stamp + p] = flags;
        any |= flags;
      }
      if (in_datagram_) std::memcpy(body + std::size_t{q} * n_, block + sizeof stamp, n_);
      else if (any != std::byte{}) body[q / 8] |= std::byte{1} << (q % 8);
      std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(block)).store(stamp, std::memory_order_release);
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
      lose_patience_at_ = net.now() + patience_;
    }
    if (state_ == state::waiting && !hear(from)) {
      if (state_ == state::waiting) {
        if (net.now() < lose_patience_at_) {
          job_.wake_at(lose_patience_at_);
          return false;
        }
        if (!done_.idle() || !ask(0, sizeof(std::uint64_t))) return false;
        state_ = state::asking_stamp;
      }
    }
    if (state_ == state::asking_stamp && done_.idle()) {
      std::uint64_t seen;
      std::memcpy(&seen, memory_->base() + own_block(), sizeof seen);
      if (stamp_epoch(seen) == epoch_) {
        if (!ask(sizeof seen, n_)) return false;
        objected_ = stamp_objects(seen);
        state_ = state::asking_block;
      } else {  // not released: the others are late, and more patience is due
        patience_ = std::min<std::chrono::nanoseconds>(2 * patience_, most_patience);
        lose_patience_at_ = net.now() + patience_;
        job_.wake_at(lose_patience_at_);
        state_ = state::waiting;
      }
    }
    if (state_ == state::asking_block && done_.idle()) {
      take(memory_->base() + own_block() + sizeof(std::uint64_t), from);
      state_ = state::over;
    }
    return state_ == state::over && done_.idle();
  }

  // Whether a datagram told all there is to know. One that tells only that there is something sends for it.
  bool hear(std::span<std::uint8_t> from) noexcept {
    multicast::datagram d;
    while (job_.net().mcast()->receive(group_, d)) {
      std::uint64_t stamp;
      if (d.from != team_.rank_of(root) || d.payload.size() != letter_.size()) continue;
      std::memcpy(&stamp, d.payload.data(), sizeof stamp);
      if (stamp_epoch(stamp) != epoch_) continue;
      objected_ = stamp_objects(stamp);
      const std::byte* const body = d.payload.data() + sizeof stamp;
      const std::uint32_t me = team_.index();
      if (d.tag == tag_blocks) {
        take(body + std::size_t{me} * n_, from);
        state_ = state::over;
        return true;
      }
      if ((body[me / 8] >> (me % 8) & std::byte{1}) == std::byte{}) {
        std::fill(from.begin(), from.end(), std::uint8_t{0});
        state_ = state::over;
        return true;
      }
      lose_patience_at_ = job_.net().now();  // released for certain: read it now
    }
    return false;
  }

  bool ask(std::uint64_t offset, std::uint32_t bytes) noexcept {
    const rma_op op = move_op(op_kind::get, memory_->region(), own_block() + offset, team_.rank_of(root), memory_->segment(),
                              blocks(half(), team_.index()) + offset, bytes, &done_);
    return job_.net().submit({&op, 1}) == 1;
  }

  void take(const std::byte* block, std::span<std::uint8_t> from) const noexcept {
    for (std::uint32_t p = 0; p < n_; ++p)
      if (p != team_.index()) from[p] = std::to_integer<std::uint8_t>(block[p]);
  }

  // At the root: arrival words, rows and blocks of each process. Elsewhere: my row, twice, and where a block comes to.
  std::uint64_t line() const noexcept { return round_up(n_ + sizeof(std::uint64_t), 64); }
  std::uint64_t word(unsigned h, std::uint32_t p) const noexcept { return 8ull * (h * std::uint64_t{n_} + p); }
  std::uint64_t row(unsigned h, std::uint32_t p) const noexcept {
    return round_up(word(2, 0), 64) + line() * (h * std::uint64_t{n_} + p);
  }
  std::uint64_t blocks(unsigned h, std::uint32_t p) const noexcept {
    return row(2, 0) + line() * (h * std::uint64_t{n_} + p);
  }
  std::uint64_t own_row(unsigned h) const noexcept { return h * line(); }
  std::uint64_t own_block() const noexcept { return 2 * line(); }
  std::uint64_t own_bytes() const noexcept { return 3 * line(); }

  team& team_;
  job& job_;
  std::uint32_t n_, gathered_ = 0;
  std::uint64_t epoch_ = 0;
  state state_ = state::over;
  std::unique_ptr<window> memory_;
  multicast::group_id group_{};
  bool joined_ = false, in_datagram_ = false, objected_ = false;
  std::vector<std::byte> letter_;
  std::chrono::nanoseconds patience_{};
  time_point lose_patience_at_{};
  completion done_;
};

}  // namespace

result<std::unique_ptr<info_exchange>> make_multicast(team& t) {
  auto m = std::make_unique<by_multicast>(t);
  if (status s = m->open(); !s.ok()) return s;
  return std::unique_ptr<info_exchange>(std::move(m));
}

}  // namespace tutti::bsp

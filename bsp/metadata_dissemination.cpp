// Everyone's byte for everyone in log2 n rounds (Bruck, Ho, Kipnis, Upfal and Weathersby 1997). A process numbers what it
// has by distance: byte i is for the process i further on. In round k it sends those whose number has bit k to the
// process 2^k further on, and takes as many from the process 2^k before, in their places. A byte for distance i thus
// moves by every power of two in i, and after the last round byte i is the one from the process i before.
//
// The partners are those of the dissemination barrier (collectives/dissemination.h). The rounds are gone here and not by
// the executor of schedules: its steps move one stretch of bytes and set a word to the epoch, where a round packs every
// other stretch of 2^k bytes, which would be n / 2^(k+1) copies, and where the word says besides whether anybody objects.
//
// Objections. The stamp of each message says whether its sender objects or knows of one who does. Before round k that is
// what the 2^k processes up to it have said; the target then knows of the 2^(k+1) up to itself. After the last round these
// are n or more, so all, some of them twice where n is no power of two: that does no harm to an or.
//
// Gaps. A process that writes for epoch e over what it wrote for an earlier e' of this half has left the sync of e - 1,
// whichever way that went, so the target has entered it, and had left that of e' before, with all that it read there.
#include <algorithm>
#include <vector>

#include "bsp/window_layout.h"
#include "bsp/metadata_exchange.h"
#include "bsp/wire.h"
#include "collectives/dissemination.h"
#include "core/transport/ops.h"
#include "core/transport/wait_out.h"
#include "core/job/window.h"

namespace tutti::bsp {
namespace {

class dissemination final : public metadata_exchange {
 public:
  explicit dissemination(team& t) : team_(t), n_(t.size()), rounds_(rounds_of(n_)), held_(n_) {}
  ~dissemination() override { wait_out(team_.parent_job().net(), {&done_}); }

  status open() {
    auto w = window::open(team_, {nullptr, out(2, 0)});
    if (!w) return w.error();
    memory_ = std::move(*w);
    return {};
  }

  void begin(std::uint64_t epoch, std::span<const std::uint8_t> to, bool objects) noexcept override {
    epoch_ = epoch, round_ = 0, sent_ = false, objected_ = objects;
    for (std::uint32_t i = 0; i < n_; ++i) held_[i] = to[(team_.index() + i) % n_];
  }

  bool advance(std::span<std::uint8_t> from) noexcept override {
    const std::uint32_t me = team_.index();
    const unsigned half = epoch_ & 1;
    std::byte* const base = memory_->base();
    for (; round_ < rounds_; ++round_, sent_ = false) {
      const dissemination_round partners = dissemination_partners(me, n_, round_);
      if (!sent_) {
        auto* packed = reinterpret_cast<std::uint8_t*>(base + out(half, round_));
        std::uint32_t count = 0;
        for (std::uint32_t i = 0; i < n_; ++i)
          if (i & partners.distance) packed[count++] = held_[i];
        const rma_op op = with_signal(move_op(op_kind::put, memory_->region(), out(half, round_), team_.rank_of(partners.to),
                                              memory_->segment(), in(half, round_), count, &done_),
                                      memory_->segment(), word(half, round_), make_stamp(epoch_, objected_));
        if (!(sent_ = team_.parent_job().net().submit({&op, 1}) == 1)) return false;
      }
      const std::uint64_t stamp = load_acquire(base + word(half, round_));
      if (stamp_epoch(stamp) != epoch_) return false;
      objected_ = objected_ || stamp_objects(stamp);
      const auto* packed = reinterpret_cast<const std::uint8_t*>(base + in(half, round_));
      for (std::uint32_t i = 0; i < n_; ++i)
        if (i & partners.distance) held_[i] = *packed++;
    }
    if (!done_.idle()) return false;
    for (std::uint32_t i = 1; i < n_; ++i) from[(me + n_ - i) % n_] = held_[i];
    return true;
  }

  bool objected() const noexcept override { return objected_; }
  rank_t awaited() const noexcept override {
    return round_ == rounds_ ? no_rank : team_.rank_of(dissemination_partners(team_.index(), n_, round_).from);
  }
  const status& outcome() const noexcept override { return done_.outcome(); }

 private:
  std::uint64_t line() const noexcept { return round_up(n_, 64); }
  std::uint64_t word(unsigned half, std::uint32_t round) const noexcept { return 64ull * (half * rounds_ + round); }
  std::uint64_t in(unsigned half, std::uint32_t round) const noexcept {
    return word(2, 0) + line() * (half * rounds_ + round);
  }
  std::uint64_t out(unsigned half, std::uint32_t round) const noexcept {
    return in(2, 0) + (half < 2 ? line() * (half * rounds_ + round) : line() * 2 * std::max(1u, rounds_));
  }

  team& team_;
  std::uint32_t n_, rounds_, round_ = 0;
  std::uint64_t epoch_ = 0;
  bool sent_ = false, objected_ = false;
  std::vector<std::uint8_t> held_;
  std::unique_ptr<window> memory_;
  completion done_;
};

}  // namespace

result<std::unique_ptr<metadata_exchange>> make_dissemination(team& t) {
  auto d = std::make_unique<dissemination>(t);
  if (status s = d->open(); s.failed()) return s;
  return std::unique_ptr<metadata_exchange>(std::move(d));
}

}  // namespace tutti::bsp

// Everyone's byte for everyone in log2 n rounds (Bruck, Ho, Kipnis, Upfal and Weathersby 1997). A process numbers what it
// has by distance: byte i is for the process i further on. In round k it sends those whose number has bit k to the
// process 2^k further on, and takes as many from the process 2^k before, in their places. A byte for distance i thus
// moves by every power of two in i, and after the last round byte i is the one from the process i before.
//
// Objections. The stamp of each message says whether its sender objects or knows of one who does. Before round k that is
// what the 2^k processes up to it have said; the target then knows of the 2^(k+1) up to itself. After the last round these
// are n or more, so all, some of them twice where n is no power of two: that does no harm to an or.
//
// Gaps. A process that writes for epoch e over what it wrote for an earlier e' of this half has left the sync of e - 1,
// whichever way that went, so the target has entered it, and had left that of e' before, with all that it read there.
#include <algorithm>
#include <bit>
#include <vector>

#include "bsp/window_layout.h"
#include "bsp/metadata_exchange.h"
#include "bsp/wire.h"
#include "core/transport/ops.h"
#include "core/transport/wait_out.h"
#include "core/job/window.h"

namespace tutti::bsp {
namespace {

class dissemination final : public metadata_exchange {
 public:
  explicit dissemination(team& t) : team_(t), n_(t.size()), rounds_(static_cast<std::uint32_t>(std::bit_width(n_ - 1))), held_(n_) {}
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
      const std::uint32_t distance = 1u << round_;
      if (!sent_) {
        auto* packed = reinterpret_cast<std::uint8_t*>(base + out(half, round_));
        std::uint32_t count = 0;
        for (std::uint32_t i = 0; i < n_; ++i)
          if (i & distance) packed[count++] = held_[i];
        const rank_t to = team_.rank_of((me + distance) % n_);
        const rma_op op = with_signal(move_op(op_kind::put, memory_->region(), out(half, round_), to, memory_->segment(),
                                              in(half, round_), count, &done_),
                                      memory_->segment(), word(half, round_), make_stamp(epoch_, objected_));
        if (!(sent_ = team_.parent_job().net().submit({&op, 1}) == 1)) return false;
      }
      const std::uint64_t stamp = load_acquire(base + word(half, round_));
      if (stamp_epoch(stamp) != epoch_) return false;
      objected_ = objected_ || stamp_objects(stamp);
      const auto* packed = reinterpret_cast<const std::uint8_t*>(base + in(half, round_));
      for (std::uint32_t i = 0; i < n_; ++i)
        if (i & distance) held_[i] = *packed++;
    }
    if (!done_.idle()) return false;
    for (std::uint32_t i = 1; i < n_; ++i) from[(me + n_ - i) % n_] = held_[i];
    return true;
  }

  bool objected() const noexcept override { return objected_; }
  rank_t awaited() const noexcept override {
    if (round_ == rounds_) return no_rank;
    return team_.rank_of((team_.index() + n_ - (1u << round_)) % n_);
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
  if (status s = d->open(); !s.ok()) return s;
  return std::unique_ptr<metadata_exchange>(std::move(d));
}

// Words leave one after the other; rounds come one after the other, and each costs a whole message; the root takes in n
// messages, and a datagram goes out. Where memory is read in place a word is a store.
double metadata_us(metadata_way way, std::uint32_t n, std::uint32_t besides, const loggp& c, bool loads,
               double multicast_us) noexcept {
  const double each = std::max(c.overhead_us, c.gap_us), message = c.latency_us + 2 * c.overhead_us;
  const double word = each * (loads ? 0.25 : 1.0);
  switch (way) {
    case metadata_way::direct: return (n - 1) * word + message;
    case metadata_way::dissemination: return std::bit_width(n - 1) * message + besides * word;
    case metadata_way::multicast: break;
  }
  return multicast_us > 0 ? message + (n - 1) * each * 0.5 + multicast_us + besides * word : 1e300;
}

metadata_way choose_metadata_way(std::uint32_t n, const loggp& c, bool loads, double multicast_us) noexcept {
  if (n <= 2) return metadata_way::direct;
  const auto us = [&](metadata_way way) { return metadata_us(way, n, 0, c, loads, multicast_us); };
  const double direct = us(metadata_way::direct), rounds = us(metadata_way::dissemination), root = us(metadata_way::multicast);
  if (direct <= rounds && direct <= root) return metadata_way::direct;
  return rounds <= root ? metadata_way::dissemination : metadata_way::multicast;
}

std::uint32_t words_pay_from(metadata_way way, std::uint32_t n, const loggp& c, bool loads, double multicast_us) noexcept {
  const double direct = metadata_us(metadata_way::direct, n, 0, c, loads, multicast_us);
  std::uint32_t besides = 0;
  while (besides < n && metadata_us(way, n, besides, c, loads, multicast_us) < direct) ++besides;
  return besides;
}

}  // namespace tutti::bsp

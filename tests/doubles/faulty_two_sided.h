// Two-sided messages that are refused now and then, and seen late, as the contract allows. Private to tests/doubles/fault_transport.
#pragma once
#include <utility>

#include "core/transport/two_sided.h"
#include "tests/doubles/fault_transport.h"

namespace tutti {

class faulty_two_sided final : public two_sided {
 public:
  faulty_two_sided(two_sided& inner, fault_dice& dice) : inner_{inner}, dice_{dice} {}

  two_sided& wraps() const noexcept { return inner_; }
  void progress() noexcept { hidden_ = armed_ = false; }
  // True: a sleep may begin. Nothing is hidden between this and the next progress(), and nobody sleeps upon a refusal from here, of
  // which the transport below does not know.
  bool arm() noexcept {
    hidden_ = false, armed_ = true;
    return !std::exchange(owes_room_, false);
  }

  limits query() const noexcept override { return inner_.query(); }
  bool send(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept override {
    if (dice_.roll(dice_.plan.refuse, refused_)) return !(owes_room_ = true);
    return inner_.send(to, header, payload);
  }
  bool receive(message& out) noexcept override {
    hidden_ = hidden_ || (!armed_ && dice_.roll(dice_.plan.idle));
    return !hidden_ && inner_.receive(out);
  }

 private:
  two_sided& inner_;
  fault_dice& dice_;
  unsigned refused_ = 0;  // in a row
  bool hidden_ = false, armed_ = false, owes_room_ = false;
};

}  // namespace tutti

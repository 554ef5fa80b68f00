// Barriers of message-passing libraries, by tutti's messages: what the papers compare theirs with.
#pragma once
#include <string>

#include "messaging/messages.h"

namespace tutti::tools::papers {

class message_barrier {
 public:
  enum class kind : std::uint8_t {
    pairwise,       // MPI-PE: recursive doubling; where the ranks are no power of two, the rest report to one of the others first, and are
                    // told last (Kini 2003, 3.1; Buntinas 2001, 2.2)
    dissemination,  // MPI-DS (Kini 2003, 6)
  };
  message_barrier(messaging::tagged& by_tag, team& all, kind k) noexcept : by_tag_(by_tag), all_(all), kind_(k) {}
  status enter() noexcept;

 private:
  status exchange(std::uint32_t to, std::uint32_t from) noexcept;
  status send(std::uint32_t to) noexcept { return by_tag_.send({&all_, to, 1, nullptr, 0}); }
  status receive(std::uint32_t from) noexcept { return by_tag_.receive({&all_, from, 1, ~std::uint64_t{0}, nullptr, 0, nullptr}); }

  messaging::tagged& by_tag_;
  team& all_;
  const kind kind_;
};

}  // namespace tutti::tools::papers

// The broadcasts of one team: chooses by size, runs the choice. What an algorithm needs is made when it is first chosen,
// which all members do alike: for the trees a window with control words and 1 MiB a member of staging memory; for multicast a
// group and what collectives/bcast/reliable_broadcast.h says. A team that never broadcasts pays nothing.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/bcast/reliable_broadcast.h"
#include "collectives/pick.h"
#include "collectives/sequence.h"
#include "core/engine/executor.h"
#include "core/job/window.h"

namespace tutti {

class team_bcast final : public operation_sequence {
 public:
  // Collective over the team, which must outlive it as its record must; blocks. `wanted` as TUTTI_BCAST, empty: chosen; alike
  // in all members. `multicast` false: never by multicast, though the transport has it. Errors: invalid (no such algorithm),
  // unsupported (it needs multicast and there is none), those of an exchange.
  static result<std::unique_ptr<team_bcast>> open(team&, call_record&, std::string wanted, bool multicast);

  // Collective, and entered in the record before: `data` of member `root` comes to all; `root` and the number of bytes are
  // alike in all. Blocks until the data is here, or, at the root, until `data` may be changed (by multicast: until all have
  // it). Errors: invalid (no such root; nothing happened), peer_dead (named), timed_out, protocol (some member gives another
  // root or number of bytes, or calls something else: named, with both). After any but the first the engine is broken, and
  // gives the same error from then on.
  // Cost: allocates where it does for the first time what an algorithm needs, at the first broadcast of a class of sizes, and for
  // the trees a schedule where root and algorithm are none of the last few.
  status run(std::uint32_t root, std::span<std::byte> data, time_point deadline = time_point::max());
  // The same in two halves: the request, to be tested and waited for (sequence.h); `data` is the engine's until it is complete.
  // Blocks only where an algorithm is chosen for the first time, to make what it needs: for the other members' call, and for
  // the broadcasts before it; `deadline` is for that.
  result<std::uint64_t> start(std::uint32_t root, std::span<std::byte> data, time_point deadline = time_point::max());

  const algorithm& algorithm_for(std::uint64_t bytes) const;  // what it would choose
  const reliable_broadcast* by_multicast() const noexcept { return multicast_.get(); }  // null: not used so far

 private:
  // A schedule bound to this team.
  struct bound {
    const algorithm* row = nullptr;
    std::uint32_t root = 0;
    std::uint64_t used = 0;  // when, in runs
    program code;
    std::unique_ptr<tutti::run> position;
  };
  struct call {
    std::uint32_t root = 0;
    std::span<std::byte> data;
    const algorithm* row = nullptr;  // null: moves nothing
    std::uint64_t number = 0;        // among the team's collective calls
  };
  team_bcast(team& t, call_record& r) : operation_sequence(t, 1, &r), nodes_(t.nodes()) {}
  void begin(std::uint64_t number) noexcept override;
  bool go_on(std::uint32_t looks, status& error) noexcept override;
  status look() noexcept override;
  wait_note waiting_for() const noexcept override;
  void tell(const status& error) noexcept override { team_.fail_if_lost(error); }
  status explained(const status& error) override;
  void begin_part() noexcept;

  choice_inputs inputs(std::uint64_t bytes) const;
  result<const algorithm*> prepare(std::uint32_t root, std::uint64_t bytes, time_point deadline);
  status agree(std::uint32_t root, std::uint64_t bytes, time_point deadline);
  status prepare_trees();
  result<bound*> bind(const algorithm&, std::uint32_t root);
  std::uint64_t words_bytes() const noexcept;

  std::vector<std::uint32_t> nodes_;
  choice_inputs facts_;    // agreed; but for `bytes`
  std::array<const algorithm*, size_classes> chosen_{};
  std::vector<call> calls_;          // those not begun, in order; the present one is `now_`
  call now_;
  bound* by_ = nullptr;              // the present one by a tree; null: by multicast, or nothing
  std::size_t at_ = 0;               // bytes of it that earlier runs moved
  status trouble_;                   // with its beginning
  std::unique_ptr<reliable_broadcast> multicast_;
  std::unique_ptr<window> trees_;    // their words, then staging memory
  std::uint64_t runs_ = 0;           // of the trees
  std::array<bound, 4> bound_;
};

}  // namespace tutti

// The collectives of one team that move data: runs what was chosen (collective_choices.h). What an algorithm needs
// is made when it is first chosen, which all members do alike, as a part of that operation: its control words and staging
// memory, with one exchange of keys; for multicast a group and what collectives/bcast/reliable_broadcast.h says. Before the first
// one that may go by multicast, members agree on what theirs can do. A team that moves no data pays nothing.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/bcast/reliable_broadcast.h"
#include "collectives/collective_choices.h"
#include "collectives/sequence.h"
#include "core/engine/executor.h"
#include "core/job/registration_cache.h"
#include "core/job/slot_pool.h"

namespace tutti {

class hierarchy;

// Who writes a line that another core has in its cache takes it from there, which costs several times what it costs to write one that
// is in no core's own cache: 64 KiB went from core to core in 1.7 us through 2 MiB of slots and more, in 8 through fewer (1 MiB of own
// cache each). So slots are taken by turns, out of more bytes than these caches hold, where ranks have cores of their own. Ranks that share
// a core share its cache as well, and slots are better few.
inline constexpr std::uint64_t slots_by_turns = 4 << 20;

// Of all slots that an algorithm has until the first call that is too long for one of them, except that each has a cache line. That
// call has another exchange of keys, and from then on all calls use the larger slots. A job may have thousands of teams. One that makes
// many calls gets the larger slots, too, where these are taken by turns: 256 bytes to 1 KiB take a sixth longer through few slots.
inline constexpr std::uint64_t first_slots = 4 << 10;
inline constexpr std::uint64_t short_runs = 1024;      // before that
inline constexpr std::uint64_t as_fast_in_few = 128;   // bytes

// Larger memory of an algorithm goes to the job's slot_pool.
inline constexpr std::uint64_t never_given_back = 64 << 10;

// What the executor is told of a reduction.
struct arithmetic {
  reduction op;
  std::span<std::byte> scratch;    // of an element at least, for a user's function
};

class data_collectives final : public operation_sequence {
 public:
  // The team and its record must outlive it.
  data_collectives(team&, call_record&, choice_settings);
  ~data_collectives() override;

  // Collective, and entered in the record before; `root` is a member. run() blocks until the result is here, or, where none comes,
  // until `in` may be changed; start() gives the request, to be tested and waited for (sequence.h), and the memory is the
  // engine's until it is complete. Errors: peer_dead (named), timed_out, protocol (some member gives something else, or calls
  // something else: named, with both), no_resource, unsupported (an algorithm asked for by name cannot run here). After any of
  // them the engine is broken, and gives the same error from then on.
  // Cost: allocates where an algorithm is used for the first time, and a schedule where root and algorithm are none of the
  // last few.
  status run(const collective_call&, time_point deadline = time_point::max());
  std::uint64_t start(const collective_call&);

  collective_choices& choices() noexcept { return choices_; }
  // Collective, with nothing under way: this one from now on, whatever the size. For who measures.
  void take(collective, const candidate&);
  candidate latest() const { return {.row = choice_.row, .radix = choice_.radix}; }  // of the newest operation begun; no row: it needed none
  const reliable_broadcast* by_multicast() const noexcept { return multicast_.get(); }  // null: not used so far

 private:
  // Words and slots of an algorithm, and of those that share them; others beside them for calls or elements that are too long for these
  // slots. All members know alike which are there, and which a call uses: calls have the same order and the same `alike_bytes`.
  // Runs that put into slots go through `slots_room` set by set,
  // so a set is used again after as many runs as there are sets of lines, or more.
  static constexpr std::uint64_t any_length = ~std::uint64_t{0};
  struct resource {
    const algorithm* of;
    std::uint32_t radix;
    std::uint64_t words_bytes;                      // of one set of lines
    std::uint64_t slots_at, slot_bytes, set_bytes;  // behind the lines; of one set of slots
    std::uint64_t longest = any_length;             // alike_bytes of the calls that use it
    std::uint64_t slots_room, next_set = 0;         // bytes of all; where among them the next run has its set
    std::uint64_t uses = 0;                         // runs
    std::vector<std::uint64_t> sent, taken;         // of an alltoallv, by team index: runs in which there was something
    exposed_memory memory;
    std::unique_ptr<slot_pool::holding> holding;    // null: it stays for as long as the engine
  };
  // A schedule bound to this team.
  struct bound {
    const algorithm* row = nullptr;
    std::uint32_t radix = 0, root = 0;
    bool first_set = false;
    std::uint64_t used = 0;              // when, in parts of operations
    resource* by = nullptr;
    run_room room;
    program code;
    std::unique_ptr<tutti::run> position;
  };
  using choice = collective_choices::choice;
  static choice of_long(const choice& c) noexcept { return {.row = c.of_long}; }
  struct call : collective_call {
    std::uint64_t number = 0;            // among the team's collective calls
    call_record::what what{};            // as entered there
    std::uint64_t around = 0;            // of a phase: what its digest has of the operation's (collectives/hierarchy.h)
  };

  friend class hierarchy;
  friend class operation_sequence;
  void begin(std::uint64_t number) noexcept override;
  bool go_on(std::uint32_t looks, status& error) noexcept override;
  status look() noexcept override;
  wait_note waiting_for() const noexcept override;
  void tell(const status& error) noexcept override;
  status explained(const status& error) override;

  void begin(const call&) noexcept;
  void drop(const status&) noexcept;
  bool enqueue(const collective_call&);  // false: no memory, and the engine is broken; a team of one throws
  bool set_up(status& error);
  status begin_chosen();
  void begin_multicast() noexcept;
  bool run_parts(std::uint32_t looks, status& error) noexcept;
  void finish_alone() const noexcept;
  resumable<status> equipping_chosen(std::vector<std::byte> agreement);
  bool step(std::uint32_t looks, status& error) noexcept;
  resource* resource_of(const choice&) noexcept;
  bool equipped(const choice&) noexcept;
  bool ready(const choice&) noexcept;
  bool can_be_given_back(const resource&) const noexcept;
  void give_back(const resource&) noexcept;
  bool begin_short_blocks() noexcept;
  status long_to_one_alone(rank_t from) noexcept;
  resumable<status> preparing();
  resumable<status> equipping(choice, std::vector<std::byte> agreement);
  result<bound*> bind(const choice&, std::uint32_t root);
  shape shape_of(const choice& c, std::uint32_t root = 0, bool first_set = false) const noexcept {
    return {.rank = team_.index(), .size = team_.size(), .radix = c.radix, .node_of = choices_.nodes(), .root = root, .first_set = first_set,
            .copies_first = team_.parent_job().net().caps().registering.any()};
  }
  // data_parts.cpp
  status begin_part();
  void lay_out_blocks() noexcept;
  void number_words() noexcept;
  void place_slots(const partition& part) noexcept;
  status expose(std::uint32_t buffer);
  void conceal(bool failed) noexcept;

  collective_choices choices_;
  std::vector<call> calls_;              // in order, from begun_ on those not begun; the present one is `now_`
  std::size_t begun_ = 0;
  call now_;
  choice choice_;                        // of the present one; no row: none was needed, or is not chosen yet
  static constexpr unsigned digest_bits = 16;
  static constexpr std::uint64_t digest_mask = (std::uint64_t{1} << digest_bits) - 1;
  std::uint64_t digest_ = 0;             // of what all members must give alike
  resumable<status> setup_;              // of the present one, while it is prepared
  bound* by_ = nullptr;                  // by a schedule
  unscheduled* other_ = nullptr;         // by no schedule, or by none any more (algorithm::down_by_multicast); null: by_, or nothing
  status trouble_;                       // with its beginning
  arithmetic arithmetic_;                // of it
  run_data data_;                        // of its present part
  std::vector<std::uint64_t> sends_, takes_;  // of its words, where lists are used
  std::vector<std::byte> scratch_;
  registration_cache::use exposed_;      // of the caller's memory, or of its copy, while peers may reach it
  std::vector<std::byte> replaced_;      // what the caller has given where the result comes in its place
  choice by_row_;                        // of the present part
  rank_t ahead_from_ = no_rank;          // who was seen in another row than where this rank waits for it, since then
  time_point ahead_since_{};
  std::uint64_t at_ = 0, end_ = 0;       // bytes that earlier runs moved, of those that go by this row
  std::unique_ptr<reliable_broadcast> multicast_;
  std::unique_ptr<hierarchy> hierarchy_;
  std::vector<std::unique_ptr<resource>> resources_;
  slot_pool::holding* in_use_ = nullptr; // of the present operation; null: none, or what it uses stays
  std::size_t holdings_ = 0;             // of resources_
  std::vector<const algorithm*> given_back_;  // whose
  std::uint64_t runs_ = 0;               // alike in all members
  std::uint64_t parts_ = 0;
  static constexpr std::size_t most_bound = 64;
  std::vector<std::unique_ptr<bound>> bound_;
  std::size_t found_ = 0;                // of them, the last one asked for
};

}  // namespace tutti

// Deferred work of libfabric (FI_QUEUE_WORK): writes that the provider does by itself when a counter reaches a threshold,
// with a domain, an endpoint and counters of their own. It runs schedules (core/transport/transport.h, offload).
//
// One epoch. A schedule becomes a chain of gates (gates.h). Each word that is waited for is memory of the plan, written
// by one peer alone and registered so that a write to it counts in its gate's counter. The signals behind a gate are
// queued with the threshold "all that this gate counts in an epoch, times the epoch's number", and count in the next
// gate's counter when they are complete. The first gate counts the program's start as well. What is written is the epoch.
//
// Why a stale counter or an early message releases nothing untrue. A rank enters an epoch by starting it, and has finished
// it when all its words show it. A signal of epoch e says that certain ranks have entered e. Counters only add up, so a
// gate could be opened for e by counts of a later epoch f in place of some of e that are missing. But a count of f means
// that some rank started f, which it does only when it has finished e (epoch sets, below), and whoever has finished e knows
// that all have entered it. So a gate that opens too early opens for an epoch that everybody is in, and its signals tell
// the truth. Counts of earlier epochs are spent: they are part of the threshold. And no count stays away: an epoch brings
// every gate exactly what its threshold asks for, so all gates open at last. That an epoch has finished is read from the
// words and not from counters: each of its signals has come, or a later one over it.
//
// Epoch sets. A rank that starts f before it has finished e would spoil that argument. So a plan has `epoch_sets` sets of words,
// counters and registrations, and epoch e uses set e mod epoch_sets: within a set the argument holds as it stands, and a rank
// may be `epoch_sets` epochs ahead of what it has finished. Sets share nothing; that e+1 has finished says that everybody
// started it, and so e before it.
//
// A word only advances. Its writer's signals to it wait behind one counter, which releases them in the order of their
// thresholds, and FI_ORDER_WAW keeps writes from one endpoint to another in order. A peer that is an epoch of the set
// ahead writes a later value over one that nobody has looked at yet: as good, by reached().
//
// Who owns what. Words: their one writer; this rank looks. Values that are sent and descriptions of work: the fabric, from
// queue() until the signal is complete. They stand in a ring of slots, and completions have no counter to themselves: they
// are what a gate has counted besides starts and arrivals. With the counter read first and the words after it, too few of
// them may be found but never too many (settled()).
//
// Many epochs. Counters may be narrow: sockets compares 32 bits with a sign, and knows of no wrap. So a set takes off what
// it has counted after every `counted_epochs`, by adding the negative number, which disturbs no arrival that counts in the
// meantime; this needs a moment in which nothing of the set is queued or on its way, and holds up queueing ahead, nothing
// else. Counters that take no negative number are those of adapters, with 48 bits and more, and go on for years. Words
// wrap with the epoch, which is compared as a serial number.
//
// The end. A rank that has finished an epoch may not yet have sent all its signals of it: drop() waits until they are
// complete. Registrations go next, so that nothing counts any more, and counters last. What is queued never starts;
// libfabric is asked to forget it (sockets cannot, and loses a few hundred bytes with each). Signals to a peer that died
// may never complete: that plan's memory is kept until the endpoint is closed. The death itself shows as any other does.
// On sockets that plan can stop all others upon this endpoint; schedule_runner.h then goes on upon another one.
#pragma once
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>

#include <array>
#include <unordered_map>

#include "core/transport/offload.h"
#include "core/transport/transport.h"
#include "providers/ofi/context.h"
#include "providers/ofi/gates.h"

namespace tutti::ofi {

inline constexpr std::uint32_t epoch_sets = 4;
inline constexpr std::uint32_t slots = 64;              // epochs described at once; a multiple of epoch_sets
inline constexpr std::uint32_t counted_epochs = 128;    // of a set, before it takes off what it counted
inline constexpr std::uint32_t most_plans = 64;

// A registered word of a member, one for each epoch set.
struct far_line {
  std::uint64_t key, address;
};

// One description of work. libfabric reads it until the signal is complete.
struct deferred_signal {
  fi_deferred_work work;
  fi_op_rma op;
  iovec from;
  fi_rma_iov to;
};

struct plan {
  struct epoch_set {
    std::vector<owned<fid_cntr>> counters;              // by gate
    std::vector<owned<fid_mr>> registrations;           // by gate; null: no words
    std::uint64_t started = 0, queued = 0;              // epochs of this set
    std::uint64_t taken_off = 0;                        // epochs that the counters no longer count
  };
  std::vector<gate> gates;
  rank_map members;
  std::uint64_t first_epoch = 1;
  std::uint32_t schedule_words = 0, waits = 0, sends = 0;
  std::vector<std::uint32_t> writers;                   // of a set's lines, gate by gate: who signals there
  std::unique_ptr<std::byte[]> memory;                  // epoch_sets * waits lines, then a value for each slot
  std::uint64_t* words = nullptr;
  std::uint64_t* values = nullptr;
  owned<fid_mr> registered_values;                      // where the provider asks for that
  std::array<epoch_set, epoch_sets> each;
  std::vector<deferred_signal> work;                    // slot by slot, gate by gate
  std::uint64_t queued = 0, started = 0, finished = 0;  // epochs
  std::uint32_t half_queued = 0;                        // signals of the next epoch that the fabric took before it was full
  void* work_descriptor = nullptr;                      // of registered_values
  bool connected = false;
  status error;

  const std::uint64_t& word(std::uint32_t l, std::uint32_t line) const noexcept;
  std::uint64_t arrivals(std::uint32_t l, std::uint32_t line) const noexcept;  // epochs of the set that have arrived
  std::uint64_t settled(std::uint32_t l) const noexcept;                       // whose signals from here are complete
  std::uint32_t missing() const noexcept;
};

class deferred final : public offload {
 public:
  // Unsupported or unavailable: why this provider cannot, as found by trial.
  static result<std::unique_ptr<deferred>> open(const std::string& provider);
  ~deferred() override;

  limits query() const noexcept override { return {most_plans, epoch_sets, slots}; }
  result<plan_id> prepare(const schedule&, const rank_map&, std::uint64_t, std::vector<std::byte>&) override;
  status connect(plan_id, shared_blobs) override;
  std::uint32_t queue(plan_id, std::uint32_t) noexcept override;
  bool start(plan_id) noexcept override;
  std::uint64_t finished(plan_id) noexcept override;
  std::uint32_t awaits(plan_id) noexcept override;
  status outcome(plan_id) noexcept override;
  void drop(plan_id) noexcept override;

  // A plan was dropped while signals from here were under way, as those to a dead peer are for ever.
  bool left_behind() const noexcept { return !kept_.empty(); }

  // Every arrival makes an entry in a completion queue that is there for its descriptor alone.
  int wait_fd() const noexcept { return ofi_.wait_fd; }
  unsigned progress() noexcept;
  bool arm() noexcept;

 private:
  deferred() = default;
  status try_out();                                     // deferred_trial.cpp
  result<owned<fid_cntr>> new_counter() const;
  result<owned<fid_mr>> register_region(void* at, std::size_t bytes, fid_cntr*);
  std::uint64_t address_of(const void*, const void* base) const noexcept;
  status build(plan&);                                  // deferred_plan.cpp
  bool queue_next(plan&) noexcept;                      // deferred_run.cpp
  bool take_off(plan&, std::uint32_t set) noexcept;
  plan& at(plan_id id) noexcept { return *plans_[static_cast<std::uint32_t>(id)]; }
  result<fi_addr_t> reach(std::span<const std::byte> name);

  handles ofi_;
  std::vector<std::unique_ptr<plan>> plans_;
  std::vector<std::unique_ptr<plan>> kept_;             // dropped while the fabric had work of theirs
  std::vector<std::byte> name_;                         // of the endpoint
  std::unordered_map<std::string, fi_addr_t> known_;    // by name
  bool subtracts_ = false;                              // counters take negative numbers
};

}  // namespace tutti::ofi

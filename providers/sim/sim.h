// A simulated fabric: any number of virtual ranks in one process under a virtual clock. Same parameters, same run, bit
// for bit. It is the transport contract's adversary: within what core/transport/transport.h leaves open it delivers in any order
// the seed says, refuses, loses datagrams and lets ranks die, so that an engine which is right here is right by the
// contract and not by luck.
//
// Cost (LogGP, Alexandrov et al. 1995). A message of b bytes that a rank submits at its time t
//   * takes the rank's processor until t + o;
//   * leaves its adapter at i = max(t + o, adapter free); the adapter is free again at i + g + b/G';  (G' = bytes_per_ns)
//   * is at the target's adapter from i + L on, which takes in one message after the other, in the order in which they come: it
//     takes effect b/G' later, or, where the adapter is busy, b/G' after that; then the adapter is free again after g.
// A get or an atomic travels to the target without payload, samples or changes its memory there, and returns through
// the target's adapter in the same way. Ranks of one node use `node_cost` and adapters of their own.
//
// What LogGP leaves out can be added, each by itself: one adapter for all ranks of a node (shared_adapters), links between the nodes
// (topology.h, links.cpp), cores that ranks share (cores.h), disturbances (noise.h), multicast that takes the longer the more
// members it has, connections that are made at the first message, and what processors, adapters and buses do beside it (hardware).
//
// Two ways to run. `run` gives every rank a stack, on one thread; one runs at a time, in virtual-time order: code that blocks by its transport
// works unchanged. `drive` calls resumable ranks from one event loop, without stacks: 10,000 ranks of a
// few KiB each. Outside of both, calls pump the event loop themselves (a world of one, small tests).
//
// Virtual time passes in submit() (o an operation), in sleep() and in a progress() that finds nothing to do. A rank
// that polls memory without calling its transport stops the world, since no other rank can run meanwhile.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/job/bootstrap.h"
#include "core/transport/provider.h"
#include "core/transport/transport.h"
#include "providers/sim/cores.h"
#include "providers/sim/noise.h"
#include "providers/sim/topology.h"

namespace tutti::sim {

// Deliberate violations of the contract, for tests that must show that they notice.
enum class mutant : std::uint8_t {
  none,
  signal_overtakes_payload,  // clause 5
  signal_overtakes_earlier,  // clause 5: order `everything` is treated as `payload`
  signals_swap,              // clause 5: signals of one origin to one word in any order
  done_before_read,          // clause 3: a put completes before its source was read
  done_before_landing,       // clause 3: a get completes before its result landed
  flush_at_once,             // clause 4
  refused_leaves_trace,      // clause 2: a refused operation is performed all the same
  atomic_twice,              // clause 7
  lost_wakeup,               // clause 9: what arrives does not end a sleep
  packets_swap,              // two_sided.h: messages of one origin out of order
  packet_lost,
  packet_twice,
  packets_unbounded,         // two_sided.h: no send is refused
  packet_refused_sent,       // two_sided.h: one that was refused is sent all the same
  packet_reused,             // two_sided.h: what is held changes when another comes
  packets_hold_operations,   // two_sided.h: operations upon a target without room are refused
  room_wakes_nobody,         // two_sided.h: a sleep that follows a refusal does not end with room
  packets_wait_for_the_dead, // two_sided.h: sends towards a dead rank are refused
};

struct death {
  rank_t rank;
  double at_us;  // virtual time
};

// How fast a rank's processor copies in memory, and adds up, bytes a nanosecond; 0: in no time. The library charges what its engines do through
// world::work.
struct copy_parameters {
  double bytes_per_ns = 0, added_bytes_per_ns = 0;
};

// What a message costs beside LogGP, between nodes; all zero: LogGP alone.
//
// The processor. A signal that the adapter wrote is not in the processor's cache: who waits for k of them reads k lines from memory,
// one after the other (poll_us each, before the rank goes on). An operation's completion is taken from a queue, from an acknowledgement
// (2 L after it left) on: in the next call that takes an operation, reap_us each; a rank that waits for a datagram or a two-sided message
// looks at that queue meanwhile, and has taken them by then. A two-sided message costs its sender send_us and its receiver receive_us
// besides o: headers made, receives posted, tags matched.
//
// An adapter to the network has one processor, which does one task at a time in the order in which they come. A message is fetched from
// the host's memory across its bus (descriptor and data) and transmitted; on the other side it is taken in and delivered across the bus.
// Of a schedule that the adapters run by themselves, signals are transmitted and taken in alone, and one delivery tells the host of the
// end. A get's request is taken in and its answer fetched and transmitted; the answer costs its origin's adapter nothing.
//
// A node's bus carries one message's bytes at a time, out or in, while they are on the wire. The payload of a two-sided message is copied
// by the processors of both sides besides, as fast as copy_parameters say.
struct hardware {
  double poll_us = 0, reap_us = 0, send_us = 0, receive_us = 0;                  // the processor's time
  double fetch_us = 0, transmit_us = 0, take_us = 0, deliver_us = 0;             // the adapter's
  double bus_bytes_per_ns = 0;                                                   // 0: no limit
};

struct parameters {
  std::uint32_t ranks = 1;
  std::uint64_t seed = 1;

  loggp cost{1.0, 0.2, 0.1, 10.0};          // between nodes
  loggp node_cost{0.2, 0.05, 0.02, 20.0};   // inside a node, and of a rank to itself
  std::uint32_t ranks_per_node = 1;         // consecutive ranks share a node
  hardware beside;                          // what LogGP leaves out

  // Freedom. 0 everywhere: the exact LogGP machine. `jitter` > 0 turns on everything the contract allows: random extra
  // latency up to jitter * L, by which messages overtake each other, signals some time after their payload, late local
  // completions, sleeps that end early.
  double jitter = 0;
  double noise_us = 0;                      // a rank that waited resumes up to this much late
  double refuse = 0;                        // probability that an operation, flush or datagram is refused
  std::uint32_t queue_depth = 128;          // operations of one rank on their way; beyond it they are refused

  bool multicast = true;
  double mcast_latency_us = 1.5;
  double mcast_loss = 0, mcast_duplicate = 0, mcast_reorder = 0;  // probabilities, each receiver by itself
  std::uint32_t mcast_payload = 4096, mcast_depth = 64;           // limits: bytes; datagrams kept

  // Beyond LogGP; none of it is there by default.
  bool shared_adapters = false;             // the ranks of a node have one adapter to the network, which takes their messages as they come
  topology_parameters topology;
  core_parameters cores;
  noise_parameters noise;
  double mcast_bytes_per_ns = 0;            // of one sender's full datagrams, with all that comes between them; 0: as fast as its adapter sends
  double mcast_level_us = 0;                // of each level of the switches' tree, of this many branches, that has all members
  std::uint32_t mcast_branches = 16;
  double mcast_member_us = 0;               // of each member
  copy_parameters copies;
  double connect_us = 0;                    // of a rank's processor, before its first message to another

  std::vector<death> deaths;
  double notice_us = 1000;                  // from a death until the fabric notices it
  double limit_us = 0;                      // a run that lasts longer ends as if deadlocked: ranks that repeat themselves
                                            // for ever are no deadlock. 0: none

  std::uint32_t packet_payload = 1024;      // most bytes of a two-sided message
  std::uint32_t packet_window = 8;          // two-sided messages of one origin that one target keeps, on their way or not received
  std::uint32_t max_inline = 64, max_slices = 8;
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
  std::uint32_t message_bytes = 0;          // by which algorithms choose their pieces; nothing is cut
  bool target_must_progress = false;        // effects wait for the target's progress()
  bool maps_node = false;                   // map() works inside a node
  bool cpu_atomics_agree = true;
  mutant broken = mutant::none;
};

struct statistics {
  std::uint64_t messages = 0, bytes = 0;    // operations taken, and their payload
  std::uint64_t refused = 0;
  std::uint64_t packets = 0, packet_bytes = 0;  // two-sided messages taken, and their headers and payload
  std::uint64_t datagrams_sent = 0;         // one a send()
  std::uint64_t datagrams_due = 0;          // one a send() and receiver; of these:
  std::uint64_t datagrams_lost = 0, datagrams_duplicated = 0, datagrams_overrun = 0;
  std::uint64_t events = 0;
  std::uint64_t trace = 0;                  // hash of every event in order: equal for equal runs
};

// What one link of the topology carried.
struct link_use {
  std::string name;
  std::uint64_t messages = 0, bytes = 0;
  double busy_us = 0;
  double waited_us = 0;                     // of all messages, for those before them
};

struct fabric;

// The memory of a rank that is a process of its own: what regions and operations of that rank call addresses are addresses there. False: the
// process has ended.
class far_memory {
 public:
  virtual ~far_memory() = default;
  virtual bool read(const std::byte* from, void* to, std::size_t bytes) noexcept = 0;
  virtual bool write(const void* from, std::byte* to, std::size_t bytes) noexcept = 0;
  // Puts and gets of so many bytes take their time alone: neither is called for them.
  virtual bool stands_still(std::size_t) const noexcept { return false; }
};

class world {
 public:
  explicit world(parameters);
  ~world();  // transports from open() must be gone, except those of ranks that died or deadlocked
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  std::uint32_t size() const noexcept;
  const parameters& params() const noexcept;

  // The transport of a rank, opened at the first call and owned by the world.
  transport& net(rank_t);
  // The same, owned by the caller: destroying it makes the rank leave. Once a rank.
  result<std::unique_ptr<transport>> open(rank_t);
  bootstrap& boot(rank_t);
  // The bootstrap's allgather without waiting, in a latency and without messages: begun here, and asked for the table as often as one
  // likes. Null: some rank has not called yet; who sleeps meanwhile is woken when the last one does. Errors: peer_dead.
  using gathered = std::function<result<shared_blobs>()>;
  gathered gather(rank_t, std::span<const std::byte> mine);
  // Of a rank whose transport is open; must outlive it.
  void memory_of(rank_t, far_memory&);

  // Runs rank_main(rank) for every living rank and returns when all have returned or died. An error when the rest can
  // never go on: no message is on its way and all that are left wait; it names them and what note() said they wait
  // for. Stacks of ranks that died or deadlocked stay for ever with what they hold, as SIGKILL would leave it. What is
  // thread_local is common to all ranks. An exception out of a rank ends the run and is thrown again here.
  status run(std::function<void(rank_t)> rank_main);

  // Calls step(rank) once for every living rank, and again when something arrived for it, or at the time that its step
  // gave to call_again(). Calls that would block return at once instead. step returns true when the rank has finished.
  // The same errors as run().
  status drive(const std::function<bool(rank_t)>& step);
  void call_again(rank_t, time_point);          // within the rank's step; the last one counts

  // The bootstrap's exchange for ranks that cannot block: asks every living rank for its blob, then hands all of them
  // one shared table. Ends with the first error.
  status exchange(const std::function<result<std::vector<std::byte>>(rank_t)>& give,
                  const std::function<status(rank_t, const shared_blobs&)>& take);

  void compute(rank_t, double us);              // the rank's processor is busy for so long; inside run(), others run
  void work(rank_t, double us);                 // likewise, but the rank goes on at once, ahead of the world
  rank_t running() const noexcept;              // whose function or step runs, inside of run() or drive()
  // The rank dies now. Called by the rank itself inside run(), it does not return.
  void kill(rank_t);
  void note(rank_t, std::string_view waits_for);  // shown in the report of a deadlock; "" takes it back
  time_point clock(rank_t) const noexcept;      // the rank's virtual time; after a run: when it ended
  bool alive(rank_t) const noexcept;
  const statistics& stats() const noexcept;
  // The link that was busy longest; nothing where there are no links, or none carried anything.
  std::optional<link_use> busiest() const;
  // Whether the parameters go together: what the topology's nodes need. A world of others has a flat network.
  static status check(const parameters&);

 private:
  std::unique_ptr<fabric> f_;
};

}  // namespace tutti::sim

namespace tutti {
extern const provider sim_provider;  // a world of one; more ranks live in one process: `tutti sim`
}

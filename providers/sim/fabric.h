// Inside of the simulated world: ranks, messages, and the queue of events that drives them. Not for other folders.
//
// The rule that makes it right: whatever a rank does at its local time t changes other ranks only by events at or after
// t, and a rank goes on at time t only when every event before t has been handled. A rank may thus run ahead of the
// world between two calls of progress() or sleep(), and see its own memory a little late; it never sees the future.
// Events at the same time are handled in the order of their sequence numbers, which a message draws when it is
// submitted: of two messages that must not overtake, the earlier one wins a tie.
#pragma once
#include <cstddef>
#include <deque>
#include <exception>
#include <limits>
#include <map>
#include <unordered_map>

#include "providers/sim/event_queue.h"
#include "providers/sim/fiber.h"
#include "providers/sim/random.h"
#include "providers/sim/sim.h"
#include "providers/sim/untouched.h"

namespace tutti::sim {

using ns = std::int64_t;
inline constexpr ns never = std::numeric_limits<ns>::max();
ns to_ns(double us) noexcept;
ns to_ns(time_point) noexcept;

// LogGP in nanoseconds.
struct link {
  ns latency, overhead, gap;
  double ns_per_byte;
  explicit link(const loggp&) noexcept;
  ns wire(std::uint64_t bytes) const noexcept { return static_cast<ns>(static_cast<double>(bytes) * ns_per_byte + 0.5); }
};

// `hardware` in nanoseconds, and what a byte takes.
struct tasks {
  ns poll, reap, send, receive, fetch, transmit, take, deliver;
  double bus_ns_per_byte, copy_ns_per_byte;
  tasks(const hardware&, const copy_parameters&) noexcept;
};

enum class event_kind : std::uint8_t {
  run,       // `who` goes on; arg: its ticket
  read,      // a put reads its source; arg of this and the following, up to fail: message
  arrive,    // first byte at the target's adapter
  effect,    // the adapter is free for it
  signal,    // second half of a put_signal
  late,      // the same, after what the adapter was busy with
  land,      // result of a get or an atomic is back
  local,     // a put or signal is locally complete
  fail,      // the origin learns that it failed
  flushed,   // arg: ending
  datagram,  // at receiver `who`; arg: datagram
  nic,       // at the adapter of `who`, for a schedule that it runs; arg: nic_message
  dies,
  noticed,
  packet,    // a two-sided message is at the adapter of `who`, then out of it; arg: packet
  credit,    // `who` may send one more to rank arg
  leave,     // a message of `who` is at the adapter that its node shares
  hop,       // the first byte of something is at its next link; arg: traveller
};

struct event {
  ns at;
  std::uint64_t seq;
  std::uint64_t arg;
  rank_t who;
  event_kind kind;
  bool operator<(const event& o) const noexcept { return at != o.at ? at > o.at : seq > o.seq; }  // earliest on top
};

// A message's bytes, whose memory is not cleared before they are read into it; or, not `held`, their number alone.
class payload_bytes {
 public:
  void resize(std::size_t bytes, bool held = true) {
    if (held && bytes > room_) at_ = std::make_unique_for_overwrite<std::byte[]>(bytes), room_ = bytes;
    size_ = bytes;
  }
  void clear() noexcept {
    constexpr std::size_t keep = 4096;  // a pool of large buffers would never shrink
    if (room_ > keep) at_ = nullptr, room_ = 0;
    size_ = 0;
  }
  std::byte* data() noexcept { return at_.get(); }
  std::size_t size() const noexcept { return size_; }

 private:
  std::unique_ptr<std::byte[]> at_;
  std::size_t size_ = 0, room_ = 0;
};

struct message {
  rma_op op;
  rank_t origin = 0;
  std::uint32_t events = 0;        // still in the queue (or in the target's inbox); 0: free
  std::uint64_t serial = 0;        // first of its sequence numbers: 0 read, 1 arrive, 2 signal, 3 land, local or fail
  ns injected = 0, signal_at = 0;
  region_id target{}, word{};      // regions at the peer
  bool lost = false;               // the source was gone before it was read
  bool finished = false;           // its completion has been told
  bool halved = false;             // a put_signal whose signal comes later than its payload
  bool across = false;             // a result has crossed its origin's bus
  ns spread = 0;                   // by how much the bus behind it keeps its last byte from following the first at the wire's speed
  bool signalled = false;          // by a mutant, before its payload
  bool settled = false;            // in effect, or failed
  std::uint64_t old = 0;           // an atomic's result
  payload_bytes payload;
  status error;
};

struct ending {                    // a completion on its way into a rank's ready list
  completion* done;
  status outcome;
};

struct datagram_record {
  rank_t from;
  std::uint32_t tag, group, uses;
  std::vector<std::byte> payload;
};

struct nic_message {               // to a schedule that an adapter runs
  static constexpr std::uint32_t start = ~0u, told = ~0u - 1;
  rank_t from = 0;
  std::uint32_t plan = 0;          // of the one it goes to
  std::uint32_t word = start;      // signalled; told: an epoch's end is known to the host
  std::uint64_t epoch = 0;
  bool taken_in = false;           // its time in the adapter is counted
};

struct packet {                    // a two-sided message on its way, or not received yet
  rank_t from = 0;
  ns injected = 0, spread = 0;     // as a message's
  bool taken_in = false;           // its time in the adapter is counted
  std::vector<std::byte> header, payload;
};

struct traveller {                 // what is on the links between two nodes
  event out;                       // how it goes on behind them
  std::uint32_t from = 0, to = 0;  // nodes
  std::uint32_t taken = 0, hops = 0;
  std::uint64_t bytes = 0;
  ns last_byte = 0;                // not before this is it behind the last link
  ns then = 0;                     // from there until `out`
};

struct link_state {
  ns free = 0, used = 0, waited = 0;
  std::uint64_t messages = 0, bytes = 0;
};

struct core_state {                // shared by ranks
  ns free = 0;
  rank_t last = no_rank;           // who had it
};

class rank_transport;
class rank_bootstrap;

// What happens to one rank. Every message looks at the first 64 bytes, at both of its ends.
struct alignas(64) rank_state {
  enum state_t : std::uint8_t { outside, blocked, queued, running, finished };
  ns clock = 0;
  ns tx_free[2] = {}, rx_free[2] = {};  // adapters: network, node
  rank_transport* transport = nullptr;
  std::uint32_t in_flight = 0;     // of the transport's operations: not yet in effect
  std::uint32_t flushes = 0;       // its flushes that wait for some of them
  state_t state = outside;
  bool dead = false, left = false;
  bool polling = false;            // blocked, but looks at memory: plain puts end it as well
  bool done_here = false;          // the function of the current run has returned
  bool called = false;             // something came for it while it waited, or it has yet to begin
  ns queued_at = 0;                // state queued: when it goes on
  std::uint64_t arrivals = 0;      // what ends a sleep, counted; and see fabric::arrived
  ns unseen = 0;                   // what signals that have come will cost the processor to see
  std::uint64_t opened_at = 0;     // its transport: the sequence number from which on its operations count
  ns went_on = 0;
  std::uint32_t ticket = 0;        // of the run event that counts
  fiber* flow = nullptr;           // of a run, of its function
  ns task_free = 0;                // the processor of the network's adapter
  ns bus_free = 0;                 // the bus of the node; of its first rank
  ns died_at = never, noticed_at = never;
};
static_assert(offsetof(rank_state, called) < 64);

// A segment as every rank of the world sees it: which region each member exposed. Built once for each table of keys.
struct segment {
  struct entry {
    rank_t rank;
    region_id region;
    std::uint64_t bytes;
  };
  shared_blobs keys;               // keeps the table's address, by which it is found again, from being used anew
  std::vector<entry> entries;      // by rank
  rank_t first = no_rank, last = no_rank;  // of the members in their order: who attaches the same table for others is checked anew
  const entry* find(rank_t) const noexcept;
};

struct fabric {
  enum class mode_t : std::uint8_t { outside, fibers, steps };

  explicit fabric(parameters);
  ~fabric();

  // events.cpp: the queue and who runs
  std::uint64_t draw(std::uint64_t count = 1) noexcept { const auto s = next_seq; next_seq += count; return s; }
  void push(ns at, std::uint64_t seq, event_kind, rank_t who, std::uint64_t arg);
  void go_on_at(rank_state&, ns at);  // the rank's next run event; replaces an earlier one
  void wake(rank_t, ns at);        // something arrived that ends a sleep
  void touch(rank_t, ns at);       // something arrived that need not
  void wake_others(rank_t, ns at); // all ranks but this one
  std::uint64_t arrived(const rank_state& rs) const noexcept { return rs.arrivals + told_to_all; }
  void block(rank_state&, ns until);  // others run until it is woken, or until then
  void catch_up(rank_state&);      // lets everything happen that is due by the rank's clock
  void run_next(rank_state* me);   // handles events until `me` is to run; null: until the run is over
  void active() noexcept { idle_runs = 0; last_active = now; }
  bool stalled(const event&) noexcept;
  void stuck(const char* how);
  rank_t rank_of(const rank_state& rs) const noexcept { return static_cast<rank_t>(&rs - ranks.data()); }

  // effects.cpp: what events do
  void handle(const event&);
  void arrive(std::uint32_t, ns at);
  void perform(std::uint32_t, ns at);
  void second_half(std::uint32_t, ns at, bool in_turn);
  void await_progress(std::uint32_t, ns at);
  void apply_signal(message&, ns at);
  void answer(std::uint32_t, ns at);
  void land(message&, ns at);
  void finish(message&, const status&, ns at, bool told_by_flush = false);
  bool settle(message&, const status&, ns at);  // true: a pending flush took the error
  void fail(std::uint32_t, status, ns at);
  status reachable(rank_t, ns at) const;
  void release(std::uint32_t);
  void die(rank_t, ns at);
  void notice(rank_t, ns at);
  void deliver_datagram(const event&);
  void deliver_to_nic(const event&);
  void send_to_nic(rank_t to, ns at, nic_message);
  void release_datagram(std::uint32_t);
  void deliver_packet(const event&);
  void give_credit(const event&);
  std::uint32_t new_packet(rank_t from, std::span<const std::byte> header, std::span<const std::byte> payload);
  void release_packet(std::uint32_t index) noexcept { packets[index] = {}, free_packets.push_back(index); }
  std::uint32_t new_message();
  std::uint32_t new_ending(completion*, status);

  // links.cpp: what leaves `from` at a time, and `then` after the last link goes on as `out`
  void carry(ns enters, rank_t from, rank_t to, std::uint64_t bytes, ns then, const event& out);
  void hop(const event&);
  ns for_link(std::uint64_t bytes) const noexcept { return static_cast<ns>(static_cast<double>(bytes) * ns_per_link_byte + 0.5); }
  // What a word takes from one rank to another that meets nobody.
  ns way(rank_t a, rank_t b) const noexcept {
    return wire_between(a, b).latency + (wires.flat() ? 0 : hop_time * wires.hops(node_of(a), node_of(b)));
  }

  // processors.cpp
  void spend(rank_state& rs, ns work) noexcept {  // of the rank's processor
    if (disturbances.empty()) rs.clock += work;
    else disturbed(rs, work);
  }
  void disturbed(rank_state&, ns work) noexcept;
  bool has_core(rank_state&, ns at);
  void goes_on(rank_state&, ns at) noexcept;      // sets its clock
  void gives_core(rank_state&) noexcept;
  core_state& core_of(rank_t) noexcept;

  ns multicast_latency(std::uint32_t members) const noexcept;

  std::uint32_t node_of(rank_t r) const noexcept { return r / par.ranks_per_node; }
  // When the adapter of a rank, towards the network or inside its node, is free to send or to take in.
  ns& tx(rank_t r, bool node) noexcept { return ranks[port_owner(r, node)].tx_free[node]; }
  ns& rx(rank_t r, bool node) noexcept { return ranks[port_owner(r, node)].rx_free[node]; }
  rank_t port_owner(rank_t r, bool node) const noexcept {
    return par.shared_adapters && !node ? r - r % par.ranks_per_node : r;
  }

  const link& wire_between(rank_t a, rank_t b) const noexcept { return same_node(a, b) ? node_link : net_link; }
  bool same_node(rank_t a, rank_t b) const noexcept {
    return node_of(a) == node_of(b);
  }
  ns extra(ns latency) noexcept {  // random additional latency
    return par.jitter > 0 ? static_cast<ns>(rng.unit() * par.jitter * static_cast<double>(latency)) : 0;
  }
  bool hostile() const noexcept { return par.jitter > 0; }
  // When the processor of this rank's adapter to the network is through with a task that it is given at that time.
  ns& task_free(rank_t r) noexcept { return ranks[port_owner(r, false)].task_free; }
  ns after_task(rank_t r, ns at, ns task) noexcept {
    if (!task) return at;
    ns& free = task_free(r);
    return free = std::max(at, free) + task;
  }
  // When bytes that are on the wire from `from` until `to` have crossed this rank's bus as well.
  ns across_bus(rank_t r, ns from, ns to, std::uint64_t bytes) noexcept {
    if (beside.bus_ns_per_byte <= 0 || !bytes) return to;
    ns& free = ranks[r - r % par.ranks_per_node].bus_free;
    free = std::max(from, free) + static_cast<ns>(static_cast<double>(bytes) * beside.bus_ns_per_byte + 0.5);
    return std::max(to, free);
  }
  ns copying(std::uint64_t bytes) const noexcept { return static_cast<ns>(static_cast<double>(bytes) * beside.copy_ns_per_byte + 0.5); }

  parameters par;
  link net_link, node_link;
  tasks beside;
  topology wires;
  ns hop_time = 0;
  double ns_per_link_byte = 0;
  std::vector<link_state> links;
  std::deque<traveller> travellers;
  std::vector<std::uint32_t> free_travellers;
  std::vector<core_state> cores;         // by node; empty: a core for each rank
  ns turn = 0;
  std::vector<disturbance> disturbances; // by rank; empty: none
  random rng;
  capabilities caps;
  statistics stats;
  std::vector<rank_state> ranks;
  event_queue<event> queue;
  std::uint64_t next_seq = 1;
  ns now = 0;                      // of the event being handled
  rank_t progressing = no_rank;    // target_must_progress: whose inbox is being worked off
  std::deque<message> messages;
  std::vector<std::uint32_t> free_messages;
  std::deque<ending> endings;
  std::vector<std::uint32_t> free_endings;
  std::deque<datagram_record> datagrams;
  std::vector<std::uint32_t> free_datagrams;
  std::deque<packet> packets;
  std::vector<std::uint32_t> free_packets;
  std::deque<nic_message> nic_messages;
  std::vector<std::uint32_t> free_nic_messages;

  // run and drive
  mode_t mode = mode_t::outside;
  std::uint32_t live = 0;          // ranks that have not finished the current run
  std::uint32_t died = 0;          // ranks
  bool broken = false;             // ranks are stuck for ever: nothing runs any more
  status failure;
  std::exception_ptr thrown;
  rank_t running = no_rank;        // who went on last
  fiber* main = nullptr;           // of a run, who called it
  fiber* current = nullptr;        // of a run, who runs
  const std::function<bool(rank_t)>* step = nullptr;
  ns limit = 0;                    // of the current run
  std::uint64_t told_to_all = 0;   // what wake() was to tell every rank, while none waited
  std::uint64_t idle_runs = 0;
  ns last_active = 0;
  std::map<rank_t, std::string> notes;

  untouched fresh;                 // where large regions come from

  // set-up
  std::string job;
  std::vector<std::unique_ptr<rank_transport>> owned;
  std::vector<std::unique_ptr<rank_bootstrap>> boots;
  std::unordered_map<const blob_table*, std::weak_ptr<const segment>> segments;  // for looking up only: no order
  struct gathering {
    std::vector<std::vector<std::byte>> blobs;
    std::vector<bool> given;
    std::uint32_t missing = 0;
    shared_blobs table;
    status error;
  };
  std::map<std::uint32_t, std::shared_ptr<gathering>> gatherings;  // by round, for which some have not come
  struct multicast_group {
    rank_map members;
    std::vector<rank_t> joined;    // in the order in which they came; no_rank in place of one that left
    std::uint32_t present = 0;     // that did not
  };
  std::map<std::uint32_t, multicast_group> groups;
  std::uint32_t next_group = 1;
};

}  // namespace tutti::sim

// Adapters that exist in this process alone, and, in place of libibverbs and librdmacm, the functions of these that the
// verbs provider calls. For what soft-RoCE cannot show when a test wants it (completions with each error, or out of order
// across queue pairs; receives that run out), for what it has not (LIDs, a subnet manager, relaxed ordering, no memory to
// lock), and for what should be counted.
//
// They keep the rules of real ones, so that a breach shows: requests of a queue pair execute in order, and behind the first
// that fails all are flushed; keys, ranges and access are checked at either end; a send queue has room again only when
// a completion at or behind a request was polled; states are entered in their order with the attributes that each needs;
// an address must lead to the adapter, by LID or GID, and both ends must agree on their packet sequence numbers. What
// a real one would answer with a hang or worse is a breach(): tests end by asking that there was none.
//
// A request executes when it is posted, in the poster's thread, unless it is held. Thread-safe.
#pragma once
#include <infiniband/verbs.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fake {

struct adapter_plan {
  std::string name;
  bool infiniband = false;        // else RoCE, at 127.77.0.(place + 1)
  std::uint16_t lid = 0;
  std::uint8_t lmc = 0;           // answers to 2^lmc LIDs from lid
  std::uint8_t subnet = 0;        // InfiniBand: in the prefix of its GID
  ibv_port_state state = IBV_PORT_ACTIVE;
  ibv_atomic_cap atomics = IBV_ATOMIC_HCA;
  std::uint8_t width = 2;         // of the port: 4 lanes
  int srq_depth = 1024;
  std::uint64_t lockable = ~std::uint64_t{0};  // bytes that may be registered
  bool patient = false;           // retries take as long as the standard lets them, else no time
  bool software = false;          // as soft-RoCE: there is no device behind it
  bool forgets = false;           // entries of what a queue pair has received go with it, as some libraries have it
  std::string local_cpus;         // in sysfs' words, "00000001"; empty: unknown
};

// Begins anew with these. Nothing of before may be open.
void install(std::vector<adapter_plan>);

// Requests of RC queue pairs of adapter `from` that lead to adapter `to`.
void hold(const std::string& from, const std::string& to);                  // from now on they wait
void release(const std::string& from, const std::string& to, unsigned count = ~0u);  // that many may execute
void fail_next(const std::string& from, const std::string& to, ibv_wc_status, std::uint32_t vendor);
void fail_executed(const std::string& from, const std::string& to, ibv_wc_status);  // the next takes effect, and its answer is lost
void keep_answers(const std::string& from, const std::string& to, unsigned count);  // of the next atomics, which take effect

// Datagrams that adapter `from` sends to queue pairs of adapter `to`.
void hold_datagrams(const std::string& from, const std::string& to, unsigned but);  // all `but` the next ones wait
void release_datagrams(const std::string& from, const std::string& to);
void repeat_datagram(const std::string& from, const std::string& to);  // the last one comes once more
void stop(const std::string& name);                     // whoever asks it what has come waits, as one that gets no processor
void go_on(const std::string& name);
bool datagrams_unread(const std::string& to);           // what came has not been taken yet, and its receive posted again

unsigned ran_dry(const std::string& name);               // how often something came there upon no receive

void refuse_queue_pairs(const std::string& name, bool);  // none can be made
unsigned queue_pairs_made(const std::string& name);      // ever
void before_error(const std::string& name, std::function<void()>);  // called once: its user is about to put one in error

void silence(const std::string& name);                  // it answers nobody and nobody hears it: retries run out
void remove(const std::string& name);                   // it is no longer listed, without an event
// An asynchronous event in all that have it open; of a port's state, LID and GID, those are then so.
void raise(const std::string& name, ibv_event_type);
void lower_port(const std::string& name);                // it is down, and no event tells so
bool events_wait(const std::string& name);              // to be asked for by somebody

// What those who have the adapter open hold now.
struct holdings {
  unsigned rc = 0, ud = 0, srq = 0;
  std::uint64_t completions = 0;  // entries that completion queues have room for
  std::uint64_t sends = 0, receives = 0;  // requests that queue pairs and shared receive queues have room for
  std::uint64_t registered = 0;   // bytes
};
holdings held_by(const std::string& name);

// A request of an RC queue pair as it was executed.
struct execution {
  ibv_wr_opcode opcode;
  std::uint32_t bytes;
  unsigned flags;          // ibv_send_flags
  unsigned remote_access;  // ibv_access_flags of the region it acted upon; 0: none
  std::uint8_t is_global;  // its queue pair's address
  std::uint16_t dlid;
};
std::vector<execution> executed(const std::string& from, const std::string& to);

std::uint64_t datagrams_lost();  // upon no receive, or nobody listens
std::vector<std::string> breaches();

}  // namespace fake

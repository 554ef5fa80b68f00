// What the adapters are made of. One mutex guards all; functions in this file are called under it, those of the
// libraries (devices.cpp, queues.cpp, rdmacm.cpp) take it.
#pragma once
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>

#include "tests/verbs/fake/fake.h"

namespace fake {

struct qp;
struct opened;
struct adapter;

struct mr : ibv_mr {
  unsigned access = 0;
};

// Readable while there are events: one count each.
struct channel : ibv_comp_channel {
  std::deque<ibv_cq*> events;
};

struct entry {
  ibv_wc wc;
  qp* sender = nullptr;        // whose send queue has room again up to `reclaims`; null: a receive
  std::uint64_t reclaims = 0;
};

struct cq : ibv_cq {
  std::deque<entry> entries;
  bool armed = false, only_solicited = false;
  unsigned told = 0, acknowledged = 0, users = 0;
};

struct receive {
  std::uint64_t id;
  ibv_sge where;
};

struct srq : ibv_srq {
  std::deque<receive> posted;
  std::uint32_t depth = 0, limit = 0;
};

struct request {
  ibv_send_wr wr;
  std::vector<ibv_sge> sges;
  std::vector<std::byte> inlined;
  std::uint64_t number;
};

struct qp : ibv_qp {
  ibv_qp_cap cap{};
  ibv_qp_attr attr{};             // as they were set, whenever
  std::deque<request> waiting;    // posted, not executed
  std::deque<receive> receives;
  std::uint64_t posted = 0, reclaimed = 0;
  std::set<std::array<std::uint8_t, 16>> groups;
  std::chrono::steady_clock::time_point gives_up{};  // on the request that is being repeated
  opened& at() const noexcept;
};

struct ah : ibv_ah {
  ibv_ah_attr attr{};
};

struct datagram {
  adapter* at;
  std::uint32_t to;               // a queue pair's number
  request what;
  std::vector<std::byte> bytes;
};

struct adapter : ibv_device {
  adapter_plan plan;
  ibv_gid gid{};
  std::set<opened*> open;
  std::uint64_t registered = 0;
  bool silent = false, refuses = false, stopped = false;
  unsigned made = 0;              // queue pairs
  unsigned dry = 0;               // times that something came upon no receive
  std::function<void()> before_error;
};

struct opened : ibv_context {
  adapter* of = nullptr;
  std::deque<ibv_async_event> events;
  const ibv_qp* unacknowledged = nullptr;  // of the event that was read last; it cannot be destroyed
  std::set<qp*> qps;
  std::set<cq*> cqs;
  std::set<srq*> srqs;
  unsigned others = 0;            // protection domains, regions, addresses, channels
};
inline opened& qp::at() const noexcept { return *static_cast<opened*>(ibv_qp::context); }

struct failure {
  ibv_wc_status status;
  std::uint32_t vendor;
  bool executes;                  // all the same
};

struct pair_state {
  bool held = false;
  unsigned credit = 0;
  std::deque<failure> failures;
  unsigned answers_kept = 0;
  std::vector<execution> log;
  bool datagrams_held = false;
  unsigned datagrams_let = 0;     // through before they are held
  std::deque<datagram> datagrams, last;
};

struct world {
  std::mutex mutex;
  std::condition_variable went_on;
  std::deque<adapter> devices;
  std::unordered_map<std::uint32_t, mr*> regions;
  std::unordered_map<std::uint32_t, qp*> qps;
  std::deque<std::unique_ptr<qp>> destroyed;  // kept, so that whoever uses one is found out
  std::map<std::pair<const adapter*, const adapter*>, pair_state> pairs;
  std::map<std::array<std::uint8_t, 16>, std::uint16_t> group_lids;     // of the subnet manager
  std::multiset<std::pair<const adapter*, std::array<std::uint8_t, 16>>> joined;  // by rdma_cm
  std::uint32_t next_key = 1, next_qpn = 16;
  std::uint64_t lost = 0;
  std::vector<std::string> breaches;
  std::string folder;              // of what sysfs would have
  std::vector<std::jthread> clocks;  // each for the end of somebody's retries
  ~world();
};
world& all();

using guard = std::lock_guard<std::mutex>;

template <class T>
T* failed(int error) {
  errno = error;
  return nullptr;
}

inline opened& of(ibv_context* c) { return *static_cast<opened*>(c); }
inline bool about_a_pair(const ibv_async_event& e) noexcept {
  return e.event_type == IBV_EVENT_QP_FATAL || e.event_type == IBV_EVENT_QP_REQ_ERR || e.event_type == IBV_EVENT_QP_ACCESS_ERR;
}

adapter* device_named(const std::string&);
adapter* device_at(const adapter& from, const ibv_ah_attr&);  // null: the address leads nowhere
void breach(std::string);
void push(cq&, const entry&, bool solicited);
void raise_event(opened&, ibv_event_type, ibv_qp*);
void run(qp&);                     // executes what waits, as far as it may
void run_all();
void arrive(const datagram&);
void fail_all(qp&);                // it is in error: flushes what waits
void serve_queues(ibv_context&);   // what is called through it

int new_bell();
bool bell(int fd) noexcept;        // makes it readable once more
bool answered(int fd) noexcept;    // once less; false: it was not readable

}  // namespace fake

// Who makes connections. Each rank has one, with a thread of its own that sleeps but for the few moments in which there
// is something to do: a peer wants to connect, a process ends, the device has events.
//
// Why a thread. An RC queue pair can be used when both ends have one and each knows the other's number. To have one
// ready for everybody who might call would cost every rank n queue pairs. To answer callers in progress() would make
// the first operation towards a rank wait until that rank calls its transport, whereas RDMA needs no help of its target
// (clause 8): a rank that computes for a minute would hold up everyone who happens to address it for the first time.
//
// How two ranks connect. Every address names a UD queue pair, the connection manager's. Whoever wants a peer makes a queue pair
// and says its number there, again and again until it is answered; the other makes one as well, connects it and
// answers; so it takes one and a half round trips and works when both begin at once. Notes may be lost, repeated or
// overtaken, so each tells the sender's whole state, and handling one twice is the same as once:
//   life        which of its queue pairs for this pair of ranks the sender means. A note of an earlier life is void; one
//               of a later life than the one connected to says that the peer has dropped its queue pair after an
//               error: then this end is dropped as well, by its owner (event::stale), before the note is heeded.
//   sees_life   of the receiver's queue pair: the sender's is connected to it, so it can receive; connection_notes.cpp argues
//               which may be connected to which. Nobody sends before it has read that of its peer: what reaches a queue
//               pair that is not connected yet is dropped, and sent again only after the retry time, some 100 ms.
//   lost        a queue pair of the sender's broke with operations that nobody would have been told of (clause 10). It stays
//               set, and is told even where nothing else is to be sent (confess()).
//
// Deaths. The process of a peer on this host is watched by a pidfd. Whether one that does not answer is gone, or only does not
// run, is asked of its host: see connection_calls.cpp.
//
// All functions are the owner's, and safe beside the thread. What the thread finds out are events for the owner, whose
// notify descriptor becomes readable.
#pragma once
#include <infiniband/verbs.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/transport/transport.h"
#include "core/base/epoll_set.h"
#include "providers/common/process_watch.h"
#include "providers/messages/liveness.h"
#include "providers/verbs/device.h"
#include "providers/verbs/receiver.h"
#include "providers/verbs/wire.h"

namespace tutti::verbs {

struct link_limits {      // of an RC queue pair
  std::uint32_t depth = 0, slices = 0, inline_bytes = 0;
};

// Creates one, in no state yet. Null, with errno.
ibv_qp* create_rc(ibv_pd*, ibv_cq* sends, receiver&, const link_limits&) noexcept;

class connection_manager {
 public:
  struct resources {
    const adapter* device = nullptr;
    ibv_pd* pd = nullptr;
    ibv_cq* sends = nullptr;
    receiver* in = nullptr;
    link_limits limits;
    rank_t rank = 0;
    std::uint32_t size = 1;
    siphash_key key{};    // of the job
    bool one_host = false;
    host_id host{};
    int notify_fd = -1;    // an eventfd
  };
  struct event {
    enum class kind : std::uint8_t {
      connected,   // qp can be used; if confirmed, what is sent arrives at once
      sleeps,      // the peer's signals must ring from now on
      stale,       // the peer has dropped its end: end what is in flight, then forget()
      broken,      // the adapter has put qp in error: likewise
      ended,       // the peer's process has
      silent,      // it does not answer, and nothing tells that it lives
      unreachable, // its process runs, but neither end hears the other's notes
      refused,     // it has no queue pair to spare
      left,        // it said goodbye
      lost,        // something of its that named no completion was lost with a connection
      device_lost, // rank is nobody's: nobody can be reached any more, as device_trouble() says
    };
    rank_t rank = no_rank;
    kind what{};
    bool confirmed = false;
    bool sleeps = false;     // connected: the peer's signals must ring
    bool told = false;       // connected: the peer knows that mine must
    ibv_qp* qp = nullptr;
    std::uint32_t number = 0;  // of qp, which may be gone when this is heard, and another stand at its address
  };

  ~connection_manager() { close(); }
  status open(const resources&);
  void close() noexcept;                     // the thread ends, and all queue pairs go
  std::uint32_t qpn() const noexcept { return notes_qp_->qp_num; }
  const messages::liveness_address& line() const noexcept { return calls_.address(); }
  std::uint8_t reads() const noexcept;       // RDMA reads that this adapter answers at once, on one queue pair

  void meet(shared_blobs addresses) noexcept;
  // Begins to connect, or goes on. The status says why there can be no queue pair here.
  status want(rank_t) noexcept;
  void look_after(rank_t) noexcept;          // is it there? an event tells if not
  // Destroys my queue pair for it, or nothing if it is not this one; another may be made.
  void forget(rank_t, std::uint32_t number = any_pair) noexcept;
  static constexpr std::uint32_t any_pair = ~0u;  // numbers have 24 bits
  void confess(rank_t) noexcept;             // the peer is to hear that something of mine upon it was lost
  bool stands(rank_t, std::uint32_t number) noexcept;  // my queue pair for it is this one
  void say_bye() noexcept;                   // to all who were ever met
  void owner_sleeps() noexcept;              // from now on queue pairs are made with the request that signals ring
  bool process_lives(rank_t) noexcept;       // on this host, as far as known
  bool has_events() const noexcept { return has_events_.load(std::memory_order_acquire); }
  void take_events(std::vector<event>& out) noexcept;
  std::string device_trouble() noexcept;     // "; port 1 of mlx5_0 is down", or empty; asks the port, some system calls
  void look_at_device() noexcept;            // is it there? an event tells if not
  std::uint64_t rejected() const noexcept { return rejected_.load(std::memory_order_relaxed); }  // notes without proof

 private:
  using clock = std::chrono::steady_clock;
  struct link {
    rank_t rank = no_rank;
    ibv_ah* ah = nullptr;
    ibv_qp* qp = nullptr;
    std::uint32_t life = 0, psn = 0, their_life = 0;
    bool connected = false, confirmed = false, stale = false;
    bool told = false, sleeps = false;
    bool lost = false, lost_here = false;  // of mine, and of its: whatever connection it was
    bool gone = false;           // nothing will come of it any more
    bool ended = false;          // its process has
    bool wanted = false, watched = false;  // asking: to be connected, whether it is there
    bool asking = false;         // in asking_
    clock::time_point since{}, next{};     // of asking; `since` the last note heard
    std::chrono::milliseconds interval{};
    unsigned asked = 0;                    // times without an answer
    process_watch process;       // of this host
    unique_fd call;              // to its host; while it does not answer
    bool beside = false;         // the call goes to an address on a subnet of mine
    unsigned called = 0;         // what `asked` was then
    bool stands = false, over = false;     // its process lives; or nobody listens any more
    unsigned ran = 0;            // what `asked` was when its connection manager was known to run; 0: it is not
    bool has_waiting = false;
    note waiting{};              // of a later life, heeded after forget()
  };

  status open_notes();
  void close_notes() noexcept;
  void run() noexcept;
  bool read_async_event() noexcept;          // not under mutex_; all below are
  void check_device() noexcept;
  void look_at_port() noexcept;
  std::string port_trouble() const;
  void lose(std::string why) noexcept;
  void wake_thread() noexcept;
  int until_next() noexcept;
  void ask_again() noexcept;
  void begin_asking(link&) noexcept;
  void poll_notes() noexcept;
  void hear(const note&) noexcept;
  void hear_hello(link&, const note&) noexcept;
  static bool may_meet(const link&, const note&) noexcept;
  void accept(link&, const note&) noexcept;
  void send(link&, note_kind) noexcept;
  void refill_notes(std::uint64_t slot) noexcept;
  link* link_to(rank_t) noexcept;            // null: unknown rank, or no memory
  status make_qp(link&) noexcept;
  status connect_qp(link&, std::uint32_t qpn, std::uint32_t psn, const address_blob&) noexcept;
  void drop_qp(link&) noexcept;
  void watch_process(link&, const address_blob&) noexcept;
  void look_at(link&) noexcept;              // its pidfd, its call
  void call_host(link&) noexcept;
  void hear_host(link&) noexcept;
  static void hang_up(link&) noexcept;
  void answer_calls() noexcept;
  void give_up_on_silent(link&) noexcept;
  void end(link&, event::kind) noexcept;
  void tell(const link&, event::kind) noexcept;
  ibv_ah_attr way_to(const address_blob&) const noexcept;
  const address_blob* address_of(rank_t, address_blob&) const noexcept;

  resources at_;
  std::mutex mutex_;
  std::thread thread_;
  epoll_set watched_;
  unique_fd wake_;
  bool stop_ = false;
  messages::liveness calls_;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_qp* notes_qp_ = nullptr;
  ibv_mr* mr_ = nullptr;
  std::unique_ptr<std::byte[]> buffers_;
  std::uint32_t sending_ = 0;
  std::uint32_t qkey_ = 0;
  shared_blobs addresses_;
  std::vector<std::unique_ptr<link>> links_;   // by rank; null: never met
  std::size_t met_ = 0;
  std::vector<link*> asking_;
  std::vector<event> events_;
  std::atomic<bool> has_events_{false};
  std::atomic<std::uint64_t> rejected_{0};
  bool owner_sleeps_ = false;
  std::string lost_;                           // why nobody can be reached any more
  std::string port_trouble_;                   // why nobody can be at present
  clock::time_point port_troubled_{};          // since when
  bool in_sysfs_ = false;                      // the device was, when it was opened
  clock::time_point looked_{};
};

}  // namespace tutti::verbs

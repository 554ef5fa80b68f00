// One rank's membership in a job: its bootstrap, its connected transport, its way of waiting, and the machines that
// must go on while it waits for something else. Not thread-safe; several jobs may live in one process.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/job/bootstrap.h"
#include "core/job/config.h"
#include "core/job/team_book.h"
#include "core/transport/facts.h"
#include "core/transport/provider.h"
#include "core/transport/transfer_costs.h"
#include "core/transport/transport.h"
#include "core/transport/wait.h"

namespace tutti {

class team;
class registration_cache;
class attachment_cache;
class slot_pool;
class wait_board;
enum class registrations_kept : std::uint8_t;

// Something that advances whenever its rank makes progress: a collective under way, a multicast root that sends
// again. Owners enlist it while it has work; both calls are O(1).
class background {
 public:
  virtual ~background() = default;
  virtual void advance() noexcept = 0;

 private:
  friend class job;
  background* next_ = nullptr;
  bool enlisted_ = false;
};

// What a rank waits for, for watchdogs and error texts. Lives on the waiter's stack.
struct wait_note {
  const char* what = "";             // "barrier dissemination"
  rank_t from = no_rank;             // the job rank expected to act, if one is
  std::uint64_t have = 0, want = 0;  // the word's value and the one waited for
  // Puts it in words, for notices and for others that wait for this rank, and may say who is to act now, in `from`. Null: `what` does.
  const function_ref<std::string>* words = nullptr;
  bool exact = true;                 // no other rank than `from` can end it
  bool told = true;                  // the job tells of it where it lasts, if there are words; words() may set it. Else others do, or nobody
};

// A call that has waited for long says so by job_options::notice, and again each time that its wait has become twice as long.
struct late_notices {
  std::chrono::seconds after{5}; // 0: never
  notice_fn unheard;             // where that is empty; then after twice as long: a program whose ranks are often late is soon quiet
};

struct job_options {
  wait_policy wait = wait_policy::automatic;
  std::chrono::nanoseconds setup_timeout = std::chrono::seconds(60);
  // Lines of control memory that the engines want in the world team, from the job's size.
  std::function<std::uint32_t(std::uint32_t size)> world_lines;
  // The settings that every rank must have alike (an overridden algorithm, say): a different text in a peer is an error.
  std::string agreement;
  std::string messaging = "full";  // the design of messages, TUTTI_MESSAGING; part of the agreement
  // Most that messages without a receive take here, beside each sender's share; and as much for copies of those to others.
  std::uint64_t unexpected_bytes = 64 << 20;
  // What was measured beforehand for the engines to choose by (collectives/tuning): the digest of it, which all ranks must have
  // alike; 0: nothing was.
  std::uint64_t tuning = 0;
  std::function<void(transfer_costs&, std::string_view fabric)> measured;  // puts what was measured of that fabric in place of priors
  registrations_kept registrations{};
  std::size_t registration_bytes = 0;  // most that kept registrations hold; 0: see TUTTI_REGISTRATION_CACHE_MIB
  status trouble;    // failed: why this rank cannot take part; the others are told so when they join
  notice_fn notice;  // empty: nobody listens
  late_notices late;
  std::string launchers_file;  // a path, of the launcher whose numbers the ranks have, which is shown what they wait for; empty: there is none
  std::function<void()> idle;  // called by long waits, if not empty; may not use the job
  // Gathers a blob of each rank in place of what teams of all ranks exchange by messages: of simulations, where setting up is not
  // what is measured and would be most of their work. What it returns is asked for the table until there is one (not null). Empty:
  // by messages.
  std::function<std::function<result<shared_blobs>()>(std::span<const std::byte>)> gather;
};

// Which rank lives where, alike in all ranks; virtual ranks of one process share it.
struct layout {
  std::vector<std::uint32_t> node_of;     // by job rank: dense numbers in order of first appearance
  std::vector<std::uint32_t> population;  // by node: its ranks
  std::vector<std::uint32_t> cores;       // by node: the cores that its ranks may use, once digest() has counted them
  std::vector<process_name> process;      // by job rank, likewise
  bool machine_is_parted = false;         // some ranks of one machine are on several nodes, as in containers

  std::uint32_t nodes() const noexcept { return static_cast<std::uint32_t>(population.size()); }
  double ranks_per_core(std::uint32_t node) const noexcept {
    return node < cores.size() && cores[node] ? static_cast<double>(population[node]) / cores[node] : 1.0;
  }
  double most_ranks_per_core() const noexcept;
  cpu_share share_of(std::uint32_t node) const;
};
layout make_layout(const blob_table& host_ids);

class job {
 public:
  // Finds the launcher and the providers from the configuration. Blocks until all ranks are here, or the deadline.
  static result<std::unique_ptr<job>> open(const config&, job_options);
  static result<std::unique_ptr<job>> open(std::unique_ptr<bootstrap>, const config&, job_options);
  // Over a given transport, not yet connected.
  static result<std::unique_ptr<job>> open(std::unique_ptr<bootstrap>, std::unique_ptr<transport>, job_options);
  ~job();

  // The same in two halves, for many virtual ranks of one thread: offer() gives the blob of this rank, digest() makes an
  // admission of the blobs of all, which the virtual ranks of one process share, and accept() takes the admission.
  struct admission {
    std::shared_ptr<const layout> where;
    shared_blobs addresses;  // null: the transport is connected already
    shared_blobs keys;
    fabric_facts facts;
    rank_t unlike = no_rank;  // the first with other settings than rank 0, if any: accept() refuses
  };
  static result<std::unique_ptr<job>> offer(bootstrap&, transport&, job_options, std::vector<std::byte>& blob);
  static result<admission> digest(const blob_table& blobs, std::shared_ptr<const layout> where);
  status accept(const admission&);

  rank_t rank() const noexcept { return rank_; }
  std::uint32_t size() const noexcept { return size_; }
  transport& net() noexcept { return *net_; }
  const layout& where() const noexcept { return *where_; }
  const fabric_facts& facts() const noexcept { return facts_; }   // agreed by all ranks
  transfer_costs costs() const;  // these, and what was measured beforehand in their place: alike in all ranks
  const std::string& fabric() const noexcept { return fabric_; }  // as TUTTI_PROVIDER names it; empty: given by the caller
  double ranks_per_core() const noexcept { return where_->ranks_per_core(where_->node_of[rank_]); }  // on this node
  bool oversubscribed() const noexcept { return waiting_.spins() <= waiting::oversubscribed_spins; }  // nobody should poll for long
  team& world() noexcept { return *world_; }
  team_book& teams() noexcept { return teams_; }  // but for the world
  const job_options& options() const noexcept { return options_; }
  time_point setup_deadline() const noexcept { return net_->now() + options_.setup_timeout; }  // of what is set up from now on
  // bootstrap::end_job(); nothing where the bootstrap is not the job's own.
  void end(int exit_status, const std::string& why) noexcept { if (owned_boot_) owned_boot_->end_job(exit_status, why); }
  const waiting& habit() const noexcept { return waiting_; }
  // Registrations of the program's own memory, and what peers' keys of theirs are attached as. Made at the first call; these go
  // before the transport does.
  registration_cache& registrations();
  attachment_cache& attachments();
  void drop_idle_attachments() noexcept;  // when memory that peers have here may go
  slot_pool& slots();                     // made at the first call

  void enlist(background&) noexcept;
  void dismiss(background&) noexcept;
  // Drives the transport and everything enlisted. Returns the transport's events.
  unsigned progress() noexcept;
  // Keeps the current wait from sleeping past this time (an arrival timer). Each wake-up clears it.
  void wake_at(time_point t) noexcept { if (t < wake_at_) wake_at_ = t; }
  // For ranks that return instead of waiting: the time until which to sleep, which the job then forgets. Who called wake_at()
  // calls it again at the next progress().
  time_point take_timer() noexcept { return std::exchange(wake_at_, time_point::max()); }

  static constexpr std::chrono::nanoseconds look_every = std::chrono::milliseconds(50);
  // Blocks until ready() is true. `look` says whether the wait has become hopeless, and its error ends the wait; it is asked
  // each look_every, and at the deadline if it was last asked for that rank as long ago. Errors: timed_out with the note's
  // text, or that of `look`. ready() is asked last: what has arrived wins over an error.
  template <class Ready, class Look>
  status wait(Ready&& ready, Look&& look, const wait_note& note, time_point deadline = time_point::max()) {
    const std::uint32_t turn = waiting_.polls_a_turn();
    for (std::uint32_t i = waiting_.spins(), relaxed = std::max(i, 512u) - 512, left = turn; i > 0; --i) {
      if (ready()) return {};
      if (--left == 0) progress(), left = turn;
      else if (i <= relaxed) cpu_relax();
    }
    return wait_slowly(ready, look, note, deadline);
  }
  status wait(completion& done, const char* what, time_point deadline = time_point::max());
  // For who takes what comes in his own ready(): something came, so the wait under way is not idle.
  void came() noexcept { waiting_.came(); }

  // When a call that has waited since then is first to say so; and its saying so: "in a barrier, ..., for rank 3".
  time_point late_from(time_point since) const noexcept {
    return (options_.notice || options_.late.unheard) && options_.late.after.count() > 0 ? since + options_.late.after : time_point::max();
  }
  void tell_late(time_point since, const std::string& where);

  // What this rank waits for now, or null. Read by watchdogs, also from a signal handler of the same thread.
  const wait_note* waiting_for() const noexcept { return note_; }

 private:
  job() = default;
  static result<std::unique_ptr<job>> join(std::unique_ptr<bootstrap>, result<std::unique_ptr<transport>>, job_options,
                                           std::shared_ptr<const layout>, time_point deadline);
  void advance_background() noexcept;
  status wait_slowly(function_ref<bool> ready, function_ref<status> look, const wait_note&, time_point deadline);

  transport* net_ = nullptr;             // every progress() reads these three
  background* first_ = nullptr;
  time_point wake_at_ = time_point::max();
  rank_t rank_ = 0;
  std::uint32_t size_ = 1;
  std::unique_ptr<bootstrap> owned_boot_;
  std::unique_ptr<transport> owned_net_;
  std::string fabric_;
  job_options options_;
  std::shared_ptr<const layout> where_;
  fabric_facts facts_;
  waiting waiting_;
  const wait_note* note_ = nullptr;
  std::array<time_point, 16> looked_{};  // when a wait for this rank last looked, by its last digit; no_rank has one too
  // The last wait for such a rank that ran out of time. One that begins again at once is one with it, as those of threads that give each
  // other turns: it is looked after, and told of, as one that is given for ever.
  struct paused_wait {
    const char* what = nullptr;  // null: none
    rank_t from = no_rank;
    time_point ended, began, next_notice;
  };
  std::array<paused_wait, 4> paused_{};
  team_book teams_;
  std::unique_ptr<team> world_;
  std::unique_ptr<wait_board> board_;    // once the world is there
  std::unique_ptr<registration_cache> registrations_;
  std::unique_ptr<attachment_cache> attachments_;
  std::unique_ptr<slot_pool> slots_;
};

// TUTTI_REGISTRATION_CACHE.
registrations_kept registrations_from(const config&);

// What every provider is opened with; its texts are views into the two arguments.
open_params params_from(const config&, const bootstrap&);

// The job's options, as the configuration sets them.
job_options options_from(const config&);

// The configured transport for a job: the provider that TUTTI_PROVIDER names, else shared memory where it reaches
// everyone, else a router of shared memory and the best network that all ranks can use. `where` decides whether a network is
// needed; the ranks then agree on one, so all must call. `key` is the job's. `fabric` becomes the transport's name, as
// TUTTI_PROVIDER takes it.
result<std::unique_ptr<transport>> open_transport(const config&, bootstrap&, const layout& where, const siphash_key& key,
                                                  const notice_fn&, time_point deadline, std::string& fabric);

}  // namespace tutti

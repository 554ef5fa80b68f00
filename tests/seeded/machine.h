// Processes of several hosts in one: each a fiber with its own descriptors, mappings and heap, on one virtual clock. The
// product's sources run in them unchanged; the system calls that they make are those of calls.cpp,
// sockets.cpp and waits.cpp, by the linker's --wrap.
//
// Exactly one fiber runs at a time. It gives way only inside a system call or a call of its fabric (machine::step()), for a
// stretch of virtual time that the seed draws: mostly a microsecond, sometimes what a scheduler of the kernel would keep it
// from its core. So every interleaving of system calls can come, and the same seed brings the same one again.
//
// A process ends when its program returns, or is killed wherever it stands. What it had is then taken from it as a kernel
// does; what a program that returned still had is a leak, and is reported.
#pragma once
#include <sys/epoll.h>
#include <ucontext.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/job/bootstrap.h"

namespace tutti::test {

using nanoseconds = std::chrono::nanoseconds;

class dice {
 public:
  explicit dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint64_t draw() noexcept {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t n) noexcept { return draw() % n; }
  bool one_in(std::uint64_t n) noexcept { return n && below(n) == 0; }
  // Many short ones, few long ones, up to `most`.
  nanoseconds time(nanoseconds most) noexcept {
    return nanoseconds(static_cast<std::int64_t>(below(1 + (static_cast<std::uint64_t>(most.count()) >> below(12)))));
  }

 private:
  std::uint64_t state_;
};

struct allocation;
struct process;

// What a descriptor stands for.
struct object {
  virtual ~object() = default;
  virtual bool readable() const { return false; }
  virtual void closed() {}         // its descriptor: nobody duplicates one
  std::uint64_t events = 0;        // how often something has happened to it: for edges
};

struct process {
  int pid = 0;
  int host = 0;
  std::string name;
  bool running = true;             // not ended
  bool told = false;               // ended, and its pidfd says so: a moment later
  bool gone = false;               // and its parent has taken note
  std::map<int, std::shared_ptr<object>> fakes;
  std::set<int> files;             // real descriptors
  std::map<void*, std::size_t> mappings;
  std::map<void*, std::uint64_t> inodes;  // of those that are shared
  std::pair<std::uint64_t, std::uint64_t> futex{0, 0};  // inode and offset of the word that it waits for
  allocation* heap = nullptr;      // intrusive list
  std::size_t heap_bytes = 0;
  std::function<void()> program;
  std::vector<std::function<void()>> at_end;  // what its fabric does when the kernel closes it

  ucontext_t context{};
  void* stack = nullptr;
  bool started = false;
  nanoseconds stopped_until{0};
  // Blocked until this time, or until one of these is readable.
  std::vector<int> waits_for;
  std::uint64_t slice = 0;         // which of its resumptions is the next: others are void
};

class machine {
 public:
  explicit machine(std::uint64_t seed);
  ~machine();
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;

  process& start(int host, std::string name, std::function<void()> program);
  void kill(process&);
  void stop(process&, nanoseconds);  // and continue
  // Until all processes have ended. False: not by then, in virtual time.
  bool run(nanoseconds limit);

  nanoseconds now() const noexcept { return now_; }
  void at(nanoseconds when, std::function<void()> what);
  dice random;
  // How long a fiber is kept from its core at the worst, and how often: one in so many steps.
  nanoseconds longest_pause{0};
  std::uint64_t pause_one_in = 0;
  std::set<int> silent_hosts;                 // nothing comes from there any more, not even a reset
  std::uint64_t no_pidfd_one_in = 0;          // of too many files, or half as often cannot be watched
  std::uint64_t no_file_one_in = 0;           // likewise what is opened by name
  nanoseconds kept_off{0};                    // all such time so far, of all processes

  void wake(process&);                        // from a wait
  // Inside a fiber.
  void step() noexcept;                       // a system call's time passes, or more
  void idle(nanoseconds) noexcept;            // sleeps
  void wait(const std::vector<int>& fds, nanoseconds until) noexcept;  // until one is readable

  // Descriptors of the running process.
  int open(std::shared_ptr<object>);
  std::shared_ptr<object> find(int fd) noexcept;
  int close(int fd) noexcept;                 // fakes only
  process* by_pid(int pid) noexcept;

  void note(const std::string& what);         // in the trace
  void complain(const std::string& what);     // the trial has failed
  bool failed() const noexcept { return !complaints_.empty(); }
  const std::vector<std::string>& complaints() const noexcept { return complaints_; }
  bool tracing = false;
  std::vector<std::unique_ptr<process>> processes;

 private:
  struct event {
    nanoseconds when;
    std::uint64_t number;
    std::function<void()> what;
    bool operator<(const event& o) const noexcept { return when != o.when ? when > o.when : number > o.number; }
  };
  static void enter(unsigned low, unsigned high);
  void resume(process&);
  void resume_at(process&, nanoseconds);
  void give_way() noexcept;
  void reap(process&, bool by_itself);
  void wake_ready();

  std::priority_queue<event> events_;
  std::uint64_t numbers_ = 0;
  nanoseconds now_{0};
  std::vector<std::string> complaints_;
};

extern machine* world;       // the one there is, or null
extern process* running;     // whose fiber runs; null: the kernel, whose memory is nobody's

// What is allocated and freed meanwhile is the kernel's own.
class in_kernel {
 public:
  in_kernel() noexcept : saved_(running) { running = nullptr; }
  ~in_kernel() { running = saved_; }
  in_kernel(const in_kernel&) = delete;
  in_kernel& operator=(const in_kernel&) = delete;
  process& caller() const noexcept { return *saved_; }

 private:
  process* saved_;
};

void free_heap(process&) noexcept;

inline constexpr int first_fake = 1 << 20;  // descriptors of the machine

}  // namespace tutti::test

// This process within the MPI job: tutti's context, what the settings take, who may enter, and whose turn progress is.
//
// A rank that waits in tutti makes MPI advance by the idle function of tutti's context. A rank that waits in MPI makes tutti advance by
// a thread (`passing`), or two ranks could wait for each other, one in each.
//
// Code of the program (operations of reductions, callbacks, handlers of errors) may take locks of the program's own, which another of its
// threads may hold while it calls MPI. So such code is called by the program's threads alone, and never with the right to tutti, which
// that other thread may wait for:
//   - A thread gives its right up before it calls a handler of errors, or a function of MPI's that may call anything (`set_aside`).
//   - tutti calls operations of the program's in blocking reductions alone, and in jobs without MPI_THREAD_MULTIPLE, where no other of its
//     threads calls MPI meanwhile; the thread has the right until the reduction's end. All other reductions by such operations are MPI's.
//   - Where there are threads, long waits let MPI, and what it calls, advance between their turns (`patiently`).
#pragma once
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "api/tutti.h"
#include "mpi/real.h"

namespace tutti::mpi {

// What the setting TUTTI_MPI tells apart. Nonblocking forms are as the blocking ones.
enum class operation : std::uint8_t {
  messages, barrier, bcast, reduce, allreduce, gather, gatherv, scatter, scatterv, allgather, allgatherv, alltoall, alltoallv,
  alltoallw, reduce_scatter, reduce_scatter_block, scan, exscan, neighbor, windows, count_
};

struct choices {
  std::array<std::size_t, static_cast<std::size_t>(operation::count_)> most{};  // bytes, 0: none at all
  bool any() const noexcept;
  // The words of TUTTI_MPI. `wrong` becomes the text of an error, if there is one.
  static choices of(const std::string& words, std::string& wrong);
};

// As std::recursive_mutex. A thread that has it may give it up for a while, however often it took it.
class right {
 public:
  void lock() {
    if (is_mine()) return (void)++depth_;
    mutex_.lock();
    took();
  }
  bool try_lock() {
    if (is_mine()) return ++depth_, true;
    return mutex_.try_lock() && (took(), true);
  }
  void unlock() {
    if (--depth_ > 0) return;
    owner_.store(0, std::memory_order_relaxed);
    mutex_.unlock();
  }
  // How often it was taken: 0, it is not this thread's. Once the thread has it again, that is as it was by as_before().
  unsigned give_up() {
    if (!is_mine()) return 0;
    const unsigned had = std::exchange(depth_, 1);
    unlock();
    return had;
  }
  void as_before(unsigned had) noexcept { depth_ = had; }

 private:
  // Relaxed: only the owner itself ever writes, or reads, its own number here.
  bool is_mine() const noexcept { return owner_.load(std::memory_order_relaxed) == pthread_self(); }
  void took() noexcept { owner_.store(pthread_self(), std::memory_order_relaxed), depth_ = 1; }
  std::mutex mutex_;
  std::atomic<pthread_t> owner_{0};
  unsigned depth_ = 0;  // the owner's
};

class world {
 public:
  tutti_t ctx = nullptr;  // null: all goes to MPI
  choices chosen;
  int rank = 0;           // in MPI_COMM_WORLD, for what is printed
  int largest_tag = 0;    // that MPI allows
  MPI_Comm for_words{};   // of all ranks, for the library's own words by MPI; where there are threads
  MPI_Comm asking{};      // of this rank alone, whose errors are returned: for calls that MPI is to judge
  bool asks = false;      // there is one

  bool takes(operation o, std::size_t bytes) const noexcept { return bytes <= chosen.most[static_cast<std::size_t>(o)]; }
  // Some rank has MPI_THREAD_MULTIPLE: alike in all, since ranks take the right together. Where none has it, tutti may call operations of
  // the program's in blocking reductions.
  bool threaded() const noexcept { return threaded_; }

  // Collective over MPI_COMM_WORLD, once MPI is up. On failure rank 0 says why, and MPI goes on alone, in all ranks.
  void open(int thread_level);
  // Collective over MPI_COMM_WORLD; the end, while MPI still is up.
  void close();
  // The end where that was not called: a callback of the program's failed, and MPI_Finalize called no others.
  void leave() noexcept;

  bool others_wait() const noexcept { return waiters_.load(std::memory_order_relaxed) > 0; }
  bool others_came() const noexcept { return crowded_.load(std::memory_order_relaxed); }  // ever
  bool advances_later = false;  // whoever has the right and waits lets MPI advance once it has given that up
  void lock() noexcept;         // that of `held`

 private:
  friend class held;
  friend class set_aside;
  friend class passing;
  void serve() noexcept;  // the thread

  bool threaded_ = false;
  right lock_;
  std::atomic<int> waiters_{0};
  std::atomic<bool> crowded_{false};
  // Of calls that are in MPI, and that the thread serves tutti for.
  std::atomic<int> lent_{0};
  std::atomic<bool> busy_{false}, parked_{false};
  std::atomic<std::uint32_t> wake_{0};
  std::once_flag thread_made_;
};

// Not destroyed: a program may end without MPI_Finalize, and the thread with it.
extern constinit world only_world;
static_assert(std::is_trivially_destructible_v<world>);
inline world& the_world() noexcept { return only_world; }

// The right to call tutti, until the end of the object. Costs something only under MPI_THREAD_MULTIPLE, and inside of calls of MPI's
// that themselves call a function of MPI's.
class held {
 public:
  held() noexcept : world_(the_world()), locked_(world_.threaded_ || world_.lent_.load(std::memory_order_relaxed) > 0) {
    if (locked_) [[unlikely]] world_.lock();
  }
  ~held() {
    if (locked_) [[unlikely]] world_.lock_.unlock();
  }
  held(const held&) = delete;
  held& operator=(const held&) = delete;

 private:
  world& world_;
  bool locked_;
};

// For code of the program: the calling thread has no right to tutti, if it had one, until the end of the object.
class set_aside {
 public:
  set_aside() : had_(the_world().lock_.give_up()) {}
  ~set_aside() {
    if (had_ == 0) return;
    the_world().lock();
    the_world().lock_.as_before(had_);
  }
  set_aside(const set_aside&) = delete;
  set_aside& operator=(const set_aside&) = delete;

 private:
  unsigned had_;
};

// A call of MPI's own that may wait for other ranks, until the end of the object: a thread lets tutti advance meanwhile.
//
// The main thread lends its right to tutti by `lent_`, and takes it back before it goes on. The thread marks itself busy before it looks
// whether it was lent something; the owner takes back before it looks whether the thread is busy. Both are sequentially consistent, so at
// least one of them sees the other: either the thread leaves tutti alone, or the owner waits for it to leave.
class passing {
 public:
  passing();
  ~passing();
  passing(const passing&) = delete;
  passing& operator=(const passing&) = delete;

 private:
  bool lends_;
};

// Collectives of MPI's for the library's own use, which let `ctx` advance while they wait; null where it must not be called.
void reduce_to_all(const void* mine, void* all, int count, MPI_Datatype, MPI_Op, MPI_Comm, tutti_t ctx = the_world().ctx) noexcept;
bool gather_from_all(const void* mine, std::size_t bytes, void* all, MPI_Comm, tutti_t ctx = the_world().ctx) noexcept;
// The same, to and from one rank.
void receive_word(int from, int tag, MPI_Comm) noexcept;
void send_word(int to, int tag, MPI_Comm) noexcept;
// By which ranks meet (tutti_bootstrap_t): gather_from_all, over the communicator that `comm` points to, within a call of tutti's.
int gather_for_tutti(void* comm, const void* mine, std::size_t bytes, void* all, double timeout_s);

// MPI's own progress.
void advance_mpi() noexcept;
// What a look in vain does for the other side: one at a request of MPI's for tutti, one at tutti's, now and then, for MPI. A program may
// look again and again, and another rank wait for what this one has begun.
void looked_at_mpi() noexcept;
void looked_at_tutti() noexcept;

int class_of(tutti_status_t) noexcept;  // MPI's class of errors
// Whose error handler is told: a communicator's, or the one that it had when the program freed it.
struct handler_of {
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Errhandler kept = MPI_ERRHANDLER_NULL;  // null: that of `comm`
  handler_of(MPI_Comm c = MPI_COMM_WORLD, MPI_Errhandler of_freed = MPI_ERRHANDLER_NULL) noexcept : comm(c), kept(of_freed) {}
};
struct handler_of_window {
  MPI_Win window;
};
// Reports an error of tutti's to the error handler, with its text; the class is MPI's. The result is for the caller.
int raise(const handler_of&, const char* call, tutti_status_t);
int raise_text(const handler_of&, const char* call, int error_class, const char* text);
int raise_text(const handler_of_window&, const char* call, int error_class, const char* text);
// A copy of tutti_error_text(), made while this rank has the right to tutti. It takes no memory, which may be out.
struct newest_text {
  newest_text() noexcept;
  char line[512];
  bool calls_since;  // of TUTTI_PROTOCOL: this call was not the first one that differed
};
// The code for such an error's handler.
int error_code(const char* call, int error_class, const char* text, MPI_Errhandler);
void release(MPI_Errhandler);  // a reference that MPI gave

inline handler_of handler(MPI_Comm c) noexcept { return c; }
inline handler_of_window handler(handler_of_window w) noexcept { return w; }

// The body of one of MPI's functions. Where memory or threads run out in it, its objects have put everything back, locks among it, and the
// error handler is told. Other exceptions pass: an error handler of the program's may throw.
template <class Whose, class Body>
int guarded(const Whose& whose, const char* call, Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return raise_text(whose, call, MPI_ERR_NO_MEM, "out of memory");
  } catch (const std::length_error&) {  // as a vector says it of too much
    return raise_text(whose, call, MPI_ERR_NO_MEM, "out of memory");
  } catch (const std::system_error& e) {
    return raise_text(whose, call, MPI_ERR_OTHER, e.what());
  }
}

}  // namespace tutti::mpi

// A function of MPI's with both of its names: all that the library defines are written so. `whose` error handler is told of shortages.
#define TUTTI_MPI_ENTRY(name, parameters, whose, ...)                                                                                     \
  extern "C" int PMPI_##name parameters {                                                                                                  \
    using namespace ::tutti::mpi;                                                                                                         \
    return guarded(handler(whose), "MPI_" #name, [&]() -> int __VA_ARGS__);                                         \
  }                                                                                                                                       \
  TUTTI_MPI_ALSO(name)

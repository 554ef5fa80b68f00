// Requests of the program that tutti serves. Their handles are values that MPI's own never have, so that an array may hold both.
#pragma once
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "api/tutti.h"
#include "mpi/communicator.h"
#include "mpi/real.h"
#include "mpi/staging.h"
#include "mpi/world.h"

namespace tutti::mpi {

struct request {
  tutti_request_t handle{};      // zeroed: complete
  tutti_envelope_t envelope{};   // of a receive
  communicator* on = nullptr;    // of one that has a handle: counted there (communicator::under_way) until it is dropped
  enum class kind : std::uint8_t { send, receive, collective } what = kind::send;
  bool active = false;           // begun, and its end not recorded
  bool pending = false;          // begun, and its end not told to the program; a persistent one that is not is as MPI_REQUEST_NULL
  bool cancelled = false;
  bool buffered = false;         // sends a copy, which MPI_Buffer_detach waits for
  bool has_handle = false;       // else a blocking call's own
  tutti_status_t end = TUTTI_OK;
  const char* call = "";         // that began it
  std::unique_ptr<staging> staged;
  std::function<tutti_status_t(request&)> again;  // of a persistent one: begins it
};

// Handles, of requests and of messages that were matched: values that no object of MPI's has.
#ifdef OPEN_MPI  // they are pointers, and no object lies at an odd address
template <class Handle>
Handle handle_with(std::size_t index) noexcept { return reinterpret_cast<Handle>((index << 1) | 1); }
template <class Handle>
bool is_ours(Handle h) noexcept { return (reinterpret_cast<std::uintptr_t>(h) & 1) != 0; }
template <class Handle>
std::size_t index_of(Handle h) noexcept { return reinterpret_cast<std::uintptr_t>(h) >> 1; }
#else  // they are numbers, whose upper two bits say what kind of object one names; with 00 it is none, and MPICH uses a null handle alone
inline constexpr unsigned own_bits = 0x3C000000u, kind_bits = 0xFC000000u;
template <class Handle>
Handle handle_with(std::size_t index) noexcept { return static_cast<Handle>(own_bits | static_cast<unsigned>(index)); }
template <class Handle>
bool is_ours(Handle h) noexcept { return (static_cast<unsigned>(h) & kind_bits) == own_bits; }
template <class Handle>
std::size_t index_of(Handle h) noexcept { return static_cast<unsigned>(h) & ~kind_bits; }
#endif

// Requests stay where they are, and are found by a shift: in chunks. The first is that of completed sends.
inline constexpr std::size_t requests_in_chunk = 256;
extern std::vector<std::unique_ptr<request[]>> request_chunks;
inline request& at(MPI_Request r) noexcept { return request_chunks[index_of(r) / requests_in_chunk][index_of(r) % requests_in_chunk]; }
void drop(MPI_Request) noexcept;
// A fresh request, which is dropped at the end of the object unless it is given to the program.
class fresh_request {
 public:
  fresh_request();
  ~fresh_request() {
    if (!given_) drop(handle_);
  }
  fresh_request(const fresh_request&) = delete;
  fresh_request& operator=(const fresh_request&) = delete;
  request* operator->() const noexcept { return &at(handle_); }
  request& operator*() const noexcept { return at(handle_); }
  MPI_Request give() noexcept { return given_ = true, handle_; }

 private:
  MPI_Request handle_;
  bool given_ = false;
};
// Of an operation on a window, whose errors go to the handler of MPI_COMM_WORLD.
MPI_Request request_of(fresh_request&, const tutti_request_t&, const char* call) noexcept;
// Of sends that were complete at once, which are all alike.
inline MPI_Request completed_send() noexcept { return handle_with<MPI_Request>(0); }
void make_first_requests();  // before all else; throws where memory is out

// Begins what was prepared in `r`, by a function of tutti's that starts it.
void begun(request& r, communicator& on, request::kind, const char* call) noexcept;

// Is it complete? Records its end if so. Makes progress if not.
bool test(request&);
void wait(request&);
void end_now(request&, tutti_status_t);  // tutti has said so
// Ends one that the program has not been told of: takes it back, or waits for its end.
void give_up(request&);
// A blocking call's own, which ends before its memory goes, also where memory runs out meanwhile.
struct own_request : request {
  own_request() = default;
  own_request(const own_request&) = delete;
  own_request& operator=(const own_request&) = delete;
  ~own_request() {
    if (active) give_up(*this);
  }
};
// The status, and an error if it has one, which is not raised.
int outcome(const request&, MPI_Status*);
// The error is raised where there is one.
int finish(const request&, MPI_Status*);
void empty_status(MPI_Status*);
void set_status(MPI_Status*, int source, int tag, std::size_t bytes, bool cancelled);

// A call of tutti's that waits, `wait(seconds)`: for ever, or where there are other threads in slices, so that they have their turns. Then
// MPI, which may call the program, has its turns between the slices, and some at once: one often brings the other side to want the next.
template <class Wait>
tutti_status_t patiently(Wait wait) {
  world& w = the_world();
  if (!w.threaded()) {
    const held h;
    return wait(-1.0);
  }
  constexpr double shortest = 50e-6;  // seconds that another thread may have to wait
  constexpr int turns_of_mpi = 8;
  for (double slice = shortest;; slice = std::min(2 * slice, w.others_came() ? 2 * shortest : 100 * shortest)) {
    tutti_status_t s;
    {
      const held h;
      w.advances_later = true;
      s = wait(w.others_wait() ? 0.0 : slice);
      w.advances_later = false;
    }
    if (s != TUTTI_TIMED_OUT) return s;
    if (!w.others_wait()) {
      for (int turn = 0; turn < turns_of_mpi; ++turn) advance_mpi(), sched_yield();
      continue;
    }
    looked_at_tutti();
    sched_yield();
    slice = shortest / 2;
  }
}
// For a request of tutti's own.
tutti_status_t wait(tutti_request_t*);

// Between two looks of a wait for requests of both worlds, by `turn` ever longer; lets MPI advance.
void back_off(unsigned turn) noexcept;

// What the program has let go is waited for at the end, and what it sends from a copy at MPI_Buffer_detach.
void detach(MPI_Request) noexcept;
void drop_finished();  // of them
void finish_buffered();
void finish_detached();

}  // namespace tutti::mpi

// The requests of a context: completions that live as long as the context, handed out again and again. A request names
// its slot and the slot's ticket, so that a stale copy is recognized and never touches another's completion. Slots outlive
// their context, and serve the next one; no two tickets of a process are alike.
#pragma once
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "collectives/communicator.h"
#include "core/transport/transport.h"
#include "messaging/tagged.h"

struct tutti_context;

namespace tutti {

// A collective, or a message, that is called again and again with the same arguments.
struct persistent_call {
  template <class Call>
  persistent_call(communicator* c, const Call& what) : comm(c), call(what) {}
  communicator* comm;              // null: its team was freed
  std::variant<collective_call, messaging::send_arguments, messaging::receive_arguments> call;
  bool active = false;             // started, and not found complete since
};

struct request_slot {
  completion done;
  tutti_context* owner = nullptr;
  operation_sequence* of = nullptr;  // a collective's; null: a one-sided operation, or a collective whose team was freed
  std::uint64_t number = 0;       // in it
  messaging::operation* message = nullptr;  // a send or receive, until it is complete
  std::unique_ptr<persistent_call> again;  // null: complete means done with
  std::uint64_t ticket = 0;       // while handed out; 0: free or abandoned
  request_slot* next = nullptr;
  bool listed = false;            // in the list that is checked now
};

class request_pool {
 public:
  request_pool() noexcept;
  ~request_pool();
  request_pool(const request_pool&) = delete;
  request_pool& operator=(const request_pool&) = delete;
  // Null: out of memory. Allocates only when more are outstanding than ever before.
  request_slot* take(tutti_context* owner) noexcept {
    if (!free_) [[unlikely]] grow();
    request_slot* s = free_;
    if (!s) return nullptr;
    free_ = s->next;
    s->owner = owner;
    s->of = nullptr;
    s->message = nullptr;
    s->ticket = ++issued_;
    return s;
  }
  // One that is idle may be handed out again.
  void give(request_slot* s) noexcept {
    s->ticket = 0;
    s->done.clear();
    s->again.reset();
    s->next = free_;
    free_ = s;
  }
  // One that is not: it is reused once its operations have finished.
  void abandon(request_slot* s) noexcept {
    s->ticket = 0;
    s->next = abandoned_;
    abandoned_ = s;
  }
  template <class F>
  void each_in_use(F&& f) {
    for (auto& slab : slabs_)
      for (std::uint32_t i = 0; i < slab_size; ++i)
        if (slab[i].ticket != 0) f(slab[i]);
  }

 private:
  static constexpr std::uint32_t slab_size = 64;
  [[gnu::cold]] void grow() noexcept;

  std::vector<std::unique_ptr<request_slot[]>> slabs_;
  request_slot* free_ = nullptr;
  request_slot* abandoned_ = nullptr;
  std::uint64_t issued_;
};

}  // namespace tutti

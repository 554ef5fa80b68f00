// Errors of messages while no memory is to be had: they end what they are about, with their code and rank, and not the process.
#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/messaging/messages_env.h"

namespace {

std::atomic<bool> none_left = false;  // in this process

void* allocate(std::size_t n, std::size_t alignment) noexcept {
  if (none_left) return nullptr;
  return alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, (n + alignment - 1) / alignment * alignment) : std::malloc(n ? n : 1);
}

}  // namespace

void* operator new(std::size_t n) {
  if (void* const p = allocate(n, 1)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t n, std::align_val_t a) {
  if (void* const p = allocate(n, static_cast<std::size_t>(a))) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return allocate(n, static_cast<std::size_t>(a)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace {

using namespace tutti;
using namespace tutti::test;

// Polls with no memory until `done` is over.
void end_without_memory(messenger& me, completion& done) {
  none_left = true;
  while (!done.idle()) me.tagged().poll(), me.j->progress();
  none_left = false;
}

// Both have met before, so nothing but the error needs memory.
template <class F>
void on_fabrics(F&& body) {
  for (const fabric_spec& fabric : some_fabrics({"shm", "ucx:tcp"}))
    run_ranks(fabric, 2, [&](rank_env& env) {
      messenger me(env);
      std::byte word[8]{};
      if (env.rank == 0) me.send(1, 0, word), (void)me.receive(1, 0, messenger::whole, word);
      else (void)me.receive(0, 0, messenger::whole, word), me.send(0, 0, word);
      me.meet();
      body(me);
    });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_message_that_is_too_long) {
  on_fabrics([](messenger& me) {
    std::vector<std::byte> data(100);
    if (me.env.rank == 1) {
      completion done;
      me.start_receive(0, 1, messenger::whole, std::span(data).first(10), done);
      me.meet();
      end_without_memory(me, done);
      require(done.outcome().code() == errc::truncated && done.outcome().peer() == 0, done.outcome().text());
    } else {
      me.meet();
      me.send(1, 1, data);
    }
    me.meet();
  });
}

BOOST_AUTO_TEST_CASE(a_message_that_cannot_be) {
  on_fabrics([](messenger& me) {
    if (me.env.rank == 1) {
      std::byte in[8];
      completion done;
      me.start_receive(0, 1, messenger::whole, in, done);
      me.meet();
      end_without_memory(me, done);
      require(done.outcome().code() == errc::protocol && done.outcome().peer() == 0, done.outcome().text());
    } else {
      me.meet();
      const messaging::wire_prefix prefix{static_cast<std::uint8_t>(messaging::wire_kind::fragment)};
      me.env.until("room", [&] { return me.env.net().sendrecv()->send(1, messaging::bytes_of(prefix), messaging::bytes_of(prefix)); });
    }
    me.env.barrier();
  });
}

BOOST_AUTO_TEST_CASE(what_cannot_be_begun) {
  on_fabrics([](messenger& me) {
    if (me.env.rank == 0) {
      std::vector<completion> done(200);  // more than the operations that are at hand
      std::byte in[8];
      status s;
      none_left = true;
      for (std::size_t i = 0; i < done.size() && s.ok(); ++i)
        s = me.tagged().start_receive({&me.world(), 1, 5, messenger::whole, in, sizeof in, nullptr}, done[i], nullptr);
      none_left = false;
      require(s.code() == errc::no_resource, s.text());
      me.m.reset();
    }
    me.env.barrier();
  });
}

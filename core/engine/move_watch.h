// Who wants to know what the engines copy and add up on this thread: a simulation, whose ranks are one process and
// whose clock stands still while a processor works. Nobody else; without a watcher it costs a look at one word for each copy.
#pragma once
#include <cstdint>

namespace tutti {

class move_watch {
 public:
  // So many bytes were copied in memory, or added to others. Called on the thread that did it, between two calls of its
  // transport.
  virtual void moved(std::uint64_t bytes, bool added) noexcept = 0;

 protected:
  ~move_watch() = default;
};

// The thread's; null: nobody. Whoever sets it takes it back before it goes.
inline constinit thread_local move_watch* watching_moves = nullptr;

inline void tell_moved(std::uint64_t bytes, bool added) noexcept {
  if (move_watch* const w = watching_moves) [[unlikely]] w->moved(bytes, added);
}

}  // namespace tutti

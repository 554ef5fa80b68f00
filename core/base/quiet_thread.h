// A thread of the library's own in somebody else's program: signals are for the program's threads to handle.
#pragma once
#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace tutti {

// With all signals blocked. Throws std::system_error.
template <class F>
std::thread quiet_thread(F&& f) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread made;
  try {
    made = std::thread{std::forward<F>(f)};
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return made;
}

}  // namespace tutti

// What the system calls of the machine's processes are made of.
#pragma once
#include <cerrno>
#include <functional>
#include <memory>
#include <utility>

#include "tests/seeded/machine.h"

namespace tutti::test {

inline int failed(int error) noexcept {
  errno = error;
  return -1;
}

template <class T>
std::shared_ptr<T> find_as(int fd) {
  return std::dynamic_pointer_cast<T>(world->find(fd));
}

// The descriptor of a new object of the running process.
template <class T>
int open_new(const std::function<void(T&)>& set = [](T&) {}) {
  std::shared_ptr<T> made;
  {
    const in_kernel k;
    made = std::make_shared<T>();
    set(*made);
  }
  return world->open(std::move(made));
}

struct pid_object : object {
  process* of = nullptr;
  bool readable() const override { return of->told; }
};

// A descriptor that the running process closes is watched no longer, though a packet on its way keeps what it stood for.
void unwatch(int fd);

}  // namespace tutti::test

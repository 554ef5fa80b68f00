// Keeps the program's signal handlers while vendors' libraries are loaded and opened.
#pragma once
#include <signal.h>

#include <vector>

namespace tutti {

// While an object of this class lives, libraries may install handlers; its destructor undoes that. In their constructors libpsm,
// which libfabric is linked with, turns SIGSEGV, SIGTERM and others into exit(1), and UCX prints a stack; libfabric's shm does
// so when an endpoint is made. Only handlers in libraries that were loaded while such an object lived are undone: what the program itself
// sets meanwhile, in another thread, stays.
class kept_dispositions {
 public:
  kept_dispositions();
  kept_dispositions(const kept_dispositions&) = delete;
  kept_dispositions& operator=(const kept_dispositions&) = delete;
  ~kept_dispositions();

 private:
  std::vector<struct sigaction> before_;  // by signal
};

}  // namespace tutti

// What a process does upon signals stays its own affair, whatever libraries of vendors are loaded and opened.
#pragma once
#include <signal.h>

#include <vector>

namespace tutti {

// While one lives, libraries may install handlers; its end undoes that. In their constructors libpsm, which libfabric is
// linked with, turns SIGSEGV, SIGTERM and others into exit(1), and UCX prints a stack; libfabric's shm does so when an
// endpoint is made. Undone are handlers that lie in libraries which were loaded while one of these lived: what the program
// itself sets meanwhile, in another thread, stays.
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

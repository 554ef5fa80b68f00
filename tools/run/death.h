// How a rank ended, in words and as an exit status.
#pragma once
#include <signal.h>

#include <string>

namespace tutti::launching {

struct death {
  bool by_signal = false;
  bool core = false;  // it left a core dump
  int value = 0;      // the signal, or the exit status

  static death from(const siginfo_t& waited);
  bool success() const noexcept { return !by_signal && value == 0; }
  int exit_status() const noexcept { return by_signal ? 128 + value : value; }  // as a shell would have it
  std::string words() const;  // "was killed by SIGSEGV (Segmentation fault), core dumped"
};

std::string signal_name(int);  // "SIGSEGV"

}  // namespace tutti::launching

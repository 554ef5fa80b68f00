#include "tools/run/death.h"

#include <string.h>

namespace tutti::launching {

death death::from(const siginfo_t& waited) {
  death d;
  d.by_signal = waited.si_code == CLD_KILLED || waited.si_code == CLD_DUMPED;
  d.core = waited.si_code == CLD_DUMPED;
  d.value = waited.si_status;
  return d;
}

std::string signal_name(int number) {
  if (const char* name = sigabbrev_np(number)) return std::string{"SIG"} + name;
  return "signal " + std::to_string(number);
}

std::string death::words() const {
  if (!by_signal) return "exited with status " + std::to_string(value);
  const char* meaning = sigdescr_np(value);
  std::string text = "was killed by " + signal_name(value);
  if (meaning) text += std::string{" ("} + meaning + ")";
  if (core) text += ", core dumped";
  return text;
}

}  // namespace tutti::launching

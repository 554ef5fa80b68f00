// The file of the program that runs here.
#pragma once
#include <sys/auxv.h>

#include <filesystem>
#include <string>

namespace tutti {

// Empty: not known. Without /proc the name by which it was started tells, as long as its working directory is the one it began in.
inline std::string own_program() {
  std::error_code failed;
  auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto* const started_as = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (failed && started_as) path = std::filesystem::canonical(started_as, failed);
  return failed ? std::string{} : path.string();
}

}  // namespace tutti

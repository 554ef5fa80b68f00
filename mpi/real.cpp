#include "mpi/real.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

namespace tutti::mpi {

real_functions real, first_called;

namespace {

// `name`: PMPI_X, and behind its first letter MPI_X.
template <class F>
void find(F*& by_mpi, F*& first, F* here, const char* name) noexcept {
  by_mpi = reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
  first = tool_or(name + 1, by_mpi, here);
}

std::string_view name_in(std::string_view path) noexcept { return path.substr(path.rfind('/') + 1); }

// A rank starts programs of other MPIs as well, which this library is not for. So is a program in whose environment the launcher of another
// one put it: that begins anew, without it. What is left after that, where it cannot begin anew, ends in world::open().
void begin_anew_if_of_another(char** arguments) noexcept {
  const char* const other = arguments ? other_mpi() : nullptr;
  if (!other || !leave_environment()) return;
  std::fprintf(stderr, "tutti: this library is for " TUTTI_MPI_NAME ", and the program is of another MPI (%s); it runs without tutti\n", other);
  (void)::execve("/proc/self/exe", arguments, environ);
}

[[gnu::constructor]] void find_all([[maybe_unused]] int count, char** arguments) noexcept {
#define TUTTI_MPI_X(name) find(real.name, first_called.name, &::PMPI_##name, "PMPI_" #name);
  TUTTI_MPI_REAL(TUTTI_MPI_X)
  TUTTI_MPI_REAL_LARGE(TUTTI_MPI_X)
  TUTTI_MPI_REAL_HANDLES(TUTTI_MPI_X)
#undef TUTTI_MPI_X
#ifdef __GLIBC__  // others give a constructor no arguments
  begin_anew_if_of_another(arguments);
#endif
}

}  // namespace

// An MPI has both of a function's names in one object, most often for one address.
void* of_tool(const char* name, const void* of_mpi) noexcept {
  void* const next = dlsym(RTLD_NEXT, name);
  Dl_info where, where_mpi;
  if (!next || next == of_mpi || !dladdr(next, &where) || !dladdr(of_mpi, &where_mpi)) return nullptr;
  return where.dli_fbase == where_mpi.dli_fbase ? nullptr : next;
}

const char* other_mpi() noexcept {
  static char version[16384];  // more than any MPI's MPI_MAX_LIBRARY_VERSION_STRING: MPICH's is 8192, Open MPI's 256
  int length = 0;
  if (!real.Get_library_version || real.Get_library_version(version, &length) != MPI_SUCCESS || std::strstr(version, TUTTI_MPI_NAME)) return nullptr;
  version[std::min<std::size_t>(std::strcspn(version, "\n"), 40)] = '\0';
  for (char& c : version)
    if (c == '\t') c = ' ';
  return version;
}

// ld.so takes blanks and colons alike between its entries.
bool leave_environment() noexcept {
  const char* const all = std::getenv("LD_PRELOAD");
  Dl_info self;
  if (!all || !dladdr(reinterpret_cast<const void*>(&leave_environment), &self)) return false;
  try {
    std::string others;
    bool was_there = false;
    for (std::string_view rest = all; !rest.empty();) {
      const std::size_t end = std::min(rest.find_first_of(" :"), rest.size());
      const std::string_view entry = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (entry.empty()) continue;
      if (name_in(entry) == name_in(self.dli_fname)) was_there = true;
      else others.append(others.empty() ? "" : ":").append(entry);
    }
    if (!was_there) return false;
    return (others.empty() ? ::unsetenv("LD_PRELOAD") : ::setenv("LD_PRELOAD", others.c_str(), 1)) == 0;
  } catch (const std::exception&) {  // no memory: it stays
    return false;
  }
}

}  // namespace tutti::mpi

#include "mpi/real.h"

#include <dlfcn.h>

namespace tutti::mpi {

real_functions real;

namespace {

template <class F>
void find(F& function, const char* name) noexcept {
  function = reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

[[gnu::constructor]] void find_all() noexcept {
#define TUTTI_MPI_X(name) find(real.name, "PMPI_" #name);
  TUTTI_MPI_REAL(TUTTI_MPI_X)
  TUTTI_MPI_REAL_LARGE(TUTTI_MPI_X)
#undef TUTTI_MPI_X
#ifdef OPEN_MPI
  find(real.Request_c2f, "PMPI_Request_c2f");
  find(real.Request_f2c, "PMPI_Request_f2c");
  find(real.Message_c2f, "PMPI_Message_c2f");
  find(real.Message_f2c, "PMPI_Message_f2c");
#endif
}

}  // namespace
}  // namespace tutti::mpi

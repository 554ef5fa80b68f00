// Is a program one of MPI's? Told from the libraries that its file asks the loader for; nothing is run to find out.
#pragma once
#include <string>

namespace tutti::launching {

// The MPI library that the program is linked with, as "libmpi.so.40"; empty: none that can be seen. Scripts, programs
// linked statically and files that cannot be read show none.
std::string mpi_library_of(const std::string& path);

}  // namespace tutti::launching

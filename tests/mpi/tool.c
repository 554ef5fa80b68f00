/* A profiling tool: it counts the program's calls, and hands them on by PMPI. */
#include <mpi.h>
#include <string.h>

enum { most = 32 };
static const char *names[most];
static int counts[most];

static int *of(const char *name) {
  int i = 0;
  while (i < most - 1 && names[i] && strcmp(names[i], name) != 0) ++i;
  names[i] = name;
  return &counts[i];
}
int tool_calls(const char *name) { return *of(name); }

#define COUNTED(name, parameters, arguments)                \
  int MPI_##name parameters {                               \
    ++*of(#name);                                           \
    return PMPI_##name arguments;                           \
  }
COUNTED(Init, (int *count, char ***words), (count, words))
COUNTED(Finalize, (void), ())
COUNTED(Comm_size, (MPI_Comm c, int *size), (c, size))
COUNTED(Comm_dup, (MPI_Comm c, MPI_Comm *made), (c, made))
COUNTED(Isend, (const void *d, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r), (d, n, t, to, tag, c, r))
COUNTED(Irecv, (void *d, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r), (d, n, t, from, tag, c, r))
COUNTED(Wait, (MPI_Request *r, MPI_Status *s), (r, s))
COUNTED(Waitall, (int n, MPI_Request r[], MPI_Status s[]), (n, r, s))
COUNTED(Start, (MPI_Request *r), (r))
COUNTED(Startall, (int n, MPI_Request r[]), (n, r))
COUNTED(Allreduce, (const void *d, void *all, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c), (d, all, n, t, op, c))
COUNTED(Iallgather, (const void *d, int n, MPI_Datatype t, void *all, int m, MPI_Datatype u, MPI_Comm c, MPI_Request *r), (d, n, t, all, m, u, c, r))
COUNTED(Win_create, (void *d, MPI_Aint n, int unit, MPI_Info i, MPI_Comm c, MPI_Win *w), (d, n, unit, i, c, w))
COUNTED(Win_allocate, (MPI_Aint n, int unit, MPI_Info i, MPI_Comm c, void *d, MPI_Win *w), (n, unit, i, c, d, w))
COUNTED(Win_fence, (int assertion, MPI_Win w), (assertion, w))
COUNTED(Put, (const void *d, int n, MPI_Datatype t, int to, MPI_Aint at, int m, MPI_Datatype u, MPI_Win w), (d, n, t, to, at, m, u, w))
COUNTED(Win_free, (MPI_Win * w), (w))

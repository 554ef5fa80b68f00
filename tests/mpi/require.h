/* Requirements for MPI programs: a failure names the part under way, the place and the rank, and ends the job. */
#ifndef REQUIRE_H
#define REQUIRE_H
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, n, right, left;
static const char *part = "start";

#define REQUIRE(condition)                                                                            \
  do {                                                                                                \
    if (!(condition)) {                                                                               \
      fprintf(stderr, "%s:%d: rank %d of %d: %s: %s\n", __FILE__, __LINE__, me, n, part, #condition); \
      fflush(stderr);                                                                                 \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                                   \
    }                                                                                                 \
  } while (0)

#define OK(call) REQUIRE((call) == MPI_SUCCESS)

static inline int class_of(int code) {
  int c = MPI_SUCCESS;
  MPI_Error_class(code, &c);
  return c;
}
#define FAILS(call, error_class) REQUIRE(class_of(call) == (error_class))

static inline void find_place(void) {
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  right = (me + 1) % n, left = (me + n - 1) % n;
}

/* Not every MPI keeps to all of MPI's rules; what tutti is to keep and another does not is asked of it alone. */
static inline int by_tutti(void) {
  return dlsym(dlopen(NULL, RTLD_LAZY), "tutti_init") != NULL; /* LD_PRELOAD does not tell: the library leaves it */
}

/* Runs one part of a program, after all ranks have ended the one before. */
#define RUN(name)                 \
  do {                            \
    MPI_Barrier(MPI_COMM_WORLD);  \
    part = #name;                 \
    name();                       \
  } while (0)

/* Data that tell who sent them. */
static inline void fill(void *data, size_t bytes, unsigned salt) {
  unsigned char *p = (unsigned char *)data;
  for (size_t i = 0; i < bytes; ++i) p[i] = (unsigned char)(i * 7 + (i >> 8) * 13 + salt * 31 + 1);
}
static inline int filled(const void *data, size_t bytes, unsigned salt) {
  const unsigned char *p = (const unsigned char *)data;
  for (size_t i = 0; i < bytes; ++i)
    if (p[i] != (unsigned char)(i * 7 + (i >> 8) * 13 + salt * 31 + 1)) return 0;
  return 1;
}
static inline int all_are(const void *data, size_t bytes, unsigned char value) {
  const unsigned char *p = (const unsigned char *)data;
  for (size_t i = 0; i < bytes; ++i)
    if (p[i] != value) return 0;
  return 1;
}

static inline int status_is(const MPI_Status *s, int source, int tag, int bytes) {
  int count = -1, cancelled = -1;
  MPI_Get_count(s, MPI_BYTE, &count);
  MPI_Test_cancelled(s, &cancelled);
  return s->MPI_SOURCE == source && s->MPI_TAG == tag && count == bytes && !cancelled;
}
static inline int status_is_empty(const MPI_Status *s) { return status_is(s, MPI_ANY_SOURCE, MPI_ANY_TAG, 0); }

/* A communicator of all ranks that tutti has no part in. */
static inline MPI_Comm of_mpi_alone(void) {
  MPI_Comm made;
  MPI_Request request;
  MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return made;
}
#endif

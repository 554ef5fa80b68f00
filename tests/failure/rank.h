/* What a rank begins with that is to end, or to see others end. */
#ifndef RANK_H
#define RANK_H
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Nanoseconds, by the clock that all ranks of a host share. */
static inline uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline int descriptors(void) {
  int n = 0;
  DIR *d = opendir("/proc/self/fd");
  while (readdir(d)) ++n;
  closedir(d);
  return n;
}

/* A file that all ranks map. NULL: it cannot be. */
static inline void *map_book(const char *path, size_t bytes) {
  const int file = open(path, O_RDWR | O_CLOEXEC);
  void *book = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  return book == MAP_FAILED ? NULL : book;
}

static inline void leave_no_core(void) {
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
}
#endif

/* A rank that is busy with itself. */
#ifndef COMPUTING_H
#define COMPUTING_H
#include <stdint.h>
#include <time.h>

static inline int64_t now_ns(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void compute_until(int64_t end) {
  while (now_ns() < end)
    for (volatile int i = 0; i < 10000; ++i) continue;
}

#endif

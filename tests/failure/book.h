/* What the ranks of a job that is to meet deaths share with the driver that brings them: one page of a file. */
#ifndef BOOK_H
#define BOOK_H
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>

enum { book_ranks = 8, book_bytes = 8192 };

struct book_rank {
  volatile int32_t pid;
  volatile uint64_t ended_at; /* ns of CLOCK_MONOTONIC: it ends from here on. 0: it does not */
  volatile uint64_t told_at;  /* 0: not told */
  volatile uint64_t waited;   /* ns for which it, and the launcher, had waited for a core by then; waited_for_core() */
  volatile int32_t told_code;
  volatile uint32_t told_peer;
  volatile int32_t told_before; /* an error that came though nobody had ended */
  volatile int32_t survived;  /* its program has come to its end */
  volatile int32_t descriptors_left;
  char where[160];           /* in which call it was told, */
  char text[400];            /* and how */
};

struct book {
  volatile uint32_t ready;    /* ranks that do what the scene says */
  volatile uint32_t stop;     /* the driver: it is enough, nobody ends any more */
  volatile uint32_t dead;     /* how many end in this trial; 0 until they have */
  volatile uint32_t told;     /* survivors that were */
  struct book_rank rank[book_ranks];
};

/* ns for which the threads of a process were ready to run and had no core; 0 where the kernel does not count them. */
static inline uint64_t waited_for_core(int pid) {
  char name[300];
  unsigned long long ran, waited, sum = 0;
  snprintf(name, sizeof name, "/proc/%d/task", pid);
  DIR *d = opendir(name);
  for (const struct dirent *e; d && (e = readdir(d));) {
    snprintf(name, sizeof name, "/proc/%d/task/%.20s/schedstat", pid, e->d_name);
    FILE *f = e->d_name[0] == '.' ? NULL : fopen(name, "r");
    if (f && fscanf(f, "%llu %llu", &ran, &waited) == 2) sum += waited;
    if (f) fclose(f);
  }
  if (d) closedir(d);
  return sum;
}
#endif

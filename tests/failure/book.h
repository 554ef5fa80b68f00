/* What the ranks of a job that is to meet deaths share with the driver that brings them: one page of a file. */
#ifndef BOOK_H
#define BOOK_H
#include <stdint.h>

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
#endif

/* How long a process had no core though it could have run: what a judge of times takes off on a machine that others use. */
#ifndef WAITED_H
#define WAITED_H
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>

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

/* A million supersteps in which everyone puts, sends and gets, with nothing growing: memory after the first ten thousand
 * is memory at the end. Usage: million [SUPERSTEPS] */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <bsp.h>

static long resident_kib(void) {
  long pages = 0, resident = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%ld %ld", &pages, &resident) != 2) bsp_abort("/proc/self/statm cannot be read\n");
  fclose(f);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int argc, char **argv) {
  bsp_begin(bsp_nprocs());
  const long all = argc > 1 ? atol(argv[1]) : 1000000, warm = all / 100;
  const int p = bsp_nprocs(), s = bsp_pid(), next = (s + 1) % p, before = (s + p - 1) % p;
  int place[2] = {-1, s}, brought = -1, tag_bytes = sizeof(int);
  long settled = 0;
  bsp_push_reg(place, sizeof place);
  bsp_set_tagsize(&tag_bytes);
  bsp_sync();
  for (int i = 0; i < all; ++i) {
    if (i == warm) settled = resident_kib();
    bsp_put(next, &i, place, 0, sizeof i);
    bsp_send(next, &i, &s, sizeof s);
    if (i % 8 == 0) bsp_get(next, place, sizeof i, &brought, sizeof brought);
    if (i % 1000 == 0) { /* registrations come and go as well */
      bsp_pop_reg(place);
      bsp_push_reg(place, sizeof place);
    }
    bsp_sync();
    int messages, bytes, length, tag, from;
    bsp_qsize(&messages, &bytes);
    bsp_get_tag(&length, &tag);
    bsp_move(&from, sizeof from);
    if (place[0] != i || messages != 1 || bytes != sizeof s || length != sizeof s || tag != i || from != before)
      bsp_abort("superstep %d: put %d, %d messages of %d bytes, tag %d from %d\n", i, place[0], messages, bytes, tag, from);
    if (i % 8 == 0 && brought != next) bsp_abort("superstep %d: got %d from process %d\n", i, brought, next);
  }
  const long grown = resident_kib() - settled;
  if (grown > 256) bsp_abort("grew by %ld KiB in %ld supersteps\n", grown, all - warm);
  bsp_end();
  if (s == 0) printf("%ld supersteps, grown by %ld KiB\n", all, grown);
  return 0;
}

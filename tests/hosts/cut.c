/* The second host is cut off while its ranks communicate: nobody answers any more, and nobody says so. Every rank must be
 * told in time of a rank that is out of its reach, and which others are on its host, whatever it waits for.
 * Usage: cut SCENE FOLDER LIMIT
 *   SCENE   barrier (the algorithm by TUTTI_BARRIER), ibarrier, put, wait (for a rank that was heard before), outsider
 *           (for one that never was); or stopped: the host is there, but its ranks do not run for a while, which is none
 *           of this, though they be sent more than anyone keeps for them
 *   FOLDER  where ranks make "ready-<rank>" once they are at it, and somebody "cut" just before the cut (stopped: when
 *           they run again); it then gets a file "told-<rank>" of each rank with what it was told, "fine" before it if
 *           that is as it should be, and "left-<rank>"
 *   LIMIT   seconds from the cut
 */
#include <stdarg.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/c/check.h"

enum { large = 16 << 20 };

static const char *folder;

static double seconds(struct timespec t) { return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec; }

static double since_the_cut(void) { /* negative: it is still to come */
  char name[512];
  struct stat s;
  struct timespec now;
  snprintf(name, sizeof name, "%s/cut", folder);
  if (stat(name, &s) != 0) return -1;
  clock_gettime(CLOCK_REALTIME, &now);
  return seconds(now) - seconds(s.st_mtim);
}

static void write_file(const char *what, uint32_t rank, const char *format, ...) {
  char name[512];
  snprintf(name, sizeof name, "%s/%s-%u", folder, what, rank);
  FILE *f = fopen(name, "w");
  CHECK(f != NULL);
  va_list arguments;
  va_start(arguments, format);
  vfprintf(f, format, arguments);
  va_end(arguments);
  fclose(f);
}

static int all_told(uint32_t n) {
  for (uint32_t r = 0; r < n; ++r) {
    char name[512];
    snprintf(name, sizeof name, "%s/told-%u", folder, r);
    if (access(name, F_OK) != 0) return 0;
  }
  return 1;
}

static int names_all_beside(const char *text, tutti_t job, uint32_t peer) {
  const char *list = strstr(text, "(ranks of its host: ");
  for (uint32_t r = 0; list && r < tutti_size(job); ++r) {
    char number[16];
    snprintf(number, sizeof number, "%u", r);
    if (tutti_node_of(job, r) == tutti_node_of(job, peer) && !strstr(list, number)) return 0;
  }
  return list != NULL;
}

int main(int argc, char **argv) {
  CHECK(argc == 4);
  const char *scene = argv[1];
  folder = argv[2];
  const double limit = atof(argv[3]);
  const int stopped = !strcmp(scene, "stopped");
  begin();
  tutti_t job = check_ctx;
  tutti_team_t world = tutti_world(job);
  const uint32_t me = tutti_rank(job), n = tutti_size(job), node = tutti_node_of(job, me);
  CHECK(tutti_nodes(job) == 3);
  uint32_t lost = 0; /* some rank that I shall lose: one of the second host, or of the others if I am there */
  while ((tutti_node_of(job, lost) == 1) == (node == 1)) ++lost;
  tutti_window_t w;
  uint64_t *words, value = 0;
  CHECK(tutti_window_create(world, stopped ? large : 4096, (void **)&words, &w) == TUTTI_OK);

  tutti_status_t told = TUTTI_OK;
  for (int i = 0; told == TUTTI_OK && !(stopped && since_the_cut() >= 0); ++i) {
    if (i == 20) write_file("ready", me, "");
    if (i < 20) {
      if (!strcmp(scene, "outsider")) continue;
      for (uint32_t r = 0; r < n; ++r) CHECK(tutti_put(w, r, 8 * me, &value, 8, NULL) == TUTTI_OK);
      CHECK(tutti_flush(w, TUTTI_ALL, 10) == TUTTI_OK);
      CHECK(tutti_barrier(world) == TUTTI_OK);
    } else if (!strcmp(scene, "barrier")) {
      told = tutti_barrier(world);
    } else if (!strcmp(scene, "ibarrier")) {
      tutti_request_t r;
      told = tutti_ibarrier(world, &r);
      if (told == TUTTI_OK) told = tutti_wait(&r, -1);
    } else if (!strcmp(scene, "put")) {
      for (uint32_t r = 0; r < n && told == TUTTI_OK; ++r) {
        told = tutti_put(w, r, 8 * me, &value, 8, NULL);
        if (told == TUTTI_OK) told = tutti_flush(w, r, -1);
      }
    } else if (stopped) {
      told = tutti_put(w, lost, 0, words, large, NULL);
      if (told == TUTTI_OK) told = tutti_flush(w, lost, -1);
    } else {
      told = tutti_wait_signal(w, 1024, TUTTI_REACHED, 1, me % 2 ? lost : TUTTI_ANY, -1);
    }
  }
  if (stopped) {
    if (told == TUTTI_OK) told = tutti_barrier(world);
    write_file("told", me, "%srank %u: %s\n", told == TUTTI_OK ? "fine: " : "WRONG: ", me, tutti_error_text(job));
    told = tutti_finalize(&check_ctx);
    write_file("left", me, "%srank %u: %s\n", told == TUTTI_OK ? "fine: " : "WRONG: ", me, tutti_error_text(NULL));
    return 0;
  }
  const double after = since_the_cut();
  const uint32_t peer = tutti_error_peer(job);
  const int fine = told == TUTTI_PEER_DEAD && peer < n && (tutti_node_of(job, peer) == 1) != (node == 1) && after >= 0 &&
                   after <= limit && names_all_beside(tutti_error_text(job), job, peer);
  write_file("told", me, "%srank %u of host %u was told of rank %u after %.2f s: %s\n", fine ? "fine: " : "WRONG: ", me,
             node, peer, after, tutti_error_text(job));
  /* Nobody leaves before all were told, or the late ones might be told of those who left. */
  while (!all_told(n) && since_the_cut() < limit) {
    (void)tutti_progress(job);
    usleep(1000);
  }
  const double begun = since_the_cut();
  (void)tutti_finalize(&check_ctx);
  write_file("left", me, "%srank %u took %.2f s to leave\n", since_the_cut() - begun < 3 ? "fine: " : "WRONG: ", me,
             since_the_cut() - begun);
  return 0;
}

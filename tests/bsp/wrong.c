/* Programs that break a rule. Usage: wrong SCENE; see wrong.sh for what each must say. The last process offends. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bsp.h>
#include <bsp_level1.h>

static int p, s;
static char large[100000], source[100000], uneven[24], longer[2][1 << 18];

static void add(void *result, void *left, void *right, int *bytes) {
  if (*bytes == sizeof(int)) *(int *)result = *(int *)left + *(int *)right;
}

static void part(void) {
  bsp_begin(bsp_nprocs());
  bsp_end();
}

/* As programs wrap it. */
static void give_up(const char *format, ...) {
  va_list values;
  va_start(values, format);
  bsp_vabort(format, values);
}

int main(int argc, char **argv) {
  const char *scene = argc > 1 ? argv[1] : "";
  if (!strcmp(scene, "pid_outside")) return bsp_pid();
  if (!strcmp(scene, "sum_outside")) return bsp_sumI(1);
  if (!strcmp(scene, "begin_none")) bsp_begin(0);
  if (!strcmp(scene, "never_begins") && bsp_nprocs()) return 0;
  if (!strcmp(scene, "reads_first") && bsp_nprocs() && strcmp(getenv("PMIX_RANK"), "0")) return 0; /* who finds no input */
  if (!strcmp(scene, "init_null")) bsp_init(NULL, argc, argv);
  if (!strcmp(scene, "init_twice")) bsp_init(part, argc, argv), bsp_init(part, argc, argv);
  bsp_begin(bsp_nprocs());
  p = bsp_nprocs(), s = bsp_pid();
  const int last = s == p - 1, next = (s + 1) % p;
  int a[4] = {0}, b = 1, pair[2] = {1, 2};
  bsp_push_reg(a, sizeof a);
  bsp_push_reg(large, sizeof large);
  bsp_push_reg(uneven, 8 * s); /* process 0 has nothing of it */
  bsp_sync();
  if (!strcmp(scene, "init_late")) bsp_init(part, argc, argv);
  if (!strcmp(scene, "begin_twice")) bsp_begin(1);
  if (last) {
    if (!strcmp(scene, "put_beyond")) bsp_put(next, &b, a, 13, sizeof b);
    if (!strcmp(scene, "put_far_beyond")) bsp_put(next, &b, a, INT_MAX, sizeof b);
    if (!strcmp(scene, "get_beyond")) bsp_get(next, a, 16, &b, 1);
    if (!strcmp(scene, "hpput_beyond")) bsp_hpput(next, &b, a, 13, sizeof b);
    if (!strcmp(scene, "hpget_beyond")) bsp_hpget(next, a, 16, &b, 1);
    if (!strcmp(scene, "direct_get_beyond")) bsp_direct_get(next, a, 16, &b, 1);
    if (!strcmp(scene, "direct_get_null")) bsp_direct_get(next, a, 0, NULL, 4);
    if (!strcmp(scene, "put_large")) bsp_put(next, source, large, 8, sizeof large);
    if (!strcmp(scene, "hpput_large")) bsp_hpput(next, source, large, 8, sizeof large);
    if (!strcmp(scene, "get_large")) bsp_get(next, large, 8, source, sizeof large);
    if (!strcmp(scene, "hpget_large")) bsp_hpget(next, large, 8, source, sizeof large);
    if (!strcmp(scene, "put_joined"))
      for (int i = 0; i <= (int)sizeof large; i += 8) bsp_put(next, source, large, i, 8);
    if (!strcmp(scene, "put_words")) {
      bsp_put(next, source, large, 0, 8);
      bsp_put(next, source, large, sizeof large - 8, 8);
      bsp_put(next, source, large, sizeof large - 16, 16);
      bsp_put(next, source, large, sizeof large - 8, 16);
    }
    if (!strcmp(scene, "put_uneven")) {
      for (int to = 1; to < p; ++to) bsp_put(to, source, uneven, 0, 8 * to);
      bsp_put(p - 2, source, uneven, 0, 8 * (p - 2)), bsp_put(p - 2, source, uneven, 8 * (p - 2), 8);
    }
    if (!strcmp(scene, "put_no_part")) bsp_put(0, source, uneven, 0, 4);
    if (!strcmp(scene, "put_too_early")) {
      bsp_push_reg(&b, sizeof b);
      bsp_put(next, a, &b, 0, sizeof b);
    }
    if (!strcmp(scene, "put_unregistered")) bsp_put(next, &b, &b, 0, sizeof b);
    if (!strcmp(scene, "get_unregistered")) bsp_get(next, &b, 0, a, sizeof b);
    if (!strcmp(scene, "put_pid")) bsp_put(p, &b, a, 0, sizeof b);
    if (!strcmp(scene, "put_negative_pid")) bsp_put(-1, &b, a, 0, sizeof b);
    if (!strcmp(scene, "send_pid")) bsp_send(p + 3, NULL, &b, sizeof b);
    if (!strcmp(scene, "put_negative")) bsp_put(next, &b, a, 0, -4);
    if (!strcmp(scene, "put_negative_offset")) bsp_put(next, &b, a, -4, 4);
    if (!strcmp(scene, "get_negative")) bsp_get(next, a, -1, &b, 4);
    if (!strcmp(scene, "push_negative")) bsp_push_reg(&b, -1);
    if (!strcmp(scene, "push_null")) bsp_push_reg(NULL, 4);
    if (!strcmp(scene, "pop_unknown")) bsp_pop_reg(&b);
    if (!strcmp(scene, "pop_null")) bsp_pop_reg(NULL);
    if (!strcmp(scene, "put_null")) bsp_put(next, NULL, a, 0, sizeof b);
    if (!strcmp(scene, "put_null_area")) bsp_put(next, &b, NULL, 0, sizeof b);
    if (!strcmp(scene, "get_null")) bsp_get(next, a, 0, NULL, sizeof b);
    if (!strcmp(scene, "hpput_null")) bsp_hpput(next, NULL, a, 0, sizeof b);
    if (!strcmp(scene, "hpget_null")) bsp_hpget(next, a, 0, NULL, sizeof b);
    if (!strcmp(scene, "send_null")) bsp_send(next, NULL, NULL, sizeof b);
    if (!strcmp(scene, "tagsize_null")) bsp_set_tagsize(NULL);
    if (!strcmp(scene, "qsize_null")) bsp_qsize(NULL, &b);
    if (!strcmp(scene, "get_tag_null")) bsp_get_tag(NULL, &b);
    if (!strcmp(scene, "hpmove_null")) bsp_hpmove(NULL, (void **)&large);
    if (!strcmp(scene, "hpmove_payload_null")) bsp_hpmove((void **)&large, NULL);
    if (!strcmp(scene, "move_nothing")) bsp_move(&b, 4);
    if (!strcmp(scene, "bcast_root")) bsp_bcast(p, a, &b, 4);
    if (!strcmp(scene, "gather_negative_root")) bsp_gather(-1, a, &b, 4);
    if (!strcmp(scene, "scatter_negative")) bsp_scatter(0, a, &b, -4);
    if (!strcmp(scene, "bcast_null")) bsp_bcast(s, NULL, &b, 4);
    if (!strcmp(scene, "bcast_null_target")) bsp_bcast(0, NULL, NULL, 4);
    if (!strcmp(scene, "gather_null")) bsp_gather(0, NULL, NULL, 4);
    if (!strcmp(scene, "gather_null_target")) bsp_gather(s, &b, NULL, 4);
    if (!strcmp(scene, "scatter_null")) bsp_scatter(s, NULL, &b, 4);
    if (!strcmp(scene, "scatter_null_target")) bsp_scatter(0, NULL, NULL, 4);
    if (!strcmp(scene, "fold_null")) bsp_fold(add, NULL, &b, 4);
    if (!strcmp(scene, "scan_null_target")) bsp_scan(add, &b, NULL, 4);
    if (!strcmp(scene, "fold_null_operation")) bsp_fold(NULL, &b, &b, 4);
    if (!strcmp(scene, "sort_null_operation")) bsp_sort(NULL, &b, &b, 4);
    if (!strcmp(scene, "pushes_alone")) bsp_push_reg(&b, sizeof b);
    if (!strcmp(scene, "pops_alone")) bsp_pop_reg(a);
    if (!strcmp(scene, "ends_alone")) bsp_end();
    if (!strcmp(scene, "exits")) exit(0);
    if (!strcmp(scene, "is_killed")) kill(getpid(), SIGKILL);
    if (!strcmp(scene, "gives_up")) give_up("%s of %d\n", "weary", 43);
    if (!strcmp(scene, "aborts_null")) {
      void (*const end)(const char *, ...) = bsp_abort;
      end(NULL);
    }
    if (!strcmp(scene, "aborts")) bsp_abort("%s at %d\n", "tired", 42);
  }
  if (!strcmp(scene, "collective_alone") && last) bsp_sumD(1);
  if (!strcmp(scene, "collective_at_root") && last) bsp_bcast(s, a, &b, 4);
  if (!strcmp(scene, "collective_or_end")) last ? bsp_end() : (void)bsp_sumI(1);
  if (!strcmp(scene, "sizes_differ")) bsp_bcast(0, a, pair, last ? 8 : 4);
  if (!strcmp(scene, "long_broadcast_alone") && last) bsp_bcast(s, longer[0], longer[1], 1 << 17);
  if (!strcmp(scene, "long_broadcast_differs")) bsp_bcast(0, longer[0], longer[1], (1 << 17) + last);
  if (!strcmp(scene, "roots_differ")) bsp_gather(last ? s : 0, &b, large, 4);
  if (!strcmp(scene, "no_root")) bsp_bcast(last ? 0 : p - 1, a, &b, 4); /* of two processes, neither takes itself for it */
  if (!strcmp(scene, "types_differ")) last ? (void)bsp_sumI(1) : (void)bsp_sumR(1);
  if (!strcmp(scene, "operations_differ")) last ? (void)bsp_maxD(1) : (void)bsp_minD(1);
  if (!strcmp(scene, "tags_differ")) bsp_set_tagsize(last ? (b = 8, &b) : (b = 4, &b));
  if (!strcmp(scene, "tag_alone") && last) bsp_set_tagsize((b = 6, &b));
  if (!strcmp(scene, "tag_and_put")) { /* the one that does not set it has something for the others */
    if (last) bsp_set_tagsize((b = 6, &b));
    else bsp_put(p - 1, &b, a, 0, sizeof b);
  }
  if (!strcmp(scene, "pops_differ")) bsp_pop_reg(last ? (void *)a : large);
  if (!strcmp(scene, "pop_for_push")) {
    if (last) bsp_pop_reg(large);
    else bsp_push_reg(&b, sizeof b);
  }
  if (!strcmp(scene, "pop_null_elsewhere") || !strcmp(scene, "pop_null_nowhere")) {
    int x = 0;
    bsp_push_reg(last ? NULL : &x, 0);
    bsp_push_reg(last ? &x : NULL, 0);
    bsp_sync();
    /* The last process has NULL in the first only, the others in the second. */
    if (!strcmp(scene, "pop_null_elsewhere")) bsp_pop_reg(last ? NULL : (void *)large);
    else bsp_pop_reg(NULL);
  }
  if (!strcmp(scene, "send_null_tag") || !strcmp(scene, "get_tag_null_tag") || !strcmp(scene, "move_null")) {
    b = sizeof b;
    bsp_set_tagsize(&b);
    bsp_sync();
    bsp_send(next, last && !strcmp(scene, "send_null_tag") ? NULL : &b, &b, sizeof b);
    bsp_sync();
    if (last && !strcmp(scene, "get_tag_null_tag")) bsp_get_tag(&b, NULL);
    if (last && !strcmp(scene, "move_null")) bsp_move(NULL, sizeof b);
  }
  /* What only TUTTI_BSP_CHECK finds. */
  if (!strcmp(scene, "check_hpputs")) bsp_hpput(0, pair, a, 4 * (s % 3), sizeof pair);
  if (!strcmp(scene, "check_hpget_put")) {
    if (s == 0) bsp_hpget(last ? 0 : p - 1, a, 0, &b, sizeof b);
    if (s == 1) bsp_put(p - 1, &b, a, 0, sizeof b);
  }
  if (!strcmp(scene, "check_hpget_target")) {
    bsp_hpget(next, a, 0, a + 1, sizeof b);
    bsp_get(next, a, 8, a + 1, sizeof b);
  }
  if (!strcmp(scene, "check_pending")) {
    bsp_get(next, a, 0, a + 2, sizeof b);
    bsp_put(next, a + 2, a, 4, sizeof b);
  }
  if (!strcmp(scene, "check_hpget_then_put") && last) {
    bsp_hpget(next, a, 0, a + 2, sizeof b);
    bsp_put(next, a + 2, a, 4, sizeof b);
  }
  if (!strcmp(scene, "check_hpget_then_send") && last) {
    bsp_hpget(next, a, 0, a + 2, 2 * sizeof b);
    bsp_send(next, NULL, a + 3, sizeof b);
  }
  if (!strcmp(scene, "put_later")) { /* an area that is gone */
    bsp_pop_reg(a);
    bsp_sync();
    if (last) bsp_put(next, &b, a, 0, sizeof b);
  }
  if (!strcmp(scene, "too_large")) {
    char *big = malloc(3 << 20);
    memset(big, 1, 3 << 20);
    bsp_send(next, NULL, big, 3 << 20);
    free(big);
  }
  if (!strcmp(scene, "received_too_much")) { /* each sends what fits, but not all of it fits at process 0 */
    const int bytes = (7 << 20) / (p - 1);
    char *big = calloc(bytes, 1);
    if (s > 0) bsp_send(0, NULL, big, bytes);
    free(big);
  }
  if (!strcmp(scene, "received_many")) { /* a few bytes each */
    if (s > 0)
      for (int i = 0; i < 150000 / (p - 1); ++i) bsp_send(0, NULL, &b, 1);
  }
  for (int i = 0; i < 1000; ++i) bsp_sync();
  if (last) { /* too late for any effect */
    if (!strcmp(scene, "pushes_at_end")) bsp_push_reg(&b, sizeof b);
    if (!strcmp(scene, "pops_at_end")) bsp_pop_reg(a);
    if (!strcmp(scene, "tags_at_end")) bsp_set_tagsize(&b);
  }
  bsp_end();
  if (!strcmp(scene, "sync_after_end")) bsp_sync();
  printf("ended as if nothing had happened\n");
  return 0;
}

/* Each rule of BSPlib, by itself, as a program of any number of processes sees it. Compiled in both flavours; an
 * argument, if given, is the number of processes to begin with. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsp.h>

#define CHECK(condition)                                                                             \
  do {                                                                                               \
    if (!(condition)) bsp_abort("%s:%d: %s\n", __FILE__, __LINE__, #condition);                      \
  } while (0)

static bsp_nprocs_t most;
static int p, s;
static int right(int i) { return (s + i) % p; }
static int left(int i) { return (s - i % p + p) % p; }
#define SIZE(n) ((bsp_size_t)(n))

static void enquiry(void) {
  CHECK(p >= 1 && s >= 0 && s < p);
  const double before = bsp_time();
  for (int i = 0; i < 10; ++i) bsp_sync();
  CHECK(bsp_time() >= before && before >= 0);
}

static void put_is_buffered_and_late(void) {
  int here = -1, source = s;
  bsp_push_reg(&here, SIZE(sizeof here));
  bsp_sync();
  bsp_put((bsp_pid_t)right(1), &source, &here, 0, SIZE(sizeof here));
  source = -7; /* buffered at the call */
  CHECK(here == -1);
  bsp_sync();
  CHECK(here == left(1));
  bsp_pop_reg(&here);
  bsp_sync();
}

static void registration_takes_effect_at_sync(void) {
  int a[4] = {0}, x = 1;
  bsp_push_reg(a, SIZE(sizeof a));
  bsp_sync();
  bsp_pop_reg(a);
  bsp_put((bsp_pid_t)right(1), &x, a, SIZE(3 * sizeof x), SIZE(sizeof x)); /* still registered */
  bsp_sync();
  CHECK(a[3] == 1);
}

static void newest_registration_counts(void) {
  double a[8];
  for (int i = 0; i < 8; ++i) a[i] = -1;
  const double x = s + 0.5;
  bsp_push_reg(a, SIZE(2 * sizeof x));
  bsp_sync();
  bsp_push_reg(a, SIZE(8 * sizeof x)); /* the same address, larger */
  bsp_sync();
  bsp_put((bsp_pid_t)right(1), &x, a, SIZE(7 * sizeof x), SIZE(sizeof x));
  bsp_sync();
  CHECK(a[7] == left(1) + 0.5);
  bsp_pop_reg(a); /* the larger one goes, the smaller is back */
  bsp_sync();
  bsp_put((bsp_pid_t)right(1), &x, a, SIZE(sizeof x), SIZE(sizeof x));
  bsp_sync();
  CHECK(a[1] == left(1) + 0.5);
  bsp_push_reg(a, SIZE(8 * sizeof x)); /* pushed and popped at once: nothing */
  bsp_pop_reg(a);
  bsp_pop_reg(a);
  bsp_sync();
}

static void null_and_nothing(void) {
  int value = -1, zero = 0;
  const int x = s;
  /* Process 0 alone has a part in the first area; the second is of zero bytes everywhere. */
  bsp_push_reg(s == 0 ? &value : NULL, SIZE(s == 0 ? sizeof value : 0));
  bsp_push_reg(&zero, 0);
  bsp_sync();
  if (s == 0) {
    bsp_put(0, &x, &value, 0, SIZE(sizeof x));
    bsp_put((bsp_pid_t)(p - 1), &x, &zero, 0, 0); /* no bytes: nothing happens */
  }
  bsp_get((bsp_pid_t)right(1), &zero, 0, &value, 0);
  bsp_sync();
  CHECK(value == (s == 0 ? 0 : -1));
  bsp_pop_reg(&zero);
  bsp_pop_reg(s == 0 ? &value : NULL);
  bsp_sync();
}

/* Where a process has NULL in several areas, the others say which of them it pops. */
static void null_is_popped_where_others_pop(void) {
  int a = -1, b = -1, c = -1, x = 40 + s;
  int *const second = s == p - 1 && p > 1 ? NULL : &b, *const third = s == p - 1 && p > 1 ? NULL : &c;
  bsp_push_reg(&a, SIZE(sizeof a));
  bsp_push_reg(second, SIZE(second ? sizeof b : 0));
  bsp_push_reg(third, SIZE(third ? sizeof c : 0));
  bsp_push_reg(NULL, 0); /* nobody has a part in this one */
  bsp_sync();
  bsp_pop_reg(second); /* not the newest that is NULL here */
  bsp_sync();
  if (third) bsp_put(0, &x, third, 0, SIZE(sizeof x)); /* the others still name it */
  bsp_put((bsp_pid_t)right(1), &x, &a, 0, SIZE(sizeof x));
  bsp_sync();
  CHECK(a == 40 + left(1) && b == -1 && (s > 0 || (c >= 40 && c < 40 + p)));
  /* Pushed and popped in one superstep, in the other order, and where all pop NULL: the newest that is NULL in all. */
  bsp_push_reg(second, SIZE(second ? sizeof b : 0));
  bsp_pop_reg(third);
  bsp_pop_reg(NULL);
  bsp_pop_reg(second);
  bsp_sync();
  bsp_push_reg(s % 2 ? NULL : &b, SIZE(s % 2 ? 0 : sizeof b)); /* takes a number that was free */
  bsp_sync();
  if (s % 2 == 0) bsp_put(0, &x, &b, 0, SIZE(sizeof x));
  bsp_put((bsp_pid_t)right(1), &x, &a, 0, SIZE(sizeof x));
  bsp_sync();
  CHECK(a == 40 + left(1) && (s > 0 || (b >= 40 && b < 40 + p)));
  bsp_pop_reg(s % 2 ? NULL : &b);
  bsp_pop_reg(&a);
  bsp_sync();
}

static void gets_are_served_before_puts_write(void) {
  int x = 10 + s, got = -1;
  const int y = 20 + s;
  bsp_push_reg(&x, SIZE(sizeof x));
  bsp_push_reg(&got, SIZE(sizeof got));
  bsp_sync();
  bsp_get((bsp_pid_t)right(1), &x, 0, &got, SIZE(sizeof x));
  bsp_put((bsp_pid_t)right(1), &y, &x, 0, SIZE(sizeof x));
  x = 30 + s; /* a get brings the value of the superstep's end */
  CHECK(got == -1);
  bsp_sync();
  CHECK(got == 30 + right(1) && x == 20 + left(1));
  /* What a get brings is written before a put to the same place. */
  bsp_get((bsp_pid_t)right(1), &x, 0, &got, SIZE(sizeof x));
  bsp_put((bsp_pid_t)right(1), &y, &got, 0, SIZE(sizeof y));
  bsp_sync();
  CHECK(got == 20 + left(1));
  /* A ring of gets into what others get: all read before any is written. */
  bsp_get((bsp_pid_t)right(1), &x, 0, &x, SIZE(sizeof x));
  bsp_sync();
  CHECK(x == 20 + left(1) + (left(1) == p - 1 && p > 1 ? 1 - p : p > 1 ? 1 : 0));
  bsp_pop_reg(&got);
  bsp_pop_reg(&x);
  bsp_sync();
}

/* Also where a put is of many chunks. */
static void puts_to_one_place_give_one_of_the_values(int words) {
  static uint64_t place[30000], mine[30000];
  bsp_push_reg(place, SIZE(sizeof place));
  bsp_sync();
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < words; ++i) mine[i] = (uint64_t)(1000 * round + s);
    for (int t = 0; t < p; ++t) bsp_put((bsp_pid_t)right(t), mine, place, 0, SIZE((size_t)words * sizeof *mine));
    bsp_sync();
    CHECK(place[0] >= (uint64_t)(1000 * round) && place[0] < (uint64_t)(1000 * round + p));
    for (int i = 1; i < words; ++i) CHECK(place[i] == place[0]);
  }
  bsp_pop_reg(place);
  bsp_sync();
}

static void sizes_differ_between_processes(void) {
  char *mine = malloc((size_t)(s + 1) * 100);
  memset(mine, 'a', (size_t)(s + 1) * 100);
  bsp_push_reg(mine, SIZE((s + 1) * 100));
  bsp_sync();
  for (int t = 0; t < p; ++t) bsp_put((bsp_pid_t)t, "z", mine, SIZE((t + 1) * 100 - 1), 1); /* the last byte there */
  bsp_sync();
  CHECK(mine[(s + 1) * 100 - 1] == 'z' && mine[(s + 1) * 100 - 2] == 'a');
  bsp_pop_reg(mine);
  bsp_sync();
  free(mine);
}

static void hp_operations(void) {
  enum { n = 5000 };
  static double a[2 * n], b[n], c[n];
  for (int round = 0; round < 5; ++round) {
    bsp_push_reg(a, SIZE(sizeof a));
    bsp_push_reg(b, SIZE(sizeof b));
    bsp_sync();
    for (int step = 0; step < 5; ++step) {
      for (int i = 0; i < n; ++i) b[i] = s + i + step, c[i] = 0, a[i] = a[n + i] = -1;
      bsp_sync();
      bsp_hpput((bsp_pid_t)right(1), b, a, 0, SIZE(sizeof b));
      bsp_hpput((bsp_pid_t)right(1), b, a, SIZE(n * sizeof *a), SIZE(sizeof b / 2)); /* two that meet */
      bsp_hpput((bsp_pid_t)right(1), b + n / 2, a, SIZE((n + n / 2) * sizeof *a), SIZE(sizeof b / 2));
      bsp_hpget((bsp_pid_t)left(1), b, 0, c, SIZE(sizeof b));
      bsp_sync();
      for (int i = 0; i < n; ++i) {
        CHECK(a[i] == left(1) + i + step && a[n + i] == a[i]);
        CHECK(c[i] == left(1) + i + step);
      }
    }
    bsp_pop_reg(b);
    bsp_pop_reg(a);
  }
  bsp_sync();
  /* Overlapping hp puts of one value: whatever the order, it is that value. */
  int x = 5, y = 0;
  bsp_push_reg(&y, SIZE(sizeof y));
  bsp_sync();
  for (int t = 0; t < p; ++t) bsp_hpput((bsp_pid_t)t, &x, &y, 0, SIZE(sizeof x));
  bsp_sync();
  CHECK(y == 5);
  bsp_pop_reg(&y);
  bsp_sync();
}

/* A direct get sees what the last sync wrote, of a process that is still in it, that computes, or waits in the next one. */
static void direct_gets_come_at_once(void) {
  enum { n = 20000 };
  static int far[n], got[n];
  int round, mine;
  for (int i = 0; i < n; ++i) far[i] = 1000 * s + i;
  bsp_push_reg(far, SIZE(sizeof far));
  bsp_sync();
  for (int t = 0; t < p; ++t) {
    bsp_direct_get((bsp_pid_t)right(t), far, SIZE(sizeof *far), got, SIZE(sizeof far - sizeof *far));
    for (int i = 0; i < n - 1; ++i) CHECK(got[i] == 1000 * right(t) + i + 1);
  }
  bsp_sync();
  for (round = 0; round < 100; ++round) {
    mine = round + s;
    bsp_put((bsp_pid_t)right(1), &mine, far, 0, SIZE(sizeof mine));
    bsp_put((bsp_pid_t)right(1), &mine, far, SIZE(sizeof far - sizeof mine), SIZE(sizeof mine));
    bsp_sync();
    if ((round + s) % 3 == 0) continue; /* is asked only */
    for (int t = 1; t <= p; ++t) {
      bsp_direct_get((bsp_pid_t)right(t), far, SIZE(sizeof far - sizeof mine), got, SIZE(sizeof *got));
      CHECK(*got == round + right(t + p - 1));
    }
  }
  bsp_direct_get((bsp_pid_t)right(1), far, 0, NULL, 0);
  bsp_pop_reg(far);
  bsp_sync();
}

static void count(bsp_nprocs_t messages, bsp_size_t bytes) {
  bsp_nprocs_t m;
  bsp_size_t b;
  bsp_qsize(&m, &b);
  CHECK(m == messages && b == bytes);
  bsp_qsize(&m, NULL);
  CHECK(m == messages);
}

static void messages(void) {
  bsp_size_t size = SIZE(sizeof(int));
  count(0, 0);
  bsp_set_tagsize(&size);
  CHECK(size == 0); /* what was set before */
  bsp_send((bsp_pid_t)right(1), NULL, "0123456789", 10); /* tags are still of size 0 */
  bsp_sync();
  count(1, 10);
  bsp_get_tag(&size, NULL);
  CHECK(size == 10);
  char text[16] = "";
  bsp_move(text, 4); /* cut */
  CHECK(!strcmp(text, "0123"));
  count(0, 0);
  bsp_get_tag(&size, text);
  CHECK(size == (bsp_size_t)-1);
  void *tag, *payload;
  CHECK(bsp_hpmove(&tag, &payload) == (bsp_size_t)-1);

  for (int t = 0; t < p; ++t) {
    const int who = s;
    for (int k = 0; k < 3; ++k) bsp_send((bsp_pid_t)t, &who, "abcdef", SIZE(2 * k)); /* the first is a tag alone */
  }
  bsp_sync();
  count((bsp_nprocs_t)(3 * p), SIZE(6 * p));
  int *seen = calloc((size_t)p, sizeof *seen);
  for (int k = 0; k < 3 * p; ++k) {
    int who;
    bsp_get_tag(&size, &who);
    CHECK(who >= 0 && who < p);
    seen[who] += 1 + (int)size;
    if (k % 2) {
      CHECK(bsp_hpmove(&tag, &payload) == size && *(int *)tag == who && !memcmp(payload, "abcdef", (size_t)size));
    } else {
      char part[8];
      bsp_move(part, 8);
      CHECK(!memcmp(part, "abcdef", (size_t)size));
    }
  }
  for (int t = 0; t < p; ++t) CHECK(seen[t] == 3 + 6);
  free(seen);
  bsp_send((bsp_pid_t)right(1), &s, NULL, 0);
  bsp_sync();
  count(1, 0);
  bsp_sync(); /* not taken out: lost */
  count(0, 0);
  size = 0;
  bsp_set_tagsize(&size);
  CHECK(size == SIZE(sizeof(int)));
  bsp_sync();
}

/* A queue stays whole while others send on, and while memory is put to. */
static void messages_stay_until_the_next_sync(void) {
  enum { n = 20000 };
  char *big = malloc(n), *area = calloc(1, n);
  bsp_push_reg(area, n);
  bsp_sync();
  for (int round = 0; round < 6; ++round) {
    memset(big, 'a' + round + s % 4, n);
    bsp_send((bsp_pid_t)right(1), NULL, big, n);
    bsp_sync();
    void *tag, *payload;
    CHECK(bsp_hpmove(&tag, &payload) == n);
    memset(big, '!', n);
    for (int k = 0; k < 3; ++k) {
      bsp_put((bsp_pid_t)right(1), big, area, 0, n);
      bsp_send((bsp_pid_t)right(1), NULL, big, n);
    }
    for (int i = 0; i < n; ++i) CHECK(((char *)payload)[i] == 'a' + round + left(1) % 4);
    bsp_sync();
    CHECK(area[n - 1] == '!');
    area[n - 1] = 0;
  }
  bsp_pop_reg(area);
  bsp_sync();
  free(big), free(area);
}

static void many_areas(void) {
  enum { n = 300 };
  static int a[n];
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < n; ++i) a[i] = -1, bsp_push_reg(&a[i], SIZE(sizeof *a));
    bsp_sync();
    for (int i = 0; i < n; ++i) {
      const int x = i + s;
      bsp_put((bsp_pid_t)right(i), &x, &a[i], 0, SIZE(sizeof x));
    }
    bsp_sync();
    for (int i = 0; i < n; ++i) CHECK(a[i] == i + left(i));
    for (int i = 0; i < n; ++i) bsp_pop_reg(&a[round % 2 ? i : n - 1 - i]);
    bsp_sync();
  }
}

static void to_oneself(void) {
  int x = 3, y = 0, z = 0;
  bsp_push_reg(&y, SIZE(sizeof y));
  bsp_sync();
  bsp_put((bsp_pid_t)s, &x, &y, 0, SIZE(sizeof x));
  bsp_get((bsp_pid_t)s, &y, 0, &z, SIZE(sizeof z));
  bsp_sync();
  CHECK(y == 3 && z == 0);
  bsp_pop_reg(&y);
  bsp_sync();
}

static void part(void) {
  bsp_begin(most);
  p = (int)bsp_nprocs(), s = (int)bsp_pid();
  enquiry();
  put_is_buffered_and_late();
  registration_takes_effect_at_sync();
  newest_registration_counts();
  null_and_nothing();
  null_is_popped_where_others_pop();
  gets_are_served_before_puts_write();
  puts_to_one_place_give_one_of_the_values(512);
  puts_to_one_place_give_one_of_the_values(30000);
  sizes_differ_between_processes();
  hp_operations();
  direct_gets_come_at_once();
  messages();
  messages_stay_until_the_next_sync();
  many_areas();
  to_oneself();
  if (s == 0) printf("all rules hold for %d\n", p);
  bsp_end();
}

int main(int argc, char **argv) {
#ifdef WITH_INIT
  bsp_init(part, argc, argv);
  most = bsp_nprocs(); /* on process 0 only: the others are inside of part() */
  if (argc > 1) most = (bsp_nprocs_t)atoi(argv[1]);
  part();
  printf("and process 0 goes on\n");
#else
  most = argc > 1 ? (bsp_nprocs_t)atoi(argv[1]) : bsp_nprocs();
  part();
#endif
  return 0;
}

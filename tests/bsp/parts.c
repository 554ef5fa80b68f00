/* Programs of several parallel parts, as MulticoreBSP's tests have them. Usage: parts main|init|mixed|tail|fails; process 0
 * says how it went. */
#include <bsp.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                        \
  do {                                                                                          \
    if (!(condition)) bsp_abort("%s:%d: %s\n", __FILE__, __LINE__, #condition);                 \
  } while (0)

static int count = 0, wanted = 1, ran[3];

/* Everything of an earlier part is gone: areas, messages, the tag size. */
static void work(int part) {
  const int p = bsp_nprocs(), s = bsp_pid();
  int here = -1, number = s, tag = 4, messages;
  ran[part] += 1;
  bsp_qsize(&messages, NULL);
  CHECK(messages == 0 && bsp_time() >= 0);
  bsp_push_reg(&here, sizeof here);
  bsp_set_tagsize(&tag);
  CHECK(tag == 0);
  bsp_sync();
  bsp_put((s + 1) % p, &number, &here, 0, sizeof here);
  bsp_send((s + 1) % p, &part, &number, sizeof number);
  bsp_sync();
  bsp_qsize(&messages, NULL);
  CHECK(here == (s + p - 1) % p && messages == 1);
  count = p;
}

static void first(void) {
  bsp_begin(wanted);
  work(0);
  bsp_end();
}
static void second(void) {
  bsp_begin(bsp_nprocs());
  work(1);
  bsp_end();
}
static void third(void) {
  bsp_begin(wanted);
  work(2);
  if (wanted == 3) exit(7);
  bsp_end();
}

/* Only process 0 comes between the parts of a program that begins with bsp_init. */
static void by_init(int argc, char **argv) {
  const int all = bsp_nprocs();
  wanted = all > 2 ? 2 : all;
  first();
  CHECK(count == wanted && bsp_nprocs() == all);
  printf("first part: %d\n", count);
  bsp_init(second, argc, argv);
  second();
  CHECK(count == all);
  printf("second part: %d\n", count);
  second(); /* the same again */
  CHECK(ran[0] == 1 && ran[1] == 2);
  bsp_init(third, argc, argv);
  wanted = 1;
  third();
  printf("third part: %d\n", count);
}

/* All processes come between the parts of a program that begins in main. */
static void in_main(void) {
  const int all = bsp_nprocs();
  for (int part = 0; part < 3; ++part) {
    bsp_begin(bsp_nprocs());
    work(part);
    if (bsp_pid() == 0) printf("part %d: %d\n", part, count);
    bsp_end();
    CHECK(count == all);
  }
  bsp_begin(all > 1 ? all - 1 : 1); /* the last process ends here */
  work(0);
  bsp_end();
  CHECK(bsp_nprocs() == count);
  bsp_begin(all); /* of those that are left */
  work(0);
  if (bsp_pid() == 0) printf("last part: %d\n", count);
  CHECK(count == (all > 1 ? all - 1 : 1));
  bsp_end();
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  if (!strcmp(how, "init")) {
    bsp_init(first, argc, argv);
    by_init(argc, argv);
  } else if (!strcmp(how, "main")) {
    in_main();
  } else if (!strcmp(how, "mixed")) {
    wanted = bsp_nprocs();
    first();
    bsp_init(second, argc, argv);
    printf("once\n");
    second();
    printf("then: %d\n", count);
  } else if (!strcmp(how, "tail")) { /* what process 0 does after the last part */
    bsp_init(second, argc, argv);
    second();
    bsp_abort("not %s\n", "good");
  } else if (!strcmp(how, "never")) { /* no part at all */
    bsp_init(second, argc, argv);
    printf("no part\n");
  } else if (!strcmp(how, "leaves")) { /* in the middle of a later part */
    bsp_init(second, argc, argv);
    second();
    bsp_init(third, argc, argv);
    wanted = 3;
    third();
  }
  return 0;
}

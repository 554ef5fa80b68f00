/* bsp.h alone: twice, with what other libraries' headers bring along; as functions whose address is taken. */
#include <bsp.h>
#include <bsp.h>
#include <bsp_level1.h>
#include <bsp_level1.h>

void (*const classic)(int, const void *, const void *, int, int) = bsp_put;
uint64_t value;
int print(FILE *to) { return fprintf(to, "%d\n", (int)value); }

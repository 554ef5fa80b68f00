/* bsp.h without what other libraries' headers bring along, among macros of its program. */
#define BSP_BARE
#define BSP_WIDE
#define put the_program_has_one
#define name the_program_has_one
#include <bsp.h>
#if defined(_STDIO_H) || defined(_STDINT_H)
#error "BSP_BARE keeps <stdio.h> and <stdint.h> out"
#endif

void (*const wide)(unsigned int, const void *, const void *, size_t, size_t) = bsp_put;

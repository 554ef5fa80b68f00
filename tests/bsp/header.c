#include <bsp.h>
#include <bsp.h>

void (*const classic)(int, const void *, const void *, int, int) = bsp_put;

#define BSP_WIDE
#include <cstddef>
#include <bsp.h>
#include <bsp.h>

void (*const wide)(unsigned, const void*, const void*, std::size_t, std::size_t) = bsp_put;

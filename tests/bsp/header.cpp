#include <cstddef>
extern "C" {
#include <mcbsp.h>
}
#include <bsp.hpp>
#include <bsp.h>
#include <bsp_level1.h>
#include <bsp_level1.h>

[[maybe_unused]] void (*const wide)(unsigned, const void*, const void*, std::size_t, std::size_t) = bsp_put;

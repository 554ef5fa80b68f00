// MulticoreBSP for C's name of bsp.h in C++ programs, with sizes as mcbsp.h has them. Its classes are not there.
#ifndef TUTTI_BSP_HPP
#define TUTTI_BSP_HPP
#include <mcbsp.h>
#endif

/* MulticoreBSP for C's name of bsp.h. Its sizes are size_t and its process numbers unsigned int, as with BSP_WIDE, unless
 * MCBSP_COMPATIBILITY_MODE is defined before. Files that include both headers include this one first. */
#ifndef TUTTI_MCBSP_H
#define TUTTI_MCBSP_H
#if !defined(TUTTI_BSP_H) && !defined(BSP_WIDE) && !defined(MCBSP_COMPATIBILITY_MODE)
#define BSP_WIDE
#endif
#include <bsp.h>
#endif

/* Collective operations of BSP programs: the level 1 library of the Oxford BSP toolset 1.4 (Hill, Donaldson, Lanfear 1998), on
 * tutti. All processes of the parallel part make the same call, with alike numbers.
 *
 * Each call ends the superstep as one bsp_sync does (bsp.h): what was put, got, sent and registered before takes effect, and
 * messages that were sent before lie in the queue after it. What a call takes of `source` or of an argument is as it was when
 * the process called, also where a bsp_put of the superstep changes it. What it gives is there when it returns; until then
 * nothing else may read or write that memory. Source and target may be the same, and otherwise do not overlap. Neither need be
 * registered; the toolset asked for that.
 *
 * Numbers are int, also with BSP_WIDE: process numbers from 0, sizes in bytes, 0 or more. What is combined is combined in the
 * order of the processes, ((x0 . x1) . x2) . x3, so an operation need not be commutative, nor even associative, and all
 * processes have the same result to the bit.
 *
 * Cost, of p processes in one superstep: bsp_bcast, bsp_gather and bsp_scatter an h-relation of p * bytes at the root, bsp_bcast of
 * 128 KiB and more as a tutti_broadcast instead; all others an h-relation of p * bytes at each process, and up to p - 1 operations
 * there. What is given is buffered: TUTTI_BSP_MEMORY_MIB bounds it.
 *
 * Errors, besides those of bsp.h: a process that there is none of, a negative size, NULL where there are bytes, and processes
 * that end the superstep by unlike calls. The program ends as by bsp_abort, with a line that names the process, the call and
 * the value. */
#ifndef TUTTI_BSP_LEVEL1_H
#define TUTTI_BSP_LEVEL1_H
#include <bsp.h>

/* An older name. */
#define bsp_reduce bsp_fold

#ifdef __cplusplus
extern "C" {
#endif

/* --- data ------------------------------------------------------------------------------------------------------ */

/* Copies `bytes` bytes of `source` at process `root` to `target` in all processes, that one included. `source` counts there
 * only. */
void bsp_bcast(int root, const void *source, void *target, int bytes) TUTTI_BSP_NAMED(bcast);

/* Copies `bytes` bytes of each process's `source` to `target` at process `root`, of bsp_nprocs() * bytes bytes: those of process
 * i begin at i * bytes. `target` counts there only. */
void bsp_gather(int root, const void *source, void *target, int bytes) TUTTI_BSP_NAMED(gather);

/* The reverse: of `source` at process `root`, of bsp_nprocs() * bytes bytes, each process i gets the `bytes` bytes from i * bytes
 * on in `target`. `source` counts there only. */
void bsp_scatter(int root, const void *source, void *target, int bytes) TUTTI_BSP_NAMED(scatter);

/* --- operations of the program's --------------------------------------------------------------------------------- */

/* Combines one element of `bytes` bytes from each process; `target` gets the result in all of them. op writes left . right to
 * `result`, which is neither of the two; all three are aligned for any type; *bytes is their size. It changes neither left nor
 * right. Of one process the result is its element, and of elements without bytes op is not called. */
void bsp_fold(void (*op)(void *result, void *left, void *right, int *bytes), const void *source, void *target, int bytes)
    TUTTI_BSP_NAMED(fold);

/* The same for each process i of the elements of processes 0 to i. */
void bsp_scan(void (*op)(void *result, void *left, void *right, int *bytes), const void *source, void *target, int bytes)
    TUTTI_BSP_NAMED(scan);

/* Sorts one element of `bytes` bytes from each process: process i gets the one that has i before it. `less` returns whether a is
 * less than b, and is a strict weak order; where neither is less, the lower process's comes first. */
void bsp_sort(int (*less)(void *a, void *b, int *bytes), const void *source, void *target, int bytes) TUTTI_BSP_NAMED(sort);

/* --- one number of each process: I int, R float, D double, C char -------------------------------------------------- */

/* 1 or 0 in all processes: whether x is other than 0 in all of them, in any of them; whether x is the same in all. */
int bsp_all(int x) TUTTI_BSP_NAMED(all);
int bsp_any(int x) TUTTI_BSP_NAMED(any);
int bsp_constantI(int x) TUTTI_BSP_NAMED(constantI);

/* The sum, product, least or greatest of all x, in all processes. Sums and products of int wrap around. */
int bsp_sumI(int x) TUTTI_BSP_NAMED(sumI);
float bsp_sumR(float x) TUTTI_BSP_NAMED(sumR);
double bsp_sumD(double x) TUTTI_BSP_NAMED(sumD);
int bsp_productI(int x) TUTTI_BSP_NAMED(productI);
float bsp_productR(float x) TUTTI_BSP_NAMED(productR);
double bsp_productD(double x) TUTTI_BSP_NAMED(productD);
int bsp_minI(int x) TUTTI_BSP_NAMED(minI);
float bsp_minR(float x) TUTTI_BSP_NAMED(minR);
double bsp_minD(double x) TUTTI_BSP_NAMED(minD);
int bsp_maxI(int x) TUTTI_BSP_NAMED(maxI);
float bsp_maxR(float x) TUTTI_BSP_NAMED(maxR);
double bsp_maxD(double x) TUTTI_BSP_NAMED(maxD);

/* In each process i, of the x of processes 0 to i. */
int bsp_sumI_prefix(int x) TUTTI_BSP_NAMED(sumI_prefix);
float bsp_sumR_prefix(float x) TUTTI_BSP_NAMED(sumR_prefix);
double bsp_sumD_prefix(double x) TUTTI_BSP_NAMED(sumD_prefix);
int bsp_productI_prefix(int x) TUTTI_BSP_NAMED(productI_prefix);
float bsp_productR_prefix(float x) TUTTI_BSP_NAMED(productR_prefix);
double bsp_productD_prefix(double x) TUTTI_BSP_NAMED(productD_prefix);
int bsp_minI_prefix(int x) TUTTI_BSP_NAMED(minI_prefix);
float bsp_minR_prefix(float x) TUTTI_BSP_NAMED(minR_prefix);
double bsp_minD_prefix(double x) TUTTI_BSP_NAMED(minD_prefix);
int bsp_maxI_prefix(int x) TUTTI_BSP_NAMED(maxI_prefix);
float bsp_maxR_prefix(float x) TUTTI_BSP_NAMED(maxR_prefix);
double bsp_maxD_prefix(double x) TUTTI_BSP_NAMED(maxD_prefix);

/* Process i gets the x that has i before it in ascending order. */
int bsp_sortI(int x) TUTTI_BSP_NAMED(sortI);
float bsp_sortR(float x) TUTTI_BSP_NAMED(sortR);
double bsp_sortD(double x) TUTTI_BSP_NAMED(sortD);
char bsp_sortC(char x) TUTTI_BSP_NAMED(sortC);

/* --- the machine --------------------------------------------------------------------------------------------------- */

/* The parameters of the BSP machine that the processes of this parallel part are, as measured, and the same in all of them:
 *   bsp_s      floating-point operations that a process makes in a second, of a DAXPY in the nearest cache
 *   bsp_l      what a superstep costs in which nothing is moved, in such operations
 *   bsp_g      what a word of 8 bytes costs that each process sends and each receives, in such operations; in large total exchanges
 *   bsp_nhalf  words to send and to receive for which a superstep costs twice as much a word
 * The toolset reads them from a file of its installation. Here the first of these calls in a parallel part measures, in some
 * 120 supersteps of its own: it is made by all processes, and ends the superstep as those above do. Later ones are local.
 * What else runs on the machine meanwhile counts. */
double bsp_s(void) TUTTI_BSP_NAMED(s);
double bsp_l(void) TUTTI_BSP_NAMED(l);
double bsp_g(void) TUTTI_BSP_NAMED(g);
int bsp_nhalf(void) TUTTI_BSP_NAMED(nhalf);

#ifdef __cplusplus
}
#endif
#endif

/* BSPlib on tutti: the 20 primitives of Hill, McColl, Stefanescu, Goudreau, Lang, Rao, Suel, Tsantilas and Bisseling,
 * "BSPlib: the BSP programming library" (Parallel Computing 24, 1998), for C and C++.
 *
 * A program is processes that compute in supersteps. What a process puts, gets or sends happens at the end of its
 * superstep, which is bsp_sync: no process leaves it before all have entered. Start a program by
 *     bsprun -n 4 ./program          or mpirun, prterun, srun --mpi=pmix; alone it is a program of one process.
 *
 * Two flavours. By default sizes, offsets and process numbers are `int`, as in 1998. With BSP_WIDE defined before this
 * header is included they are size_t and unsigned int, as in MulticoreBSP for C and BSPedupack 2; `bspcc --wide` does
 * it. The names bsp_pid_t, bsp_nprocs_t and bsp_size_t exist in both. One program may mix files of either flavour.
 *
 * Order at the end of a superstep, for each process: everything that any bsp_get wants of its memory is read; what its
 * own bsp_gets brought is written; then all bsp_puts upon its memory are written, in some order, one after the other;
 * registrations and the tag size change. bsp_hpput and bsp_hpget may read and write at any time from the call to the
 * end of the superstep.
 *
 * Errors. A call that breaks a rule below ends the whole program as bsp_abort does: a line on stderr names the process,
 * the call, the value and the rule; every process ends, with a status other than 0. A process that dies ends the program
 * likewise. NULL is taken where nothing is to be read or written, and for bsp_qsize's second argument. Calls outside of
 * bsp_begin and bsp_end are errors, but for bsp_init, bsp_nprocs and bsp_abort.
 *
 * <stdio.h> and <stdint.h> come with this header, as with those of other BSP libraries; define BSP_BARE to keep them out.
 * In object files the functions have names of their own, tutti_bsp_put for bsp_put, so that a file which was compiled
 * against another library's bsp.h does not link, instead of reading arguments of other types.
 *
 * Threads: one thread of a process at a time. */
#ifndef TUTTI_BSP_H
#define TUTTI_BSP_H
#include <stdarg.h>
#include <stddef.h>
#ifndef BSP_BARE
#include <stdint.h>
#include <stdio.h>
#endif

#if defined(__GNUC__)
#define TUTTI_BSP_SYMBOL(text) __asm__("tutti_bsp_" text) __attribute__((visibility("default")))
#define TUTTI_BSP_NAMED(name) TUTTI_BSP_SYMBOL(#name)
#define TUTTI_BSP_FORMAT(text, first) __attribute__((format(printf, text, first)))
#define TUTTI_BSP_NORETURN __attribute__((noreturn))
#else
#error "bsp.h needs a compiler that takes GNU's assembler names for functions, as GCC and Clang do"
#endif

#ifdef BSP_WIDE
typedef unsigned int bsp_pid_t;
typedef unsigned int bsp_nprocs_t;
typedef size_t bsp_size_t;
#define TUTTI_BSP_SIZED(name) TUTTI_BSP_SYMBOL("wide_" #name)
#else
typedef int bsp_pid_t;
typedef int bsp_nprocs_t;
typedef int bsp_size_t;
#define TUTTI_BSP_SIZED(name) TUTTI_BSP_SYMBOL(#name)
#endif

/* Not of BSPlib: MulticoreBSP's name for a send without buffers, which a send with them may stand for. */
#define bsp_hpsend bsp_send

#ifdef __cplusplus
extern "C" {
#endif

/* --- a program and its processes ------------------------------------------------------------------------------- */

/* First statement of main, where the parallel part is not the whole of main but the function `spmd`, which calls
 * bsp_begin first and bsp_end last. Process 0 returns, goes on in main and calls spmd itself; all other processes wait here
 * until it does, run spmd, wait again, and end with process 0. They have not run what precedes spmd in main, so its argument
 * to bsp_begin counts on process 0 only.
 * A program may have several parallel parts. Process 0 calls bsp_init again before a part that is another function, and
 * need not for the same one. */
void bsp_init(void (*spmd)(void), int argc, char **argv) TUTTI_BSP_NAMED(init);

/* Begins a parallel part with as many processes as there are, at most `maxprocs` of process 0 (1 or more). Areas, messages
 * and the tag size are those of this part. Processes that are too many wait for its end. Without bsp_init all processes run
 * the whole of main, what lies between the parts as well; those that are too many end with the part then, so that later ones
 * have as many at most. */
void bsp_begin(bsp_pid_t maxprocs) TUTTI_BSP_SIZED(begin);

/* Ends the part. All its processes call it, and none ends without. Not a sync: what was put, got or sent since the last one need
 * not happen. */
void bsp_end(void) TUTTI_BSP_NAMED(end);

/* Processes of the parallel part; outside of it, how many there can be. */
bsp_nprocs_t bsp_nprocs(void) TUTTI_BSP_SIZED(nprocs);

/* This one's number, from 0. */
bsp_pid_t bsp_pid(void) TUTTI_BSP_SIZED(pid);

/* Seconds since bsp_begin, of this process's clock. */
double bsp_time(void) TUTTI_BSP_NAMED(time);

/* Ends the whole program from any process at any time, with a message as of printf. Does not return. */
void bsp_abort(const char *format, ...) TUTTI_BSP_NAMED(abort) TUTTI_BSP_FORMAT(1, 2) TUTTI_BSP_NORETURN;
void bsp_vabort(const char *format, va_list values) TUTTI_BSP_NAMED(vabort) TUTTI_BSP_NORETURN;

/* Ends the superstep. Costs about a barrier where nobody communicated. */
void bsp_sync(void) TUTTI_BSP_NAMED(sync);

/* --- memory of other processes --------------------------------------------------------------------------------- */

/* From the next superstep on, `address` names an area: in each process the `bytes` bytes that it pushed in this call.
 * All processes push (and pop) in the same order; sizes may differ. An address may be pushed again: then it names the
 * newest area. NULL with 0 bytes: this process has no part in the area and cannot name it. A process that pushes or pops
 * something else than the others is told so in the bsp_sync. */
void bsp_push_reg(const void *address, bsp_size_t bytes) TUTTI_BSP_SIZED(push_reg);

/* From the next superstep on, the newest area that `address` names is gone. NULL, of which a process may have pushed
 * several, stands for the area that the others pop in the same call; where all pop NULL, for the newest in which all have
 * NULL. */
void bsp_pop_reg(const void *address) TUTTI_BSP_NAMED(pop_reg);

/* `bytes` from `source`, as they are now, to `offset` in the area that `area` names, at process `pid`. 0 bytes: nothing
 * happens. The range must lie inside what that process registered. */
void bsp_put(bsp_pid_t pid, const void *source, const void *area, bsp_size_t offset, bsp_size_t bytes) TUTTI_BSP_SIZED(put);

/* `bytes` from `offset` in the area at process `pid`, as they are at the end of the superstep, to `target`. */
void bsp_get(bsp_pid_t pid, const void *area, bsp_size_t offset, void *target, bsp_size_t bytes) TUTTI_BSP_SIZED(get);

/* The same without buffers: the source must not change, and the target not be used, until the end of the superstep. The
 * data move from the call on, at any time until then; where the two processes share memory, in the sync, which costs less
 * there. */
void bsp_hpput(bsp_pid_t pid, const void *source, const void *area, bsp_size_t offset, bsp_size_t bytes)
    TUTTI_BSP_SIZED(hpput);
void bsp_hpget(bsp_pid_t pid, const void *area, bsp_size_t offset, void *target, bsp_size_t bytes)
    TUTTI_BSP_SIZED(hpget);

/* Not of BSPlib, but of MulticoreBSP: a get that is done when the call returns, of bytes as they are at some moment of that
 * process's superstep. That process gives them when it next waits, in the bsp_sync at the latest; so this call may wait for
 * what it computes until then. */
void bsp_direct_get(bsp_pid_t pid, const void *area, bsp_size_t offset, void *target, bsp_size_t bytes)
    TUTTI_BSP_SIZED(direct_get);

/* --- messages -------------------------------------------------------------------------------------------------- */

/* From the next superstep on, messages that are sent carry tags of *bytes bytes (0 at first). All processes set the
 * same, or bsp_sync says who did not. *bytes becomes what was set before. */
void bsp_set_tagsize(bsp_size_t *bytes) TUTTI_BSP_SIZED(set_tagsize);

/* A message for the queue of process `pid` in the next superstep, in which it must be taken out or is lost. The order of
 * messages in a queue means nothing. Tag and payload are as they are now. */
void bsp_send(bsp_pid_t pid, const void *tag, const void *payload, bsp_size_t bytes) TUTTI_BSP_SIZED(send);

/* Messages that are in my queue, and the sum of their payloads (may be NULL). */
void bsp_qsize(bsp_nprocs_t *messages, bsp_size_t *payload_bytes) TUTTI_BSP_SIZED(qsize);

/* The tag of the first message, and in *status the bytes of its payload; -1 (the largest value, if wide) where the queue
 * is empty. */
void bsp_get_tag(bsp_size_t *status, void *tag) TUTTI_BSP_SIZED(get_tag);

/* At most `most` bytes of the first message's payload to `payload`; the message leaves the queue, which was not empty. */
void bsp_move(void *payload, bsp_size_t most) TUTTI_BSP_SIZED(move);

/* The same without a copy: where tag and payload lie, aligned for any type, until the next bsp_sync. Returns the bytes of
 * the payload; -1 where the queue is empty. */
bsp_size_t bsp_hpmove(void **tag, void **payload) TUTTI_BSP_SIZED(hpmove);

#ifdef __cplusplus
}
#endif
#endif

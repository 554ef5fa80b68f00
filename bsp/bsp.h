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
 * likewise. NULL is taken where nothing is to be read or written, and for bsp_qsize's second argument. Calls outside of bsp_begin and bsp_end are errors, but for bsp_init, bsp_nprocs and bsp_abort.
 *
 * Threads: one thread of a process at a time. */
#ifndef TUTTI_BSP_H
#define TUTTI_BSP_H
#include <stdarg.h>
#include <stddef.h>

#if defined(__GNUC__)
#define TUTTI_BSP_API __attribute__((visibility("default")))
#define TUTTI_BSP_FORMAT(text, first) __attribute__((format(printf, text, first)))
#define TUTTI_BSP_NORETURN __attribute__((noreturn))
#else
#define TUTTI_BSP_API
#define TUTTI_BSP_FORMAT(text, first)
#define TUTTI_BSP_NORETURN
#endif

#ifdef BSP_WIDE
typedef unsigned int bsp_pid_t;
typedef unsigned int bsp_nprocs_t;
typedef size_t bsp_size_t;
#define bsp_begin bsp_wide_begin
#define bsp_nprocs bsp_wide_nprocs
#define bsp_pid bsp_wide_pid
#define bsp_push_reg bsp_wide_push_reg
#define bsp_put bsp_wide_put
#define bsp_get bsp_wide_get
#define bsp_hpput bsp_wide_hpput
#define bsp_hpget bsp_wide_hpget
#define bsp_set_tagsize bsp_wide_set_tagsize
#define bsp_send bsp_wide_send
#define bsp_qsize bsp_wide_qsize
#define bsp_get_tag bsp_wide_get_tag
#define bsp_move bsp_wide_move
#define bsp_hpmove bsp_wide_hpmove
#else
typedef int bsp_pid_t;
typedef int bsp_nprocs_t;
typedef int bsp_size_t;
#endif

/* Not of BSPlib: MulticoreBSP's name for a send without buffers, which a send with them may stand for. */
#define bsp_hpsend bsp_send

#ifdef __cplusplus
extern "C" {
#endif

/* --- a program and its processes ------------------------------------------------------------------------------- */

/* First statement of main, where the parallel part is not the whole of main but the function `spmd`, which calls
 * bsp_begin first and bsp_end last. Process 0 returns, goes on in main and calls spmd itself; all other processes run
 * spmd now, and end. They have not run what precedes spmd in main, so its argument to bsp_begin counts on process 0
 * only. */
TUTTI_BSP_API void bsp_init(void (*spmd)(void), int argc, char **argv);

/* Begins the parallel part with as many processes as were started, at most `maxprocs` of process 0 (1 or more).
 * Processes that are too many wait, and end with the program. At most once in a program. */
TUTTI_BSP_API void bsp_begin(bsp_pid_t maxprocs);

/* Ends it. All processes call it, and none ends without. Not a sync: what was put, got or sent since the last one need
 * not happen. */
TUTTI_BSP_API void bsp_end(void);

/* Processes of the parallel part; outside of it, how many there can be. */
TUTTI_BSP_API bsp_nprocs_t bsp_nprocs(void);

/* This one's number, from 0. */
TUTTI_BSP_API bsp_pid_t bsp_pid(void);

/* Seconds since bsp_begin, of this process's clock. */
TUTTI_BSP_API double bsp_time(void);

/* Ends the whole program from any process at any time, with a message as of printf. Does not return. */
TUTTI_BSP_API void bsp_abort(const char *format, ...) TUTTI_BSP_FORMAT(1, 2) TUTTI_BSP_NORETURN;
TUTTI_BSP_API void bsp_vabort(const char *format, va_list values) TUTTI_BSP_NORETURN;

/* Ends the superstep. Costs about a barrier where nobody communicated. */
TUTTI_BSP_API void bsp_sync(void);

/* --- memory of other processes --------------------------------------------------------------------------------- */

/* From the next superstep on, `address` names an area: in each process the `bytes` bytes that it pushed in this call.
 * All processes push (and pop) in the same order; sizes may differ. An address may be pushed again: then it names the
 * newest area. NULL with 0 bytes: this process has no part in the area and cannot name it. A process that pushes or pops
 * something else than the others is told so in the bsp_sync. */
TUTTI_BSP_API void bsp_push_reg(const void *address, bsp_size_t bytes);

/* From the next superstep on, the newest area that `address` names is gone. NULL, of which a process may have pushed
 * several, stands for the area that the others pop in the same call; where all pop NULL, for the newest in which all have
 * NULL. */
TUTTI_BSP_API void bsp_pop_reg(const void *address);

/* `bytes` from `source`, as they are now, to `offset` in the area that `area` names, at process `pid`. 0 bytes: nothing
 * happens. The range must lie inside what that process registered. */
TUTTI_BSP_API void bsp_put(bsp_pid_t pid, const void *source, const void *area, bsp_size_t offset, bsp_size_t bytes);

/* `bytes` from `offset` in the area at process `pid`, as they are at the end of the superstep, to `target`. */
TUTTI_BSP_API void bsp_get(bsp_pid_t pid, const void *area, bsp_size_t offset, void *target, bsp_size_t bytes);

/* The same without buffers: the source must not change, and the target not be used, until the end of the superstep. The
 * data move from the call on, at any time until then; where the two processes share memory, in the sync, which costs less
 * there. */
TUTTI_BSP_API void bsp_hpput(bsp_pid_t pid, const void *source, const void *area, bsp_size_t offset, bsp_size_t bytes);
TUTTI_BSP_API void bsp_hpget(bsp_pid_t pid, const void *area, bsp_size_t offset, void *target, bsp_size_t bytes);

/* --- messages -------------------------------------------------------------------------------------------------- */

/* From the next superstep on, messages that are sent carry tags of *bytes bytes (0 at first). All processes set the
 * same, or bsp_sync says who did not. *bytes becomes what was set before. */
TUTTI_BSP_API void bsp_set_tagsize(bsp_size_t *bytes);

/* A message for the queue of process `pid` in the next superstep, in which it must be taken out or is lost. The order of
 * messages in a queue means nothing. Tag and payload are as they are now. */
TUTTI_BSP_API void bsp_send(bsp_pid_t pid, const void *tag, const void *payload, bsp_size_t bytes);

/* Messages that are in my queue, and the sum of their payloads (may be NULL). */
TUTTI_BSP_API void bsp_qsize(bsp_nprocs_t *messages, bsp_size_t *payload_bytes);

/* The tag of the first message, and in *status the bytes of its payload; -1 (the largest value, if wide) where the queue
 * is empty. */
TUTTI_BSP_API void bsp_get_tag(bsp_size_t *status, void *tag);

/* At most `most` bytes of the first message's payload to `payload`; the message leaves the queue, which was not empty. */
TUTTI_BSP_API void bsp_move(void *payload, bsp_size_t most);

/* The same without a copy: where tag and payload lie, aligned for any type, until the next bsp_sync. Returns the bytes of
 * the payload; -1 where the queue is empty. */
TUTTI_BSP_API bsp_size_t bsp_hpmove(void **tag, void **payload);

#ifdef __cplusplus
}
#endif
#endif

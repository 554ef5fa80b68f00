/* BSPlib on tutti: the 20 primitives of Hill, McColl, Stefanescu, Goudreau, Lang, Rao, Suel, Tsantilas and Bisseling,
 * "BSPlib: the BSP programming library" (Parallel Computing 24, 1998), for C and C++.
 *
 * A program consists of processes that compute in supersteps. What a process puts, gets or sends takes effect at the end of
 * its superstep, which is bsp_sync: no process leaves bsp_sync before all have entered it. Start a program by
 *     bsprun -n 4 ./program          or mpirun, prterun, srun --mpi=pmix; without a launcher it has one process.
 *
 * Two flavours. By default sizes, offsets and process numbers are `int`, as in 1998. With BSP_WIDE defined before this
 * header is included they are size_t and unsigned int, as in MulticoreBSP for C and BSPedupack 2; `bspcc --wide` defines
 * BSP_WIDE. The names bsp_pid_t, bsp_nprocs_t and bsp_size_t exist in both. One program may mix files of both flavours.
 *
 * Order at the end of a superstep, in each process: first everything that any bsp_get wants of its memory is read; then what
 * its own bsp_gets brought is written; then all bsp_puts into its memory are written; then registrations and the tag size
 * change. Gets of one process that meet are written one after the other in some order, and so are puts. bsp_hpput and
 * bsp_hpget may read and write at any time from the call to the end of the superstep.
 *
 * Errors. A call that breaks a rule below ends the whole program as bsp_abort does: a line on stderr names the process,
 * the call, the value and the rule, and every process ends with a status other than 0. A process that dies ends the program
 * likewise. A pointer may be NULL where nothing is to be read or written, and so may the second argument of bsp_qsize. Calls
 * outside of bsp_begin and bsp_end are errors, except bsp_init, bsp_nprocs and bsp_abort.
 *
 * This header includes <stdio.h> and <stdint.h>, as those of other BSP libraries do; define BSP_BARE to keep them out. In
 * object files the functions have names of their own, tutti_bsp_put for bsp_put. So a file that was compiled against another
 * library's bsp.h does not link, instead of passing arguments of other types.
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

/* MulticoreBSP's, not BSPlib's: a send without buffers. A send with buffers may stand for it. */
#define bsp_hpsend bsp_send

#ifdef __cplusplus
extern "C" {
#endif

/* --- a program and its processes ------------------------------------------------------------------------------- */

/* The first statement of main, where the parallel part is not the whole of main but the function `spmd`. spmd calls bsp_begin
 * first and bsp_end last. In process 0 bsp_init returns, main goes on and calls spmd itself. All other processes wait in
 * bsp_init until it does, run spmd, wait again, and end with process 0. They have not run what precedes spmd in main, so the
 * argument to bsp_begin counts in process 0 only.
 * A program may have several parallel parts. Process 0 calls bsp_init again before a part that is another function; before a
 * part that is the same function it need not. */
void bsp_init(void (*spmd)(void), int argc, char **argv) TUTTI_BSP_NAMED(init);

/* Begins a parallel part with all processes that there are, but at most `maxprocs` of process 0 (1 or more). Areas, messages
 * and the tag size belong to the part. Processes beyond `maxprocs` wait for the part's end. Without bsp_init all processes run
 * the whole of main, also what lies between the parts; then processes beyond `maxprocs` end with the part, so that later
 * parts have at most as many. */
void bsp_begin(bsp_pid_t maxprocs) TUTTI_BSP_SIZED(begin);

/* Ends the parallel part. All its processes call bsp_end, and none exits without it. bsp_end is no sync: what was put, got or
 * sent since the last bsp_sync need not happen. */
void bsp_end(void) TUTTI_BSP_NAMED(end);

/* The number of processes of the parallel part; outside of a part, the most that one can have. */
bsp_nprocs_t bsp_nprocs(void) TUTTI_BSP_SIZED(nprocs);

/* The number of this process, from 0. */
bsp_pid_t bsp_pid(void) TUTTI_BSP_SIZED(pid);

/* Seconds since bsp_begin, of this process's clock. */
double bsp_time(void) TUTTI_BSP_NAMED(time);

/* Ends the whole program, from any process at any time, with a message formatted as by printf. Does not return. */
void bsp_abort(const char *format, ...) TUTTI_BSP_NAMED(abort) TUTTI_BSP_FORMAT(1, 2) TUTTI_BSP_NORETURN;
void bsp_vabort(const char *format, va_list values) TUTTI_BSP_NAMED(vabort) TUTTI_BSP_NORETURN;

/* Ends the superstep. Cost: about a barrier where nobody communicated. */
void bsp_sync(void) TUTTI_BSP_NAMED(sync);

/* --- memory of other processes --------------------------------------------------------------------------------- */

/* From the next superstep on, `address` names an area: in each process the `bytes` bytes that the process pushed in this call.
 * All processes push (and pop) in the same order; sizes may differ. An address that is pushed again names the newest area.
 * NULL with 0 bytes: this process has no part in the area and cannot name it. A process that pushes or pops something else
 * than the others is told so in bsp_sync. */
void bsp_push_reg(const void *address, bsp_size_t bytes) TUTTI_BSP_SIZED(push_reg);

/* From the next superstep on, the newest area that `address` names is gone. A process may have pushed NULL several times:
 * there NULL stands for the area that the others pop in the same call, and where all pop NULL, for the newest area in which
 * all have NULL. */
void bsp_pop_reg(const void *address) TUTTI_BSP_NAMED(pop_reg);

/* Copies `bytes` bytes from `source`, as they are at the call, to `offset` (in bytes) of the area that `area` names, at
 * process `pid`. The range must lie inside what that process registered. With 0 bytes nothing happens. */
void bsp_put(bsp_pid_t pid, const void *source, const void *area, bsp_size_t offset, bsp_size_t bytes) TUTTI_BSP_SIZED(put);

/* Copies `bytes` bytes from `offset` of the area at process `pid`, as they are at the end of the superstep, to `target`. */
void bsp_get(bsp_pid_t pid, const void *area, bsp_size_t offset, void *target, bsp_size_t bytes) TUTTI_BSP_SIZED(get);

/* bsp_put and bsp_get without buffers: the source must not change, and the target must not be used, until the end of the
 * superstep. The data move at any time from the call on. Where the two processes share memory they move in bsp_sync, which
 * costs less there. */
void bsp_hpput(bsp_pid_t pid, const void *source, const void *area, bsp_size_t offset, bsp_size_t bytes)
    TUTTI_BSP_SIZED(hpput);
void bsp_hpget(bsp_pid_t pid, const void *area, bsp_size_t offset, void *target, bsp_size_t bytes)
    TUTTI_BSP_SIZED(hpget);

/* MulticoreBSP's, not BSPlib's: a get that is done when the call returns. The bytes are as they are at some moment of process
 * pid's superstep. That process gives them when it next waits, in bsp_sync at the latest, so this call may wait while that
 * process computes. */
void bsp_direct_get(bsp_pid_t pid, const void *area, bsp_size_t offset, void *target, bsp_size_t bytes)
    TUTTI_BSP_SIZED(direct_get);

/* --- messages -------------------------------------------------------------------------------------------------- */

/* From the next superstep on, the tag of a message has *bytes bytes (0 at first). All processes set the same size; else
 * bsp_sync says which did not. *bytes becomes the size that was set before. */
void bsp_set_tagsize(bsp_size_t *bytes) TUTTI_BSP_SIZED(set_tagsize);

/* Sends a message to the queue of process `pid`, where it lies in the next superstep. A message that is not taken out in that
 * superstep is lost. The order of messages in a queue is arbitrary. Tag and payload are as they are at the call. */
void bsp_send(bsp_pid_t pid, const void *tag, const void *payload, bsp_size_t bytes) TUTTI_BSP_SIZED(send);

/* The number of messages in this process's queue, and the sum of their payloads in bytes (payload_bytes may be NULL). */
void bsp_qsize(bsp_nprocs_t *messages, bsp_size_t *payload_bytes) TUTTI_BSP_SIZED(qsize);

/* Copies the tag of the queue's first message to `tag`, and writes the bytes of its payload to *status. Where the queue is
 * empty, *status becomes -1 (with BSP_WIDE the largest value). */
void bsp_get_tag(bsp_size_t *status, void *tag) TUTTI_BSP_SIZED(get_tag);

/* Copies at most `most` bytes of the first message's payload to `payload` and takes the message out of the queue, which must
 * not be empty. */
void bsp_move(void *payload, bsp_size_t most) TUTTI_BSP_SIZED(move);

/* Takes the first message out of the queue without a copy: *tag and *payload become the addresses of its tag and payload,
 * aligned for any type, and stay valid until the next bsp_sync. Returns the bytes of the payload; -1 where the queue is
 * empty. */
bsp_size_t bsp_hpmove(void **tag, void **payload) TUTTI_BSP_SIZED(hpmove);

#ifdef __cplusplus
}
#endif
#endif

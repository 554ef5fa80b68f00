/* tutti: one-sided communication and collectives for parallel programs. This header is the whole C interface.
 *
 * A program calls tutti_init() in each of its ranks, gets a context, and from it teams (ordered groups of ranks) and
 * windows (memory of each member of a team that the others may read and write).
 *
 *  1. Errors.    Functions that can fail return a tutti_status_t. Nothing is printed, no process is ended. A call that
 *                returns TUTTI_INVALID has changed nothing. tutti_error_text() gives the last error of a context in one
 *                line that names what was attempted, the value or the rank at fault, and what to do about it.
 *                Where there is no context (tutti_init failed, a handle was NULL or stale), the text is kept for the
 *                calling thread: tutti_error_text(NULL).
 *  2. Threads.   A context and everything obtained from it belong to one thread at a time: calls upon one context must
 *                not overlap in time. Different contexts are independent; a process may have several.
 *                With the setting TUTTI_CHECK=1 the second of two calls that overlap gets TUTTI_INVALID, which names the
 *                first; the text is kept for the calling thread.
 *  3. Progress.  Communication advances inside calls of this library: those that wait, those that find something not
 *                yet complete, and every so many operations. Where target_must_progress of tutti_capabilities() is 1,
 *                a rank that computes for long without any holds up others; tutti_progress() now and then prevents
 *                that, and so does the setting TUTTI_PROGRESS=thread for what others do to this rank's windows.
 *  4. Blocking.  Only functions that say so block. A blocked call ends when what it waits for has come, when a rank it
 *                depends on has died (TUTTI_PEER_DEAD), or at its timeout. Timeouts are seconds; negative: none; 0: one
 *                try. Those that take no timeout end in the first two ways only.
 *  5. Ranks.     A rank is a number from 0 within the team that the call names. Ranks of the world team are those of
 *                the job.
 *  6. Collective calls are made by every member of the team, in the same order on each. Between collective calls on
 *                different teams there is no such rule, except that two calls that block must not wait for each other.
 *  7. Handles.   A context, team, window or request that is gone is known by its handle: a call with a copy of it gets
 *                TUTTI_INVALID, always, also when others have been made since. In a child of fork() all handles are the
 *                parent's: every call upon them gets TUTTI_INVALID there, and the parent goes on undisturbed. What was never
 *                a handle is not recognized, except NULL.
 *  8. Cost.      Data-path calls allocate nothing in the steady state and make no system call unless the fabric does.
 */
#ifndef TUTTI_H
#define TUTTI_H

#include <stddef.h>
#include <stdint.h>

#define TUTTI_VERSION_MAJOR 0
#define TUTTI_VERSION_MINOR 1
#define TUTTI_VERSION_PATCH 0
#define TUTTI_VERSION (TUTTI_VERSION_MAJOR * 10000 + TUTTI_VERSION_MINOR * 100 + TUTTI_VERSION_PATCH)

#if defined(__GNUC__)
#define TUTTI_API __attribute__((visibility("default")))
#else
#define TUTTI_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- status ------------------------------------------------------------------------------------------------------ */

typedef enum tutti_status {
  TUTTI_OK = 0,
  TUTTI_INVALID = 1,     /* the call is wrong; nothing was changed; the text names the value and the mend */
  TUTTI_NO_RESOURCE = 2, /* memory, descriptors, /dev/shm, memlock: may succeed later */
  TUTTI_UNSUPPORTED = 3, /* this fabric or build cannot do it */
  TUTTI_UNAVAILABLE = 4, /* a library, device, launcher or permission that is needed is not here */
  TUTTI_TIMED_OUT = 5,   /* the timeout passed; what was waited for may still happen */
  TUTTI_PEER_DEAD = 6,   /* a rank the call depends on died or left; tutti_error_peer() names it */
  TUTTI_FABRIC = 7,      /* a vendor's library failed; tutti_error_native() is its code */
  TUTTI_PROTOCOL = 8     /* a peer runs an incompatible version or configuration */
} tutti_status_t;

#define TUTTI_NO_RANK UINT32_MAX /* no rank at all; also the answer of rank functions to a bad handle */
#define TUTTI_ALL UINT32_MAX     /* where a rank is asked for and every one is meant */
#define TUTTI_ANY UINT32_MAX     /* where a rank is asked for and any one may act */

typedef struct tutti_context *tutti_t;
typedef struct tutti_team *tutti_team_t;
typedef struct tutti_window *tutti_window_t;

/* TUTTI_VERSION of the library that is running, which may be newer than this header. */
TUTTI_API int tutti_version(void);

/* The meaning of a code in a few words: "peer dead". Never NULL; the text is static. */
TUTTI_API const char *tutti_strstatus(int code);

/* The last error of this context, or "success" if there was none. With NULL: the last error of this thread that
 * concerned no context. The text lives until the next call upon the context (or thread). */
TUTTI_API const char *tutti_error_text(tutti_t ctx);

/* The rank of the job that caused the last error, or TUTTI_NO_RANK. */
TUTTI_API uint32_t tutti_error_peer(tutti_t ctx);

/* errno or the vendor's code of the last error, or 0. */
TUTTI_API int64_t tutti_error_native(tutti_t ctx);

/* --- begin and end ----------------------------------------------------------------------------------------------- */

/* A setting by name, as `tutti info --config` lists them: {"barrier", "dissemination"}. Stronger than the environment. */
typedef struct tutti_setting {
  const char *name;
  const char *value;
} tutti_setting_t;

/* How the ranks of an embedding runtime meet. Used inside tutti_init() only, on its thread. Callbacks return 0,
 * ETIMEDOUT when timeout_s has passed, EOWNERDEAD when a rank died, or a number of their own that is reported. */
typedef struct tutti_bootstrap {
  void *context;      /* passed to the callbacks */
  uint32_t rank;      /* of this process or thread, below size */
  uint32_t size;      /* of the job, at least 1 */
  const char *job_id; /* the same text in every rank and in no other job on these hosts; copied */
  /* `bytes` from every rank, the same number on all, concatenated in rank order into `all` (size * bytes). Blocks. */
  int (*allgather)(void *context, const void *mine, size_t bytes, void *all, double timeout_s);
  /* NULL if a rank that left one allgather may enter the next while others are still in it; else called between. */
  int (*fence)(void *context, double timeout_s);
} tutti_bootstrap_t;

/* Zeroed members mean their defaults. Later versions add members at the end. */
typedef struct tutti_options {
  size_t struct_size;                 /* sizeof(tutti_options_t) */
  const tutti_setting_t *settings;    /* setting_count of them; may be NULL if that is 0 */
  size_t setting_count;
  const tutti_bootstrap_t *bootstrap; /* NULL: the PMIx launcher that started us, or a job of one */
  /* Takes a line of text that tells of no error and is worth knowing all the same: that outsiders send messages to this
   * rank's port, at the first of them (docs/security.md). Called seldom, by whatever thread drives the job, from within
   * tutti; it must call nothing of tutti's. NULL: nobody is told. */
  void (*notice)(void *notice_context, const char *text);
  void *notice_context;
} tutti_options_t;

/* Joins the job. Collective over its ranks; blocks until all are here, at most the setting timeout_s (60 seconds).
 * options may be NULL: everything from the environment (TUTTI_*), by PMIx. *ctx is written on success only.
 * Errors: TUTTI_INVALID (an option or variable), TUTTI_UNAVAILABLE (launcher, provider), TUTTI_NO_RESOURCE,
 * TUTTI_TIMED_OUT, TUTTI_PEER_DEAD (a rank failed to join), TUTTI_PROTOCOL (settings differ between ranks).
 * Cost: milliseconds, most of them the launcher's. Opens no connection to any peer. */
TUTTI_API tutti_status_t tutti_init(const tutti_options_t *options, tutti_t *ctx);

/* Leaves the job and frees the context with all its teams and windows, freed or not; sets *ctx to NULL. Collective:
 * blocks until every rank has called it, so that no rank's memory goes while others may still reach for it. When a
 * rank has died it does not wait for the others. A rank that cannot go on while others still wait for it calls
 * tutti_abandon() instead. *ctx being NULL already is a success.
 * Errors: TUTTI_PEER_DEAD; the context is gone all the same, and the text is at tutti_error_text(NULL).
 * Cost: a flush and an exchange of size - 1 messages a rank, one after the other; after a death at most a second
 * instead. */
TUTTI_API tutti_status_t tutti_finalize(tutti_t *ctx);

/* Leaves the job without waiting for anyone, for a rank that cannot go on; frees the context as tutti_finalize does.
 * The others learn of it as of a death: what waits for this rank ends with TUTTI_PEER_DEAD. *ctx being NULL is a
 * success.
 * Errors: TUTTI_INVALID (ctx is NULL). Cost: log2(size) signals for each team; blocks for a second at most, in which
 * they and what was begun before may still arrive. */
TUTTI_API tutti_status_t tutti_abandon(tutti_t *ctx);

/* Lets communication advance. Does not block. Errors: TUTTI_INVALID (ctx is NULL). Cost: tens of nanoseconds when idle. */
TUTTI_API tutti_status_t tutti_progress(tutti_t ctx);

/* --- who and where: local, constant; TUTTI_NO_RANK for the rank and 0 for counts of a bad handle ------------------ */

TUTTI_API uint32_t tutti_rank(tutti_t ctx);                   /* of this rank in the job */
TUTTI_API uint32_t tutti_size(tutti_t ctx);                   /* ranks in the job */
TUTTI_API uint32_t tutti_nodes(tutti_t ctx);                  /* nodes of the job: ranks of one share memory */
TUTTI_API uint32_t tutti_node_of(tutti_t ctx, uint32_t rank); /* 0..nodes-1, in order of first appearance; O(1) */
TUTTI_API uint32_t tutti_local_rank(tutti_t ctx);             /* of this rank among those of its node; O(size) */
TUTTI_API uint32_t tutti_local_size(tutti_t ctx);             /* ranks on its node; O(size) */

/* What carries the job, as TUTTI_PROVIDER would name it: "shm", "ucx:tcp", "shm+verbs" (inside nodes + between them). Lives
 * as long as ctx; NULL if ctx is. */
TUTTI_API const char *tutti_fabric(tutti_t ctx);

/* What the fabric of a job does by itself and what it leaves to the ranks. A property is 1 where it holds towards every rank
 * of the job (target_must_progress: towards some rank), and 0 otherwise. Later versions add members at the end. */
typedef struct tutti_fabric_capabilities {
  size_t struct_size;       /* sizeof(tutti_capabilities_t), set by the caller */
  uint64_t max_bytes;       /* of one operation of the fabric; a longer put or get is made of several */
  int target_must_progress; /* puts and gets wait for a call of the rank that they go to, which may be computing */
  int progress_thread;      /* TUTTI_PROGRESS=thread: a thread of this rank makes such calls for it */
  int native_signals;       /* signals that set a word of tutti_window_create() need no call of the rank they go to */
  int native_atomics;       /* the same of atomics, and of signals that add */
  int native_over;          /* what these two say holds of windows by tutti_window_over() as well */
  int maps_node;            /* tutti_window_create(): ranks of one node reach each other's part by loads and stores */
  int cpu_atomics_agree;    /* atomics are atomic to the target's own atomic loads and stores of the word */
  int sleeps;               /* a long wait sleeps until something comes; 0: in naps of a millisecond at most */
  int multicast;            /* the fabric has it */
  int offload;              /* the fabric can run a collective's steps by itself */
} tutti_capabilities_t;

/* Writes the members that lie within *out, by its struct_size, and zeroes those that this library does not know. Local.
 * Errors: TUTTI_INVALID (a NULL, or a struct_size below that of the first version). */
TUTTI_API tutti_status_t tutti_capabilities(tutti_t ctx, tutti_capabilities_t *out);

/* --- teams ------------------------------------------------------------------------------------------------------- */

/* The team of all ranks; NULL if ctx is. It belongs to the context. */
TUTTI_API tutti_team_t tutti_world(tutti_t ctx);

TUTTI_API uint32_t tutti_team_rank(tutti_team_t team);
TUTTI_API uint32_t tutti_team_size(tutti_team_t team);

/* A team of the `count` members of `parent` listed, in that order. Collective over the parent; blocks. All members of
 * one new team pass the same list; lists are equal or disjoint. count 0: this rank joins none and gets NULL.
 * Errors: TUTTI_INVALID (a member out of range or listed twice, the caller missing from its list, or members of one
 * list that passed different ones: the others named in it get TUTTI_INVALID too), TUTTI_NO_RESOURCE, TUTTI_PEER_DEAD.
 * Cost: O(parent's size) messages, 2 KiB of registered memory and O(log size) or O(size) words for the collectives. */
TUTTI_API tutti_status_t tutti_team_create(tutti_team_t parent, const uint32_t *members, size_t count,
                                           tutti_team_t *team);

/* Groups the members of `parent` by color, ordered by key and then by rank. Collective over the parent; blocks. A
 * negative color: this rank joins none and gets NULL. Errors and cost as tutti_team_create. */
TUTTI_API tutti_status_t tutti_team_split(tutti_team_t parent, int32_t color, int32_t key, tutti_team_t *team);

/* Frees the team and sets *team to NULL. Collective over the team; blocks. Its windows must be freed before
 * (TUTTI_INVALID). Barriers that were started on it and not waited for are completed first. *team being NULL is a
 * success; the world is refused (TUTTI_INVALID). On TUTTI_PEER_DEAD the team is freed here all the same.
 * Cost: a flush and an exchange of size - 1 messages a member, one after the other. */
TUTTI_API tutti_status_t tutti_team_free(tutti_team_t *team);

/* Which rank of `to` is rank `rank` of `from`; *out is TUTTI_NO_RANK if it is no member. Local; O(size of to). */
TUTTI_API tutti_status_t tutti_team_translate(tutti_team_t from, uint32_t rank, tutti_team_t to, uint32_t *out);

/* --- windows ----------------------------------------------------------------------------------------------------- */

/* A window of `bytes` of new memory on this rank, zeroed and aligned to 64 bytes; *base is its address (base may be
 * NULL). Members may ask for different sizes; 0: this member exposes nothing. Collective over the team; blocks. Either
 * all members get the window or none does.
 * Errors: TUTTI_INVALID, TUTTI_NO_RESOURCE (here, or on the rank that tutti_error_peer() names), TUTTI_PEER_DEAD.
 * Cost: two exchanges of O(size) messages, a registration, 8 bytes a member unless all sizes are equal. */
TUTTI_API tutti_status_t tutti_window_create(tutti_team_t team, size_t bytes, void **base, tutti_window_t *window);

/* The same over memory of the caller's, `bytes` from `base` (8-byte aligned), which must stay until the window is
 * freed. Members may mix this call with tutti_window_create: they are the same collective. */
TUTTI_API tutti_status_t tutti_window_over(tutti_team_t team, void *base, size_t bytes, tutti_window_t *window);

/* Frees the window and sets *window to NULL. Collective over its team; blocks until every member is here with its own
 * operations completed, so that none can touch freed memory. *window being NULL is a success. On TUTTI_PEER_DEAD the
 * window is freed here all the same. Errors: TUTTI_INVALID (window is NULL), TUTTI_PEER_DEAD.
 * Cost: a flush and an exchange of size - 1 messages a member, one after the other. */
TUTTI_API tutti_status_t tutti_window_free(tutti_window_t *window);

TUTTI_API void *tutti_window_base(tutti_window_t window);                 /* mine; NULL if I expose nothing */
TUTTI_API size_t tutti_window_size(tutti_window_t window, uint32_t rank); /* bytes; 0 for a bad handle or rank */
TUTTI_API tutti_team_t tutti_window_team(tutti_window_t window);

/* --- one-sided operations -----------------------------------------------------------------------------------------
 *
 * Each names a window, a rank of its team (which may be the caller) and an offset in that rank's part, in bytes.
 * `request` may be NULL: the operation is then completed by the next tutti_flush() of its window and rank, or by
 * tutti_quiet(). Otherwise *request stands for its local completion: a put's source may be changed, a get's or an
 * atomic's result has arrived. Remote completion, the effect visible to others, is by tutti_flush() or by a signal
 * that has arrived. Until it is complete by either, buffers must stay untouched.
 *
 * Calls do not block, except that a full queue is waited for (its length is bounded). Operations are not ordered but
 * by signals and flushes. Errors of the call itself: TUTTI_INVALID, TUTTI_NO_RESOURCE,
 * TUTTI_PEER_DEAD; those of the communication come with the request or the flush.
 *
 * Costs below are those of the call; tens of nanoseconds are its own share, the rest is the fabric's. The first
 * operation towards a rank may connect to it. Gets and atomics without a request keep some 100 bytes for each rank that
 * a window so reached.
 */

/* A handle of two words, to be copied freely; a zeroed one is complete. Valid until a test or wait said that it is
 * complete, with success or error, which zeroes it. One that timed out stays valid. */
typedef struct tutti_request {
  void *slot;
  uint64_t ticket;
} tutti_request_t;

/* Flags of signals. */
enum {
  TUTTI_SET = 0,      /* the word becomes the value */
  TUTTI_ADD = 1,      /* the value is added to the word, atomically */
  TUTTI_AFTER_ALL = 2 /* not before everything that this rank began towards that rank earlier; without: of a
                       * tutti_put_signal not before its own data, of a tutti_signal no order */
};

/* `bytes` from `source` to the window, or from it to `target`. Cost: one operation for each max_bytes of
 * tutti_capabilities(). Where the rank's memory is mapped here (maps_node), the copy is made in the call. */
TUTTI_API tutti_status_t tutti_put(tutti_window_t window, uint32_t rank, uint64_t offset, const void *source,
                                   size_t bytes, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_get(tutti_window_t window, uint32_t rank, uint64_t offset, void *target, size_t bytes,
                                   tutti_request_t *request);

/* A signal: an 8-byte word of a window, aligned, set or added to. Whoever has seen it by tutti_wait_signal(),
 * tutti_test_signal() or tutti_load_signal() sees what it may not overtake. Signals of one rank to one word take effect
 * in the order of the calls. It has no request: it completes by tutti_flush(). Cost: one operation of 8 bytes. */
TUTTI_API tutti_status_t tutti_signal(tutti_window_t window, uint32_t rank, uint64_t offset, uint64_t value, int flags);

/* Data, and then a signal to the same rank. The word may lie in another window of the same team. Cost: as tutti_put();
 * on most fabrics the signal travels with the data, elsewhere it is one operation more. */
TUTTI_API tutti_status_t tutti_put_signal(tutti_window_t window, uint32_t rank, uint64_t offset, const void *source,
                                          size_t bytes, tutti_window_t signal_window, uint64_t signal_offset,
                                          uint64_t value, int flags, tutti_request_t *request);

/* Atomics on an aligned 8-byte word, atomic to each other and to added signals of all ranks. *old gets the value
 * before. Towards the target's own loads and stores they are atomic only where cpu_atomics_agree of
 * tutti_capabilities() is 1. Cost: one operation, a round trip until *old is there; in the call where the word is mapped
 * here (maps_node). */
TUTTI_API tutti_status_t tutti_fetch_add(tutti_window_t window, uint32_t rank, uint64_t offset, uint64_t value,
                                         uint64_t *old, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_swap(tutti_window_t window, uint32_t rank, uint64_t offset, uint64_t value,
                                    uint64_t *old, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_compare_swap(tutti_window_t window, uint32_t rank, uint64_t offset, uint64_t expected,
                                            uint64_t value, uint64_t *old, tutti_request_t *request);

/* Blocks until all operations of this rank towards `rank` of the window's team are complete there, and those without a
 * request upon this window complete here as well. TUTTI_ALL: towards every rank. It neither waits for operations
 * towards other ranks nor tells their errors. Errors: the first one of those operations, told once (of several ranks:
 * of one of them); TUTTI_TIMED_OUT (they go on); TUTTI_INVALID. Cost: one round trip. */
TUTTI_API tutti_status_t tutti_flush(tutti_window_t window, uint32_t rank, double timeout_s);

/* The same for all windows and all ranks of the context. Cost: a round trip to each rank written to, all at once. */
TUTTI_API tutti_status_t tutti_quiet(tutti_t ctx, double timeout_s);

/* How a signal word is compared. */
enum {
  TUTTI_REACHED = 0,  /* it is the value or came after it, as serial numbers: (int64_t)(word - value) >= 0 */
  TUTTI_EQUAL = 1,
  TUTTI_NOT_EQUAL = 2
};

/* Blocks until the word at `offset` of my own part of the window compares so with `value`. `from` is the rank that
 * will signal: its death, or its leaving, ends the wait with TUTTI_PEER_DEAD. TUTTI_ANY: the death of any member does.
 * Errors: TUTTI_INVALID, TUTTI_TIMED_OUT, TUTTI_PEER_DEAD; not where the word compares so by then. Cost: a load if it
 * does at once; else the wait spins, then yields, then sleeps, and every 50 ms asks for `from`'s health (of any:
 * O(size)). */
TUTTI_API tutti_status_t tutti_wait_signal(tutti_window_t window, uint64_t offset, int compare, uint64_t value,
                                           uint32_t from, double timeout_s);

/* Whether it does by now: *yes is 1 or 0. Makes progress if it does not. Errors: TUTTI_INVALID; a death shows in a wait
 * only. Cost: a load, or two and tutti_progress(). */
TUTTI_API tutti_status_t tutti_test_signal(tutti_window_t window, uint64_t offset, int compare, uint64_t value,
                                           int *yes);

/* The word as it is now, read so that what was sent before it can be read next. Makes no progress. Errors:
 * TUTTI_INVALID. Cost: an acquire load. */
TUTTI_API tutti_status_t tutti_load_signal(tutti_window_t window, uint64_t offset, uint64_t *value);

/* --- requests ---------------------------------------------------------------------------------------------------- */

/* Whether it is complete: *done is 1 or 0. Makes progress if it is not. The status is the operation's own error; or
 * TUTTI_INVALID (a copy of a request that is complete already). Cost: a load, or two and tutti_progress(). */
TUTTI_API tutti_status_t tutti_test(tutti_request_t *request, int *done);

/* Blocks until it is complete. Errors: the operation's own; TUTTI_TIMED_OUT (it is not complete, and may be waited for
 * again); TUTTI_INVALID, as above. Cost: a load if it is; else what the operation still takes. */
TUTTI_API tutti_status_t tutti_wait(tutti_request_t *request, double timeout_s);

/* --- collectives ------------------------------------------------------------------------------------------------- */

/* All members of a team make the same collective calls on it in the same order; those below, and those that make and free
 * teams and windows, are such calls. Where members call different ones, those that wait get TUTTI_PROTOCOL, after a tenth of a
 * second or so, with a text that says who calls what; the team is then fit for nothing but to be freed. */

/* Blocks until every member of the team has entered. Orders no one-sided operations: flush before it what must be seen
 * after it. Errors: TUTTI_PEER_DEAD, and from then on every barrier of this team gives it. Allocates nothing. Cost:
 * the algorithm's, which is chosen when the team is made (`tutti info --explain barrier`): mostly some log2(size)
 * signals one after the other. */
TUTTI_API tutti_status_t tutti_barrier(tutti_team_t team);

/* Enters without blocking. Several may be under way; they complete in order, in any progress of this rank. Errors:
 * TUTTI_INVALID (a NULL), TUTTI_NO_RESOURCE (memory, where more requests are under way than ever before),
 * TUTTI_PEER_DEAD (an earlier barrier of this team); then *request is not written. A death meanwhile comes with the
 * request. Cost: the first step of tutti_barrier(); the others are made by later progress. */
TUTTI_API tutti_status_t tutti_ibarrier(tutti_team_t team, tutti_request_t *request);

/* Copies `bytes` bytes from `data` of member `root` to `data` of every other member. Collective: root and bytes are alike
 * in all. Where they are not, members get TUTTI_PROTOCOL, whose text names a rank with what it gives and what another does:
 * from this broadcast, as soon as the data shows it or after a tenth of a second or so of waiting in vain, or, those that
 * had done their part, from a later one. 0 bytes in some members alone show only once others wait or broadcast again.
 * Blocks: elsewhere until the data is here, at the root until `data` may be changed again, which says nothing of the
 * others. `data` is any memory; it is read (root) or written (others) during the call only. 0 bytes: returns at once.
 * Goes by multicast where the fabric has it (tutti_capabilities()) and that pays, else by puts along a tree; TUTTI_BCAST=multicast, binomial or
 * chain decides it for all.
 * Errors: TUTTI_INVALID (no such root, data NULL), TUTTI_UNSUPPORTED (TUTTI_BCAST=multicast without multicast),
 * TUTTI_NO_RESOURCE, TUTTI_PROTOCOL (root or bytes are not alike in all), TUTTI_PEER_DEAD; after any but the first,
 * every broadcast of this team gives the same.
 * Cost: one copy in and one out; log2(size) to size messages deep by puts. What an algorithm needs is made when the team
 * first uses it (an exchange or some; 1 MiB of memory for the trees, at most 1.5 MiB for multicast); after that nothing is
 * allocated while roots and sizes repeat themselves. */
TUTTI_API tutti_status_t tutti_broadcast(tutti_team_t team, uint32_t root, void *data, size_t bytes);

/* The same without blocking: tutti_test or tutti_wait of the request says when it is complete, in this rank as above. `data` is
 * the broadcast's until then. Several may be under way; they complete in the order of the calls, in any progress of this
 * rank, and beside barriers and broadcasts of other teams. Errors: as above where they are known at the call, and then
 * *request is not written; else with the request. Cost: as above; the call itself blocks where the team uses an algorithm for
 * the first time, for what is made then. */
TUTTI_API tutti_status_t tutti_ibroadcast(tutti_team_t team, uint32_t root, void *data, size_t bytes, tutti_request_t *request);

#ifdef __cplusplus
}
#endif
#endif

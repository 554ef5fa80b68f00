/* tutti: one-sided communication and collectives for parallel programs. This header is the whole C interface.
 *
 * For 64-bit systems. Each rank of a program calls tutti_init() and gets a context. From the context come teams (ordered groups
 * of ranks) and windows (memory of each member of a team that the other members may read and write).
 *
 *  1. Errors.    A function that can fail returns a tutti_status_t. The library ends no process, and prints nothing but who
 *                is waited for in vain (notice of tutti_options_t). A call that returns TUTTI_INVALID has changed nothing.
 *                tutti_error_text() describes the last error of a context in one line: what was attempted, which value or
 *                rank is at fault, and what to do about it. Where there is no context (tutti_init failed, a handle was NULL
 *                or stale), the calling thread keeps the text: tutti_error_text(NULL), and tutti_error_text(ctx) as well,
 *                until a call upon ctx fails. Any call that communicates may return TUTTI_FABRIC, and later versions may
 *                add codes: treat every code but TUTTI_OK as a failure.
 *  2. Threads.   A context and everything obtained from it serve one thread at a time: calls upon one context must not
 *                overlap in time. Different contexts are independent; a process may have several. With the setting
 *                TUTTI_CHECK=1, in all ranks, the second of two overlapping calls returns TUTTI_INVALID; the text names the
 *                first call and is kept for the calling thread.
 *  3. Progress.  Communication advances inside calls of this library: in calls that wait, in tests that find an operation
 *                incomplete, and, where peers depend on it, in every 32nd one-sided operation. Where target_must_progress of
 *                tutti_capabilities() is 1, a rank that computes for long without such a call holds up the others. Two
 *                things prevent that: the rank calls tutti_progress() now and then, or the setting
 *                TUTTI_PROGRESS=thread has a thread serve what others do to the rank's windows.
 *  4. Blocking.  Only functions that say so block. A blocked call ends when what the call waits for has come, when a rank
 *                that the call depends on has died (TUTTI_PEER_DEAD), or at the timeout. Timeouts are in seconds; a
 *                negative timeout means none, and 0 means one try. A blocking function without a timeout ends in the
 *                first two ways only.
 *  5. Ranks.     A rank is a number from 0 within the team that the call names. Ranks of the world team are those of
 *                the job.
 *  6. Collective functions are called by every member of the team, and all members make the collective calls of one team in
 *                the same order. Between collective calls on different teams no order is required, except that two
 *                blocking calls must not wait for each other. Where members make different collective calls, those that
 *                wait get TUTTI_PROTOCOL after about a tenth of a second, with a text that says who calls what; such a
 *                team can then only be freed. After any error but TUTTI_INVALID every later collective of the team that
 *                moves data returns that error.
 *  7. Handles.   A context, team, window or request that is gone is known by its handle: a call with a copy of that handle
 *                returns TUTTI_INVALID (a function that returns a value: NULL, 0 or TUTTI_NO_RANK), also when new objects
 *                have been made since, fewer than 65,536 in its place. In a child of fork() all
 *                handles belong to the parent: every call with them returns TUTTI_INVALID there, and the parent goes on
 *                undisturbed. A value that never was a handle is not recognized, except NULL.
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
  TUTTI_INVALID = 1,     /* the call is wrong; nothing was changed; the text names the value and the remedy */
  TUTTI_NO_RESOURCE = 2, /* memory, descriptors, /dev/shm, memlock: may succeed later */
  TUTTI_UNSUPPORTED = 3, /* this fabric or build cannot do it */
  TUTTI_UNAVAILABLE = 4, /* a library, device, launcher or permission that is needed is not here */
  TUTTI_TIMED_OUT = 5,   /* the timeout passed; what was waited for may still happen */
  TUTTI_PEER_DEAD = 6,   /* a rank that the call depends on died or left; tutti_error_peer() names it */
  TUTTI_FABRIC = 7,      /* a vendor's library failed; tutti_error_native() is its code */
  TUTTI_PROTOCOL = 8,    /* ranks differ in version, in configuration or in their collective calls */
  TUTTI_TRUNCATED = 9,   /* a message is longer than the receive; what fits was written */
  TUTTI_CANCELLED = 10   /* a receive that nothing had matched was ended: its team was freed */
} tutti_status_t;

#define TUTTI_NO_RANK UINT32_MAX /* no rank; functions that return a rank return it for a bad handle */
#define TUTTI_ALL UINT32_MAX     /* as the rank of tutti_flush(): every rank */
#define TUTTI_ANY UINT32_MAX     /* as `from` of tutti_wait_signal(), receives and probes: any rank */

typedef struct tutti_context *tutti_t;
typedef struct tutti_team *tutti_team_t;
typedef struct tutti_window *tutti_window_t;

/* TUTTI_VERSION of the library at run time, which may be newer than this header. */
TUTTI_API int tutti_version(void);

/* The meaning of a status code in a few words: "peer dead". Never NULL; the text is static. */
TUTTI_API const char *tutti_strstatus(int code);

/* The last error of this context in one line, or that of the calling thread that concerned no context, whichever is newer;
 * "success" if there was neither since the context was made. So right after a failed call it is that call's, whatever was wrong
 * with its handles. With NULL, or a handle that is gone: the last error of the thread that concerned no context. The text lives
 * until the next call upon the context, or of the thread. The two functions below choose likewise. */
TUTTI_API const char *tutti_error_text(tutti_t ctx);

/* The rank, in the job, that caused the last error, or TUTTI_NO_RANK. */
TUTTI_API uint32_t tutti_error_peer(tutti_t ctx);

/* The errno or the vendor library's code of the last error, or 0. Of a TUTTI_PROTOCOL since members' collective calls
 * differ (clause 6): how many collective calls of the team this rank has made since the one that differed. */
TUTTI_API int64_t tutti_error_native(tutti_t ctx);

/* --- begin and end ----------------------------------------------------------------------------------------------- */

/* A setting by name, as `tutti info --config` lists them: {"barrier", "dissemination"}. It prevails over the environment. */
typedef struct tutti_setting {
  const char *name;
  const char *value;
} tutti_setting_t;

/* How ranks started by another runtime find each other. The callbacks run only during the call that takes this struct, on its thread.
 * They return 0; ETIMEDOUT if timeout_s seconds have passed (TUTTI_TIMED_OUT); EOWNERDEAD if a rank died (TUTTI_PEER_DEAD); or
 * another number (TUTTI_FABRIC, and tutti_error_native() is that number). */
typedef struct tutti_bootstrap {
  void *context;      /* passed to the callbacks */
  uint32_t rank;      /* of this process or thread: 0 to size - 1 */
  uint32_t size;      /* ranks of the job, at least 1 */
  const char *job_id; /* the same text in every rank and in no other job on these hosts; copied */
  /* Gathers `bytes` bytes from every rank, the same number from each, into `all` (size * bytes) in rank order. Blocks. */
  int (*allgather)(void *context, const void *mine, size_t bytes, void *all, double timeout_s);
  /* A barrier, called between two allgathers. NULL if a rank may enter the next allgather while others are in the last. */
  int (*fence)(void *context, double timeout_s);
} tutti_bootstrap_t;

/* A zeroed member means its default. Later versions add members at the end. */
typedef struct tutti_options {
  size_t struct_size;                 /* sizeof(tutti_options_t) */
  const tutti_setting_t *settings;    /* setting_count of them; may be NULL if that is 0 */
  size_t setting_count;
  const tutti_bootstrap_t *bootstrap; /* NULL: by the PMIx launcher of this process; without one, a job of one rank */
  /* Takes a line of text that is worth knowing but is no error: the first time that an outsider sends messages to this rank's
   * port (docs/security.md); or that a call has waited for the setting notice_s (5 s), and again when twice as long, with the
   * awaited rank and what that rank waits for or calls (docs/failure.md). Called seldom, from within tutti, by whichever thread drives the job; the function must not call
   * tutti. NULL: of these only waits are told, as lines on standard error, and only where a launcher started the process and bootstrap
   * is NULL; setting notice_s to 0 silences them. */
  void (*notice)(void *notice_context, const char *text);
  void *notice_context;
  /* Lets another library's communication advance, on which what this rank waits for may depend. Called again and again by a
   * call of tutti that waits for more than some 20 us, on the waiting thread: once that sleeps, ten times or more in a row every
   * 2 ms, for a fortieth of a core's time. It must not block, and not call tutti. NULL: nothing is called. */
  void (*idle)(void *idle_context);
  void *idle_context;
} tutti_options_t;

/* Joins the job. Collective over the job's ranks; blocks until all of them are here, at most the setting timeout_s (60 s).
 * options NULL: settings come from the environment (TUTTI_*) and the settings file, and ranks meet by PMIx; without a launcher, a
 * job of one rank. *ctx is written on success only.
 * Errors: TUTTI_INVALID (an option or variable), TUTTI_UNAVAILABLE (launcher, provider), TUTTI_NO_RESOURCE,
 * TUTTI_TIMED_OUT, TUTTI_PEER_DEAD (a rank failed to join), TUTTI_PROTOCOL (settings differ between ranks), TUTTI_FABRIC (a
 * provider's library or a callback failed).
 * Cost: milliseconds, most of them the launcher's. Opens no connection to any peer. */
TUTTI_API tutti_status_t tutti_init(const tutti_options_t *options, tutti_t *ctx);

/* The value that a setting has by the environment, the file of settings, or its default: what tutti_init() would take that is
 * passed no settings. The text lives until the thread's next call of this function. NULL: there is no such setting, or a variable or the file
 * is wrong, of which tutti_error_text(NULL) tells. May be called at any time, by any thread. Cost: reads the environment and the file. */
TUTTI_API const char *tutti_setting_value(const char *name);

/* Leaves the job, frees the context with all its teams and windows, and sets *ctx to NULL. Collective: blocks until every
 * rank has called tutti_finalize, so that no memory is freed while another rank may still access it; once a rank has died, the
 * call waits for nobody. A rank that cannot go on, while others still wait for it, calls tutti_abandon() instead. A process that
 * ends without either is a death to the others. *ctx being NULL already is a success.
 * Errors: TUTTI_INVALID (ctx is NULL), TUTTI_PEER_DEAD (the context is gone all the same; the text is at
 * tutti_error_text(NULL)).
 * Cost: a flush and size - 1 messages a rank, one after the other; after a death at most a second instead. */
TUTTI_API tutti_status_t tutti_finalize(tutti_t *ctx);

/* Leaves the job without waiting for anyone, for a rank that cannot go on; frees the context as tutti_finalize does. To the
 * other ranks this is a death: what waits for this rank ends with TUTTI_PEER_DEAD. *ctx being NULL already is a success.
 * Errors: TUTTI_INVALID (ctx is NULL).
 * Cost: log2(size) signals for each team. Blocks for a second at most, in which these signals, and operations begun before,
 * may still arrive. */
TUTTI_API tutti_status_t tutti_abandon(tutti_t *ctx);

/* Lets communication advance, and runs handlers of active messages that have come. Does not block. Errors: TUTTI_INVALID (ctx is
 * NULL; or an active message found no handler), TUTTI_PEER_DEAD (a rank died that owes replies; see active messages). Cost: tens of
 * nanoseconds when nothing has come. */
TUTTI_API tutti_status_t tutti_progress(tutti_t ctx);

/* --- who and where ------------------------------------------------------------------------------------------------
 *
 * Local and constant while ctx lives. For a bad handle (and tutti_node_of() for a bad rank) a function that returns a rank or the
 * number of a node returns TUTTI_NO_RANK; one that returns a count returns 0.
 */

TUTTI_API uint32_t tutti_rank(tutti_t ctx);                   /* this rank in the job */
TUTTI_API uint32_t tutti_size(tutti_t ctx);                   /* ranks in the job */
TUTTI_API uint32_t tutti_nodes(tutti_t ctx);                  /* nodes of the job; the ranks of one node share memory */
TUTTI_API uint32_t tutti_node_of(tutti_t ctx, uint32_t rank); /* of a rank of the job: 0 to nodes - 1, numbered in
                                                                 order of their lowest ranks; O(1) */
TUTTI_API uint32_t tutti_local_rank(tutti_t ctx);             /* this rank among those of its node */
TUTTI_API uint32_t tutti_local_size(tutti_t ctx);             /* ranks of this rank's node */

/* What carries the job, in the words of TUTTI_PROVIDER: "shm", "ucx:tcp", "shm+verbs" (inside nodes + between them). The text
 * lives as long as ctx. NULL for a bad handle. */
TUTTI_API const char *tutti_fabric(tutti_t ctx);

/* What the fabric of a job does by itself and what it leaves to the ranks. A property is 1 where it holds towards every rank
 * of the job (target_must_progress: towards some rank), and 0 otherwise. Later versions add members at the end. */
typedef struct tutti_fabric_capabilities {
  size_t struct_size;       /* sizeof(tutti_capabilities_t), set by the caller */
  uint64_t max_bytes;       /* of one operation of the fabric; a longer put or get is made of several */
  int target_must_progress; /* a put or get may wait for a call of the target rank, which may be computing */
  int progress_thread;      /* TUTTI_PROGRESS=thread is set: a thread of this rank makes such calls for the rank */
  int native_signals;       /* setting a word of tutti_window_create() by a signal needs no call of the target rank */
  int native_atomics;       /* nor do atomics, and signals that add to such a word */
  int native_over;          /* native_signals and native_atomics hold for windows of tutti_window_over() as well */
  int maps_node;            /* tutti_window_create(): ranks of one node reach each other's parts by loads and stores */
  int cpu_atomics_agree;    /* atomics are atomic to the target's own atomic loads and stores of the word */
  int sleeps;               /* a long wait sleeps until something comes; 0: it sleeps a millisecond at a time */
  int multicast;            /* the fabric has multicast */
  int offload;              /* the fabric can run the steps of a collective by itself */
} tutti_capabilities_t;

/* Writes struct_size bytes of *out; members that this library does not know become 0. Local.
 * Errors: TUTTI_INVALID (a NULL, or a struct_size below that of the first version). */
TUTTI_API tutti_status_t tutti_capabilities(tutti_t ctx, tutti_capabilities_t *out);

/* --- teams ------------------------------------------------------------------------------------------------------- */

/* The team of all ranks, which lives as long as ctx. NULL for a bad handle. */
TUTTI_API tutti_team_t tutti_world(tutti_t ctx);

TUTTI_API uint32_t tutti_team_rank(tutti_team_t team); /* this rank in the team; TUTTI_NO_RANK for a bad handle */
TUTTI_API uint32_t tutti_team_size(tutti_team_t team); /* its ranks; 0 for a bad handle */

/* Makes a team of the `count` ranks of `parent` that `members` lists, in that order. Collective over the parent; blocks. All
 * ranks of one list pass that same list, so lists are equal or disjoint. With count 0 this rank joins no team and *team
 * becomes NULL.
 * Errors: TUTTI_INVALID (a member is out of range or listed twice, the caller is missing from its list, or the ranks of one
 * list passed different lists; then every rank named in that list gets TUTTI_INVALID), TUTTI_NO_RESOURCE, TUTTI_PEER_DEAD.
 * Cost: O(parent's size) messages; 2.5 KiB of registered memory and a bit a member, and O(log size) or O(size) words for the
 * collectives. */
TUTTI_API tutti_status_t tutti_team_create(tutti_team_t parent, const uint32_t *members, size_t count,
                                           tutti_team_t *team);

/* As tutti_team_create(), but collective over the listed ranks alone: no other rank of `parent` calls it. They meet by `meeting`, as
 * ranks of a job do in tutti_init(): its rank and size are those in the new team, and its job_id is not read. It is used during the
 * call only, on its thread. While this rank waits in a callback, tutti does not advance for others.
 * Errors: TUTTI_INVALID (a member is out of range or listed twice, the caller is not in the list, the meeting's rank or size is not
 * the list's, or lists differ), TUTTI_UNAVAILABLE (another rank named has an error, of which the text tells), TUTTI_NO_RESOURCE,
 * TUTTI_PEER_DEAD, TUTTI_TIMED_OUT, TUTTI_FABRIC (a callback returned it).
 * Cost: four calls of the meeting's allgather. */
TUTTI_API tutti_status_t tutti_team_create_group(tutti_team_t parent, const uint32_t *members, size_t count,
                                                 const tutti_bootstrap_t *meeting, tutti_team_t *team);

/* Makes a team of each color: the ranks of `parent` that pass this color, ordered by key and then by rank. Collective over the
 * parent; blocks. With a negative color this rank joins no team and *team becomes NULL. Errors and cost as
 * tutti_team_create(). */
TUTTI_API tutti_status_t tutti_team_split(tutti_team_t parent, int32_t color, int32_t key, tutti_team_t *team);

/* Frees the team and sets *team to NULL. Collective over the team; blocks. Collectives in progress
 * on the team are completed first. Receives that nothing has matched end with TUTTI_CANCELLED, and unmatched messages of the team
 * are dropped. *team being NULL already is a success.
 * Errors: TUTTI_INVALID (team is NULL, the team is the world, or it still has windows), TUTTI_PEER_DEAD (the team is freed
 * here all the same).
 * Cost: a flush and size - 1 messages a member, one after the other. */
TUTTI_API tutti_status_t tutti_team_free(tutti_team_t *team);

/* Writes to *out the rank that rank `rank` of `from` has in `to`, or TUTTI_NO_RANK if it is no member of `to`. Local.
 * Errors: TUTTI_INVALID (no such rank in `from`, a NULL, or teams of different contexts). Cost: O(1). */
TUTTI_API tutti_status_t tutti_team_translate(tutti_team_t from, uint32_t rank, tutti_team_t to, uint32_t *out);

/* The algorithm that a collective takes in this team for data of so many bytes (a block's, where there is a block for each member), by
 * its name in `tutti info --explain`: "ring". `collective` is "barrier", "broadcast", "reduce", "allreduce", "gather", "scatter",
 * "allgather", "alltoall", "alltoallv", "reduce_scatter", "scan" or "exscan"; the v-forms of gather, scatter and allgather choose as these
 * do. With TUTTI_TUNE=online a call may try another. Local; the text lives as long as the library. NULL: a bad handle, no such collective,
 * or the team has not made a call yet that moves data between members, with the first of which they agree on what the choice depends on;
 * tutti_error_text() tells. */
TUTTI_API const char *tutti_team_algorithm(tutti_team_t team, const char *collective, size_t bytes);

/* After a death. A collective call that depends on a dead rank gives TUTTI_PEER_DEAD in some members, perhaps not in all, and
 * from then on its team only gives that error. The three functions below go on working: the survivors agree on what has happened
 * and make a team of themselves. They are those of ULFM (MPI_Comm_agree, _get_failed and _shrink), with its semantics, but for
 * this: no death need be acknowledged. A member that waits for a signal of a living one, which has turned to the agreement
 * without sending it, is not told by that; tutti_wait_signal() from TUTTI_ANY ends with the death of whichever member. A loop that
 * survives, in all ranks:
 *
 *   uint64_t well = tutti_allreduce(team, ...) == TUTTI_OK;
 *   if (tutti_team_agree(team, &well) == TUTTI_PEER_DEAD) { tutti_team_shrink(team, &next); team = next; restore(); }
 */

/* Agrees with all members that live on who is dead, and on the bitwise AND of *flags, which goes to *flags. A rank that has
 * left counts as dead. Collective over the living; blocks until each of them is here. Deaths during the call are survived.
 * Returns the same in all members that return: TUTTI_OK if all members live, or TUTTI_PEER_DEAD if some are dead, with *flags
 * written just as well; the error's text lists the dead, as tutti_team_dead() does, and tutti_error_peer() is the first one.
 * No two members return different results, not even one that dies right afterwards (the agreement is uniform). The AND
 * is that of all who live, and perhaps of some who died during the call. Among the dead are all who died before they called,
 * and those of whom this team has told a survivor before. Collectives that are under way do not matter, and none is waited for.
 * Other errors, on which *flags is not written: TUTTI_INVALID (a NULL); TUTTI_PEER_DEAD with tutti_error_peer() == tutti_rank()
 * (the network failed between living ranks, and the others took this one for dead); TUTTI_PROTOCOL (a member freed the team
 * instead); TUTTI_NO_RESOURCE (memory, also of a connection that is lost for good, whose rank is named). To the others this rank
 * is dead then, or has not called yet; see tutti_abandon().
 * Where the network parts the living into halves that do not hear of each other, each half agrees for itself.
 * Cost: 7 messages from and to each member, at the lowest rank that lives, in seven turns; for each death of that rank during the
 * call the time until it is noticed, and as much again. */
TUTTI_API tutti_status_t tutti_team_agree(tutti_team_t team, uint64_t *flags);

/* Writes to `ranks` who is dead by the last tutti_team_agree() or _shrink() upon the team: its ranks, ascending, the first `room`
 * of them (NULL if room is 0); and to *count how many they are. Local. Errors: TUTTI_INVALID. Cost: O(size). */
TUTTI_API tutti_status_t tutti_team_dead(tutti_team_t team, uint32_t *ranks, size_t room, size_t *count);

/* Makes a team of the members that live, in their order. Collective over the living; blocks. Whoever dies meanwhile is left out,
 * if that is noticed before the team is complete. Either all survivors get their team or none does. The old team, its windows
 * and its requests stay, to be freed. tutti_team_translate() tells who is who.
 * Errors: as tutti_team_agree(), but for the deaths of others, which are no error; TUTTI_NO_RESOURCE (here or in another
 * member), TUTTI_UNSUPPORTED.
 * Cost: three times that of tutti_team_agree() and as much memory as tutti_team_create(); again for each death meanwhile. */
TUTTI_API tutti_status_t tutti_team_shrink(tutti_team_t team, tutti_team_t *survivors);

/* --- windows ----------------------------------------------------------------------------------------------------- */

/* Makes a window with `bytes` bytes of new memory on this rank, zeroed and aligned to 64 bytes, and writes its address to
 * *base (base may be NULL). Members may ask for different sizes; a member that asks for 0 exposes nothing. Collective over
 * the team; blocks. Either all members get the window or none does.
 * Errors: TUTTI_INVALID, TUTTI_NO_RESOURCE (here, or on the rank that tutti_error_peer() names), TUTTI_PEER_DEAD.
 * Cost: two exchanges of O(size) messages, a registration of the memory, and 8 bytes a member unless all sizes are equal. */
TUTTI_API tutti_status_t tutti_window_create(tutti_team_t team, size_t bytes, void **base, tutti_window_t *window);

/* Makes a window over memory of the caller's: `bytes` bytes from `base`, which is aligned to 8 bytes (or NULL for 0 bytes).
 * The memory must stay until the window is freed. This call and tutti_window_create() are one collective: members of a team
 * may mix them. Errors: as tutti_window_create(); TUTTI_INVALID also where not all of it is mapped. Cost: as
 * tutti_window_create(). */
TUTTI_API tutti_status_t tutti_window_over(tutti_team_t team, void *base, size_t bytes, tutti_window_t *window);

/* Frees the window and sets *window to NULL. Collective over the window's team; blocks until every member is here with its
 * own operations completed, so that none can touch freed memory. *window being NULL already is a success.
 * Errors: TUTTI_INVALID (window is NULL), TUTTI_PEER_DEAD (the window is freed here all the same).
 * Cost: a flush and size - 1 messages a member, one after the other. */
TUTTI_API tutti_status_t tutti_window_free(tutti_window_t *window);

/* The address of this rank's part; NULL for a part of 0 bytes and for a bad handle. */
TUTTI_API void *tutti_window_base(tutti_window_t window);

/* The bytes of that rank's part; 0 for a bad handle or rank. */
TUTTI_API size_t tutti_window_size(tutti_window_t window, uint32_t rank);

/* The team over which the window was made; NULL for a bad handle. */
TUTTI_API tutti_team_t tutti_window_team(tutti_window_t window);

/* --- one-sided operations -----------------------------------------------------------------------------------------
 *
 * Each call names a window, a rank of the window's team (which may be the caller's own), called the target, and an offset
 * in bytes into the target's part of the window.
 *
 * Completion. An operation is complete here when its buffers may be used again: the source of a put may be changed, the
 * result of a get or an atomic has arrived. Where `request` is not NULL, *request stands for that. Where it is NULL, the next
 * tutti_flush() of the window and rank, or tutti_quiet(), completes the operation. Until then the buffers must stay
 * untouched. An operation is complete at the target when its effect is visible there: once tutti_flush() or tutti_quiet()
 * has returned, or to whoever has seen a signal that was not to overtake the operation.
 *
 * Calls do not block, except while the queue of operations is full (its length is bounded). Operations are unordered, except
 * by signals and flushes. Errors of the call: TUTTI_INVALID, TUTTI_NO_RESOURCE, TUTTI_PEER_DEAD. Errors of the communication
 * come with the request or the flush.
 *
 * Costs below are those of the call: tens of nanoseconds are the library's share, the rest is the fabric's. The first
 * operation towards a rank may connect to it. Gets, atomics, and puts with layouts, without a request keep some 100 bytes for
 * each rank that they reach through a window. Where puts and gets can begin in any order, a program does well to begin the
 * gets first, which take a round trip.
 */

/* The handle of an operation under way: two words, to be copied freely. A zeroed request is complete. A request is valid until
 * tutti_test() or tutti_wait() says that it is complete, with success or an error; that call zeroes it. A wait that timed
 * out leaves the request valid. */
typedef struct tutti_request {
  void *slot;
  uint64_t ticket;
} tutti_request_t;

/* Flags of signals: TUTTI_SET or TUTTI_ADD, with TUTTI_AFTER_ALL or without. */
enum {
  TUTTI_SET = 0,      /* the word becomes the value */
  TUTTI_ADD = 1,      /* the value is added to the word, atomically */
  TUTTI_AFTER_ALL = 2 /* the signal overtakes nothing that this rank began earlier towards the same rank. Without this flag
                       * the signal of a tutti_put_signal() does not overtake its own data, and that of a tutti_signal()
                       * may overtake everything. */
};

/* tutti_put writes `bytes` bytes from `source` into the window; tutti_get reads `bytes` bytes of the window into `target`.
 * Cost: one operation of the fabric for each max_bytes of tutti_capabilities(). Where the target's part is mapped here
 * (maps_node), the copy is made in the call. Short puts without a request that follow one another in the target's part may be copied and
 * leave as one, up to 16 KiB of them: with the next signal, flush or call that makes progress, at the latest. */
TUTTI_API tutti_status_t tutti_put(tutti_window_t window, uint32_t rank, uint64_t offset, const void *source,
                                   size_t bytes, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_get(tutti_window_t window, uint32_t rank, uint64_t offset, void *target, size_t bytes,
                                   tutti_request_t *request);

/* Sets an aligned 8-byte word of a window, or adds to it. A rank that has seen the signal by tutti_wait_signal(),
 * tutti_test_signal() or tutti_load_signal() sees everything that the signal was not to overtake. Signals of one rank to one
 * word take effect in the order of the calls. A signal has no request; tutti_flush() completes it. Cost: one operation of
 * 8 bytes. */
TUTTI_API tutti_status_t tutti_signal(tutti_window_t window, uint32_t rank, uint64_t offset, uint64_t value, int flags);

/* Writes data as tutti_put() does, and then signals to the same rank as tutti_signal() does. The word, at `signal_offset` of
 * `signal_window`, may lie in another window of the same team. Cost: as tutti_put(); on most fabrics the signal travels with
 * the data, elsewhere it is one operation more. */
TUTTI_API tutti_status_t tutti_put_signal(tutti_window_t window, uint32_t rank, uint64_t offset, const void *source,
                                          size_t bytes, tutti_window_t signal_window, uint64_t signal_offset,
                                          uint64_t value, int flags, tutti_request_t *request);

/* Atomics on an aligned 8-byte word: they are atomic to each other and to signals that add, of all ranks, but neither to signals that
 * set the word nor to puts. *old becomes the previous value. tutti_compare_swap() stores `value` if the word equals `expected`. Atomics
 * are atomic to the target's own loads and stores only where cpu_atomics_agree of tutti_capabilities() is 1. Cost: one operation,
 * and a round trip until *old is there; where the word is mapped here (maps_node), the call does it. */
TUTTI_API tutti_status_t tutti_fetch_add(tutti_window_t window, uint32_t rank, uint64_t offset, uint64_t value,
                                         uint64_t *old, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_swap(tutti_window_t window, uint32_t rank, uint64_t offset, uint64_t value,
                                    uint64_t *old, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_compare_swap(tutti_window_t window, uint32_t rank, uint64_t offset, uint64_t expected,
                                            uint64_t value, uint64_t *old, tutti_request_t *request);

/* Blocks until all operations of this rank towards `rank` of the window's team are complete there, through whichever window
 * they went, and until those through this window without a request are complete here as well. TUTTI_ALL: towards every rank.
 * The call neither waits for operations towards other ranks nor tells their errors.
 * Errors: the first error of those operations, told once (with TUTTI_ALL: of one of the ranks); TUTTI_TIMED_OUT (the
 * operations go on); TUTTI_INVALID. Cost: one round trip. */
TUTTI_API tutti_status_t tutti_flush(tutti_window_t window, uint32_t rank, double timeout_s);

/* Flushes all windows towards all ranks. Errors as tutti_flush(). Cost: a round trip to each rank written to, all at once. */
TUTTI_API tutti_status_t tutti_quiet(tutti_t ctx, double timeout_s);

/* How the word of a signal is compared with a value. */
enum {
  TUTTI_REACHED = 0,  /* it is the value or came after it, as serial numbers: (int64_t)(word - value) >= 0 */
  TUTTI_EQUAL = 1,
  TUTTI_NOT_EQUAL = 2
};

/* Blocks until the word at `offset` of this rank's own part of the window compares with `value` as `compare` says. `from` is
 * the rank that will signal: the death of that rank, or its leaving, ends the wait with TUTTI_PEER_DEAD. With TUTTI_ANY the
 * death of any member does.
 * Errors: TUTTI_INVALID; TUTTI_TIMED_OUT and TUTTI_PEER_DEAD only if the comparison does not hold by then.
 * Cost: a load if the comparison holds at once. Else the wait spins, then yields, then sleeps, and asks every 50 ms for the
 * health of `from` (with TUTTI_ANY: of all members, O(size)). */
TUTTI_API tutti_status_t tutti_wait_signal(tutti_window_t window, uint64_t offset, int compare, uint64_t value,
                                           uint32_t from, double timeout_s);

/* Sets *yes to 1 if the comparison of tutti_wait_signal() holds now, and to 0 if not; makes progress if it does not hold.
 * Errors: TUTTI_INVALID; a death shows in a wait only. Cost: a load, or two loads and tutti_progress(). */
TUTTI_API tutti_status_t tutti_test_signal(tutti_window_t window, uint64_t offset, int compare, uint64_t value,
                                           int *yes);

/* Reads the word at `offset` of this rank's own part of the window into *value. What the signals seen so were not to overtake
 * can be read afterwards. Makes no progress. Errors: TUTTI_INVALID. Cost: an acquire load. */
TUTTI_API tutti_status_t tutti_load_signal(tutti_window_t window, uint64_t offset, uint64_t *value);

/* --- requests ---------------------------------------------------------------------------------------------------- */

/* Sets *done to 1 if the request is complete, and to 0 if not; makes progress if it is not.
 * If the operation failed, *done is 1, the request is over, and the call returns the operation's error.
 * Errors: the operation's own; TUTTI_INVALID (a stale copy of a request). Cost: a load, or two loads and tutti_progress(). */
TUTTI_API tutti_status_t tutti_test(tutti_request_t *request, int *done);

/* Blocks until the request is complete.
 * Errors: the operation's own; TUTTI_TIMED_OUT (the request is not complete and may be waited for again); TUTTI_INVALID (as
 * tutti_test()). Cost: a load if the request is complete, else what the operation still takes. */
TUTTI_API tutti_status_t tutti_wait(tutti_request_t *request, double timeout_s);

/* The functions below test and wait for `count` requests of one context, of any kinds, each listed once. They pass over zeroed
 * requests, and persistent ones that are not under way. A request that is found complete is zeroed, unless it is persistent.
 * If an operation failed, the outputs (*index, indices, *done) are written all the same, and the first error is returned.
 * TUTTI_TIMED_OUT and the call's own TUTTI_INVALID (as tutti_test()) change no request. Cost: O(count) for each look. */

/* tutti_wait_all blocks until all requests are complete. tutti_test_all sets *done to 1 if all are, and to 0 if not. */
TUTTI_API tutti_status_t tutti_wait_all(tutti_request_t *requests, size_t count, double timeout_s);
TUTTI_API tutti_status_t tutti_test_all(tutti_request_t *requests, size_t count, int *done);

/* tutti_wait_any blocks until one request is complete; *index becomes its place in `requests`, or `count` if none is under way.
 * tutti_test_any sets *done to 1 if one is complete or none is under way, and to 0 if not. */
TUTTI_API tutti_status_t tutti_wait_any(tutti_request_t *requests, size_t count, size_t *index, double timeout_s);
TUTTI_API tutti_status_t tutti_test_any(tutti_request_t *requests, size_t count, size_t *index, int *done);

/* tutti_wait_some blocks until at least one request is complete, and finds all that are. Their places in `requests` go to
 * indices[0] to indices[*done - 1]; `indices` has room for `count`. *done is 0 if none is under way. tutti_test_some finds those
 * that are complete now: *done is 0 as well if none of them is. */
TUTTI_API tutti_status_t tutti_wait_some(tutti_request_t *requests, size_t count, size_t *indices, size_t *done,
                                         double timeout_s);
TUTTI_API tutti_status_t tutti_test_some(tutti_request_t *requests, size_t count, size_t *indices, size_t *done);

/* Persistent requests. tutti_barrier_init() and the other functions of that ending make a request for an operation that is
 * started again and again with the same arguments. tutti_start() is the collective call; making and freeing the request is
 * local. tutti_test() and tutti_wait() do not zero a persistent request; while its operation is not under way, the request is
 * complete. The request lives until tutti_request_free() or the end of its context. */

/* Starts the operation of a persistent request, as the nonblocking call with its arguments would.
 * Errors: TUTTI_INVALID (the operation is under way, its team was freed, or the request is not persistent); else those of that
 * call. */
TUTTI_API tutti_status_t tutti_start(tutti_request_t *request);

/* Frees a persistent request and zeroes *request. *request being zeroed already is a success.
 * Errors: TUTTI_INVALID (the operation is under way, or the request is not persistent). */
TUTTI_API tutti_status_t tutti_request_free(tutti_request_t *request);

/* --- collectives (clause 6) -------------------------------------------------------------------------------------- */

/* Blocks until every member of the team has entered. The barrier orders no one-sided operations: flush before it what must be
 * visible after it. Allocates nothing.
 * Errors: TUTTI_PEER_DEAD, which every later barrier of this team gives as well.
 * Cost: that of the algorithm, which is chosen when the team is made (`tutti info --explain barrier`): mostly some
 * log2(size) signals, one after the other. */
TUTTI_API tutti_status_t tutti_barrier(tutti_team_t team);

/* Enters a barrier without blocking. Several may be under way; they complete in the order of the calls, in any progress of
 * this rank. A death while the barrier is under way comes with the request.
 * Errors, on which *request is not written: TUTTI_INVALID (a NULL), TUTTI_NO_RESOURCE (memory, where more requests are under
 * way than ever before), TUTTI_PEER_DEAD (an earlier barrier of this team failed).
 * Cost: the first step of tutti_barrier(); later progress makes the others. */
TUTTI_API tutti_status_t tutti_ibarrier(tutti_team_t team, tutti_request_t *request);

/* Makes a persistent request for barriers of the team. Local. Errors: TUTTI_INVALID (a NULL), TUTTI_NO_RESOURCE. */
TUTTI_API tutti_status_t tutti_barrier_init(tutti_team_t team, tutti_request_t *request);

/* Copies `bytes` bytes from `data` of member `root` to `data` of every other member. Blocks: in the other members until the
 * data are here, in the root until `data` may be changed again, which says nothing of the others. `data` may be any memory
 * and is read (root) or written (others) during the call only. With 0 bytes the call returns at once.
 * The data go by multicast where the fabric has it (tutti_capabilities()) and it pays, else by puts along a tree.
 * TUTTI_BCAST with the name of an algorithm decides this for all sizes (`tutti info --explain broadcast` lists them).
 * root and bytes are alike in all members. Where they are not, members get TUTTI_PROTOCOL, with a text that names a rank and
 * what that rank and another one pass. A member gets the error from this broadcast, as soon as the data show the difference
 * or after about a tenth of a second of waiting in vain; a member that has done its part gets it from a later broadcast. If
 * only some members pass 0 bytes, that shows once others wait or broadcast again. Where nodes broadcast among their leaders by multicast,
 * two unlike roots on one node, each passed by members of other nodes, may go untold.
 * Errors: TUTTI_INVALID (no such root, data NULL, a size beyond memory), TUTTI_UNSUPPORTED (TUTTI_BCAST=multicast without multicast),
 * TUTTI_NO_RESOURCE, TUTTI_PROTOCOL (root or bytes differ), TUTTI_PEER_DEAD; see clause 6.
 * Cost: one copy in and one out; by puts log2(size) to size messages one after the other. The team's first use of an algorithm
 * makes what the algorithm needs (one exchange or a few, and a few KiB of memory; another exchange, and 4 MiB at most, once a call
 * moves more than a few hundred bytes, or calls are many; and again where a team was idle while others made such memory, of which a
 * rank keeps 32 MiB).
 * After that nothing is allocated while roots and sizes repeat themselves. */
TUTTI_API tutti_status_t tutti_broadcast(tutti_team_t team, uint32_t root, void *data, size_t bytes);

/* Starts a broadcast without blocking: the request is complete when tutti_broadcast() would have returned, and `data` must
 * stay untouched until then. Several may be under way; they complete in the order of the calls, in any progress of this rank,
 * and beside collectives of other teams.
 * Errors as tutti_broadcast(): from the call where they are known by then, and *request is not written; else with the
 * request.
 * Cost: as tutti_broadcast(). Later progress makes what the first use of an algorithm needs. Only where that algorithm is
 * multicast over IP, one call that makes progress blocks while this rank joins the group: until the root makes progress, at
 * most 8 s. */
TUTTI_API tutti_status_t tutti_ibroadcast(tutti_team_t team, uint32_t root, void *data, size_t bytes,
                                          tutti_request_t *request);

/* Makes a persistent request for such broadcasts. Local. Errors: TUTTI_INVALID, TUTTI_NO_RESOURCE. */
TUTTI_API tutti_status_t tutti_broadcast_init(tutti_team_t team, uint32_t root, void *data, size_t bytes,
                                              tutti_request_t *request);

/* Types of the elements of a reduction. The elements may lie at any address, aligned or not. A pair is a struct of a value and
 * an index, as C lays it out: struct { float value; int32_t index; } */
typedef int tutti_datatype_t;
enum {
  TUTTI_INT8 = 1, TUTTI_INT16, TUTTI_INT32, TUTTI_INT64,
  TUTTI_UINT8, TUTTI_UINT16, TUTTI_UINT32, TUTTI_UINT64,
  TUTTI_FLOAT32, TUTTI_FLOAT64, TUTTI_LONG_DOUBLE,
  TUTTI_FLOAT32_COMPLEX, TUTTI_FLOAT64_COMPLEX, /* the real part first */
  TUTTI_FLOAT16, TUTTI_BFLOAT16,             /* computed in float and rounded after every element */
  TUTTI_FLOAT32_INT32, TUTTI_FLOAT64_INT32, TUTTI_LONG_DOUBLE_INT32, TUTTI_INT16_INT32, TUTTI_INT32_INT32, TUTTI_INT64_INT32,
  TUTTI_FLOAT32_INT64, TUTTI_FLOAT64_INT64, TUTTI_INT64_INT64,
  TUTTI_BYTES                                /* for operations of tutti_operation_create(); in tutti_alltoallw(): one byte */
};

/* What a reduction does with two elements: one of these numbers, or an operation of tutti_operation_create(). Integers wrap.
 * The minimum or maximum of a NaN and another number is a NaN. Logical results are 0 or 1. TUTTI_MINLOC and TUTTI_MAXLOC take
 * pairs and give the pair with the least or greatest value; of pairs with equal values, that with the least index. */
typedef uintptr_t tutti_operation_t;
enum {
  TUTTI_SUM = 1, TUTTI_PRODUCT, TUTTI_MIN, TUTTI_MAX,
  TUTTI_LOGICAL_AND, TUTTI_LOGICAL_OR, TUTTI_LOGICAL_XOR,
  TUTTI_BITWISE_AND, TUTTI_BITWISE_OR, TUTTI_BITWISE_XOR,
  TUTTI_MINLOC, TUTTI_MAXLOC
};

/* Computes inout[i] = in[i] op inout[i] for `count` elements; the elements of `in` come from lower ranks. The function may be
 * called for any part of the data, in any progress of this rank. It must not call tutti. Undefined: that it throws or jumps out, or
 * touches other elements than these. */
typedef void (*tutti_reduce_function)(const void *in, void *inout, size_t count, void *function_context);

/* Makes an operation of the program's own, on elements of `element_bytes` bytes. The operation must be associative,
 * rounding aside. With commutative 0, operands are combined in the order of the ranks. That all members pass the same operation is not
 * checked. Local. *operation lives until tutti_operation_free() or the end of the context.
 * Errors: TUTTI_INVALID (a NULL, elements of 0 bytes), TUTTI_NO_RESOURCE. */
TUTTI_API tutti_status_t tutti_operation_create(tutti_t ctx, tutti_reduce_function function, size_t element_bytes,
                                                int commutative, void *function_context, tutti_operation_t *operation);

/* Frees the operation and sets *operation to 0. Calls under way still use the operation. *operation being 0 already is a
 * success. Errors: TUTTI_INVALID. */
TUTTI_API tutti_status_t tutti_operation_free(tutti_t ctx, tutti_operation_t *operation);

/* Reduces element by element: out[i] of member `root` becomes in[i] of member 0 op in[i] of member 1 op ... Blocks: in the root
 * until the result is there, in the other members until `in` may be changed. `in` and `out` hold `count` elements of the type.
 * `out` is used in the root only; there it equals `in` (in place) or does not overlap it. root, count, type and operation are
 * alike in all members; where they are not, members get TUTTI_PROTOCOL, as by tutti_broadcast().
 * A floating-point sum depends on the order of the additions, which follows from the algorithm; the algorithm is chosen by the
 * number of bytes, the team and the machine. With TUTTI_REPRODUCIBLE=1, in all ranks, the result of every reduction (scans
 * included) depends on the operands and the number of members alone, bit for bit, whatever the provider and wherever the
 * members run; then those algorithms are left out whose order is their own, which costs time (docs/algorithms.md).
 * Errors: TUTTI_INVALID (root, a NULL, an operation that makes no sense for the type, sizes beyond memory, overlap),
 * TUTTI_UNSUPPORTED (elements of more than 1 GiB), TUTTI_NO_RESOURCE, TUTTI_PROTOCOL, TUTTI_PEER_DEAD; see
 * clause 6.
 * Cost: log2(size) puts one after the other for each 128 KiB (`tutti info --explain reduce`). The team's first use of an
 * algorithm costs memory and exchanges as a broadcast's does; more memory where elements have more than some 16 KiB. */
TUTTI_API tutti_status_t tutti_reduce(tutti_team_t team, uint32_t root, const void *in, void *out, size_t count,
                                      tutti_datatype_t type, tutti_operation_t operation);

/* tutti_ireduce starts a reduce without blocking, as tutti_ibroadcast() does. tutti_reduce_init makes a persistent request. */
TUTTI_API tutti_status_t tutti_ireduce(tutti_team_t team, uint32_t root, const void *in, void *out, size_t count,
                                       tutti_datatype_t type, tutti_operation_t operation, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_reduce_init(tutti_team_t team, uint32_t root, const void *in, void *out, size_t count,
                                           tutti_datatype_t type, tutti_operation_t operation, tutti_request_t *request);

/* Reduces as tutti_reduce() does, with the result in `out` of every member, bit for bit the same in all. Blocks until the
 * result is here. Errors as tutti_reduce(), but for the root.
 * Cost: for few bytes log2(size) puts one after the other; for many bytes each member sends each byte twice
 * (`tutti info --explain allreduce --bytes N`). */
TUTTI_API tutti_status_t tutti_allreduce(tutti_team_t team, const void *in, void *out, size_t count, tutti_datatype_t type,
                                         tutti_operation_t operation);
TUTTI_API tutti_status_t tutti_iallreduce(tutti_team_t team, const void *in, void *out, size_t count, tutti_datatype_t type,
                                          tutti_operation_t operation, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_allreduce_init(tutti_team_t team, const void *in, void *out, size_t count,
                                              tutti_datatype_t type, tutti_operation_t operation, tutti_request_t *request);

/* Scans: out[i] becomes in[i] of member 0 op ... op in[i] of this member; of an exscan, of the member before this one, and
 * member 0's `out` is left alone. As tutti_allreduce() otherwise. Blocks until the result is here and `in` may be changed.
 * Cost: log2(size) puts one after the other for each 32 KiB. */
TUTTI_API tutti_status_t tutti_scan(tutti_team_t team, const void *in, void *out, size_t count, tutti_datatype_t type,
                                    tutti_operation_t operation);
TUTTI_API tutti_status_t tutti_iscan(tutti_team_t team, const void *in, void *out, size_t count, tutti_datatype_t type,
                                     tutti_operation_t operation, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_scan_init(tutti_team_t team, const void *in, void *out, size_t count, tutti_datatype_t type,
                                         tutti_operation_t operation, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_exscan(tutti_team_t team, const void *in, void *out, size_t count, tutti_datatype_t type,
                                      tutti_operation_t operation);
TUTTI_API tutti_status_t tutti_iexscan(tutti_team_t team, const void *in, void *out, size_t count, tutti_datatype_t type,
                                       tutti_operation_t operation, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_exscan_init(tutti_team_t team, const void *in, void *out, size_t count,
                                           tutti_datatype_t type, tutti_operation_t operation, tutti_request_t *request);

/* Reduces and scatters: `in` holds counts[0] + counts[1] + ... elements, a block for each member; `out` of member m becomes the
 * reduction of all members' block m. `counts` has an entry for each member and is alike in all. In place: `out` is this
 * member's block of `in`. As tutti_allreduce() otherwise. The _block forms have `count` elements in each block.
 * Cost: each member sends each element once. */
TUTTI_API tutti_status_t tutti_reduce_scatter(tutti_team_t team, const void *in, void *out, const size_t *counts,
                                              tutti_datatype_t type, tutti_operation_t operation);
TUTTI_API tutti_status_t tutti_ireduce_scatter(tutti_team_t team, const void *in, void *out, const size_t *counts,
                                               tutti_datatype_t type, tutti_operation_t operation,
                                               tutti_request_t *request);
TUTTI_API tutti_status_t tutti_reduce_scatter_init(tutti_team_t team, const void *in, void *out, const size_t *counts,
                                                   tutti_datatype_t type, tutti_operation_t operation,
                                                   tutti_request_t *request);
TUTTI_API tutti_status_t tutti_reduce_scatter_block(tutti_team_t team, const void *in, void *out, size_t count,
                                                    tutti_datatype_t type, tutti_operation_t operation);
TUTTI_API tutti_status_t tutti_ireduce_scatter_block(tutti_team_t team, const void *in, void *out, size_t count,
                                                     tutti_datatype_t type, tutti_operation_t operation,
                                                     tutti_request_t *request);
TUTTI_API tutti_status_t tutti_reduce_scatter_block_init(tutti_team_t team, const void *in, void *out, size_t count,
                                                         tutti_datatype_t type, tutti_operation_t operation,
                                                         tutti_request_t *request);

/* Blocks of one length. `bytes` is the length of a block, alike in all members, as is root.
 *   gather     `in` is a block; in the root, `out` holds size() blocks: block m is that of member m
 *   scatter    in the root, `in` holds size() blocks; `out` of member m becomes block m
 *   allgather  as a gather, with all blocks in `out` of every member
 *   alltoall   `in` and `out` hold size() blocks: block m of `out` becomes this member's block of member m's `in`
 * `in` and `out` do not overlap, or the result comes in place: the one block is this member's among all of them (gather and scatter:
 * the root's; allgather), or `in` equals `out` (alltoall). What only the root reads or writes may be NULL elsewhere.
 * Each blocks until this member's result is here and `in` may be changed, which says nothing of the others.
 * Errors: TUTTI_INVALID (root, a NULL, sizes beyond memory, overlap), TUTTI_NO_RESOURCE, TUTTI_PROTOCOL (root or bytes differ,
 * or members make unlike calls; as by tutti_broadcast()), TUTTI_PEER_DEAD; see clause 6.
 * Cost: `tutti info --explain gather --bytes N` and so on. Each block is copied twice. The team's first use of an algorithm costs
 * memory and exchanges as a broadcast's does. */
TUTTI_API tutti_status_t tutti_gather(tutti_team_t team, uint32_t root, const void *in, size_t bytes, void *out);
TUTTI_API tutti_status_t tutti_igather(tutti_team_t team, uint32_t root, const void *in, size_t bytes, void *out,
                                       tutti_request_t *request);
TUTTI_API tutti_status_t tutti_gather_init(tutti_team_t team, uint32_t root, const void *in, size_t bytes, void *out,
                                           tutti_request_t *request);
TUTTI_API tutti_status_t tutti_scatter(tutti_team_t team, uint32_t root, const void *in, size_t bytes, void *out);
TUTTI_API tutti_status_t tutti_iscatter(tutti_team_t team, uint32_t root, const void *in, size_t bytes, void *out,
                                        tutti_request_t *request);
TUTTI_API tutti_status_t tutti_scatter_init(tutti_team_t team, uint32_t root, const void *in, size_t bytes, void *out,
                                            tutti_request_t *request);
TUTTI_API tutti_status_t tutti_allgather(tutti_team_t team, const void *in, size_t bytes, void *out);
TUTTI_API tutti_status_t tutti_iallgather(tutti_team_t team, const void *in, size_t bytes, void *out,
                                          tutti_request_t *request);
TUTTI_API tutti_status_t tutti_allgather_init(tutti_team_t team, const void *in, size_t bytes, void *out,
                                              tutti_request_t *request);
TUTTI_API tutti_status_t tutti_alltoall(tutti_team_t team, const void *in, size_t bytes, void *out);
TUTTI_API tutti_status_t tutti_ialltoall(tutti_team_t team, const void *in, size_t bytes, void *out,
                                         tutti_request_t *request);
TUTTI_API tutti_status_t tutti_alltoall_init(tutti_team_t team, const void *in, size_t bytes, void *out,
                                             tutti_request_t *request);

/* Blocks of unlike lengths. Lists have an entry for each member: lengths in bytes (of tutti_alltoallw, numbers of elements of the
 * type that stands in another list; elements of TUTTI_BYTES are bytes), and offsets in bytes from the beginning of the
 * buffer; with NULL for the offsets, block follows block. Lists are read during the call only, also by the nonblocking and persistent forms.
 * A block has the same length for the member that gives it and for the one that takes it. Of tutti_allgatherv all members pass the
 * same lengths; of the others a length is known to the two members alone, lists of a root are read there only, and where nothing
 * goes between two members, no message does. Gather, scatter and allgather can come in place, as above. Blocks of `out` do not
 * overlap, which is not checked.
 * Errors: as tutti_gather(). TUTTI_PROTOCOL: two members differ in the length of a block that neither takes to be empty. Where
 * one takes it to be empty, the other may wait, and the notice of tutti_options_t tells for whom.
 * Cost: as above; of all but tutti_allgatherv, one signal more for each pair in which only one gives something. */
TUTTI_API tutti_status_t tutti_gatherv(tutti_team_t team, uint32_t root, const void *in, size_t bytes, void *out,
                                       const size_t *out_bytes, const size_t *out_offsets);
TUTTI_API tutti_status_t tutti_igatherv(tutti_team_t team, uint32_t root, const void *in, size_t bytes, void *out,
                                        const size_t *out_bytes, const size_t *out_offsets, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_gatherv_init(tutti_team_t team, uint32_t root, const void *in, size_t bytes, void *out,
                                            const size_t *out_bytes, const size_t *out_offsets,
                                            tutti_request_t *request);
TUTTI_API tutti_status_t tutti_scatterv(tutti_team_t team, uint32_t root, const void *in, const size_t *in_bytes,
                                        const size_t *in_offsets, void *out, size_t bytes);
TUTTI_API tutti_status_t tutti_iscatterv(tutti_team_t team, uint32_t root, const void *in, const size_t *in_bytes,
                                         const size_t *in_offsets, void *out, size_t bytes, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_scatterv_init(tutti_team_t team, uint32_t root, const void *in, const size_t *in_bytes,
                                             const size_t *in_offsets, void *out, size_t bytes,
                                             tutti_request_t *request);
TUTTI_API tutti_status_t tutti_allgatherv(tutti_team_t team, const void *in, size_t bytes, void *out,
                                          const size_t *out_bytes, const size_t *out_offsets);
TUTTI_API tutti_status_t tutti_iallgatherv(tutti_team_t team, const void *in, size_t bytes, void *out,
                                           const size_t *out_bytes, const size_t *out_offsets,
                                           tutti_request_t *request);
TUTTI_API tutti_status_t tutti_allgatherv_init(tutti_team_t team, const void *in, size_t bytes, void *out,
                                               const size_t *out_bytes, const size_t *out_offsets,
                                               tutti_request_t *request);
TUTTI_API tutti_status_t tutti_alltoallv(tutti_team_t team, const void *in, const size_t *in_bytes,
                                         const size_t *in_offsets, void *out, const size_t *out_bytes,
                                         const size_t *out_offsets);
TUTTI_API tutti_status_t tutti_ialltoallv(tutti_team_t team, const void *in, const size_t *in_bytes,
                                          const size_t *in_offsets, void *out, const size_t *out_bytes,
                                          const size_t *out_offsets, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_alltoallv_init(tutti_team_t team, const void *in, const size_t *in_bytes,
                                              const size_t *in_offsets, void *out, const size_t *out_bytes,
                                              const size_t *out_offsets, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_alltoallw(tutti_team_t team, const void *in, const size_t *in_counts,
                                         const size_t *in_offsets, const tutti_datatype_t *in_types, void *out,
                                         const size_t *out_counts, const size_t *out_offsets,
                                         const tutti_datatype_t *out_types);
TUTTI_API tutti_status_t tutti_ialltoallw(tutti_team_t team, const void *in, const size_t *in_counts,
                                          const size_t *in_offsets, const tutti_datatype_t *in_types, void *out,
                                          const size_t *out_counts, const size_t *out_offsets,
                                          const tutti_datatype_t *out_types, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_alltoallw_init(tutti_team_t team, const void *in, const size_t *in_counts,
                                              const size_t *in_offsets, const tutti_datatype_t *in_types, void *out,
                                              const size_t *out_counts, const size_t *out_offsets,
                                              const tutti_datatype_t *out_types, tutti_request_t *request);

/* Whom a member takes blocks from and whom it gives blocks to, each named once. Where member a names b as a destination, b names a
 * as a source; this member may name itself as both. */
typedef struct tutti_neighbors {
  const uint32_t *sources;
  size_t source_count;
  const uint32_t *destinations;
  size_t destination_count;
} tutti_neighbors_t;

/* Block i of `out` comes from sources[i]: the one block `in` of that member (allgather), or block j of its `in`, where this
 * member is its destinations[j] (alltoall). All members of the team make the call, also those without neighbors. `bytes` is the
 * length of a block, alike between neighbors. `neighbors` is read during the call only.
 * Errors and cost as tutti_alltoallv(); TUTTI_INVALID also: a neighbor that is no member, or is named twice. */
TUTTI_API tutti_status_t tutti_neighbor_allgather(tutti_team_t team, const tutti_neighbors_t *neighbors, const void *in,
                                                  size_t bytes, void *out);
TUTTI_API tutti_status_t tutti_ineighbor_allgather(tutti_team_t team, const tutti_neighbors_t *neighbors, const void *in,
                                                   size_t bytes, void *out, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_neighbor_allgather_init(tutti_team_t team, const tutti_neighbors_t *neighbors,
                                                       const void *in, size_t bytes, void *out,
                                                       tutti_request_t *request);
TUTTI_API tutti_status_t tutti_neighbor_alltoall(tutti_team_t team, const tutti_neighbors_t *neighbors, const void *in,
                                                 size_t bytes, void *out);
TUTTI_API tutti_status_t tutti_ineighbor_alltoall(tutti_team_t team, const tutti_neighbors_t *neighbors, const void *in,
                                                  size_t bytes, void *out, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_neighbor_alltoall_init(tutti_team_t team, const tutti_neighbors_t *neighbors,
                                                      const void *in, size_t bytes, void *out,
                                                      tutti_request_t *request);

/* --- layouts ------------------------------------------------------------------------------------------------------
 *
 * Data that do not lie in one piece: in messages, and at either end of a put or get. A layout lists blocks by their distance from a
 * base, which is an address here or an offset in a window. The data are the blocks' bytes, block after block. The layout of what is
 * written to lists no byte twice, which is not checked. A layout and its lists are read during the call only.
 */
enum {
  TUTTI_CONTIGUOUS = 0, /* one block of block_bytes at the base */
  TUTTI_STRIDED = 1,    /* counts[0] * ... * counts[count - 1] blocks of block_bytes; the block of indices i lies at the sum of
                           i[d] * strides[d]. The last index varies fastest. At most 8 dimensions; with none, one block. */
  TUTTI_INDEXED = 2,    /* `count` blocks at offsets[i], each of lengths[i] bytes, or of block_bytes if lengths is NULL. With
                           a base of NULL the offsets are addresses: a list of pieces. */
  TUTTI_NESTED = 3      /* As TUTTI_INDEXED, with the data of the layout parts[i], around offsets[i], in place of a block where parts
                           and parts[i] are not NULL; and counts[i] times that, each strides[i] after the one before, or once
                           if counts is NULL. At most 256 deep. What it costs is by its lists, not by its blocks. */
};
typedef struct tutti_layout {
  int kind;
  size_t block_bytes;
  size_t count;             /* dimensions (strided), blocks (indexed), parts (nested) */
  const size_t *counts;     /* strided: by dimension; nested: by part, or NULL */
  const ptrdiff_t *strides; /* strided, nested: in bytes, likewise; may be negative */
  const ptrdiff_t *offsets; /* indexed, nested: in bytes */
  const size_t *lengths;    /* indexed, nested: in bytes, or NULL */
  const struct tutti_layout *const *parts; /* nested: or NULL; not read otherwise */
} tutti_layout_t;

/* The bytes of data that the layout lists. Local. Cost: O(count), nested that of all its lists.
 * Errors: TUTTI_INVALID (kind, a NULL, more than 8 dimensions, nested too deep, sizes beyond memory). */
TUTTI_API tutti_status_t tutti_layout_bytes(tutti_t ctx, const tutti_layout_t *layout, size_t *bytes);

/* tutti_put_layout() writes the data that `local` lists from `base` to the places that `remote` lists from `offset` in the window;
 * tutti_get_layout() reads them the other way. Both layouts list the same number of bytes, in blocks of any lengths. As tutti_put()
 * and tutti_get() otherwise: one request, or the next flush, completes the whole.
 * Errors: as tutti_put(); TUTTI_INVALID also: a layout as above, unlike numbers of bytes, a block outside of the window.
 * Cost: O(blocks). Where the target's part is mapped here (maps_node), a copy of each block, in the call. Elsewhere one operation of
 * the fabric for each run of bytes that is in one piece at both ends, whatever the order in which the layouts list them. A get
 * into several blocks from one run of the target's bytes is scattered by the fabric where it can. Blocks here that are shorter than
 * what an operation costs, and go to one run of the target's bytes, are copied together first. The first call that lists or
 * copies so takes 512 KiB of registered memory; a call blocks while operations under way use all of it. */
TUTTI_API tutti_status_t tutti_put_layout(tutti_window_t window, uint32_t rank, uint64_t offset,
                                          const tutti_layout_t *remote, const void *base, const tutti_layout_t *local,
                                          tutti_request_t *request);
TUTTI_API tutti_status_t tutti_get_layout(tutti_window_t window, uint32_t rank, uint64_t offset,
                                          const tutti_layout_t *remote, void *base, const tutti_layout_t *local,
                                          tutti_request_t *request);

/* --- messages -----------------------------------------------------------------------------------------------------
 *
 * A message goes from one member of a team to another, with a tag of 64 bits. A receive takes the oldest message of its team that
 * matches: its source is the one that the receive names, or any; and (message's tag & mask) == (receive's tag & mask). Messages
 * of one sender to one receiver over one team are matched in the order of the sends, receives in the order of their calls (as in
 * MPI; nothing passes by what matches before it). Teams are apart from each other, and messages from collectives and one-sided operations.
 *
 * Short messages travel at once and are kept by the receiver's side until they are matched; such a send is complete before anyone
 * receives. What is kept unmatched is bounded (256 KiB of data from each sender): beyond that, and for long messages, the envelope
 * travels, and the data once a receive has matched it. So a flood fills no memory, and a program that MPI lets finish ends.
 * Towards itself a rank may send as to others; tutti_ssend() to itself then needs a receive that was begun before.
 *
 * Errors of messages: TUTTI_INVALID (no such rank, a NULL, a size beyond memory), TUTTI_NO_RESOURCE, TUTTI_PEER_DEAD (the other rank
 * died or left; of a receive from any source: some member did, and no message that matches is here. The receive is gone;
 * others go on). A receive that is shorter than its message takes what fits, and gives TUTTI_TRUNCATED with the whole length in
 * the envelope; nothing is written behind its end.
 */
#define TUTTI_ANY_TAG UINT64_C(0)          /* as a mask: whatever the tag */
#define TUTTI_WHOLE_TAG (~UINT64_C(0))     /* as a mask: this tag only */

/* What a receive or a probe has found. */
typedef struct tutti_envelope {
  uint32_t source; /* rank in the team */
  uint32_t reserved;
  uint64_t tag;
  size_t bytes;    /* of the message, which may be more than the receive had room for */
} tutti_envelope_t;

/* tutti_send() blocks until `data` may be changed again, which says nothing of the receiver; tutti_ssend() until a receive has
 * matched the message. Cost: a short message is copied and handed to the fabric (some 100 ns); a long one takes a round trip
 * and the transfer. */
TUTTI_API tutti_status_t tutti_send(tutti_team_t team, uint32_t to, uint64_t tag, const void *data, size_t bytes);
TUTTI_API tutti_status_t tutti_ssend(tutti_team_t team, uint32_t to, uint64_t tag, const void *data, size_t bytes);
/* Sends a message that can be complete at once, as most short ones can: *sent becomes 1. Else *sent becomes 0, and nothing was done:
 * tutti_send() or tutti_isend() sends it. Local. For who would keep many requests of sends that are complete when they are made. */
TUTTI_API tutti_status_t tutti_try_send(tutti_team_t team, uint32_t to, uint64_t tag, const void *data, size_t bytes, int *sent);
TUTTI_API tutti_status_t tutti_isend(tutti_team_t team, uint32_t to, uint64_t tag, const void *data, size_t bytes,
                                     tutti_request_t *request);
TUTTI_API tutti_status_t tutti_issend(tutti_team_t team, uint32_t to, uint64_t tag, const void *data, size_t bytes,
                                      tutti_request_t *request);
/* Persistent requests, for tutti_start(). */
TUTTI_API tutti_status_t tutti_send_init(tutti_team_t team, uint32_t to, uint64_t tag, const void *data, size_t bytes,
                                         tutti_request_t *request);
TUTTI_API tutti_status_t tutti_ssend_init(tutti_team_t team, uint32_t to, uint64_t tag, const void *data, size_t bytes,
                                          tutti_request_t *request);

/* Receives a message of at most `room` bytes into `data`, from rank `from` of the team, or TUTTI_ANY. tutti_recv() blocks until it
 * is here. *envelope is written when the receive completes, and must stay until then; it may be NULL.
 * Cost: constant time to match, whatever the number of receives and messages, where the mask is TUTTI_WHOLE_TAG; with other masks a
 * look at each such receive, or at each unmatched message of the team. */
TUTTI_API tutti_status_t tutti_recv(tutti_team_t team, uint32_t from, uint64_t tag, uint64_t mask, void *data, size_t room,
                                    tutti_envelope_t *envelope);
TUTTI_API tutti_status_t tutti_irecv(tutti_team_t team, uint32_t from, uint64_t tag, uint64_t mask, void *data,
                                     size_t room, tutti_envelope_t *envelope, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_recv_init(tutti_team_t team, uint32_t from, uint64_t tag, uint64_t mask, void *data,
                                         size_t room, tutti_envelope_t *envelope, tutti_request_t *request);

/* Sends and receives at once; blocks until both are complete. The buffers do not overlap. */
TUTTI_API tutti_status_t tutti_sendrecv(tutti_team_t team, uint32_t to, uint64_t send_tag, const void *out,
                                        size_t out_bytes, uint32_t from, uint64_t recv_tag, uint64_t mask, void *in,
                                        size_t room, tutti_envelope_t *envelope);

/* The same with layouts at this end; the other end may have another one. */
TUTTI_API tutti_status_t tutti_isend_layout(tutti_team_t team, uint32_t to, uint64_t tag, const void *base,
                                            const tutti_layout_t *layout, tutti_request_t *request);
TUTTI_API tutti_status_t tutti_irecv_layout(tutti_team_t team, uint32_t from, uint64_t tag, uint64_t mask, void *base,
                                            const tutti_layout_t *layout, tutti_envelope_t *envelope,
                                            tutti_request_t *request);

/* Looks for a message that a receive with these arguments would take now, and leaves it. tutti_probe() blocks until there is one;
 * tutti_iprobe() makes progress once and sets *found to 1 or 0. */
TUTTI_API tutti_status_t tutti_probe(tutti_team_t team, uint32_t from, uint64_t tag, uint64_t mask,
                                     tutti_envelope_t *envelope);
TUTTI_API tutti_status_t tutti_iprobe(tutti_team_t team, uint32_t from, uint64_t tag, uint64_t mask, int *found,
                                      tutti_envelope_t *envelope);

/* A message that was taken out of the matching and not received yet; zeroed: none. */
typedef struct tutti_message {
  void *slot;
  uint64_t ticket;
} tutti_message_t;

/* As the probes above, but they reserve the message: only tutti_mrecv(), which blocks, or tutti_imrecv() with *message can receive
 * it, and zero *message. Until then the message occupies its sender's 256 KiB of unmatched data. */
TUTTI_API tutti_status_t tutti_mprobe(tutti_team_t team, uint32_t from, uint64_t tag, uint64_t mask,
                                      tutti_message_t *message, tutti_envelope_t *envelope);
TUTTI_API tutti_status_t tutti_improbe(tutti_team_t team, uint32_t from, uint64_t tag, uint64_t mask, int *found,
                                       tutti_message_t *message, tutti_envelope_t *envelope);
TUTTI_API tutti_status_t tutti_mrecv(tutti_message_t *message, void *data, size_t room, tutti_envelope_t *envelope);
TUTTI_API tutti_status_t tutti_imrecv(tutti_message_t *message, void *data, size_t room, tutti_envelope_t *envelope,
                                      tutti_request_t *request);

/* Takes a receive back that no message has matched: *cancelled becomes 1, the receive is complete without a message, and *request
 * is zeroed unless it is persistent. Where a message has matched it, *cancelled becomes 0 and the receive goes on. Local.
 * Errors: TUTTI_INVALID (a NULL, a request that is no receive or is complete already). */
TUTTI_API tutti_status_t tutti_cancel(tutti_request_t *request, int *cancelled);

/* --- active messages ----------------------------------------------------------------------------------------------
 *
 * A message that runs a function, its handler, at the target, with up to 8 arguments of 64 bits and a payload: none (short), a copy
 * (medium), or bytes that were put into a window before (long). Ranks are those of the job. Handlers are called by number, and
 * a number means the same in all ranks.
 *
 * Handlers run in calls of this library that wait or make progress, on the thread of the call, one at a time, never within
 * another handler. A handler waits for nothing. Of this library's functions it may call tutti_am_reply(), once and only to a request;
 * tutti_am_request(), tutti_am_send() and tutti_am_request_long(), which give TUTTI_NO_RESOURCE where they would wait; those that
 * start operations (tutti_isend(), tutti_put() ...) or make persistent requests; and what is local. Others give TUTTI_INVALID. To go on
 * with something that must wait, a handler leaves it to the program, which looks when the call has returned.
 * The handler of a reply or of a one-way message may not reply.
 *
 * Order. Active messages of one rank to another run in the order of the calls that sent them. A long one, whose data go first, may
 * come behind later ones. A message that a handler sends within a call of its rank may go before the message that the call sends.
 * Room. At most 64 requests of a rank to another are under way: not answered, and not known to be handled. So replies always have room,
 * and what is kept here for a target is bounded: 64 replies and 64 long messages. Handlers of ranks that wait for room run
 * meanwhile, so ranks that flood each other go on. A rank that is never in a call that waits or makes progress holds up who sends to it,
 * whatever TUTTI_PROGRESS is; so does a rank that has made no call of messages yet, for it refuses and takes nothing.
 *
 * A message to a number for which the target has no handler runs nothing. The target is given a notice, once for each number; the
 * sender's next call that sends an active message to that rank, or tutti_progress(), gives TUTTI_INVALID with rank and number. A call
 * that gives that error has sent nothing itself. When a rank dies, what is sent to it gives TUTTI_PEER_DEAD, at once or
 * soon; if it has left requests of this rank unanswered, tutti_progress() gives TUTTI_PEER_DEAD as well, once. Others go on.
 */
#define TUTTI_AM_ARGUMENTS 8
#define TUTTI_AM_HANDLERS 1024 /* numbers: 0 to this - 1 */

/* The message that a handler was called for; valid until the handler returns. */
typedef struct tutti_am *tutti_am_t;

/* `arguments` and, of a medium message, `payload` are the handler's until it returns. The payload of a long message lies in this rank's part
 * of the window. A medium payload begins at a multiple of 8 bytes. Without payload, `payload` is NULL. Undefined: that a handler throws
 * or jumps out. */
typedef void (*tutti_am_handler)(tutti_am_t message, const uint64_t *arguments, size_t argument_count, void *payload,
                                 size_t bytes, void *handler_context);

/* Registers a handler; NULL removes it. Local. Messages that arrive before their number is registered are dropped (see above): put a
 * barrier between registering and sending.
 * Errors: TUTTI_INVALID (a number beyond TUTTI_AM_HANDLERS, or one that is taken), TUTTI_NO_RESOURCE, TUTTI_UNSUPPORTED (the fabric has
 * no messages). Cost: the first call of messages makes what they need, some 20 KiB; each rank that messages go to or come from takes
 * some 300 bytes more, and what the fabric takes. */
TUTTI_API tutti_status_t tutti_am_register(tutti_t ctx, uint32_t number, tutti_am_handler handler, void *handler_context);

/* The most bytes of a medium payload, towards any rank; at least 960. 0 for a bad handle, and where the fabric has no messages. Makes
 * what messages need if this is the first call of them (see the cost of tutti_am_register()). */
TUTTI_API size_t tutti_am_max_medium(tutti_t ctx);

/* Sends a message whose handler may reply (request) or may not (send). Arguments and payload are copied. Blocks while the target has
 * no room, and a request also while 64 are under way to that rank; handlers run meanwhile.
 * Errors: TUTTI_INVALID (no such rank or number, too many arguments or bytes, a NULL; an earlier message had no handler),
 * TUTTI_NO_RESOURCE, TUTTI_PEER_DEAD.
 * Cost: one message of the fabric. For 32 requests without reply one message comes back; none where replies or other active messages go
 * that way. */
TUTTI_API tutti_status_t tutti_am_request(tutti_t ctx, uint32_t rank, uint32_t number, const uint64_t *arguments,
                                          size_t argument_count, const void *payload, size_t bytes);
TUTTI_API tutti_status_t tutti_am_send(tutti_t ctx, uint32_t rank, uint32_t number, const uint64_t *arguments,
                                       size_t argument_count, const void *payload, size_t bytes);

/* A long request: writes `bytes` bytes from `source` into the window as tutti_put() does, and runs the handler at that rank of the
 * window's team once they are there. `source` may be changed when the request is complete, or, where request is NULL, when the call
 * returns: then the call blocks until that, and handlers may not make it. Neither says that the handler has run; a reply does. The window
 * must stay until then.
 * Errors: as tutti_am_request() and tutti_put(). If the data cannot be put after all, the next tutti_progress() tells.
 * Cost: a put, a flush and a message, one after the other; where the target's part is mapped here (maps_node), a copy and a message. */
TUTTI_API tutti_status_t tutti_am_request_long(tutti_window_t window, uint32_t rank, uint64_t offset, const void *source,
                                               size_t bytes, uint32_t number, const uint64_t *arguments,
                                               size_t argument_count, tutti_request_t *request);

/* In a handler: answers a request by running a handler at its sender. Never blocks; copies what it is given.
 * Errors: TUTTI_INVALID (a second reply, one to a message that is no request, or one when the handler has returned; sizes),
 * TUTTI_NO_RESOURCE (memory; the reply may be tried again). To a rank that has died the reply is lost, without an error. */
TUTTI_API tutti_status_t tutti_am_reply(tutti_am_t message, uint32_t number, const uint64_t *arguments,
                                        size_t argument_count, const void *payload, size_t bytes);

/* For a message whose handler has returned, and for NULL: TUTTI_NO_RANK and NULL. */
TUTTI_API uint32_t tutti_am_source(tutti_am_t message);  /* the sender's rank in the job */
TUTTI_API tutti_t tutti_am_context(tutti_am_t message);  /* the context in which the handler runs */

#ifdef __cplusplus
}
#endif
#endif

#include "mpi/world.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <utility>

#include "mpi/communicator.h"
#include "mpi/report.h"
#include "mpi/request.h"

namespace tutti::mpi {
namespace {

constexpr const char* operation_names[] = {"messages", "barrier", "bcast", "reduce", "allreduce", "gather", "gatherv", "scatter",
                                           "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw",
                                           "reduce_scatter", "reduce_scatter_block", "scan", "exscan", "neighbor", "windows"};
static_assert(std::size(operation_names) == static_cast<std::size_t>(operation::count_));

// "64KiB", "1MiB", "100"; SIZE_MAX: none of these.
std::size_t bytes_of(const std::string& text) noexcept {
  char* end = nullptr;
  const unsigned long long n = std::isdigit(static_cast<unsigned char>(text[0])) ? std::strtoull(text.c_str(), &end, 10) : 0;
  if (!end || n >= (1ull << 40)) return SIZE_MAX;
  const std::string unit = end;
  if (unit.empty() || unit == "B") return n;
  if (unit == "KiB") return n << 10;
  if (unit == "MiB") return n << 20;
  return SIZE_MAX;
}

// `ctx` advances meanwhile: a rank that has yet to come may wait in tutti, for what this one has begun. It also gives way, which not all
// MPIs do by themselves. Null: within a call of tutti's, whose other members are all in it.
int finish(int began, MPI_Request& r, tutti_t ctx) noexcept {
  for (int done = 0; began == MPI_SUCCESS;) {
    began = real.Test(&r, &done, MPI_STATUS_IGNORE);
    if (done) break;
    if (ctx) {
      const held h;
      (void)tutti_progress(ctx);  // errors stay with what they befell
    }
    sched_yield();
  }
  return began;
}

// A line of tutti's for the user, of waits above all: as a launcher of tutti's own has them printed, where the waits of a program whose ranks
// are often late are soon told no more. By whichever thread drives tutti.
void print_notice(void*, const char* line) {
  static unsigned long quiet_below = 0;  // seconds
  unsigned long waited = 0;
  if (std::sscanf(line, "waited %lu s", &waited) == 1) {
    if (waited < quiet_below) return;
    quiet_below = 2 * waited;
  }
  std::fprintf(stderr, "tutti: rank %d %s\n", the_world().rank, line);
}

void say(const char* what, const char* why) { std::fprintf(stderr, "tutti: %s; MPI goes on alone%s\n", what, why); }

#ifdef OPEN_MPI
// Codes of errors have texts that are set just before they are used.
int error_code_in(int error_class) {
  static int classes[64], codes[64], known = 0;
  for (int i = 0; i < known; ++i)
    if (classes[i] == error_class) return codes[i];
  int code = error_class;
  if (known == 64 || real.Add_error_code(error_class, &code) != MPI_SUCCESS) return error_class;
  classes[known] = error_class, codes[known++] = code;
  return code;
}
#endif

// A request that stays incomplete: MPI has no function that only lets it advance, but looking at one does. (MPICH's probe of
// MPI_COMM_SELF does not.)
MPI_Request incomplete = MPI_REQUEST_NULL;

bool make_incomplete() {
  const auto query = [](void*, MPI_Status*) -> int { return MPI_SUCCESS; };
  const auto release = [](void*) -> int { return MPI_SUCCESS; };
  const auto cancel = [](void*, int) -> int { return MPI_SUCCESS; };
  return real.Grequest_start(query, release, cancel, nullptr, &incomplete) == MPI_SUCCESS;
}

void end_incomplete() {
  if (incomplete == MPI_REQUEST_NULL) return;
  real.Grequest_complete(incomplete);
  real.Wait(&incomplete, MPI_STATUS_IGNORE);
}

// MPI_Finalize deletes the attributes of MPI_COMM_SELF before all else, the newest first, and their callbacks may use all of MPI. This one
// is older than any of the program's, so that tutti serves all of them and goes behind the last.
bool close_behind_callbacks() {
  const auto close = [](MPI_Comm, int, void*, void*) -> int {
    return guarded(handler(MPI_COMM_WORLD), "MPI_Finalize", [] { return the_world().close(), MPI_SUCCESS; });
  };
  int key = MPI_KEYVAL_INVALID;
  if (real.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close, &key, nullptr) != MPI_SUCCESS) return false;
  const bool set = real.Comm_set_attr(MPI_COMM_SELF, key, nullptr) == MPI_SUCCESS;
  real.Comm_free_keyval(&key);  // it stays as long as the attribute
  return set;
}

}  // namespace

void advance_mpi() noexcept {
  int done = 0;
  if (incomplete != MPI_REQUEST_NULL) real.Request_get_status(incomplete, &done, MPI_STATUS_IGNORE);
}

void looked_at_mpi() noexcept {
  const held h;
  if (tutti_t ctx = the_world().ctx) (void)tutti_progress(ctx);
}

void looked_at_tutti() noexcept {
  constexpr unsigned between = 16;
  static thread_local unsigned looks = 0;
  if (++looks % between != 0) return;
  const set_aside right;
  advance_mpi();
}

bool choices::any() const noexcept {
  for (const std::size_t m : most)
    if (m > 0) return true;
  return false;
}

choices choices::of(const std::string& words, std::string& wrong) {
  choices out;
  constexpr std::size_t all = SIZE_MAX;
  for (std::size_t at = 0; at <= words.size();) {
    const std::size_t end = std::min(words.find(',', at), words.size());
    const std::string word = words.substr(at, end - at);
    at = end + 1;
    const std::size_t colon = std::min(word.find(':'), word.size());
    const std::string name = word.substr(0, colon);
    const std::size_t most = colon < word.size() ? bytes_of(word.substr(colon + 1)) : all;
    bool known = false;
    for (std::size_t o = 0; o < out.most.size(); ++o) {
      const bool is_collective = o != static_cast<std::size_t>(operation::messages) && o != static_cast<std::size_t>(operation::windows);
      if (name != operation_names[o] && name != "all" && !(name == "collectives" && is_collective)) continue;
      out.most[o] = most, known = true;
    }
    if (name == "off") known = true;
    if (!known) wrong = "TUTTI_MPI has the word '" + word + "', which is none of all, collectives, messages, windows, off and the names of collectives, as allreduce";
    else if (colon < word.size() && (most == all || name == "all" || name == "messages" || name == "off"))
      wrong = "TUTTI_MPI has the word '" + word + "'; a size is a number of bytes, KiB or MiB, and follows collectives or one of them, as in allreduce:64KiB";
  }
  return out;
}

// Each communicator's team has two files open. Where a program may have 1,024, as many shells say, it may ask for more itself.
void allow_files_of_many_communicators() noexcept {
  constexpr rlim_t enough = 16384;
  rlimit files;
  if (::getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= enough) return;
  files.rlim_cur = std::min(enough, files.rlim_max);
  (void)::setrlimit(RLIMIT_NOFILE, &files);
}

constinit world only_world;

void world::open(int thread_level) {
  int size = 1;
  if (const char* const other = other_mpi()) {
    std::fprintf(stderr, "tutti: this library is for " TUTTI_MPI_NAME ", and the program runs with another MPI (%s); preload that one's\n", other);
    std::abort();  // the two MPIs' handles differ: no call could be right
  }
  real.Comm_rank(MPI_COMM_WORLD, &rank);
  real.Comm_size(MPI_COMM_WORLD, &size);

  // Rank 0's settings, for all.
  char words[1024] = "";
  int reports = 0;
  std::string wrong;
  if (rank == 0) {
    const char* set = tutti_setting_value("mpi");
    if (!set) wrong = tutti_error_text(nullptr);
    else if (std::strlen(set) >= sizeof words) wrong = "TUTTI_MPI is too long";
    else std::strcpy(words, set);
    const char* const report = tutti_setting_value("mpi_report");
    reports = report && std::strcmp(report, "1") == 0;
  }
  real.Bcast(words, sizeof words, MPI_CHAR, 0, MPI_COMM_WORLD);
  real.Bcast(&reports, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (wrong.empty()) chosen = choices::of(words, wrong);
  if (!all_are(wrong.empty(), MPI_COMM_WORLD, nullptr)) {
    if (rank == 0) say(wrong.c_str(), "");
    return;
  }
  if (!chosen.any()) return;
  allow_files_of_many_communicators();
  int found = 0;
  const int* largest = nullptr;
  real.Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&largest), &found);
  largest_tag = found ? *largest : 32767;  // what each MPI allows

  char job[48] = "";
  if (rank == 0) {
    std::random_device random;
    std::snprintf(job, sizeof job, "mpi-%08x%08x%08x", random(), random(), random());
  }
  real.Bcast(job, sizeof job, MPI_CHAR, 0, MPI_COMM_WORLD);
  tutti_bootstrap_t meet{};
  meet.rank = static_cast<std::uint32_t>(rank), meet.size = static_cast<std::uint32_t>(size), meet.job_id = job;
  MPI_Comm everyone = MPI_COMM_WORLD;
  meet.context = &everyone, meet.allgather = gather_for_tutti;
  tutti_options_t options{};
  options.struct_size = sizeof options, options.bootstrap = &meet, options.notice = print_notice, options.idle = [](void*) {
    if (!the_world().advances_later) advance_mpi();
  };
  // A communicator's first collective sets things up, and MPI has no time by which a member must have called it. So the setting's default
  // gives way to its most, a day.
  const tutti_setting_t patience{"timeout_s", "86400"};
  const char* const usual = tutti_setting_value(patience.name);
  if (usual && std::strcmp(usual, "60") == 0) options.settings = &patience, options.setting_count = 1;
  threaded_ = !all_are(thread_level != MPI_THREAD_MULTIPLE, MPI_COMM_WORLD, nullptr);
  if (threaded_) real.Comm_dup(MPI_COMM_WORLD, &for_words);
  asks = real.Comm_dup(MPI_COMM_SELF, &asking) == MPI_SUCCESS;
  if (asks) real.Comm_set_errhandler(asking, MPI_ERRORS_RETURN);
  tutti_t made = nullptr;
  std::string why;
  make_first_requests();
  if (!make_incomplete()) why = "MPI makes no generalized request";
  else if (tutti_init(&options, &made) != TUTTI_OK) why = tutti_error_text(nullptr);
  if (all_are(made != nullptr, MPI_COMM_WORLD, made)) {
    ctx = made;
    if (!take_first_communicators()) why = tutti_error_text(ctx);
    else if (!close_behind_callbacks()) why = "MPI sets no attribute of MPI_COMM_SELF";
    if (all_are(why.empty(), MPI_COMM_WORLD, ctx)) {
      if (reports) call::report_from_now_on();
      return;
    }
    forget_communicators();
    ctx = nullptr;
  }
  if (made) tutti_abandon(&made);
  end_incomplete();
  if (std::exchange(asks, false)) real.Comm_free(&asking);
  if (!why.empty()) say(why.c_str(), rank == 0 ? "" : " (as another rank says)");
}

void world::close() {
  if (!ctx) return;
  finish_detached();
  if (call::reports()) {
    const passing by_mpi;
    print_report(tutti_fabric(ctx));
  }
  // Members whose calls differed do not meet by tutti any more: MPI tells that all are here, after which nobody needs another.
  int differed = collectives_differed(MPI_COMM_WORLD), some = 0;
  {
    const passing by_mpi;
    real.Allreduce(&differed, &some, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  const held h;
  forget_communicators();
  tutti_t last = ctx;
  ctx = nullptr;  // the thread leaves it alone from here
  if ((some ? tutti_abandon : tutti_finalize)(&last) != TUTTI_OK) std::fprintf(stderr, "tutti: %s\n", tutti_error_text(nullptr));
  end_incomplete();
  if (std::exchange(asks, false)) real.Comm_free(&asking);
}

void world::leave() noexcept {
  if (!ctx) return;
  const held h;
  tutti_t last = std::exchange(ctx, nullptr);
  incomplete = MPI_REQUEST_NULL;  // MPI cannot be called any more
  (void)tutti_abandon(&last);
}

void reduce_to_all(const void* mine, void* all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, tutti_t ctx) noexcept {
  MPI_Request r;
  (void)finish(real.Iallreduce(mine, all, count, type, op, comm, &r), r, ctx);
}

void receive_word(int from, int tag, MPI_Comm comm) noexcept {
  MPI_Request r;
  char word;
  (void)finish(real.Irecv(&word, 1, MPI_CHAR, from, tag, comm, &r), r, the_world().ctx);
}
void send_word(int to, int tag, MPI_Comm comm) noexcept {
  MPI_Request r;
  const char word = 0;
  (void)finish(real.Isend(&word, 1, MPI_CHAR, to, tag, comm, &r), r, the_world().ctx);
}

bool gather_from_all(const void* mine, std::size_t bytes, void* all, MPI_Comm comm, tutti_t ctx) noexcept {
  constexpr std::size_t piece = std::size_t{1} << 30;
  if (bytes > piece) return false;
  const int n = static_cast<int>(bytes);
  MPI_Request r;
  return finish(real.Iallgather(mine, n, MPI_BYTE, all, n, MPI_BYTE, comm, &r), r, ctx) == MPI_SUCCESS;
}

int gather_for_tutti(void* comm, const void* mine, std::size_t bytes, void* all, double) {
  return gather_from_all(mine, bytes, all, *static_cast<MPI_Comm*>(comm), nullptr) ? 0 : EIO;
}

void world::lock() noexcept {
  if (lock_.try_lock()) return;
  crowded_.store(true, std::memory_order_relaxed);
  waiters_.fetch_add(1, std::memory_order_relaxed);
  lock_.lock();
  waiters_.fetch_sub(1, std::memory_order_relaxed);
}

passing::passing() : lends_(the_world().ctx != nullptr) {
  if (!lends_) return;
  world& w = the_world();
  std::call_once(w.thread_made_, [&] {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's
    try {
      std::thread([&w] { w.serve(); }).detach();
    } catch (const std::exception&) {  // MPI's call goes on without: what other ranks want of tutti here has to wait for its end
      std::fprintf(stderr, "tutti: no thread is to be had (ulimit -u, -v, -d, or the container's limit of pids); "
                           "tutti stands still in this rank while it waits in MPI\n");
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  });
  w.lent_.fetch_add(1);
  if (w.parked_.load()) {
    w.wake_.fetch_add(1);
    w.wake_.notify_one();
  }
}

passing::~passing() {
  if (!lends_) return;
  world& w = the_world();
  w.lent_.fetch_sub(1);
  if (!w.threaded_)  // else all take the lock
    while (w.busy_.load()) sched_yield();
}

void world::serve() noexcept {
  using namespace std::chrono_literals;
  constexpr auto between = 200us;     // looks: a call of MPI's that is shorter has none
  constexpr unsigned before_rest = 500;  // looks in vain, until it sleeps until it is woken
  for (;;) {
    std::uint32_t seen = wake_.load();
    parked_.store(true);
    if (lent_.load() == 0) wake_.wait(seen);
    parked_.store(false);
    for (unsigned vain = 0; vain < before_rest; ++vain) {
      std::this_thread::sleep_for(between);
      busy_.store(true);
      if (lent_.load() > 0) {
        const std::lock_guard turn(lock_);
        if (ctx) (void)tutti_progress(ctx);
        vain = 0;
      }
      busy_.store(false);
    }
  }
}

void release(MPI_Errhandler handler) {
  if (handler != MPI_ERRORS_ARE_FATAL && handler != MPI_ERRORS_RETURN && handler != MPI_ERRHANDLER_NULL) real.Errhandler_free(&handler);
}

int error_code(const char* call, int error_class, const char* text, [[maybe_unused]] MPI_Errhandler handler) {
  char line[MPI_MAX_ERROR_STRING];
  std::snprintf(line, sizeof line, "tutti, %s: %.*s", call, static_cast<int>(sizeof line - 60), text);
  int code = error_class;
#ifdef OPEN_MPI
  code = error_code_in(error_class);
  if (code != error_class) real.Add_error_string(code, line);
#else  // MPICH keeps no text of a code that belongs to a class of its own
  if (handler == MPI_ERRORS_ARE_FATAL) std::fprintf(stderr, "%s\n", line);
#endif
  return code;
}

// The handler of a communicator that is gone is called as that of `comm`, which has its own back then.
int raise_text(const handler_of& whose, const char* call, int error_class, const char* text) {
  const bool of_freed = whose.kept != MPI_ERRHANDLER_NULL;
  MPI_Errhandler own = MPI_ERRHANDLER_NULL;
  real.Comm_get_errhandler(whose.comm, &own);
  const int code = error_code(call, error_class, text, of_freed ? whose.kept : own);
  if (of_freed) real.Comm_set_errhandler(whose.comm, whose.kept);
  {
    const set_aside right;
    real.Comm_call_errhandler(whose.comm, code);
  }
  if (of_freed) real.Comm_set_errhandler(whose.comm, own);
  release(own);
  return code;
}

int class_of(tutti_status_t s) noexcept {
  switch (s) {
    case TUTTI_TRUNCATED:
    case TUTTI_PROTOCOL: return MPI_ERR_TRUNCATE;  // members' collective calls differ, in their bytes above all
    case TUTTI_NO_RESOURCE: return MPI_ERR_NO_MEM;
    case TUTTI_INVALID: return MPI_ERR_BUFFER;  // what else may be wrong was seen before
    default: return MPI_ERR_OTHER;
  }
}

int raise_text(const handler_of_window& whose, const char* call, int error_class, const char* text) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  real.Win_get_errhandler(whose.window, &handler);
  const int code = error_code(call, error_class, text, handler);
  {
    const set_aside right;
    real.Win_call_errhandler(whose.window, code);
  }
  release(handler);
  return code;
}

newest_text::newest_text() noexcept {
  const held h;
  std::snprintf(line, sizeof line, "%s", tutti_error_text(the_world().ctx));  // of ctx, unless the call had none
  calls_since = tutti_error_native(the_world().ctx) > 0;
}

int raise(const handler_of& whose, const char* call, tutti_status_t s) {
  const newest_text text;
  return raise_text(whose, call, class_of(s), text.line);
}

}  // namespace tutti::mpi

using namespace tutti::mpi;

TUTTI_MPI_ENTRY(Init, (int* argc, char*** argv), MPI_COMM_WORLD, {
  (void)leave_environment();
  const int s = real.Init(argc, argv);
  if (s != MPI_SUCCESS) return s;
  int level = MPI_THREAD_SINGLE;
  real.Query_thread(&level);
  the_world().open(level);
  return s;
})

TUTTI_MPI_ENTRY(Init_thread, (int* argc, char*** argv, int required, int* provided), MPI_COMM_WORLD, {
  (void)leave_environment();
  const int s = real.Init_thread(argc, argv, required, provided);
  if (s == MPI_SUCCESS) the_world().open(*provided);
  return s;
})

TUTTI_MPI_ENTRY(Finalize, (), MPI_COMM_WORLD, {
  const int s = real.Finalize();
  the_world().leave();
  return s;
})

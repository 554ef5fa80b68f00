#include "bsp/process.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <numeric>

#include "bsp/guard.h"

namespace tutti::bsp {
namespace {

// Where the program, or the library, begins in which a function lies. Processes load it elsewhere each, but whole.
const void* file_of(std::intptr_t function) noexcept {
  Dl_info at{};
  return dladdr(reinterpret_cast<const void*>(function), &at) ? at.dli_fbase : nullptr;
}

// A launcher reads the output by a pipe, and stdio would keep what goes there until it has 4 KiB; what a process has not passed on
// is lost when another one ends the program. So lines go at once, as on a terminal. This happens before main, so whatever the
// program chooses itself prevails.
[[gnu::constructor]] void pass_lines_on() { std::setvbuf(stdout, nullptr, _IOLBF, 0); }

}  // namespace

process process::the_one;

// --- joining and leaving -----------------------------------------------------------------------------------------

void process::join() {
  if (phase_ != phase::fresh) return;
  auto settings = config::load();
  if (!settings) abort(settings.error());
  auto how = parse_scheme(settings->text(knob::bsp));
  if (!how) abort(how.error());
  options_.how = *how;
  options_.memory = settings->number(knob::bsp_memory_mib) << 20;
  check_ = settings->number(knob::bsp_check) != 0;
  profile_ = settings->text(knob::bsp_profile);
  provider_ = settings->text(knob::provider);
  job_options o = options_from(*settings);
  o.agreement += " bsp=" + std::string(settings->text(knob::bsp)) + " bsp_check=" + (check_ ? "1" : "0") +
                 " bsp_profile=" + (profile_.empty() ? "off" : "on");
  o.notice = [](const std::string& line) { std::fprintf(stderr, "bsp: %s\n", line.c_str()); };
  auto opened = job::open(*settings, std::move(o));
  if (!opened) abort(opened.error());
  job_ = std::move(*opened);
  remaining_ = &job_->world();
  rank_ = job_->rank();
  phase_ = phase::joined;
  std::atexit(at_exit);
}

std::uint32_t process::available() {
  join();
  return engine_ ? engine_->nprocs() : remaining_->size();
}

void process::init(void (*spmd)()) {
  if (phase_ == phase::running) broken("bsp_init", "called inside the parallel part; it comes before bsp_begin");
  if (spmd_waits_) broken("bsp_init", "called a second time before bsp_begin; a part is one function");
  if (!spmd) broken("bsp_init", "spmd is NULL; pass the function that calls bsp_begin");
  if (first_spmd_ && file_of(first_spmd_) != file_of(reinterpret_cast<std::intptr_t>(spmd)))
    broken("bsp_init", "the function lies in another file than that of the first bsp_init; put both into the program, or "
                       "into one library");
  contained("bsp_init", [&] { join(); });
  spmd_ = spmd;
  spmd_waits_ = true;
  if (!first_spmd_) first_spmd_ = reinterpret_cast<std::intptr_t>(spmd);
  if (rank_ > 0) serve();
}

// What process 0 says, to all that are left.
result<process::order> process::meet(const order& mine) {
  auto all = remaining_->exchange_values(mine);
  if (!all) return all.error();
  return (*all)[0];
}

// `why` bsp_begin cannot be. Processes that end before it are mostly those that found no input.
status process::not_begun(const status& why) const {
  if (why.code() != errc::peer_dead) return why.during("bsp_begin");
  return {why.code(), worded("bsp_begin: ", process_name(why.peer()), " ended before it. All processes run main",
                             spmd_ ? " up to bsp_init, and only process 0 has standard input: make bsp_init the first statement of main"
                                   : ", and only process 0 has standard input: read it in process 0 after bsp_begin, or begin main with bsp_init"),
          why.peer(), why.native()};
}

// The processes behind process 0, in a program that began with bsp_init. They have run main up to there only, so what
// process 0 names is a place in the program: it was loaded elsewhere here.
void process::serve() {
  for (;;) {
    auto told = meet({});
    if (!told) abort(told.error().during("bsp_init"));
    if (told->most == 0) break;
    order_ = *told;
    if (rank_ >= order_.most) {
      stay_out();
      continue;
    }
    const std::uint32_t before = parts_;
    reinterpret_cast<void (*)()>(first_spmd_ + order_.function)();
    if (parts_ == before || phase_ != phase::ended)
      broken("bsp_init", "the function that it was given returned without bsp_begin and bsp_end");
  }
  ending_ = true;
  if (status s = remaining_->leave(); s.failed()) abort(s.during("the end of process 0"));
  job_.reset();
  std::exit(0);
}

void process::begin(std::int64_t most) {
  if (phase_ == phase::running) broken("bsp_begin", "called inside the parallel part; bsp_end ends it");
  join();
  if (most < 1 && rank_ == 0)
    broken("bsp_begin", "%lld processes; begin with at least 1", static_cast<long long>(most));
  spmd_waits_ = false;
  // Process 0 may have read the number from a person, who takes time.
  if (!spmd_ || rank_ == 0) {
    auto told = meet({most, reinterpret_cast<std::intptr_t>(spmd_) - first_spmd_});
    if (!told) abort(not_begun(told.error()));
    order_ = *told;
  }
  const auto size = static_cast<std::uint32_t>(std::min<std::int64_t>(order_.most, remaining_->size()));
  if (rank_ >= size) {  // of a program whose processes all run main
    stay_out();
    ending_ = true;
    job_.reset();
    std::exit(0);
  }
  take_part(size);
}

void process::take_part(std::uint32_t size) {
  if (size < remaining_->size()) {
    std::vector<std::uint32_t> list(size);
    std::iota(list.begin(), list.end(), 0u);
    auto made = remaining_->create(list, [](void*, const rank_map&) { return team_request{}; }, nullptr);
    if (!made) abort(made.error().during("bsp_begin"));
    part_ = std::move(*made);
  }
  auto opened = engine::open(part_ ? *part_ : *remaining_, options_);
  if (!opened) abort(opened.error());
  engine_ = std::move(*opened);
  ++parts_;
  cout_apart_ = !std::ios_base::sync_with_stdio(true);  // which asks: what the program switched off stays so
  watch();
  phase_ = phase::running;
  begun_ = job_->net().now();
}

// A part goes by without this process.
void process::stay_out() {
  auto none = remaining_->create({}, [](void*, const rank_map&) { return team_request{}; }, nullptr);
  if (!none) abort(none.error().during("bsp_begin"));
  if (status s = remaining_->leave(); s.failed()) abort(s.during("bsp_end"));
}

// Nobody takes memory away that another may still reach for: all wait for all, those that only stood by as well.
void process::end() {
  engine& e = inside("bsp_end");
  if (ledger_) write_profile();
  if (!e.leave()) abort(e.error());
  if (status s = remaining_->leave(); s.failed()) abort(s.during("bsp_end"));
  engine_.reset();
  if (!spmd_ && part_) {
    remaining_ = part_.get();
    left_ = std::move(part_);
  }
  part_.reset();
  phase_ = phase::ended;
}

void process::watch() {
  if (!profile_.empty()) {
    machine m;
    if (!measure_machine(*engine_, m)) abort(engine_->error());
    ledger_ = std::make_unique<ledger>(engine_->nprocs(), m, job_->net());
  }
  std::function<void(const std::string&)> tell;
  if (check_) tell = [](const std::string& text) { std::fprintf(stderr, "bsp_check: %s\n", text.c_str()); };
  engine_->watch(ledger_.get(), tell);
}

// The syncs of this meet those of a process that has not ended, and when that ends, its bsp_end meets one of these: an
// error, as without a profile.
void process::write_profile() {
  engine_->drop_registrations();
  engine_->watch(nullptr, nullptr);
  status why;
  const std::string path = profile_ + (parts_ > 1 ? "." + std::to_string(parts_) : "");
  if (!ledger_->write(*engine_, path, job_->fabric().empty() ? provider_ : job_->fabric(), why)) abort(engine_->error());
  if (why.failed()) std::fprintf(stderr, "%s\n", why.text());
  ledger_.reset();
}

void process::pass_cout_on() noexcept {
  try {
    std::cout.flush();
  } catch (...) {  // if the program wants exceptions of it
  }
}

double process::seconds() const noexcept {
  return std::chrono::duration<double>(job_->net().now() - begun_).count();
}

// --- the end of a program that cannot go on ----------------------------------------------------------------------

void process::outside(const char* call) {
  broken(call, phase_ == phase::ended ? "called after bsp_end" : "called before bsp_begin");
}

void process::broken(const char* call, const char* format, ...) {
  char text[512];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  end_all(std::string(call) + ": " + text);
}

void process::abort(const char* format, std::va_list values) {
  char text[1024] = "no reason given";
  if (format) vsnprintf(text, sizeof text, format, values);
  end_all(text);
}

void process::abort(const status& why) { end_all(why.text()); }

// The launcher ends the others, and need not say why: this process did. Where there is none that listens, they see this
// process die.
void process::end_all(const std::string& text) {
  std::string line = text;
  while (!line.empty() && line.back() == '\n') line.pop_back();
  if (job_) line = "process " + std::to_string(rank_) + ": " + line;
  std::fflush(stdout);
  pass_cout_on();
  std::fprintf(stderr, "bsp_abort: %s\n", line.c_str());
  std::fflush(stderr);
  ending_ = true;
  if (job_) job_->end(EXIT_FAILURE, "");
  std::_Exit(EXIT_FAILURE);
}

// A process that ends in the middle would leave the others waiting.
void process::at_exit() {
  process& p = the_one;
  if (p.ending_) return;
  if (p.phase_ == phase::running) p.end_all("the process ended without bsp_end");
  if (p.spmd_ && p.rank_ == 0) {  // those that wait in bsp_init end as well
    if (p.meet({})) (void)p.remaining_->leave();
  } else if (p.phase_ == phase::joined) {  // those that wait in bsp_begin are told
    p.job_->world().fail({errc::peer_dead, worded("process ", p.rank_, " ended before bsp_begin"), p.rank_,
                          peer_left});
  }
  p.left_.reset();
  p.job_.reset();
}

}  // namespace tutti::bsp

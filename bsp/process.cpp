#include "bsp/process.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace tutti::bsp {

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
  o.agreement = "bsp=" + std::string(settings->text(knob::bsp)) + (check_ ? " check" : "") + (profile_.empty() ? "" : " profile");
  auto opened = job::open(*settings, std::move(o));
  if (!opened) abort(opened.error());
  job_ = std::move(*opened);
  started_ = job_->size();
  rank_ = job_->rank();
  phase_ = phase::joined;
  std::atexit(at_exit);
}

std::uint32_t process::available() {
  join();
  return engine_ ? engine_->nprocs() : started_;
}

void process::init(void (*spmd)()) {
  if (phase_ == phase::running || phase_ == phase::ended || spmd_given_)
    broken("bsp_init", "called a second time, or after bsp_begin; it is the first statement of main");
  if (!spmd) broken("bsp_init", "spmd is NULL; pass the function that calls bsp_begin");
  join();
  spmd_given_ = true;
  if (rank_ == 0) return;
  spmd();
  std::exit(0);
}

void process::begin(std::int64_t most) {
  if (phase_ == phase::running || phase_ == phase::ended)
    broken("bsp_begin", "called a second time; a program has one parallel part");
  join();
  if (most < 1 && rank_ == 0)
    broken("bsp_begin", "%lld processes; begin with at least 1", static_cast<long long>(most));
  // Process 0 may have read the number from a person, who takes time.
  auto all = job_->world().exchange(std::as_bytes(std::span(&most, 1)));
  if (!all) {
    const bool orderly = spmd_given_ && rank_ != 0 && all.error().peer() == 0 && all.error().native() == peer_left;
    if (!orderly) abort(all.error().during("bsp_begin"));
    ending_ = true;  // process 0 ended before the parallel part, as it may
    std::exit(0);
  }
  std::memcpy(&most, (**all)[0].data(), sizeof most);
  const auto size = static_cast<std::uint32_t>(std::min<std::int64_t>(most, started_));
  team* members = &job_->world();
  if (size < started_) {
    std::vector<std::uint32_t> list(rank_ < size ? size : 0);
    std::iota(list.begin(), list.end(), 0u);
    auto made = job_->world().create(list, [](void*, const rank_map&) { return team_request{}; }, nullptr);
    if (!made) abort(made.error().during("bsp_begin"));
    if (!*made) stand_by();
    part_ = std::move(*made);
    members = part_.get();
  }
  auto opened = engine::open(*members, options_);
  if (!opened) abort(opened.error());
  engine_ = std::move(*opened);
  watch();
  phase_ = phase::running;
  begun_ = std::chrono::steady_clock::now();
}

void process::end() {
  engine& e = inside("bsp_end");
  if (ledger_) write_profile();
  if (!e.leave()) abort(e.error());
  leave();
}

void process::watch() {
  if (!profile_.empty()) {
    machine m;
    if (!measure_machine(*engine_, m)) abort(engine_->error());
    ledger_ = std::make_unique<ledger>(engine_->nprocs(), m);
  }
  std::function<void(const std::string&)> tell;
  if (check_) tell = [](const std::string& text) { std::fprintf(stderr, "bsp_check: %s\n", text.c_str()); };
  engine_->watch(ledger_.get(), tell);
}

// The syncs of this meet those of a process that has not ended, and when that ends, its bsp_end meets one of these: an
// error, as without a profile.
void process::write_profile() {
  engine_->watch(nullptr, nullptr);
  status why;
  if (!ledger_->write(*engine_, profile_, provider_, why)) abort(engine_->error());
  if (!why.ok()) std::fprintf(stderr, "%s\n", why.text());
  ledger_.reset();
}

// Nobody takes memory away that another may still reach for: all wait for all, those that only stood by as well.
void process::leave() {
  if (status s = job_->world().settle(); !s.ok()) abort(s.during("bsp_end"));
  engine_.reset();
  part_.reset();
  job_.reset();
  phase_ = phase::ended;
}

void process::stand_by() {
  leave();
  std::exit(0);
}

double process::seconds() const noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
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
  char text[1024];
  vsnprintf(text, sizeof text, format, values);
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
  std::fprintf(stderr, "bsp_abort: %s\n", line.c_str());
  std::fflush(stderr);
  ending_ = true;
  if (job_) job_->end(EXIT_FAILURE, "");
  std::_Exit(EXIT_FAILURE);
}

// A process that ends in the middle would leave the others waiting.
void process::at_exit() {
  process& p = the_one;
  if (p.ending_ || p.phase_ == phase::ended) return;
  if (p.phase_ == phase::running) p.end_all("the process ended without bsp_end");
  // Before bsp_begin: those that wait there are told.
  p.job_->world().fail({errc::peer_dead, "process " + std::to_string(p.rank_) + " ended before bsp_begin", p.rank_,
                        peer_left});
  p.job_.reset();
}

}  // namespace tutti::bsp

// The policy of a job, and its one loop, which waits for everything at once: deaths, signals, output, input, the clock.
#include "tools/run/job.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <future>

#include "core/job/ended_ranks.h"
#include "core/job/shown_waits.h"
#include "tools/run/abort_queue.h"
#include "tools/run/input.h"
#include "tools/run/output_mux.h"
#include "tools/run/rank_group.h"
#include "tools/run/scratch_folder.h"

namespace tutti::launching {
namespace {

using clock = std::chrono::steady_clock;

clock::time_point in(double seconds) {
  return clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
}

std::string list(const std::vector<rank_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

std::string number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

class job {
 public:
  explicit job(const job_options& o) : options_(o) {}

  int run() {
    if (const status s = start(); s.failed()) {
      say(s.text());
      fail(status_of(s));
      kill_at_ = clock::now();
      ending_ = true;
    }
    while (ranks_.living() > 0) step();
    output_.settle();
    if (options_.keep_going && !failures_.empty()) report_failures();
    std::ranges::sort(stayed_);
    if (!stayed_.empty() && !ending_)
      say(list(stayed_) + " of " + std::to_string(options_.ranks) + " ended without tutti_finalize; what was under way may be lost");
    output_.settle();
    if (output_.lost()) fail(status_failure);
    return status_;
  }

 private:
  // Of each rank the launcher holds two pipes, a pidfd and a connection of PMIx's; some more while it starts. Ranks get the limit that
  // the launcher was started with.
  status raise_file_limit() {
    rlimit now{};
    if (getrlimit(RLIMIT_NOFILE, &now) != 0) return {};
    const rlim_t needed = 64 + rlim_t{4} * options_.ranks;
    if (now.rlim_cur >= needed) return {};
    file_limit_ = now;
    const rlimit more{needed, std::max(now.rlim_max, needed)};  // root may raise the hard limit too
    if (setrlimit(RLIMIT_NOFILE, &more) == 0) return {};
    return {errc::no_resource, "-n " + std::to_string(options_.ranks) + " takes " + std::to_string(needed) + " open files here, and the limit is " +
                                   std::to_string(now.rlim_max) + "; raise it (ulimit -n)"};
  }

  status start() {
    take_signals();
    if (const status s = raise_file_limit(); s.failed()) return s;
    if (const status s = folder_.make(options_.scratch); s.failed()) return s;
    if (const status s = guardian_.start(folder_.path()); s.failed()) return s;
    if (!signals_ || aborts_->fd() < 0 || !input_.open())
      return {errc::no_resource, std::string{"cannot start: "} + std::strerror(errno), no_rank, errno};
    auto ended = ended_ranks::make(folder_.path(), options_.ranks);
    if (!ended) return ended.error();
    ended_ = *std::move(ended);
    (void)shown_.make(folder_.path(), options_.ranks);  // without it a job that hangs says less
    auto here = machine::look();
    if (!here) return here.error();
    auto server = pmix_server::start(options_.ranks, folder_.path(), *here,
                                     [queue = aborts_](rank_t r, int code, std::string text, std::function<void()> answer) {
                                       queue->push({r, code, std::move(text), std::move(answer)});
                                     });
    if (!server) return server.error();
    server_ = *std::move(server);
    if (options_.timeout_s > 0) timeout_at_ = in(options_.timeout_s);
    const status started = ranks_.start(options_, file_limit_, *here, *server_, input_.for_rank(), [&](rank_t r) {
      return output_.add(options_.tag_output ? std::string{"["}.append(std::to_string(r)).append("] ") : "",
                         options_.ranks == 1 && !options_.tag_output);
    });
    input_.started();
    return started.code() == errc::unavailable && started.native() ? cannot_run(started) : started;
  }

  status cannot_run(const status& why) const {
    std::string text = "cannot run " + options_.path + ": " + why.text();
    if (why.native() == ENOEXEC) text += "; if it is a script, begin it with a line like #!/bin/sh";
    if (why.native() == ENOENT) text += "; install the interpreter or loader that it names";
    return {why.code(), std::move(text), no_rank, why.native()};
  }

  static int status_of(const status& s) {
    if (s.code() != errc::unavailable || !s.native()) return status_failure;
    return s.native() == ENOENT ? status_not_found : status_cannot_execute;
  }

  // From now on signals come through a descriptor, SIGHUP not if it was ignored: nohup works.
  void take_signals() {
    sigset_t mine;
    sigemptyset(&mine);
    for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH})
      sigaddset(&mine, s);
    struct sigaction hangup;
    if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN) sigdelset(&mine, SIGHUP);
    sigprocmask(SIG_BLOCK, &mine, nullptr);  // before libpmix's threads begin, which inherit it
    for (const int s : {SIGPIPE, SIGXFSZ}) signal(s, SIG_IGN);  // a write fails, and says why
    signals_ = unique_fd{signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK)};
  }

  void say(const std::string& text) { output_.say("tutti run: " + text); }
  void fail(int code) {
    if (status_ == 0) status_ = code;
  }

  // --- the loop --------------------------------------------------------------------------------------------------

  void step() {
    waits_.assign({{ranks_.fd(), POLLIN, 0}, {signals_.get(), POLLIN, 0}, {aborts_->fd(), POLLIN, 0},
                   input_.interest()});
    output_.interests(waits_);
    poll(waits_.data(), waits_.size(), wait_ms());
    signalfd_siginfo s;
    while (read(signals_.get(), &s, sizeof s) == sizeof s) on_signal(static_cast<int>(s.ssi_signo));
    if (waits_[2].revents)
      for (const auto& call : aborts_->take()) on_abort(call);
    if (waits_[0].revents)  // after aborts: who calls for one may be dead by now
      while (const auto dead = ranks_.next_death()) {
        mark(*dead);
        ranks_.kill_group_of(*dead);
        on_death(*dead);
      }
    if (waits_[3].revents) input_.proceed();
    output_.proceed();
    on_clock();
  }

  int wait_ms() const {
    const clock::time_point next = std::min({timeout_at_, kill_at_, decide_at_});
    if (next == clock::time_point::max()) return -1;
    const double left = std::chrono::duration<double, std::milli>(next - clock::now()).count();
    return static_cast<int>(std::clamp(std::ceil(left), 0.0, 1e6));
  }

  void on_clock() {
    if (clock::now() >= decide_at_ && !ending_) decide();
    if (clock::now() >= kill_at_) {
      kill_at_ = clock::time_point::max();
      ranks_.signal_all(SIGKILL);
    }
    if (clock::now() >= timeout_at_) {
      timeout_at_ = clock::time_point::max();
      if (ending_ || ranks_.living() == 0) return;
      const auto living = ranks_.living_ranks();
      say("timed out after " + number(options_.timeout_s) + " s with " + list(living) + " of " +
          std::to_string(options_.ranks) + " still running; ending the job");
      say_what_ranks_wait_for();
      status_ = status_timeout;
      end_all(SIGTERM);
    }
  }

  void say_what_ranks_wait_for() {
    constexpr std::size_t most = 64;
    const auto lines = shown_.in_words(ranks_.living_ranks());
    for (std::size_t i = 0; i < std::min(lines.size(), most); ++i) say(lines[i]);
    if (lines.size() > most) say("and " + std::to_string(lines.size() - most) + " other ranks wait");
  }

  // Asks all ranks to end, and makes them when the grace is over. Stopped ones must run to be able to.
  void end_all(int number) {
    ending_ = true;
    decide_at_ = clock::time_point::max();
    ranks_.signal_all(number);
    ranks_.signal_all(SIGCONT);
    kill_at_ = std::min(kill_at_, in(options_.grace_s));
  }

  // The survivors are told before anything else, which may take its time: to tidy up behind it, and to reap it.
  void mark(const rank_group::ended& dead) {
    const bool in_order = dead.how.success() && server_->said_farewell(dead.rank);
    ended_.mark(dead.rank, in_order ? ended_ranks::how::in_order : ended_ranks::how::died);
  }

  void on_death(const rank_group::ended& dead) {
    if (ending_) {  // what dies while the job is being ended is no news
      if (!dead.how.success()) fail(dead.how.exit_status());
      return;
    }
    if (dead.how.success()) {  // nobody may be left who could be named in place of one that failed
      if (server_->took_part(dead.rank) && !server_->said_farewell(dead.rank)) stayed_.push_back(dead.rank);
      if (decide_at_ != clock::time_point::max()) decide();
      return;
    }
    failures_.push_back(dead);
    if (options_.keep_going) return fail(dead.how.exit_status());
    if (failures_.size() == 1) decide_at_ = in(0.2);
    decide();
  }

  // Which rank's death is named as the first? Others that notice it may fail in turn and be reaped earlier, since a
  // process closes its connections a good while before it can be reaped. But they have time to leave the job in good
  // order. So after one that did, a rank that did not is waited for, for a moment.
  void decide() {
    auto first = std::find_if(failures_.begin(), failures_.end(),
                              [&](const auto& f) { return !server_->said_farewell(f.rank); });
    if (first == failures_.end()) {
      if (ranks_.living() > 0 && clock::now() < decide_at_) return;  // again at the next death, or then
      first = failures_.begin();
    }
    decide_at_ = clock::time_point::max();
    fail(first->how.exit_status());
    std::string text = describe(*first);
    if (ranks_.living() > 0) text += "; ending " + list(ranks_.living_ranks());
    say(text);
    end_all(SIGTERM);
  }

  void on_signal(int number) {
    switch (number) {
      case SIGINT: case SIGTERM: case SIGHUP: case SIGQUIT:
        if (interrupted_) kill_at_ = clock::now();  // the second time it is meant
        if (number == SIGQUIT && !interrupted_) say_what_ranks_wait_for();
        interrupted_ = true;
        end_all(number);
        break;
      case SIGTSTP:
        ranks_.signal_all(SIGTSTP);
        raise(SIGSTOP);  // until SIGCONT, which then comes through the descriptor
        break;
      default: ranks_.signal_all(number);
    }
  }

  void on_abort(const abort_queue::call& call) {
    if (!ending_) {
      if (!call.text.empty())  // empty: the rank has said why, as bsp_abort does
        say("rank " + std::to_string(call.rank) + " ended the job with status " + std::to_string(call.status) + ": " + call.text);
      fail(call.status ? call.status & 0xff : status_failure);
      end_all(SIGTERM);
    }
    call.answer();
  }

  std::string describe(const rank_group::ended& dead) {
    return "rank " + std::to_string(dead.rank) + " (pid " + std::to_string(ranks_[dead.rank].pid) + ") " +
           dead.how.words();
  }

  void report_failures() {
    for (const auto& dead : failures_) say(describe(dead));
    say(std::to_string(failures_.size()) + " of " + std::to_string(options_.ranks) + " ranks failed");
  }

  const job_options& options_;
  std::optional<rlimit> file_limit_;  // of open files, as it was before it was raised
  scratch_folder folder_;
  ended_ranks ended_;  // for the ranks to see
  shown_waits shown_;  // by the ranks
  guardian guardian_;
  const std::shared_ptr<abort_queue> aborts_ = std::make_shared<abort_queue>();  // libpmix's thread has a share
  std::unique_ptr<pmix_server> server_;
  rank_group ranks_{guardian_};
  output_mux output_;
  input_relay input_;
  unique_fd signals_;
  std::vector<pollfd> waits_;
  std::vector<rank_group::ended> failures_;
  std::vector<rank_t> stayed_;  // ended with status 0, in the job still
  clock::time_point timeout_at_ = clock::time_point::max(), kill_at_ = clock::time_point::max();
  clock::time_point decide_at_ = clock::time_point::max();
  bool ending_ = false, interrupted_ = false;
  int status_ = 0;
};

// Of threads that begin from now on. libpmix 4.2 has an array of 200 KB there.
void set_size_of_stacks() {
  pthread_attr_t usual;
  if (pthread_attr_init(&usual) != 0) return;
  if (pthread_attr_setstacksize(&usual, 2 << 20) == 0) (void)pthread_setattr_default_np(&usual);
  pthread_attr_destroy(&usual);
}

}  // namespace

// The job runs in a thread: the stack of this one is as small as its limit, which an unprivileged user cannot raise.
int run_job(const job_options& o) {
  set_size_of_stacks();
  sigset_t all, mine;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &mine);  // they go to the thread
  try {
    return std::async(std::launch::async, [&] {
      pthread_sigmask(SIG_SETMASK, &mine, nullptr);
      return job{o}.run();
    }).get();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tutti run: %s; raise the limits (ulimit -v, -d, -u)\n", e.what());
    return status_failure;
  }
}

}  // namespace tutti::launching

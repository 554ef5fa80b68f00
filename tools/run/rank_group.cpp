// Deaths come from an epoll set of pidfds, which reports them in the order in which they became ready: when one rank's
// death makes another fail, the first is the one that is named. A rank is reaped only here; until then its pid, and so
// its process group, belong to nobody else, and signalling it is safe.
#include "tools/run/rank_group.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "tools/run/leavings.h"

namespace tutti::launching {
namespace {

result<std::vector<cpu_set_t>> choose_cores(const job_options& options, const machine& here) {
  if (options.bind == binding::none) return std::vector<cpu_set_t>{};
  auto cores = here.cores();
  if (options.bind == binding::core) return cores;
  if (!cores || cores->size() < options.ranks) return std::vector<cpu_set_t>{};
  return cores;
}

}  // namespace

status rank_group::start(const job_options& options, const std::optional<rlimit>& file_limit, const machine& here, pmix_server& server, int input,
                         const std::function<result<rank_output>(rank_t)>& output_of) {
  const auto cores = choose_cores(options, here);
  if (!cores) return cores.error();
  deaths_ = unique_fd{epoll_create1(EPOLL_CLOEXEC)};
  ranks_.reserve(options.ranks);
  for (rank_t r = 0; r < options.ranks; ++r) {
    auto output = output_of(r);
    if (!output) return output.error();
    rank_spec spec{options.path, options.arguments, options.environment, r == 0 ? input : -1, *std::move(output), std::nullopt, file_limit};
    auto pmix = server.variables(r);
    if (!pmix) return pmix.error();
    spec.environment.insert(spec.environment.end(), pmix->begin(), pmix->end());
    if (!cores->empty()) spec.cores = (*cores)[r % cores->size()];
    auto process = start_rank(spec);
    if (!process) return process.error();
    guardian_.watch(process->pid);
    ranks_.push_back(*std::move(process));
    ++living_;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = r;
    if (epoll_ctl(deaths_.get(), EPOLL_CTL_ADD, ranks_[r].pidfd.get(), &event) != 0)
      return {errc::no_resource, std::string{"cannot watch a rank: "} + std::strerror(errno), no_rank, errno};
  }
  return {};
}

std::vector<rank_t> rank_group::living_ranks() const {
  std::vector<rank_t> all;
  for (rank_t r = 0; r < size(); ++r)
    if (ranks_[r].pidfd) all.push_back(r);
  return all;
}

void rank_group::signal_all(int number) const noexcept {
  for (const rank_process& r : ranks_)
    if (r.pidfd) kill(-r.pid, number);
}

std::optional<rank_group::ended> rank_group::next_death() {
  epoll_event event;
  if (epoll_wait(deaths_.get(), &event, 1, 0) != 1) return std::nullopt;
  const rank_t r = event.data.u32;
  siginfo_t info{};
  // The pidfd says that it ended. Should its outcome be lost all the same, it is no success, and no reason to wait for ever.
  if (waitid(P_PID, static_cast<id_t>(ranks_[r].pid), &info, WEXITED | WNOWAIT) != 0) return ended{r, {.value = status_failure}};
  return ended{r, death::from(info)};
}

void rank_group::kill_group_of(const ended& dead) {
  rank_process& rank = ranks_[dead.rank];
  if (!dead.how.success()) {  // before the pid is given up
    kill(-rank.pid, SIGKILL);
    remove_leavings(rank.pid);
  }
  guardian_.forget(rank.pid);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(rank.pid), &info, WEXITED);
  rank.pidfd.close();  // and leaves the set
  --living_;
}

}  // namespace tutti::launching

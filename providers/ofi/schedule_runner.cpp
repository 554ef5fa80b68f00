#include "providers/ofi/schedule_runner.h"
#include "core/transport/offload.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

namespace tutti::ofi {

result<std::unique_ptr<schedule_runner>> schedule_runner::open(const std::string& provider) {
  std::unique_ptr<schedule_runner> made{new schedule_runner{provider}};
  if (status s = made->open_domain(); s.failed()) return s;
  return made;
}

schedule_runner::~schedule_runner() {
  plans_.clear();
  domains_.clear();
  if (fd_ >= 0) ::close(fd_);
}

status schedule_runner::open_domain() {
  auto opened = deferred::open(provider_);
  if (!opened) return opened.error();
  std::shared_ptr<deferred> domain{std::move(*opened)};
  if (fd_ < 0) fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  if (fd_ < 0 || ::epoll_ctl(fd_, EPOLL_CTL_ADD, domain->wait_fd(), &event) != 0)
    return {errc::no_resource, "no file descriptor for deferred work", no_rank, errno};
  domains_.push_back(std::move(domain));
  return {};
}

result<offload::plan_id> schedule_runner::prepare(const schedule& s, const rank_map& members, std::uint64_t first_epoch,
                                            std::vector<std::byte>& blob) {
  if (domains_.back()->left_behind())
    if (status opened = open_domain(); opened.failed()) return opened.during("after a peer's death, another domain for schedules");
  auto made = domains_.back()->prepare(s, members, first_epoch, blob);
  if (!made) return made.error();
  auto slot = std::find_if(plans_.begin(), plans_.end(), [](const placed& p) { return !p.in; });
  if (slot == plans_.end()) slot = plans_.insert(plans_.end(), placed{});
  *slot = {domains_.back(), *made};
  return plan_id{static_cast<std::uint32_t>(slot - plans_.begin())};
}

void schedule_runner::drop(plan_id id) noexcept {
  at(id).in->drop(at(id).there);
  at(id) = {};
  const auto& last = domains_.back();
  std::erase_if(domains_, [&](const std::shared_ptr<deferred>& d) { return d != last && d.use_count() == 1; });
}

unsigned schedule_runner::progress() noexcept {
  unsigned events = 0;
  for (const auto& d : domains_) events += d->progress();
  return events;
}

bool schedule_runner::arm() noexcept {
  return std::all_of(domains_.begin(), domains_.end(), [](const auto& d) { return d->arm(); });
}

}  // namespace tutti::ofi

#include "core/base/unmap_watch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/mappings.h"
#include "core/base/quiet_thread.h"

namespace tutti {
namespace {

constexpr std::uint64_t wanted_features =
    UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_PAGEFAULT_FLAG_WP;
constexpr int trial_ms = 2000;
// As preload/unmap.c exports it: calls `gone` before memory goes, until it is called with null.
constexpr const char* interposed_name = "tutti_unmap_tell";
using interposed_fn = void (*)(void (*gone)(void* whom, const void* begin, std::size_t bytes), void* whom);

interposed_fn find_interposed() noexcept { return reinterpret_cast<interposed_fn>(::dlsym(RTLD_DEFAULT, interposed_name)); }

status watch_for_faults(int faults, unmap_watch::range r) noexcept {
  uffdio_register ask{};
  ask.range = {r.begin, r.end - r.begin};
  ask.mode = UFFDIO_REGISTER_MODE_WP;
  if (::ioctl(faults, UFFDIO_REGISTER, &ask) == 0) return {};
  return {errc::unsupported, worded("memory cannot be watched by userfaultfd", ": ", std::strerror(errno)), no_rank, errno};
}

}  // namespace

// --- the one of this process ---------------------------------------------------------------------------------------------

result<std::shared_ptr<unmap_watch>> unmap_watch::open(by how) {
  static std::mutex opening;
  static std::weak_ptr<unmap_watch> one[2];
  const std::lock_guard lock{opening};
  std::weak_ptr<unmap_watch>& known = one[how == by::interposition];
  if (auto here = known.lock()) return here;
  std::shared_ptr<unmap_watch> made{new unmap_watch{how}};
  try {
    if (status s = how == by::userfaultfd ? made->start_faults() : made->start_interposed(); s.failed()) return s;
  } catch (const std::system_error& e) {
    return status{errc::unavailable, worded("no thread to read userfaultfd's events: ", e.what()), no_rank, e.code().value()};
  }
  known = made;
  return made;
}

status unmap_watch::start_faults() {
  const long fd = ::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
  if (fd < 0)
    return {errc::unavailable, worded("userfaultfd", ": ", std::strerror(errno), (errno == EINVAL ? " (Linux before 5.11)" : "")),
                                      no_rank, errno};
  faults_ = unique_fd{static_cast<int>(fd)};
  uffdio_api api{};
  api.api = UFFD_API, api.features = wanted_features;
  if (::ioctl(faults_.get(), UFFDIO_API, &api) != 0)
    return {errc::unavailable, worded("userfaultfd without events of unmapping", ": ", std::strerror(errno)), no_rank, errno};
  if (status s = try_faults(); s.failed()) return s;
  bell_ = unique_fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!bell_) return {errc::unavailable, worded("eventfd", ": ", std::strerror(errno)), no_rank, errno};
  thread_ = std::make_unique<std::thread>(quiet_thread([this] { run(); }));
  return {};
}

// That a call is held until its event is read, and that the change shows meanwhile, was not always so, and is not everywhere.
status unmap_watch::try_faults() {
  constexpr std::size_t page = 4096;
  void* const at = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return {errc::unavailable, "no memory to try userfaultfd with", no_rank, errno};
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  if (status s = watch_for_faults(faults_.get(), {begin, begin + page}); s.failed()) {
    ::munmap(at, page);
    return s;
  }
  const bool still = !changing();
  std::atomic<bool> returned = false;
  std::thread unmaps = quiet_thread([&] {
    ::munmap(at, page);
    returned = true;
  });
  pollfd ready{faults_.get(), POLLIN, 0};
  uffd_msg event{};
  const bool told = ::poll(&ready, 1, trial_ms) == 1;
  const bool held = changing() && !returned;
  const bool right = told && ::read(faults_.get(), &event, sizeof event) == sizeof event &&
                     event.event == UFFD_EVENT_UNMAP && event.arg.remove.start == begin && event.arg.remove.end == begin + page;
  if (!right) faults_.close();  // lets the thread go, whatever holds it
  unmaps.join();
  if (still && held && right && !changing()) return {};
  return {errc::unavailable, "userfaultfd does not hold an munmap() until its event is read, or does not show it"};
}

status unmap_watch::start_interposed() {
  const interposed_fn tell_me = find_interposed();
  if (!tell_me) return {errc::unavailable, "the program has not loaded libtutti-unmap.so"};
  intact_ = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "tutti_unmap_intact"));
  if (!intact_ || !intact()) return {errc::unavailable, "another library has put its own functions in place of libtutti-unmap.so's"};
  tell_me(interposed, this);
  return {};
}

unmap_watch::~unmap_watch() {
  if (owner_.inherited()) {
    (void)thread_.release();  // there is no such thread
    return;
  }
  if (how_ == by::interposition) {
    if (const interposed_fn tell_me = find_interposed()) tell_me(nullptr, this);
    return;
  }
  if (!thread_) return;
  ::eventfd_write(bell_.get(), 1);
  thread_->join();
}

// --- what has gone -------------------------------------------------------------------------------------------------------

// A request without a range: refused as invalid, unless something changes, which is looked at first.
bool unmap_watch::changing() const noexcept {
  uffdio_writeprotect nothing{};
  return ::ioctl(faults_.get(), UFFDIO_WRITEPROTECT, &nothing) != 0 && errno != EINVAL;
}

// Under the mutex. False: there was none.
bool unmap_watch::read_events() noexcept {
  std::array<uffd_msg, 16> events;
  bool any = false;
  for (ssize_t n; (n = ::read(faults_.get(), events.data(), sizeof events)) > 0; any = true)
    for (std::size_t i = 0; i < static_cast<std::size_t>(n) / sizeof(uffd_msg); ++i) {
      const uffd_msg& e = events[i];
      if (e.event == UFFD_EVENT_REMAP) tell({e.arg.remap.from, e.arg.remap.from + e.arg.remap.len});
      else if (e.event != UFFD_EVENT_PAGEFAULT) tell({e.arg.remove.start, e.arg.remove.end});
    }
  return any;
}

void unmap_watch::tell(range r) noexcept {
  for (listener* l = first_; l; l = l->next_) {
    if (l->count_ == l->gone_.size()) l->all_ = true;
    else l->gone_[l->count_++] = r;
  }
}

void unmap_watch::run() noexcept {
  pollfd wait[2] = {{faults_.get(), POLLIN, 0}, {bell_.get(), POLLIN, 0}};
  for (;;) {
    if (::poll(wait, 2, -1) < 0) continue;
    if (wait[1].revents) return stop_watching();
    const std::lock_guard lock{mutex_};
    read_events();
  }
}

// Nothing here gives memory back: with the last event's reader gone, that could wait for ever.
void unmap_watch::stop_watching() noexcept {
  const auto take_back = [](void* faults, std::uintptr_t begin, std::uintptr_t end) {
    uffdio_range all{begin, end - begin};
    ::ioctl(static_cast<unique_fd*>(faults)->get(), UFFDIO_UNREGISTER, &all);
  };
  each_private_mapping(take_back, &faults_);
  while (changing()) {  // who had begun before that
    const std::lock_guard lock{mutex_};
    read_events();
  }
  faults_.close();
}

// In any thread, perhaps inside its malloc().
void unmap_watch::interposed(void* whom, const void* begin, std::size_t bytes) noexcept {
  unmap_watch& watch = *static_cast<unmap_watch*>(whom);
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  const std::lock_guard lock{watch.mutex_};
  watch.tell({at, at + std::min<std::uintptr_t>(bytes, ~at)});
}

// --- listeners -----------------------------------------------------------------------------------------------------------

unmap_watch::listener::listener(std::shared_ptr<unmap_watch> watch) noexcept : watch_(std::move(watch)) {
  const std::lock_guard lock{watch_->mutex_};
  next_ = std::exchange(watch_->first_, this);
}

unmap_watch::listener::~listener() {
  if (watch_->owner_.inherited()) return;
  const std::lock_guard lock{watch_->mutex_};
  for (listener** l = &watch_->first_; *l; l = &(*l)->next_)
    if (*l == this) {
      *l = next_;
      return;
    }
}

status unmap_watch::listener::watch(range r) {
  if (watch_->how_ == by::interposition) return {};
  const auto around = private_mappings(r.begin, r.end);
  if (!around) return around.error();
  return watch_for_faults(watch_->faults_.get(), {around->first, around->second});
}

unmap_watch::listener::news unmap_watch::listener::settle() noexcept {
  const std::lock_guard lock{watch_->mutex_};
  news out;
  if (watch_->how_ == by::userfaultfd && watch_->changing()) {
    watch_->read_events();
    out.sure = false;
  }
  if (watch_->how_ == by::interposition && !watch_->intact()) out.sure = false;
  std::copy_n(gone_.begin(), count_, taken_.begin());
  out.gone = {taken_.data(), std::exchange(count_, 0)};
  out.all = std::exchange(all_, false);
  return out;
}

}  // namespace tutti

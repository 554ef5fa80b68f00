// Variables that keep these libraries from it (IPATH_NO_BACKTRACE, UCX_HANDLE_ERRORS) would have to be set by setenv, which
// no library may call beside other threads; and each library has its own.
#include "core/base/dispositions.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <mutex>
#include <new>

namespace tutti {
namespace {

// The object that holds this address, as dladdr() names it: where its first page lies.
const void* object_of(const void* address) noexcept {
  Dl_info info{};
  return ::dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

const void* handler_of(const struct sigaction& s) noexcept {
  return s.sa_flags & SA_SIGINFO ? reinterpret_cast<const void*>(s.sa_sigaction) : reinterpret_cast<const void*>(s.sa_handler);
}

bool is_default(const struct sigaction& s) noexcept {
  return !(s.sa_flags & SA_SIGINFO) && (s.sa_handler == SIG_DFL || s.sa_handler == SIG_IGN);
}

// What is loaded, and how often something was loaded or unloaded until then.
struct listing {
  unsigned long long changes = 0;
  std::size_t count = 0;  // of the objects there are, for some of which there may have been no room
  std::vector<const void*> objects;
};

unsigned long long changes_of(const dl_phdr_info& any) noexcept { return any.dlpi_adds + any.dlpi_subs; }

// The loader calls these two with a lock held: nothing may be asked of the loader, which takes its locks in another order when
// it loads something at the same time; nor allocated, since a program's own malloc may ask it.
int count_changes(dl_phdr_info* object, std::size_t, void* to) noexcept {
  *static_cast<unsigned long long*>(to) = changes_of(*object);
  return 1;
}

int note(dl_phdr_info* object, std::size_t, void* to) noexcept {
  listing& list = *static_cast<listing*>(to);
  list.changes = changes_of(*object);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    if (object->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const auto* first = reinterpret_cast<const char*>(object->dlpi_addr) + object->dlpi_phdr[i].p_vaddr;
    if (list.count++ < list.objects.capacity()) list.objects.push_back(first);
    break;
  }
  return 0;
}

listing loaded_objects() {
  listing all;
  do {  // again where there were more than there was room for
    all.objects.clear();
    all.objects.reserve(all.count + 8);
    all.count = 0;
    ::dl_iterate_phdr(note, &all);
  } while (all.count > all.objects.size());
  for (const void*& first : all.objects) first = object_of(first);  // null, where it was unloaded meanwhile
  return all;
}

bool holds(const std::vector<const void*>& list, const void* one) noexcept {
  return std::find(list.begin(), list.end(), one) != list.end();
}

// What this process has loaded, as of the last look. Nothing is asked of the loader while the mutex is held: a constructor
// that a dlopen() runs may wait for it, and holds the loader's locks.
class objects {
 public:
  // Lists them again only if there were changes; what is new is the vendors' if a kept_dispositions lives. Throws bad_alloc.
  void look() {
    unsigned long long changes = 0;
    ::dl_iterate_phdr(count_changes, &changes);
    if (const std::lock_guard lock{mutex_}; changes == last_.changes) return;
    listing now = loaded_objects();
    const std::lock_guard lock{mutex_};
    if (now.changes <= last_.changes) return;  // another thread was faster
    if (living_ > 0)
      for (const void* object : now.objects)
        if (!holds(last_.objects, object) && !holds(vendors_, object)) vendors_.push_back(object);
    last_ = std::move(now);
  }
  void count(int born) {
    const std::lock_guard lock{mutex_};
    living_ += born;
  }
  bool are_vendors(const void* object) {
    const std::lock_guard lock{mutex_};
    return holds(vendors_, object);
  }

 private:
  std::mutex mutex_;
  listing last_;
  std::vector<const void*> vendors_;  // loaded while a kept_dispositions lived; never unloaded, as modules are not
  int living_ = 0;
};
objects& known() {
  static objects all;
  return all;
}

}  // namespace

kept_dispositions::kept_dispositions() : before_(NSIG) {
  known().look();
  known().count(1);
  for (int s = 1; s < NSIG; ++s) ::sigaction(s, nullptr, &before_[static_cast<std::size_t>(s)]);
}

kept_dispositions::~kept_dispositions() {
  try {
    known().look();
  } catch (const std::bad_alloc&) {  // then handlers of those that could not be noted stay
  }
  known().count(-1);
  for (int s = 1; s < NSIG; ++s) {
    struct sigaction now{};
    const struct sigaction& then = before_[static_cast<std::size_t>(s)];
    if (::sigaction(s, nullptr, &now) != 0 || is_default(now) || handler_of(now) == handler_of(then)) continue;
    if (const void* whose = object_of(handler_of(now)); whose && known().are_vendors(whose)) ::sigaction(s, &then, nullptr);
  }
}

}  // namespace tutti

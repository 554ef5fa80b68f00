// Variables that keep these libraries from it (IPATH_NO_BACKTRACE, UCX_HANDLE_ERRORS) would have to be set by setenv, which
// no library may call beside other threads; and each library has its own.
#include "core/dispositions.h"

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

struct listing {
  std::vector<const void*> objects;
  std::size_t count = 0;
};

// The loader calls it with a lock held: nothing may be asked of the loader, which takes its locks in another order when it
// loads something at the same time; nor allocated, since a program's own malloc may ask it.
int note(dl_phdr_info* object, std::size_t, void* to) noexcept {
  auto& list = *static_cast<listing*>(to);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    if (object->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const auto* first = reinterpret_cast<const char*>(object->dlpi_addr) + object->dlpi_phdr[i].p_vaddr;
    if (list.count++ < list.objects.capacity()) list.objects.push_back(first);
    break;
  }
  return 0;
}

std::vector<const void*> loaded_objects() {
  listing found;
  do {  // again where there were more than there was room for
    found.objects.clear();
    found.objects.reserve(found.count + 8);
    found.count = 0;
    ::dl_iterate_phdr(note, &found);
  } while (found.count > found.objects.size());
  std::vector<const void*> all = std::move(found.objects);
  for (const void*& first : all) first = object_of(first);  // null, where it was unloaded meanwhile
  return all;
}

bool holds(const std::vector<const void*>& list, const void* one) noexcept {
  return std::find(list.begin(), list.end(), one) != list.end();
}

// Those that were loaded while a kept_dispositions lived. Never unloaded, as modules are not.
struct vendors {
  std::mutex mutex;
  std::vector<const void*> objects;
};
vendors& known() {
  static vendors all;
  return all;
}

}  // namespace

kept_dispositions::kept_dispositions() : before_(NSIG), loaded_(loaded_objects()) {
  for (int s = 1; s < NSIG; ++s) ::sigaction(s, nullptr, &before_[static_cast<std::size_t>(s)]);
}

kept_dispositions::~kept_dispositions() {
  vendors& all = known();
  const std::lock_guard lock{all.mutex};
  try {
    for (const void* object : loaded_objects())
      if (!holds(loaded_, object) && !holds(all.objects, object)) all.objects.push_back(object);
  } catch (const std::bad_alloc&) {  // then handlers of those that could not be noted stay
  }
  for (int s = 1; s < NSIG; ++s) {
    struct sigaction now{};
    const struct sigaction& then = before_[static_cast<std::size_t>(s)];
    if (::sigaction(s, nullptr, &now) != 0 || is_default(now) || handler_of(now) == handler_of(then)) continue;
    if (const void* whose = object_of(handler_of(now)); whose && holds(all.objects, whose)) ::sigaction(s, &then, nullptr);
  }
}

}  // namespace tutti

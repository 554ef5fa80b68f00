#include "tests/faults/injection.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace tutti::test {
namespace {

std::atomic<injection*> armed{nullptr};
thread_local bool armed_here = false;
thread_local bool inside = false;  // what the injection calls itself is neither counted nor failed

// Names it here, since other processes may not have loaded the library.
void keep(void* at, injection::frame& out) noexcept {
  Dl_info where;
  if (!::dladdr(at, &where) || !where.dli_fname) return;
  std::strncpy(out.object, where.dli_fname, sizeof out.object - 1);
  out.offset = static_cast<std::uint64_t>(static_cast<char*>(at) - static_cast<char*>(where.dli_fbase)) - 1;
}

}  // namespace

void arm(injection* page) noexcept {
  void* warm[2];
  inside = true;
  (void)::backtrace(warm, 2);  // loads libgcc the first time
  inside = false;
  armed_here = page != nullptr;
  armed.store(page, std::memory_order_release);
}

bool counts(fault kind) noexcept {
  const injection* p = armed.load(std::memory_order_acquire);
  return p && p->kind == kind;
}

bool by_thread() noexcept {
  const injection* p = armed.load(std::memory_order_acquire);
  return p && p->one_thread;
}

bool of_tutti(void* caller) noexcept {
  dl_find_object where;
  if (_dl_find_object(caller, &where) != 0) return false;
  const char* name = where.dlfo_link_map->l_name;
  const char* base = std::strrchr(name, '/');
  return std::strstr(base ? base : name, "tutti") != nullptr;
}

bool fails(fault kind, const char* call, std::initializer_list<int> errors, int& error) noexcept {
  injection* p = armed.load(std::memory_order_acquire);
  if (!p || p->kind != kind || inside || (p->one_thread && !armed_here)) [[likely]] return false;
  const std::uint64_t k = p->calls.fetch_add(1, std::memory_order_relaxed) + 1;
  if (p->fail_at == 0 || k < p->fail_at || k > p->fail_until) return false;
  error = errors.begin()[p->variant % errors.size()];
  if (!p->failed.exchange(true)) {
    inside = true;
    std::strncpy(p->call, call, sizeof p->call - 1);
    p->error = error;
    void* at[injection::most_frames];
    p->depth = ::backtrace(at, injection::most_frames);
    for (int i = 0; i < p->depth; ++i) keep(at[i], p->frames[i]);
    inside = false;
  }
  return true;
}

bool fails_by_errno(const char* call, std::initializer_list<int> errors) noexcept {
  int error = 0;
  if (!fails(fault::system_call, call, errors, error)) [[likely]] return false;
  errno = error;
  return true;
}

void* next_symbol(const char* name) noexcept {
  void* f = ::dlsym(RTLD_NEXT, name);
  if (!f) std::abort();
  return f;
}

void* symbol_in(const char* library, const char* name) noexcept {
  const bool outer = inside;
  inside = true;
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (!handle) handle = ::dlopen(library, RTLD_NOW);
  void* f = handle ? ::dlsym(handle, name) : nullptr;
  inside = outer;
  if (!f) std::abort();
  return f;
}

}  // namespace tutti::test

#include "tests/seeded/machine.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

extern "C" {
int __real_close(int);
int __real_munmap(void*, std::size_t);
}

namespace tutti::test {

machine* world = nullptr;
process* running = nullptr;

namespace {

using namespace std::chrono_literals;

constexpr std::size_t stack_bytes = 512 << 10;
std::vector<void*> stacks;  // unused ones

ucontext_t kernel_context;
#if defined(__SANITIZE_ADDRESS__)
const void* kernel_stack = nullptr;
std::size_t kernel_stack_bytes = 0;
#endif

}  // namespace

machine::machine(std::uint64_t seed) : random(seed) { world = this; }

machine::~machine() {
  for (auto& p : processes)
    if (p->running) reap(*p, false);
  world = nullptr;
}

process& machine::start(int host, std::string name, std::function<void()> program) {
  processes.push_back(std::make_unique<process>());
  process& p = *processes.back();
  p.pid = 1000 + static_cast<int>(processes.size());
  p.host = host, p.name = std::move(name), p.program = std::move(program);
  if (stacks.empty()) {
    p.stack = ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  } else {
    p.stack = stacks.back();
    stacks.pop_back();
  }
  ::getcontext(&p.context);
  p.context.uc_stack.ss_sp = p.stack, p.context.uc_stack.ss_size = stack_bytes;
  p.context.uc_link = nullptr;
  const auto at = reinterpret_cast<std::uintptr_t>(&p);
  ::makecontext(&p.context, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(at), static_cast<unsigned>(at >> 32));
  resume_at(p, now_ + random.time(1ms));
  return p;
}

void machine::enter(unsigned low, unsigned high) {
  auto& p = *reinterpret_cast<process*>(static_cast<std::uintptr_t>(low) | static_cast<std::uintptr_t>(high) << 32);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &kernel_stack, &kernel_stack_bytes);
#endif
  p.program();
  {
    const in_kernel k;
    world->at(world->now(), [&p] { world->reap(p, true); });
  }
  ++p.slice;
  for (;;) world->give_way();
}

void machine::at(nanoseconds when, std::function<void()> what) {
  events_.push({std::max(when, now_), numbers_++, std::move(what)});
}

// A time slice that begins then, unless something else has begun or ended one before.
void machine::resume_at(process& p, nanoseconds when) {
  const std::uint64_t slice = ++p.slice;
  at(when, [this, &p, slice] {
    if (!p.running || p.slice != slice) return;
    if (now_ < p.stopped_until) resume_at(p, p.stopped_until);
    else resume(p);
  });
}

void machine::resume(process& p) {
  p.waits_for.clear();
  p.futex = {0, 0};
  running = &p;
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, p.stack, stack_bytes);
#endif
  ::swapcontext(&kernel_context, &p.context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  running = nullptr;
}

void machine::give_way() noexcept {
  process& p = *running;
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, kernel_stack, kernel_stack_bytes);
#endif
  ::swapcontext(&p.context, &kernel_context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, &kernel_stack, &kernel_stack_bytes);
#endif
}

void machine::step() noexcept {
  {
    const in_kernel k;
    nanoseconds takes = 50ns + nanoseconds(random.below(500));
    if (random.one_in(pause_one_in)) kept_off += takes = random.time(longest_pause);
    // Nothing else happens by then: there is nobody to give way to.
    if (k.caller().stopped_until <= now_ && (events_.empty() || events_.top().when > now_ + takes)) {
      now_ += takes;
      return;
    }
    resume_at(k.caller(), now_ + takes);
  }
  give_way();
}

void machine::idle(nanoseconds t) noexcept {
  {
    const in_kernel k;
    resume_at(k.caller(), now_ + t);
  }
  give_way();
}

void machine::wait(const std::vector<int>& fds, nanoseconds until) noexcept {
  {
    const in_kernel k;
    k.caller().waits_for = fds;
    resume_at(k.caller(), until);
  }
  give_way();
}

void machine::wake(process& p) {
  p.waits_for.clear();
  p.futex = {0, 0};
  resume_at(p, now_ + 1us + random.time(100us));
}

void machine::wake_ready() {
  for (auto& p : processes) {
    if (!p->running || p->waits_for.empty()) continue;
    for (const int fd : p->waits_for) {
      const auto found = p->fakes.find(fd);
      if (found == p->fakes.end() || !found->second->readable()) continue;
      wake(*p);
      break;
    }
  }
}

bool machine::run(nanoseconds limit) {
  while (!events_.empty()) {
    if (std::none_of(processes.begin(), processes.end(), [](const auto& p) { return p->running; })) return true;
    event next = std::move(const_cast<event&>(events_.top()));
    events_.pop();
    now_ = next.when;
    if (now_ > limit || failed()) return false;
    next.what();
    wake_ready();
  }
  return std::none_of(processes.begin(), processes.end(), [](const auto& p) { return p->running; });
}

void machine::kill(process& p) {
  if (!p.running) return;
  note(p.name + " is killed");
  reap(p, false);
}

void machine::stop(process& p, nanoseconds t) {
  note(p.name + " is stopped for " + std::to_string(t.count() / 1000) + " us");
  p.stopped_until = std::max(p.stopped_until, now_ + t);
  kept_off += t;
}

void machine::reap(process& p, bool by_itself) {
  p.running = false;
  if (by_itself) {
    p.program = nullptr;
    if (!p.fakes.empty() || !p.files.empty()) {
      std::string which;
      for (const auto& f : p.fakes) which += " " + std::to_string(f.first);
      for (const int f : p.files) which += " " + std::to_string(f);
      complain(p.name + " left descriptors open:" + which);
    }
    if (!p.mappings.empty()) complain(p.name + " left " + std::to_string(p.mappings.size()) + " mappings");
    if (p.heap) complain(p.name + " left " + std::to_string(p.heap_bytes) + " bytes of its heap");
  }
  auto ends = std::exchange(p.at_end, {});
  for (auto& f : ends) f();
  auto fakes = std::exchange(p.fakes, {});
  for (auto& [fd, o] : fakes) o->closed();
  for (const int fd : p.files) __real_close(fd);
  for (const auto& [base, bytes] : p.mappings) __real_munmap(base, bytes);
  p.files.clear(), p.mappings.clear(), p.inodes.clear();
  free_heap(p);
  p.program = nullptr;
  stacks.push_back(std::exchange(p.stack, nullptr));
  if (by_itself) note(p.name + " has ended");
  const nanoseconds told = now_ + random.time(2ms);
  at(told, [&p] { p.told = true; });
  at(told + random.time(20ms), [&p] { p.gone = true; });
}

int machine::open(std::shared_ptr<object> o) {
  auto& fakes = running->fakes;
  int fd = first_fake;
  while (fakes.count(fd)) ++fd;
  const in_kernel k;
  fakes.emplace(fd, std::move(o));
  return fd;
}

std::shared_ptr<object> machine::find(int fd) noexcept {
  const auto found = running->fakes.find(fd);
  return found == running->fakes.end() ? nullptr : found->second;
}

int machine::close(int fd) noexcept {
  const in_kernel k;
  auto& fakes = k.caller().fakes;
  const auto found = fakes.find(fd);
  if (found == fakes.end()) {
    complain(k.caller().name + " closes descriptor " + std::to_string(fd) + ", which is not open");
    return -1;
  }
  const auto o = std::move(found->second);
  fakes.erase(found);
  o->closed();
  return 0;
}

process* machine::by_pid(int pid) noexcept {
  for (auto& p : processes)
    if (p->pid == pid) return p.get();
  return nullptr;
}

void machine::note(const std::string& what) {
  if (!tracing) return;
  const in_kernel k;
  std::fprintf(stderr, "%12.3f us  %s\n", 1e-3 * static_cast<double>(now_.count()), what.c_str());
}

void machine::complain(const std::string& what) {
  const in_kernel k;
  note("FAILED: " + what);
  complaints_.push_back(what);
}

// Who allocated what: a header before each block, in a list of its process.
struct alignas(16) allocation {
  allocation *next, *before;
  process* owner;
  std::size_t bytes;
};

void free_heap(process& p) noexcept {
  while (p.heap) {
    allocation* a = p.heap;
    p.heap = a->next;
    std::free(a);
  }
  p.heap_bytes = 0;
}

namespace {

void* allocate(std::size_t bytes) noexcept {
  auto* a = static_cast<allocation*>(std::malloc(sizeof(allocation) + bytes));
  if (!a) return nullptr;
  process* p = running;
  *a = {p ? p->heap : nullptr, nullptr, p, bytes};
  if (p) {
    if (p->heap) p->heap->before = a;
    p->heap = a;
    p->heap_bytes += bytes;
  }
  return a + 1;
}

void release(void* at) noexcept {
  if (!at) return;
  auto* a = static_cast<allocation*>(at) - 1;
  if (process* p = a->owner) {
    (a->before ? a->before->next : p->heap) = a->next;
    if (a->next) a->next->before = a->before;
    p->heap_bytes -= a->bytes;
  }
  std::free(a);
}

}  // namespace
}  // namespace tutti::test

// Program-wide, as C++ lets a program do.
void* operator new(std::size_t n) {
  if (void* at = tutti::test::allocate(n)) return at;
  throw std::bad_alloc{};
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return tutti::test::allocate(n); }
void* operator new[](std::size_t n) { return operator new(n); }
void* operator new[](std::size_t n, const std::nothrow_t& t) noexcept { return operator new(n, t); }
void operator delete(void* at) noexcept { tutti::test::release(at); }
void operator delete(void* at, std::size_t) noexcept { tutti::test::release(at); }
void operator delete(void* at, const std::nothrow_t&) noexcept { tutti::test::release(at); }
void operator delete[](void* at) noexcept { tutti::test::release(at); }
void operator delete[](void* at, std::size_t) noexcept { tutti::test::release(at); }
void operator delete[](void* at, const std::nothrow_t&) noexcept { tutti::test::release(at); }

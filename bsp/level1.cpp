// bsp_level1.h: collective calls, a superstep each. What a process gives goes to the others as messages to the engine
// (wire.h, call_note), in the chunks of the superstep that the call ends, so no area is registered, the program's messages stay,
// and processes that call something else are told so. Each combines what it was given by itself, in the order of the processes.
#include "bsp/bsp_level1.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "bsp/guard.h"
#include "core/base/copy.h"

using namespace tutti::bsp;

namespace {

// Bytes from which on a broadcast goes by the trees and chains of the team's collectives, instead of from the root to each.
constexpr std::uint64_t long_broadcast = 128 * 1024;

struct range {
  std::uint32_t first = 0, last = 0;  // the last is not in it
};
constexpr range only(std::uint32_t pid) noexcept { return {pid, pid + 1}; }

// One collective call of this process.
class collective {
 public:
  collective(const char* call, const void* site) : engine_(process::self().inside(call)), call_(call), site_(site) {}

  std::uint32_t me() const noexcept { return engine_.pid(); }
  range all() const noexcept { return {0, engine_.nprocs()}; }
  range up_to_me() const noexcept { return {0, me() + 1}; }
  range from_me() const noexcept { return {me(), engine_.nprocs()}; }

  std::uint32_t root(int pid) const {
    if (pid < 0 || static_cast<std::uint32_t>(pid) >= engine_.nprocs())
      process::self().broken(call_, "there is no process %d; use 0 to %u", pid, engine_.nprocs() - 1);
    return static_cast<std::uint32_t>(pid);
  }
  std::uint64_t size(int bytes) const { return size_of(call_, "the size", bytes); }
  void not_null(const char* what, const void* p, std::uint64_t bytes) const { tutti::bsp::not_null(call_, what, p, bytes); }
  void operation(bool there) const {
    if (!there) process::self().broken(call_, "the operation is NULL");
  }

  // Ends the superstep: processes `to` get `bytes` bytes each, process i those from i * `stride` on, and `givers` have given
  // something. With `data` they get nothing but word of it, and its bytes within the sync.
  void run(const void* source, std::uint64_t bytes, std::uint64_t stride, range to, range givers,
           std::uint32_t root = call_note::no_root, std::span<std::byte> data = {}) {
    process::self().before_sync();
    call_note note{.root = root, .bytes = bytes};
    std::memcpy(note.call, call_, std::min(std::strlen(call_), sizeof note.call));
    guarded(call_, [&](engine& e) {
      for (std::uint32_t i = to.first; i < to.last; ++i)
        if (!e.give(i, note, static_cast<const std::byte*>(source) + i * stride, data.empty() ? bytes : 0)) return false;
      return e.sync_by(note, givers.first, givers.last, site_, data);
    });
  }

  // What process `pid` gave.
  std::byte* given(std::uint32_t pid) const noexcept { return const_cast<std::byte*>(engine_.given(pid).payload); }
  template <class T>
  T value(std::uint32_t pid) const noexcept {
    T x;
    std::memcpy(&x, given(pid), sizeof x);
    return x;
  }
  void copy(std::uint32_t pid, void* target, std::uint64_t bytes) const noexcept {
    if (bytes > 0) tutti::copy_bytes(target, given(pid), bytes);
  }

  // Of numbers.
  template <class T, class Op>
  T combine(T x, range to, range givers, Op op) {
    run(&x, sizeof x, 0, to, givers);
    T all = value<T>(0);
    for (std::uint32_t i = 1; i < givers.last; ++i) all = op(all, value<T>(i));
    return all;
  }

  // Of elements: an operation never writes where it reads.
  using operation_type = void (*)(void*, void*, void*, int*);
  void combine(operation_type op, const void* source, void* target, int n, range to, range givers) {
    const std::uint64_t bytes = size(n);
    operation(op);
    not_null("the source", source, bytes);
    not_null("the target", target, bytes);
    std::vector<std::byte> results[2];
    guarded(call_, [&](engine&) {
      for (auto& r : results) r.resize(bytes);
      return true;
    });
    run(source, bytes, 0, to, givers);
    if (bytes == 0) return;
    std::byte* all = given(0);
    for (std::uint32_t i = 1; i < givers.last; ++i) {
      std::byte* const result = results[i % 2].data();
      int its_size = n;
      op(result, all, given(i), &its_size);
      all = result;
    }
    tutti::copy_bytes(target, all, bytes);
  }

  // The process whose element is the one that this process gets.
  template <class Less>
  std::uint32_t sorted(Less less) const {
    std::vector<std::uint32_t> order;
    guarded(call_, [&](engine& e) {
      order.resize(e.nprocs());
      return true;
    });
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, less);
    return order[me()];
  }

 private:
  engine& engine_;
  const char* call_;
  const void* site_;
};

// A default argument is evaluated where a function is called: `site` is the program's place.
template <class T, class Op>
T fold(const char* call, T x, Op op, const void* site = __builtin_return_address(0)) {
  collective c(call, site);
  return c.combine(x, c.all(), c.all(), op);
}

const parameters& measured(const void* site) {
  constexpr const char* call = "bsp_s, bsp_l, bsp_g";
  engine& e = process::self().inside(call);
  if (!e.measured()) {
    fold(call, 0, [](int a, int) { return a; }, site);
    guarded(call, [](engine& all) { return all.measure(); });
  }
  return *e.measured();
}

template <class T, class Op>
T scan(const char* call, T x, Op op, const void* site = __builtin_return_address(0)) {
  collective c(call, site);
  return c.combine(x, c.from_me(), c.up_to_me(), op);
}

template <class T>
T sort(const char* call, T x, const void* site = __builtin_return_address(0)) {
  collective c(call, site);
  c.run(&x, sizeof x, 0, c.all(), c.all());
  return c.value<T>(c.sorted([&](std::uint32_t a, std::uint32_t b) { return c.value<T>(a) < c.value<T>(b); }));
}

// Of int: they wrap around.
constexpr auto sum = []<class T>(T a, T b) {
  if constexpr (std::is_same_v<T, int>) return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
  else return a + b;
};
constexpr auto product = []<class T>(T a, T b) {
  if constexpr (std::is_same_v<T, int>) return static_cast<int>(static_cast<unsigned>(a) * static_cast<unsigned>(b));
  else return a * b;
};
constexpr auto least = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto greatest = [](auto a, auto b) { return a > b ? a : b; };

}  // namespace

// --- data --------------------------------------------------------------------------------------------------------

void bsp_bcast(int root_pid, const void* source, void* target, int n) {
  collective c("bsp_bcast", __builtin_return_address(0));
  const std::uint32_t root = c.root(root_pid);
  const std::uint64_t bytes = c.size(n);
  if (c.me() == root) c.not_null("the source", source, bytes);
  c.not_null("the target", target, bytes);
  const range to = c.me() == root ? c.all() : range{};
  if (bytes >= long_broadcast) {
    if (c.me() == root) tutti::move_bytes(target, source, bytes);
    return c.run(nullptr, bytes, 0, to, only(root), root, {static_cast<std::byte*>(target), bytes});
  }
  c.run(source, bytes, 0, to, only(root), root);
  c.copy(root, target, bytes);
}

void bsp_gather(int root_pid, const void* source, void* target, int n) {
  collective c("bsp_gather", __builtin_return_address(0));
  const std::uint32_t root = c.root(root_pid);
  const std::uint64_t bytes = c.size(n);
  c.not_null("the source", source, bytes);
  const range givers = c.me() == root ? c.all() : range{};
  if (c.me() == root) c.not_null("the target", target, bytes);
  c.run(source, bytes, 0, only(root), givers, root);
  for (std::uint32_t i = 0; i < givers.last; ++i) c.copy(i, static_cast<std::byte*>(target) + i * bytes, bytes);
}

void bsp_scatter(int root_pid, const void* source, void* target, int n) {
  collective c("bsp_scatter", __builtin_return_address(0));
  const std::uint32_t root = c.root(root_pid);
  const std::uint64_t bytes = c.size(n);
  if (c.me() == root) c.not_null("the source", source, bytes);
  c.not_null("the target", target, bytes);
  c.run(source, bytes, bytes, c.me() == root ? c.all() : range{}, only(root), root);
  c.copy(root, target, bytes);
}

// --- operations of the program's ---------------------------------------------------------------------------------

void bsp_fold(void (*op)(void*, void*, void*, int*), const void* source, void* target, int n) {
  collective c("bsp_fold", __builtin_return_address(0));
  c.combine(op, source, target, n, c.all(), c.all());
}

void bsp_scan(void (*op)(void*, void*, void*, int*), const void* source, void* target, int n) {
  collective c("bsp_scan", __builtin_return_address(0));
  c.combine(op, source, target, n, c.from_me(), c.up_to_me());
}

void bsp_sort(int (*less)(void*, void*, int*), const void* source, void* target, int n) {
  collective c("bsp_sort", __builtin_return_address(0));
  const std::uint64_t bytes = c.size(n);
  c.operation(less);
  c.not_null("the source", source, bytes);
  c.not_null("the target", target, bytes);
  c.run(source, bytes, 0, c.all(), c.all());
  if (bytes == 0) return;
  const auto is_less = [&](std::uint32_t a, std::uint32_t b) {
    int its_size = n;
    return less(c.given(a), c.given(b), &its_size) != 0;
  };
  c.copy(c.sorted(is_less), target, bytes);
}

// --- one number of each process ----------------------------------------------------------------------------------

int bsp_all(int x) { return fold<int>("bsp_all", x != 0, [](int a, int b) { return a & b; }); }
int bsp_any(int x) { return fold<int>("bsp_any", x != 0, [](int a, int b) { return a | b; }); }
int bsp_constantI(int x) {
  bool same = true;
  fold("bsp_constantI", x, [&](int a, int b) { return same = same && a == b, b; });
  return same;
}

int bsp_sumI(int x) { return fold("bsp_sumI", x, sum); }
float bsp_sumR(float x) { return fold("bsp_sumR", x, sum); }
double bsp_sumD(double x) { return fold("bsp_sumD", x, sum); }
int bsp_productI(int x) { return fold("bsp_productI", x, product); }
float bsp_productR(float x) { return fold("bsp_productR", x, product); }
double bsp_productD(double x) { return fold("bsp_productD", x, product); }
int bsp_minI(int x) { return fold("bsp_minI", x, least); }
float bsp_minR(float x) { return fold("bsp_minR", x, least); }
double bsp_minD(double x) { return fold("bsp_minD", x, least); }
int bsp_maxI(int x) { return fold("bsp_maxI", x, greatest); }
float bsp_maxR(float x) { return fold("bsp_maxR", x, greatest); }
double bsp_maxD(double x) { return fold("bsp_maxD", x, greatest); }

int bsp_sumI_prefix(int x) { return scan("bsp_sumI_prefix", x, sum); }
float bsp_sumR_prefix(float x) { return scan("bsp_sumR_prefix", x, sum); }
double bsp_sumD_prefix(double x) { return scan("bsp_sumD_prefix", x, sum); }
int bsp_productI_prefix(int x) { return scan("bsp_productI_prefix", x, product); }
float bsp_productR_prefix(float x) { return scan("bsp_productR_prefix", x, product); }
double bsp_productD_prefix(double x) { return scan("bsp_productD_prefix", x, product); }
int bsp_minI_prefix(int x) { return scan("bsp_minI_prefix", x, least); }
float bsp_minR_prefix(float x) { return scan("bsp_minR_prefix", x, least); }
double bsp_minD_prefix(double x) { return scan("bsp_minD_prefix", x, least); }
int bsp_maxI_prefix(int x) { return scan("bsp_maxI_prefix", x, greatest); }
float bsp_maxR_prefix(float x) { return scan("bsp_maxR_prefix", x, greatest); }
double bsp_maxD_prefix(double x) { return scan("bsp_maxD_prefix", x, greatest); }

int bsp_sortI(int x) { return sort("bsp_sortI", x); }
float bsp_sortR(float x) { return sort("bsp_sortR", x); }
double bsp_sortD(double x) { return sort("bsp_sortD", x); }
char bsp_sortC(char x) { return sort("bsp_sortC", x); }

double bsp_s() { return measured(__builtin_return_address(0)).flops; }
double bsp_l() {
  const parameters& m = measured(__builtin_return_address(0));
  return m.sync_s * m.flops;
}
double bsp_g() {
  const parameters& m = measured(__builtin_return_address(0));
  return m.word_s * m.flops;
}
int bsp_nhalf() {
  const parameters& m = measured(__builtin_return_address(0));
  return static_cast<int>(std::min<double>(std::ceil(m.sync_s / m.word_s), std::numeric_limits<int>::max()));
}

// BSPlib's functions, in both flavours, upon the engine of this process.
#include "bsp/bsplib.h"

#include <algorithm>
#include <climits>

#include "bsp/guard.h"
#include "core/base/copy.h"

using namespace tutti::bsp;

namespace {

process& self() noexcept { return process::self(); }

void begin(std::int64_t most) {
  contained("bsp_begin", [&] { self().begin(most); });
}
std::uint32_t nprocs() {
  return contained("bsp_nprocs", [] { return self().available(); });
}

int as_int(const char* call, const char* what, std::uint64_t n) {
  if (n > INT_MAX) self().broken(call, "%s is %llu, more than an int holds; compile with BSP_WIDE", what,
                                 static_cast<unsigned long long>(n));
  return static_cast<int>(n);
}

// A default argument is evaluated where a function is called: `from` is the program's place, for the ledger.
void put(std::uint32_t pid, const void* source, const void* area, std::uint64_t offset, std::uint64_t bytes,
         const void* from = __builtin_return_address(0)) {
  guarded("bsp_put", [&](engine& e) { return e.put(pid, source, area, offset, bytes, from); });
}

void get(std::uint32_t pid, const void* area, std::uint64_t offset, void* target, std::uint64_t bytes,
         const void* from = __builtin_return_address(0)) {
  guarded("bsp_get", [&](engine& e) { return e.get(pid, area, offset, target, bytes, from); });
}

void hpput(std::uint32_t pid, const void* source, const void* area, std::uint64_t offset, std::uint64_t bytes,
           const void* from = __builtin_return_address(0)) {
  guarded("bsp_hpput", [&](engine& e) { return e.hpput(pid, source, area, offset, bytes, from); });
}

void hpget(std::uint32_t pid, const void* area, std::uint64_t offset, void* target, std::uint64_t bytes,
           const void* from = __builtin_return_address(0)) {
  guarded("bsp_hpget", [&](engine& e) { return e.hpget(pid, area, offset, target, bytes, from); });
}

void direct_get(std::uint32_t pid, const void* area, std::uint64_t offset, void* target, std::uint64_t bytes,
                const void* from = __builtin_return_address(0)) {
  guarded("bsp_direct_get", [&](engine& e) { return e.direct_get(pid, area, offset, target, bytes, from); });
}

void push_reg(const void* address, std::uint64_t bytes) {
  guarded("bsp_push_reg", [&](engine& e) { return e.push_reg(address, bytes); });
}

void send(std::uint32_t pid, const void* tag, const void* payload, std::uint64_t bytes,
          const void* from = __builtin_return_address(0)) {
  guarded("bsp_send", [&](engine& e) { return e.send(pid, tag, payload, bytes, from); });
}

std::uint64_t set_tagsize(std::uint64_t bytes) {
  std::uint64_t before = 0;
  guarded("bsp_set_tagsize", [&](engine& e) { return e.set_tagsize(bytes, before); });
  return before;
}

const tutti::bsp::message* first(const char* call) { return self().inside(call).queue().front(); }

// Never more than the tag size in force, whatever came.
bool get_tag(const void* status, std::uint64_t& bytes, void* tag) {
  const auto* m = first("bsp_get_tag");
  not_null("bsp_get_tag", "the status", status);
  if (!m) return false;
  const auto n = std::min<std::uint64_t>(m->tag_bytes, self().inside("bsp_get_tag").tag_bytes());
  not_null("bsp_get_tag", "the tag", tag, n);
  if (n) std::memcpy(tag, m->tag, n);
  bytes = m->bytes;
  return true;
}

void move(void* payload, std::uint64_t most) {
  const auto* m = first("bsp_move");
  if (!m) self().broken("bsp_move", "the queue is empty; bsp_qsize tells how many messages there are");
  const auto n = std::min(m->bytes, most);
  not_null("bsp_move", "the payload", payload, n);
  if (n) tutti::copy_bytes(payload, m->payload, n);
  self().inside("bsp_move").queue().pop();
}

bool hpmove(std::uint64_t& bytes, void** tag, void** payload) {
  const auto* m = first("bsp_hpmove");
  not_null("bsp_hpmove", "the tag", tag);
  not_null("bsp_hpmove", "the payload", payload);
  if (!m) return false;
  *tag = const_cast<std::byte*>(m->tag);
  *payload = const_cast<std::byte*>(m->payload);
  bytes = m->bytes;
  self().inside("bsp_hpmove").queue().pop();
  return true;
}

}  // namespace

// --- alike in both flavours --------------------------------------------------------------------------------------

void bsp_init(void (*spmd)(void), int, char**) { self().init(spmd); }
void bsp_end(void) { contained("bsp_end", [] { self().end(); }); }
double bsp_time(void) { return self().inside("bsp_time"), self().seconds(); }

void bsp_abort(const char* format, ...) {
  va_list values;
  va_start(values, format);
  self().abort(format, values);
}

void bsp_vabort(const char* format, va_list values) { self().abort(format, values); }

void bsp_sync(void) {
  const void* const site = __builtin_return_address(0);
  self().before_sync();
  guarded("bsp_sync", [&](engine& e) { return e.sync(site); });
}

void bsp_pop_reg(const void* address) {
  guarded("bsp_pop_reg", [&](engine& e) { return e.pop_reg(address); });
}

// --- int ---------------------------------------------------------------------------------------------------------

void bsp_begin(int maxprocs) { begin(maxprocs); }
int bsp_nprocs(void) { return static_cast<int>(nprocs()); }
int bsp_pid(void) { return static_cast<int>(self().inside("bsp_pid").pid()); }

void bsp_push_reg(const void* address, int bytes) { push_reg(address, size_of("bsp_push_reg", "the size", bytes)); }

// A range that begins or ends before 0 is no range: the two checks cost nothing beside what follows.
void bsp_put(int pid, const void* source, const void* area, int offset, int bytes) {
  if ((offset | bytes) < 0) [[unlikely]] size_of("bsp_put", offset < 0 ? "the offset" : "the size", offset < 0 ? offset : bytes);
  put(static_cast<std::uint32_t>(pid), source, area, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes));
}

void bsp_get(int pid, const void* area, int offset, void* target, int bytes) {
  get(static_cast<std::uint32_t>(pid), area, size_of("bsp_get", "the offset", offset), target,
      size_of("bsp_get", "the size", bytes));
}

void bsp_hpput(int pid, const void* source, const void* area, int offset, int bytes) {
  hpput(static_cast<std::uint32_t>(pid), source, area, size_of("bsp_hpput", "the offset", offset),
        size_of("bsp_hpput", "the size", bytes));
}

void bsp_hpget(int pid, const void* area, int offset, void* target, int bytes) {
  hpget(static_cast<std::uint32_t>(pid), area, size_of("bsp_hpget", "the offset", offset), target,
        size_of("bsp_hpget", "the size", bytes));
}

void bsp_direct_get(int pid, const void* area, int offset, void* target, int bytes) {
  direct_get(static_cast<std::uint32_t>(pid), area, size_of("bsp_direct_get", "the offset", offset), target,
             size_of("bsp_direct_get", "the size", bytes));
}

void bsp_set_tagsize(int* bytes) {
  not_null("bsp_set_tagsize", "the size", bytes);
  *bytes = as_int("bsp_set_tagsize", "the size before", set_tagsize(size_of("bsp_set_tagsize", "the size", *bytes)));
}

void bsp_send(int pid, const void* tag, const void* payload, int bytes) {
  send(static_cast<std::uint32_t>(pid), tag, payload, size_of("bsp_send", "the size", bytes));
}

void bsp_qsize(int* messages, int* payload_bytes) {
  auto& queue = self().inside("bsp_qsize").queue();
  not_null("bsp_qsize", "the number of messages", messages);
  *messages = as_int("bsp_qsize", "the number of messages", queue.count());
  if (payload_bytes) *payload_bytes = as_int("bsp_qsize", "the sum of the payloads", queue.payload_bytes());
}

void bsp_get_tag(int* status, void* tag) {
  std::uint64_t bytes;
  *status = get_tag(status, bytes, tag) ? as_int("bsp_get_tag", "the payload", bytes) : -1;
}

void bsp_move(void* payload, int most) { move(payload, size_of("bsp_move", "the size", most)); }

int bsp_hpmove(void** tag, void** payload) {
  std::uint64_t bytes;
  return hpmove(bytes, tag, payload) ? as_int("bsp_hpmove", "the payload", bytes) : -1;
}

// --- wide --------------------------------------------------------------------------------------------------------

void bsp_wide_begin(unsigned maxprocs) { begin(maxprocs); }
unsigned bsp_wide_nprocs(void) { return nprocs(); }
unsigned bsp_wide_pid(void) { return self().inside("bsp_pid").pid(); }
void bsp_wide_push_reg(const void* address, std::size_t bytes) { push_reg(address, bytes); }

void bsp_wide_put(unsigned pid, const void* source, const void* area, std::size_t offset, std::size_t bytes) {
  put(pid, source, area, offset, bytes);
}
void bsp_wide_get(unsigned pid, const void* area, std::size_t offset, void* target, std::size_t bytes) {
  get(pid, area, offset, target, bytes);
}
void bsp_wide_hpput(unsigned pid, const void* source, const void* area, std::size_t offset, std::size_t bytes) {
  hpput(pid, source, area, offset, bytes);
}
void bsp_wide_hpget(unsigned pid, const void* area, std::size_t offset, void* target, std::size_t bytes) {
  hpget(pid, area, offset, target, bytes);
}
void bsp_wide_direct_get(unsigned pid, const void* area, std::size_t offset, void* target, std::size_t bytes) {
  direct_get(pid, area, offset, target, bytes);
}
void bsp_wide_set_tagsize(std::size_t* bytes) {
  not_null("bsp_set_tagsize", "the size", bytes);
  *bytes = set_tagsize(*bytes);
}
void bsp_wide_send(unsigned pid, const void* tag, const void* payload, std::size_t bytes) {
  send(pid, tag, payload, bytes);
}

void bsp_wide_qsize(unsigned* messages, std::size_t* payload_bytes) {
  auto& queue = self().inside("bsp_qsize").queue();
  not_null("bsp_qsize", "the number of messages", messages);
  if (queue.count() > UINT_MAX) self().broken("bsp_qsize", "%zu messages, more than an unsigned holds", queue.count());
  *messages = static_cast<unsigned>(queue.count());
  if (payload_bytes) *payload_bytes = queue.payload_bytes();
}

void bsp_wide_get_tag(std::size_t* status, void* tag) {
  std::uint64_t bytes;
  *status = get_tag(status, bytes, tag) ? bytes : ~std::size_t{0};
}

void bsp_wide_move(void* payload, std::size_t most) { move(payload, most); }

std::size_t bsp_wide_hpmove(void** tag, void** payload) {
  std::uint64_t bytes;
  return hpmove(bytes, tag, payload) ? bytes : ~std::size_t{0};
}

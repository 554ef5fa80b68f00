// Regions and segments. A region that was allocated is mapped by a peer at its first operation upon it, a small one (arena.h)
// with others of its owner; a region of
// the user's own is named by its address, which only the kernel (and threads of this process) can use.
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "providers/shm/transport.h"

namespace tutti::shm {

namespace {

// Whether peers may copy into and out of this process.
status allow_copies() {
  char byte = 0, into = 0;
  const iovec from{&byte, 1}, to{&into, 1};
  if (::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) != 1) {
    const int error = errno;
    return os_error("user memory cannot be exposed: process_vm_readv (allocated memory needs none)", error);
  }
  int scope = 0;
  if (std::FILE* f = std::fopen("/proc/sys/kernel/yama/ptrace_scope", "re")) {
    if (std::fscanf(f, "%d", &scope) != 1) scope = 0;
    std::fclose(f);
  }
  // Scope 1 lets a process name who may access it. Peers are siblings, and their pids may not be known yet: anyone of
  // this user, as without Yama.
  if (scope == 1) ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  if (scope > 1 && ::geteuid() != 0)
    return {errc::unavailable, worded("user memory cannot be exposed while kernel.yama.ptrace_scope is ", scope,
                                      "; set it to 0 or 1, or use allocated memory")};
  return {};
}

}  // namespace

result<region_id> shm_transport::enter(region r) {
  if (!regions_.reserve_one()) return status{errc::no_resource, "too many regions"};
  r.serial = next_serial_++;
  if (r.kind == region_kind::part) {
    auto place = arena_.take(r.bytes, r.serial);
    if (!place) return place.error();
    r.part = std::move(*place), r.base = r.part.base();
  }
  return regions_.insert(std::move(r));
}

result<region_id> shm_transport::add(std::span<std::byte> memory) {
  if (memory.empty()) return status{errc::invalid, "a region of no bytes cannot be added"};
  if (!copies_allowed_)
    if (status s = allow_copies(); s.failed()) return s;
  copies_allowed_ = true;
  auto entered = enter({.base = memory.data(), .bytes = memory.size(), .kind = region_kind::user, .shared = {}, .part = {}});
  if (entered)
    if (auto* serial = user_serial(page(), *entered)) serial->store(regions_[*entered].serial, std::memory_order_release);
  return entered;
}

result<region_id> shm_transport::allocate(std::size_t bytes, std::span<std::byte>& memory) {
  if (bytes == 0) return status{errc::invalid, "a region of no bytes cannot be allocated"};
  if (bytes <= arena::most) {
    auto entered = enter({.bytes = bytes, .kind = region_kind::part, .shared = {}, .part = {}});
    if (entered.ok()) memory = {regions_[*entered].base, bytes};
    return entered;
  }
  auto shared = create_memory(bytes, "tutti-region");
  if (!shared.ok()) return shared.error();
  std::byte* const base = shared->memory.get();
  auto entered = enter({.base = base, .bytes = bytes, .kind = region_kind::shared, .shared = std::move(*shared), .part = {}});
  if (entered.ok()) memory = {base, bytes};
  return entered;
}

result<std::vector<std::byte>> shm_transport::key(region_id id) {
  const region* r = regions_.find(id);
  if (!r) return status{errc::invalid, "key() of a region that does not exist"};
  key_blob k{};
  k.magic = key_magic;
  k.version = layout_version;
  k.kind = r->kind;
  k.region = static_cast<std::uint32_t>(id);
  k.serial = r->serial;
  k.address = reinterpret_cast<std::uintptr_t>(r->base);
  k.bytes = r->bytes;
  if (r->kind == region_kind::shared) k.memory = r->shared.name;
  if (r->kind == region_kind::part) k.memory = r->part.memory(), k.offset = r->part.offset();
  return to_blob(k);
}

result<segment_id> shm_transport::attach(const rank_map& members, shared_blobs keys) {
  if (!peers_) return status{errc::invalid, "attach() before connect()"};
  if (status s = check_keys(members, keys, size_); s.failed()) return s;
  segment made{std::unique_ptr<target[]>{new target[peer_count_]}, nullptr};
  for (std::uint32_t m = 0; m < members.size(); ++m) {
    const std::uint32_t local = local_index(members[m]);
    if (local == not_local || (*keys)[m].empty()) continue;
    key_blob k;
    if (!from_blob((*keys)[m], key_magic, k))
      return status{errc::protocol, worded("the key of rank ", members[m], " is not one of this version"),
                    members[m]};
    made.targets[local].member = m;
  }
  made.keys = std::move(keys);
  if (!segments_.reserve_one()) return status{errc::no_resource, "too many segments"};
  return segments_.insert(std::move(made));
}

// A shortage may pass; what is forbidden stays so. What is lost by it is awaited elsewhere: so whoever asks after this rank is told.
status shm_transport::not_opened(const peer& p, const status& why) noexcept {
  if (why.code() == errc::unavailable) page().cut_off.store(reach::refused, std::memory_order_release);
  return {why.code(), worded("the memory of rank ", p.rank, " cannot be reached: ", why.text()), p.rank, why.native()};
}

// Where loads and stores reach the peer's region; null with a good status if they do not: then `key` names it.
std::byte* shm_transport::resolve(segment_id id, peer& p, key_blob& key, status& why) noexcept {
  segment& s = segments_[id];
  target& t = s.targets[static_cast<std::uint32_t>(&p - peers_.get())];
  if (t.base) return t.base;
  if (t.member == target::none) {
    why = {errc::invalid, worded("rank ", p.rank, " exposes nothing in this segment"), p.rank};
    return nullptr;
  }
  from_blob((*s.keys)[t.member], key_magic, key);  // looked at by attach()
  if (&p == self_) {
    if (const region* own = region_of(key.region, key.serial)) t.base = own->base;
    else why = {errc::invalid, "the region of this rank was dropped", p.rank};
  } else if (key.kind != region_kind::user) {
    const auto memory = map_peers(key);
    if (memory) {
      t.base = *memory;
      t.mapped = true;
    } else {
      why = not_opened(p, memory.error());
    }
  } else if (p.same_process) {
    t.base = reinterpret_cast<std::byte*>(key.address);
  }
  return t.base;
}

// Until drop(segment_id).
result<std::byte*> shm_transport::map_peers(const key_blob& key) noexcept try {
  if (key.kind == region_kind::part) return chunks_.enter(key.memory, key.offset, key.serial);
  auto memory = open_memory(key.memory, "a region");
  if (!memory) return memory.error();
  std::byte* const base = memory->get();
  memory->release();
  return base;
} catch (const std::bad_alloc&) {
  return status{errc::no_resource, "no memory to map a region"};
}

void shm_transport::key_of(segment_id id, const peer& p, key_blob& key) const noexcept {
  const segment& s = segments_[id];
  from_blob((*s.keys)[s.targets[static_cast<std::uint32_t>(&p - peers_.get())].member], key_magic, key);
}

void shm_transport::drop(segment_id id) noexcept {
  const segment* s = segments_.find(id);
  for (std::uint32_t i = 0; s && i < peer_count_; ++i) {
    const target& t = s->targets[i];
    key_blob k;
    if (!t.mapped || !from_blob((*s->keys)[t.member], key_magic, k)) continue;
    if (k.kind == region_kind::part) chunks_.leave(t.base);
    else mapping{t.base, k.memory.bytes};
  }
  segments_.erase(id);
}

void shm_transport::drop(region_id id) noexcept {
  const region* r = regions_.find(id);
  if (!r) return;
  segments_.each([&](segment_id, segment& s) {  // which there are from connect() on
    target& mine = s.targets[self_index()];
    if (mine.base == r->base) mine.base = nullptr;  // resolve() then finds the region gone
  });
  if (auto* serial = r->kind == region_kind::user ? user_serial(page(), id) : nullptr) serial->store(0, std::memory_order_release);
  // The memory may be unmapped from here on: answers that are still to come complete and land nowhere (clause 11).
  for (question& q : questions_)
    if (q.into == id) q.result = nullptr;
  regions_.erase(id);
}

std::byte* shm_transport::map(segment_id id, rank_t rank) noexcept {
  peer* p = find(rank);
  if (!p) return nullptr;
  key_blob key;
  status why;
  return resolve(id, *p, key, why);
}

}  // namespace tutti::shm

// Regions and segments. A region that was allocated is mapped by a peer at its first operation upon it; a region of
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
    return {errc::unavailable, "user memory cannot be exposed while kernel.yama.ptrace_scope is " +
                                   std::to_string(scope) + "; set it to 0 or 1, or use allocated memory"};
  return {};
}

}  // namespace

std::uint32_t shm_transport::free_region() {
  for (std::uint32_t i = 0; i < regions_.size(); ++i)
    if (!regions_[i].base) return i;
  regions_.emplace_back();
  return static_cast<std::uint32_t>(regions_.size() - 1);
}

result<region_id> shm_transport::add(std::span<std::byte> memory) {
  if (memory.empty()) return status{errc::invalid, "a region of no bytes cannot be added"};
  if (status s = allow_copies(); s.failed()) return s;
  const std::uint32_t i = free_region();
  region& r = regions_[i];
  r.base = memory.data();
  r.bytes = memory.size();
  r.serial = next_serial_++;
  r.kind = region_kind::user;
  return region_id{i};
}

result<region_id> shm_transport::allocate(std::size_t bytes, std::span<std::byte>& memory) {
  if (bytes == 0) return status{errc::invalid, "a region of no bytes cannot be allocated"};
  auto shared = create_memory(bytes, "tutti-region");
  if (!shared) return shared.error();
  const std::uint32_t i = free_region();
  region& r = regions_[i];
  r.shared = std::move(*shared);
  r.base = r.shared.memory.get();
  r.bytes = bytes;
  r.serial = next_serial_++;
  r.kind = region_kind::shared;
  memory = {r.base, bytes};
  return region_id{i};
}

result<std::vector<std::byte>> shm_transport::key(region_id id) {
  const auto i = static_cast<std::uint32_t>(id);
  const region& r = regions_[i];
  key_blob k{};
  k.magic = key_magic;
  k.version = layout_version;
  k.kind = r.kind;
  k.region = i;
  k.serial = r.serial;
  k.address = reinterpret_cast<std::uintptr_t>(r.base);
  k.bytes = r.bytes;
  if (r.kind == region_kind::shared) k.memory = r.shared.name;
  return to_blob(k);
}

result<segment_id> shm_transport::attach(const rank_map& members, shared_blobs keys) {
  if (!peers_) return status{errc::invalid, "attach() before connect()"};
  if (keys->size() != members.size())
    return status{errc::invalid, "attach() got " + std::to_string(keys->size()) + " keys for a group of " +
                                     std::to_string(members.size())};
  std::unique_ptr<target[]> targets{new target[peer_count_]};
  for (std::uint32_t m = 0; m < members.size(); ++m) {
    const std::uint32_t local = local_index(members[m]);
    if (local == not_local || (*keys)[m].empty()) continue;
    key_blob k;
    if (!from_blob((*keys)[m], key_magic, k))
      return status{errc::protocol, "the key of rank " + std::to_string(members[m]) + " is not one of this version",
                    members[m]};
    target& t = targets[local];
    t.member = m;
    t.mapped = false;
  }
  std::uint32_t i = 0;
  while (i < segments_.size() && segments_[i].targets) ++i;
  if (i == segments_.size()) segments_.emplace_back();
  segments_[i].targets = std::move(targets);
  segments_[i].keys = std::move(keys);
  return segment_id{i};
}

// Where loads and stores reach the peer's region; null with a good status if they do not: then `key` names it.
std::byte* shm_transport::resolve(segment_id id, peer& p, key_blob& key, status& why) noexcept {
  segment& s = segments_[static_cast<std::uint32_t>(id)];
  target& t = s.targets[static_cast<std::uint32_t>(&p - peers_.get())];
  if (t.base) return t.base;
  if (t.member == target::none) {
    why = {errc::invalid, "rank " + std::to_string(p.rank) + " exposes nothing in this segment", p.rank};
    return nullptr;
  }
  from_blob((*s.keys)[t.member], key_magic, key);  // looked at by attach()
  if (&p == self_) {
    const bool alive = key.region < regions_.size() && regions_[key.region].base &&
                       regions_[key.region].serial == key.serial;
    if (alive) t.base = regions_[key.region].base;
    else why = {errc::invalid, "the region of this rank was dropped", p.rank};
  } else if (key.kind == region_kind::shared) {
    auto memory = open_memory(key.memory, "a region");
    if (memory) {
      t.base = memory->get();
      t.mapped = true;
      memory->release();  // drop(segment_id) unmaps it
    } else {
      why = {memory.error().code(), memory.error().text(), p.rank, memory.error().native()};
    }
  } else if (p.same_process) {
    t.base = reinterpret_cast<std::byte*>(key.address);
  }
  return t.base;
}

void shm_transport::key_of(segment_id id, const peer& p, key_blob& key) const noexcept {
  const segment& s = segments_[static_cast<std::uint32_t>(id)];
  from_blob((*s.keys)[s.targets[static_cast<std::uint32_t>(&p - peers_.get())].member], key_magic, key);
}

void shm_transport::drop(segment_id id) noexcept {
  segment& s = segments_[static_cast<std::uint32_t>(id)];
  if (!s.targets) return;
  for (std::uint32_t i = 0; i < peer_count_; ++i) {
    target& t = s.targets[i];
    key_blob k;
    if (t.mapped && from_blob((*s.keys)[t.member], key_magic, k)) mapping{t.base, k.memory.bytes};
  }
  s = {};
}

void shm_transport::drop(region_id id) noexcept {
  region& r = regions_[static_cast<std::uint32_t>(id)];
  if (!r.base) return;
  for (segment& s : segments_) {
    if (!s.targets || !self_) continue;
    target& mine = s.targets[self_ - peers_.get()];
    if (mine.base == r.base) mine.base = nullptr;  // resolve() then finds the region gone
  }
  // The memory may be unmapped from here on: answers that are still to come complete and land nowhere (clause 11).
  for (question& q : questions_)
    if (q.into == id) q.result = nullptr;
  r = {};
}

std::byte* shm_transport::map(segment_id id, rank_t rank) noexcept {
  peer* p = find(rank);
  if (!p) return nullptr;
  key_blob key;
  status why;
  return resolve(id, *p, key, why);
}

}  // namespace tutti::shm

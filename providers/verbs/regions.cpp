#include "providers/verbs/regions.h"

#include <sys/mman.h>

#include <cerrno>

#include "core/base/round_up.h"
#include "providers/verbs/error.h"
#include "providers/verbs/wire.h"

namespace tutti::verbs {
namespace {

constexpr int may_do = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
constexpr std::size_t page = 4096, large = std::size_t{4} << 20;

}  // namespace

status region_table::register_memory(region& r) const {
  const int payload = may_do | (relaxed_ ? IBV_ACCESS_RELAXED_ORDERING : 0);
  r.mr = ibv_reg_mr(pd_, r.base, r.bytes, payload);
  if (r.mr) r.words = relaxed_ ? ibv_reg_mr(pd_, r.base, r.bytes, may_do) : r.mr;
  if (r.words) return {};
  const int error = errno;
  deregister(r);
  return os_error(worded("registering ", r.bytes, " bytes with ", device_->where.device), error);
}

void region_table::deregister(region& r) const noexcept {
  if (r.words && r.words != r.mr) ibv_dereg_mr(r.words);
  if (r.mr) ibv_dereg_mr(r.mr);
  r.mr = r.words = nullptr;
  if (r.own) ::munmap(r.base, round_up(r.bytes, page));
  r.own = false;
}

result<region_id> region_table::enter(region r) {
  const bool room = table_.reserve_one();
  by_address_.reserve(count_ + 1);
  if (!room) {
    deregister(r);
    return status{errc::no_resource, "too many regions"};
  }
  if (status s = register_memory(r); s.failed()) return s;
  const region_id id = table_.insert(r);
  ++count_;
  by_address_.add(reinterpret_cast<std::uint64_t>(r.base), r.bytes, id);
  return id;
}

result<region_id> region_table::add(std::span<std::byte> memory) {
  if (memory.empty()) return status{errc::invalid, "a region of 0 bytes cannot be added"};
  region r;
  r.base = memory.data(), r.bytes = memory.size();
  return enter(r);
}

result<region_id> region_table::allocate(std::size_t bytes, std::span<std::byte>& memory) {
  const std::size_t rounded = round_up(bytes, page);
  if (bytes == 0 || rounded < bytes)
    return status{errc::invalid, worded("a region of ", bytes, " bytes cannot be allocated")};
  void* at = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return os_error(worded("allocating ", bytes, " bytes"), errno);
  if (rounded >= large) ::madvise(at, rounded, MADV_HUGEPAGE);
  region r;
  r.base = static_cast<std::byte*>(at), r.bytes = bytes, r.own = true;
  auto entered = enter(r);
  if (entered.ok()) memory = {r.base, bytes};
  return entered;  // a failure has unmapped it
}

result<std::vector<std::byte>> region_table::key(region_id id) const {
  const region* r = table_.find(id);
  if (!r) return status{errc::invalid, "key() of a region that does not exist"};
  key_blob k;
  k.address = reinterpret_cast<std::uint64_t>(r->base), k.bytes = r->bytes;
  k.rkey = r->mr->rkey, k.word_rkey = r->words->rkey, k.region = static_cast<std::uint32_t>(id);
  return as_blob(k);
}

void region_table::erase(region_id id) noexcept {
  region* r = find(id);
  if (!r) return;
  by_address_.remove(id);
  deregister(*r);
  table_.erase(id);
  --count_;
}

void region_table::close() noexcept {
  table_.each([&](region_id id, region&) { erase(id); });
}

}  // namespace tutti::verbs

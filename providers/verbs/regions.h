// This rank's regions: memory that is registered with the adapter.
//
// A region is registered for exactly as long as it is one: from add() or allocate() to erase(). The contract obliges the
// caller to keep the memory until drop(), so no registration can outlive its pages, and there is nothing that a cache
// of registrations would have to be told by a hook on munmap(). Memory that is no region has no registration that
// outlives an operation: see bounce_buffers.h.
//
// Relaxed ordering. With `relaxed`, each region is registered twice: its payload key carries the mark of relaxed
// ordering, its word key does not. Signals and atomics use the word key.
#pragma once
#include <infiniband/verbs.h>

#include <span>
#include <vector>

#include "core/transport/transport.h"
#include "providers/common/slot_table.h"
#include "providers/verbs/address_index.h"
#include "providers/verbs/device.h"

namespace tutti::verbs {

struct region {
  std::byte* base = nullptr;
  std::uint64_t bytes = 0;
  ibv_mr* mr = nullptr;         // payloads
  ibv_mr* words = nullptr;      // signals and atomics; the same unless `relaxed`
  std::uint32_t uses = 0;       // operations of this rank in flight that read or write it
  bool own = false;             // from allocate(): to be unmapped
};

class region_table {
 public:
  region_table() = default;
  region_table(const region_table&) = delete;
  region_table& operator=(const region_table&) = delete;
  ~region_table() { close(); }

  void open(ibv_pd* pd, const adapter& device, bool relaxed) noexcept { pd_ = pd, device_ = &device, relaxed_ = relaxed; }
  void close() noexcept;

  result<region_id> add(std::span<std::byte> memory);
  result<region_id> allocate(std::size_t bytes, std::span<std::byte>& memory);
  result<std::vector<std::byte>> key(region_id) const;
  void hide(region_id id) noexcept { by_address_.remove(id); }  // around() finds it no more
  void erase(region_id) noexcept;

  region* find(region_id id) noexcept { return table_.find(id); }  // null: it was dropped
  region_id around(std::uint64_t address, std::uint64_t bytes) noexcept { return by_address_.find(address, bytes); }
  // What an operation of this rank names; null: it was dropped.
  std::byte* local(region_id id, std::uint64_t offset) noexcept {
    if (id == unregistered_memory) return reinterpret_cast<std::byte*>(offset);
    const region* r = find(id);
    return r ? r->base + offset : nullptr;
  }
  void use(region_id id, int how) noexcept {
    if (region* r = id == unregistered_memory ? nullptr : find(id)) r->uses += static_cast<std::uint32_t>(how);
  }

  // Memory of the transport's own, which is no region.
  status register_memory(region&) const;
  void deregister(region&) const noexcept;

 private:
  result<region_id> enter(region);

  ibv_pd* pd_ = nullptr;
  const adapter* device_ = nullptr;
  bool relaxed_ = false;
  slot_table<region_id, region> table_;
  std::size_t count_ = 0;
  address_index by_address_;
};

}  // namespace tutti::verbs

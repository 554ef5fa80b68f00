// Memory that other processes of this host can map: files without a name, opened by peers through /proc. They lie in
// /dev/shm because that has a limit; of a memfd the kernel would go on giving until it has to kill somebody.
//
// UCX could allocate and map such memory too (ucp_mem_map, ucp_rkey_ptr). But UCX 1.13 crashes when it unpacks a key of
// memory that is gone (the clean-up of its failure path releases what was never attached), it would take another
// region that got the same descriptor for the one that is gone, and it ties mappings to an endpoint.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tutti::messages {

// What a peer must know. The inode tells the file from a later one under the same process id and descriptor.
struct memory_name {
  std::int32_t pid = 0;  // 0: cannot be mapped
  std::int32_t fd = -1;
  std::uint64_t device = 0, inode = 0;
  std::uint64_t bytes = 0;
};

struct mapping {
  std::byte* base = nullptr;  // null: none
  std::size_t bytes = 0;
};

struct shared_memory {
  mapping here;
  int fd = -1;
  bool full = false;  // there is none because /dev/shm has no room for it
  bool too_long = false;  // or because files may not be so long
  memory_name name() const noexcept;
};

// Zeroed, and really there: a lack of it is found here and not by SIGBUS later. Without base when it is not to be had: where
// /dev/shm is full, or is none.
shared_memory create_shared_memory(std::size_t bytes) noexcept;
void close_shared_memory(shared_memory&) noexcept;
mapping private_memory(std::size_t bytes) noexcept;  // zeroed

// Without base if its owner has ended or freed it, or may not be looked into.
mapping map_shared_memory(const memory_name&) noexcept;
void unmap(mapping&) noexcept;
void empty(const mapping&) noexcept;         // private memory: its pages are given back, its addresses are kept

}  // namespace tutti::messages

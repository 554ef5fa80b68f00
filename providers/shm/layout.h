// What ranks see of each other: the control page, and the blobs by which they find it and each other's regions. Both
// ends must be built from the same version of this file; `layout_version` says so.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "core/job/bootstrap.h"
#include "core/base/status.h"
#include "providers/shm/os.h"
#include "providers/shm/ring_places.h"

namespace tutti::shm {

inline constexpr std::uint32_t layout_version = 5;
inline constexpr std::uint32_t address_magic = 0x74736861;  // in every address
inline constexpr std::uint32_t key_magic = 0x7473686b;
inline constexpr std::uint32_t token_magic = 0x74736874;
inline constexpr std::uint32_t mail_slots = 256;            // power of two
inline constexpr std::uint32_t reply_slots = 64;            // at most 64: a bit each in a word
inline constexpr std::uint32_t user_slots = 512;            // regions from add() whose end their peers can see
inline constexpr std::uint32_t cell_count = 64;             // power of two
inline constexpr std::uint32_t cell_bytes = 4096;           // of one two-sided message

// How a rank waits for its bell: the low bits of control_page::waiting (sleep.cpp).
enum class doze : std::uint32_t { awake = 0, on_futex = 1, on_pipe = 2 };

// Why a rank does not find memory of a living peer, and never will.
enum class reach : std::uint32_t { all = 0, refused = 1, closed = 2 };

enum class mail_kind : std::uint8_t { nothing, set, add, fetch_add, compare_swap, swap };

// A word operation that its target applies itself (mailbox.cpp). One cache line.
struct alignas(64) mail {
  std::atomic<std::uint64_t> stamp;  // ring_places.h
  std::uint32_t region;              // of the target, with the serial that tells it from a later one in its place
  std::uint32_t serial;
  std::uint64_t offset;
  std::uint64_t operand;
  std::uint64_t expected;
  rank_t from;
  std::uint32_t reply_stamp;
  std::uint16_t reply;               // slot in the page of `from`
  mail_kind kind;
};
static_assert(sizeof(mail) == 64);

struct reply {
  std::atomic<std::uint64_t> stamp;  // of the question that `value` answers
  std::atomic<std::uint64_t> value;
};

// Zero, as fresh memory is, means: awake, present, no mail.
struct control_page {
  // Read by every peer that signals this rank, so written only when it goes to sleep or is woken.
  alignas(64) std::atomic<std::uint32_t> waiting;  // 0: awake
  std::atomic<std::uint32_t> left;                 // 1: the transport was destroyed in order
  std::uint32_t no_membarrier;                     // 1: this rank sleeps without one, so signallers must fence
  std::atomic<reach> cut_off;                      // whether this rank finds all that its peers expose
  std::atomic<std::uint64_t> pipe_inode;           // of the pipe that wakes wait_fd(); 0: none yet
  std::atomic<std::uint64_t> pipe_device;
  std::atomic<std::int32_t> pipe_fd;
  // By the slot of its id: the serial of a region of the user's own, 0 once it is dropped. The kernel would still copy there.
  alignas(64) std::atomic<std::uint32_t> user_serials[user_slots];
  alignas(64) reply replies[reply_slots];
  place_ring<mail_slots> posted;  // a mail before its tail has taken effect
  mail mails[mail_slots];
};
static_assert(sizeof(control_page) <= 24 * 1024);  // shm.h gives it to the reader

// A two-sided message (two_sided.cpp). A short one lies in its first line.
struct alignas(64) cell {
  std::atomic<std::uint64_t> stamp;  // ring_places.h
  rank_t from;
  std::uint16_t header, payload;     // bytes; the payload begins at the next multiple of 8
  std::byte data[cell_bytes];
};
static_assert(sizeof(cell) / 64 % 2 == 1);  // so that the cells' first lines spread over all sets of a cache

// What came for a rank and was not received yet. Follows its control page, from the next page of memory on: mapped only by those
// who send to it.
struct cell_ring {
  place_ring<cell_count> places;
  cell cells[cell_count];
  cell& at(std::uint64_t position) noexcept { return cells[position % cell_count]; }
};
std::size_t ring_offset() noexcept;

struct address_blob {
  std::uint32_t magic;
  std::uint32_t version;
  host_id host;
  memory_name page;
};

enum class region_kind : std::uint32_t { shared = 1, user = 2, part = 3 };  // part: of a chunk (arena.h)

struct key_blob {
  std::uint32_t magic;
  std::uint32_t version;
  region_kind kind;
  std::uint32_t region;    // of the owner, with the serial that tells it from a later one of its id
  std::uint32_t serial;
  std::uint32_t reserved;
  std::uint64_t address;   // in the owner
  std::uint64_t bytes;
  memory_name memory;      // shared, part: where to map it from
  std::uint64_t offset;    // part: where it begins there
};

template <class T>
std::vector<std::byte> to_blob(const T& t) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* p = reinterpret_cast<const std::byte*>(&t);
  return {p, p + sizeof t};
}

// False if it is not a T of this version.
template <class T>
bool from_blob(std::span<const std::byte> blob, std::uint32_t magic, T& out) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  if (blob.size() != sizeof out) return false;
  std::memcpy(&out, blob.data(), sizeof out);
  return out.magic == magic && out.version == layout_version;
}

}  // namespace tutti::shm

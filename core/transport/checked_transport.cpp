#include "core/transport/checked_transport.h"

#include <cstring>
#include <utility>

#include "core/transport/checked_impl.h"

namespace tutti {
namespace {

// What the decorator adds to the end of a key. The mark tells a rank that runs without it.
struct key_tail {
  static constexpr std::size_t size = 13;
  static constexpr std::uint32_t mark = 0x43545455;  // "UTTC"
  std::uint64_t bytes = 0;
  std::uint8_t skew = 0;

  void append_to(std::vector<std::byte>& key) const {
    std::byte out[size];
    std::memcpy(out, &bytes, 8);
    std::memcpy(out + 8, &skew, 1);
    std::memcpy(out + 9, &mark, 4);
    key.insert(key.end(), out, out + size);
  }
  bool read_from(std::span<const std::byte> key) noexcept {
    if (key.size() < size) return false;
    const std::byte* tail = key.data() + key.size() - size;
    std::uint32_t seen = 0;
    std::memcpy(&seen, tail + 9, 4);
    std::memcpy(&bytes, tail, 8);
    std::memcpy(&skew, tail + 8, 1);
    return seen == mark;
  }
};

}  // namespace

std::unique_ptr<transport> make_checked(std::unique_ptr<transport> inner) {
  return std::make_unique<checked_transport>(std::move(inner));
}

status checked_transport::rank_error(rank_t rank) const {
  if (rank < job_size_) return {};
  if (job_size_ == 0) return {errc::invalid, "the transport is not connected yet: call connect() first"};
  return {errc::invalid, worded("rank ", rank, " is not in this job: its ranks are 0 to ", job_size_ - 1)};
}

status checked_transport::connect(shared_blobs addresses, time_point deadline) {
  if (!addresses || addresses->size() == 0)
    return {errc::invalid, "connect() needs the address of every rank, got none"};
  const auto count = static_cast<std::uint32_t>(addresses->size());
  const status s = inner().connect(std::move(addresses), deadline);
  if (s.ok()) job_size_ = count;
  return s;
}

result<region_id> checked_transport::add(std::span<std::byte> memory) {
  if (memory.empty() || !memory.data()) return status{errc::invalid, "add() of no memory: give at least one byte"};
  const auto id = inner().add(memory);
  if (id) regions_[number(*id)] = memory;
  return id;
}

result<region_id> checked_transport::add_unowned(std::span<std::byte> memory) {
  if (memory.empty() || !memory.data()) return status{errc::invalid, "add_unowned() of no memory: give at least one byte"};
  const auto id = inner().add_unowned(memory);
  if (id) regions_[number(*id)] = memory;
  return id;
}

result<region_id> checked_transport::allocate(std::size_t bytes, std::span<std::byte>& memory) {
  if (bytes == 0) return status{errc::invalid, "allocate() of 0 bytes: ask for at least one"};
  const auto id = inner().allocate(bytes, memory);
  if (id) regions_[number(*id)] = memory;
  return id;
}

result<std::vector<std::byte>> checked_transport::key(region_id id) {
  const auto region = regions_.find(number(id));
  if (region == regions_.end())
    return status{errc::invalid, worded("key() of region ", number(id), ", which is not alive: it was "
                  "dropped or never was")};
  auto made = inner().key(id);
  const auto base = reinterpret_cast<std::uintptr_t>(region->second.data());
  if (made) key_tail{region->second.size(), static_cast<std::uint8_t>(base % 8)}.append_to(*made);
  return made;
}

result<segment_id> checked_transport::attach(const rank_map& members, shared_blobs keys) {
  if (!keys || keys->size() != members.size())
    return status{errc::invalid, worded("attach() of a group of ", members.size(), " with ", keys ? keys->size() : 0,
                                        " keys: give one a member, an empty one for none")};
  group learnt{members, std::vector<extent>(members.size())};
  auto bare = std::make_shared<blob_table>();
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    if (const status s = rank_error(members[i]); s.failed()) return s.during("attach()");
    auto key = (*keys)[i];
    if (!key.empty()) {
      key_tail tail;
      if (!tail.read_from(key))
        return status{errc::protocol, worded("the key of rank ", members[i], " carries no size: it runs "
                      "without TUTTI_CHECK=1, set it for all ranks or for none"), members[i]};
      learnt.extents[i] = {tail.bytes, tail.skew};
      key = key.first(key.size() - key_tail::size);
    }
    bare->push_back(key);
  }
  const auto id = inner().attach(members, bare);
  if (id) segments_[number(*id)] = std::move(learnt);
  return id;
}

// A second drop finds nothing and does nothing. (What a drop of a region detaches stays in segments_ until it is
// dropped itself, which the contract allows in any order.)
void checked_transport::drop(segment_id id) noexcept {
  if (segments_.erase(number(id))) inner().drop(id);
}
void checked_transport::drop(region_id id) noexcept {
  if (regions_.erase(number(id))) inner().drop(id);
}

std::byte* checked_transport::map(segment_id id, rank_t rank) noexcept {
  const auto segment = segments_.find(number(id));
  if (segment == segments_.end()) return nullptr;
  const std::uint32_t i = segment->second.members.index_of(rank);
  return i < segment->second.extents.size() && segment->second.extents[i].bytes ? inner().map(id, rank) : nullptr;
}

status checked_transport::health(rank_t peer) noexcept {
  const status s = rank_error(peer);
  return s.ok() ? inner().health(peer) : s;
}

}  // namespace tutti

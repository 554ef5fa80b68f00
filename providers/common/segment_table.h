// The segments that a rank has attached: for each member of each segment what this rank knows of that member's memory, a
// View of the provider's own.
#pragma once
#include <memory>
#include <new>
#include <string>

#include "core/transport/transport.h"
#include "providers/common/slot_table.h"

namespace tutti {

// What attach() is given: one key for each member, and all members ranks of this job.
inline status check_keys(const rank_map& members, const shared_blobs& keys, std::uint32_t job_size) {
  if (!keys || keys->size() != members.size())
    return {errc::invalid, worded("attach() needs one key for each of ", members.size(), " members")};
  for (std::uint32_t i = 0; i < members.size(); ++i)
    if (members[i] >= job_size) return {errc::invalid, worded("rank ", members[i], " is not in this job")};
  return {};
}

template <class View>
class segment_table {
 public:
  // A member without a key keeps the View{} that it begins with. read(View&, key) of each other one is false where the key is
  // not one of `provider`'s. `keep_keys`: key_of() will be asked.
  template <class Read>
  result<segment_id> attach(const rank_map& members, const shared_blobs& keys, std::uint32_t job_size, const char* provider,
                            bool keep_keys, Read&& read) {
    if (status s = check_keys(members, keys, job_size); s.failed()) return s;
    auto views = std::make_unique<View[]>(members.size() + 1);
    for (std::uint32_t i = 0; i < members.size(); ++i)
      if (!(*keys)[i].empty() && !read(views[i], (*keys)[i]))
        return status{errc::protocol, worded("the key of rank ", members[i], " is not one of ", provider, "'s"), members[i]};
    if (!table_.reserve_one()) return status{errc::no_resource, "too many segments"};
    return table_.insert({members, std::move(views), keep_keys ? keys : nullptr});
  }

  View* find(segment_id id, rank_t rank) noexcept {  // null: no such segment, or it has no such member
    const segment* s = table_.find(id);
    const std::uint32_t i = s ? s->members.index_of(rank) : 0;
    return s && i < s->members.size() ? &s->views[i] : nullptr;
  }
  std::span<const std::byte> key_of(segment_id id, rank_t member) const noexcept {
    const segment& s = table_[id];
    return (*s.keys)[s.members.index_of(member)];
  }

  // f(rank, View&) of each member, then the segment is gone.
  template <class F>
  void drop(segment_id id, F&& f) noexcept {
    if (segment* s = table_.find(id))
      for (std::uint32_t i = 0; i < s->members.size(); ++i) f(s->members[i], s->views[i]);
    table_.erase(id);
  }
  template <class F>
  void drop_all(F&& f) noexcept {
    table_.each([&](segment_id id, segment&) { drop(id, f); });
  }
  // f(View&) of this rank, in each segment that it is a member of.
  template <class F>
  void each_of(rank_t rank, F&& f) noexcept {
    table_.each([&](segment_id, segment& s) {
      const std::uint32_t i = s.members.index_of(rank);
      if (i < s.members.size()) f(s.views[i]);
    });
  }

 private:
  struct segment {
    rank_map members;
    std::unique_ptr<View[]> views;
    shared_blobs keys;
  };
  slot_table<segment_id, segment> table_;
};

}  // namespace tutti

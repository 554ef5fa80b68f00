#include "core/job/team_memory.h"

#include <algorithm>
#include <any>
#include <string>

#include "core/base/blob_stream.h"
#include "core/base/memory_room.h"

namespace tutti {
namespace {

status room_for(job& j, std::size_t bytes) {
  if (j.net().caps().virtual_clock) return {};
  const std::uint64_t room = memory_room_for(bytes), ranks = j.where().population[j.where().node_of[j.rank()]];
  if (bytes <= room / 4 / ranks) return {};
  return {errc::no_resource, worded(bytes, " bytes in each of ", ranks, " ranks of this node are more "
                             "than a quarter of the ", room, " bytes that are free")};
}

// What an exchange brought, as tables of its parts.
struct parts {
  std::vector<std::byte> agreement;
  blob_table keys, extras;
};

// Virtual ranks of one thread get the very same table, and so take it apart once for all of them: each alone would keep a copy of
// everyone's keys.
result<std::shared_ptr<const parts>> take_apart(const blob_table& all, team& t, std::span<const std::byte> agreement, std::size_t bytes) {
  using shared_parts = std::shared_ptr<const parts>;
  const bool is_virtual = static_cast<bool>(t.parent_job().options().gather);
  if (is_virtual)
    if (const auto* known = std::any_cast<shared_parts>(&all.derived); known && std::ranges::equal((*known)->agreement, agreement)) return *known;
  const auto made = std::make_shared<parts>();
  made->agreement.assign(agreement.begin(), agreement.end());
  for (std::uint32_t i = 0; i < t.size(); ++i) {
    std::span<const std::byte> of_one = all[i];
    const auto called = next_blob(of_one), key = next_blob(of_one), extra = next_blob(of_one);
    if (!called || !std::ranges::equal(*called, agreement)) return t.called_another(i);
    if (!extra)
      return status(errc::no_resource, worded("rank ", t.rank_of(i), " has no ", bytes, " bytes of memory for it; its own error says why"),
                    t.rank_of(i));
    made->keys.push_back(*key), made->extras.push_back(*extra);
  }
  if (is_virtual) all.derived = shared_parts(made);
  return shared_parts(made);
}

}  // namespace

// A member that failed takes part all the same, without a key: the others would wait for it.
resumable<result<team_memory>> expose_together(team& t, std::size_t bytes, std::vector<std::byte> agreement,
                                               std::vector<std::byte> extra) {
  job& j = t.parent_job();
  team_memory made{exposed_memory(j.net()), nullptr};
  agreement.insert(agreement.end(), reinterpret_cast<std::byte*>(&bytes), reinterpret_cast<std::byte*>(&bytes + 1));
  std::vector<std::byte> mine;
  add_blob(mine, agreement);
  status trouble = room_for(j, bytes);
  if (trouble.ok()) {
    auto key = made.memory.expose(nullptr, bytes);
    if (key) add_blob(mine, *key), add_blob(mine, extra);
    else trouble = key.error();
  }
  auto all = co_await t.exchanging(std::move(mine), j.setup_deadline());
  if (trouble.failed()) co_return trouble;
  if (!all) co_return all.error();
  auto of_all = take_apart(**all, t, agreement, bytes);
  if (!of_all) co_return of_all.error();
  if (status s = made.memory.attach(t.members(), {*of_all, &(*of_all)->keys}); s.failed()) {
    t.fail(s.code() == errc::peer_dead ? s : status(errc::no_resource, s.text(), no_rank, s.native()));
    co_return s;
  }
  made.extras = {*of_all, &(*of_all)->extras};
  co_return made;
}

}  // namespace tutti

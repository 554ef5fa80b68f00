#include "core/job/team_memory.h"

#include <algorithm>
#include <string>

#include "core/base/blob_stream.h"
#include "core/base/memory_room.h"

namespace tutti {
namespace {

status room_for(job& j, std::size_t bytes) {
  if (j.net().caps().virtual_clock) return {};
  const std::uint64_t room = memory_room(), ranks = j.where().population[j.where().node_of[j.rank()]];
  if (bytes <= room / 4 / ranks) return {};
  return {errc::no_resource, worded(bytes, " bytes in each of ", ranks, " ranks of this node are more "
                             "than a quarter of the ", room, " bytes that are free")};
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
  auto keys = std::make_shared<blob_table>(), extras = std::make_shared<blob_table>();
  for (std::uint32_t i = 0; i < t.size(); ++i) {
    const auto parts = blobs_in((**all)[i]);
    if (!parts || parts->size() == 0 || !std::ranges::equal((*parts)[0], agreement)) co_return t.called_another(i);
    if (parts->size() < 3)
      co_return status(errc::no_resource, worded("rank ", t.rank_of(i), " has no ", bytes,
                                                 " bytes of memory for it; its own error says why"), t.rank_of(i));
    keys->push_back((*parts)[1]), extras->push_back((*parts)[2]);
  }
  if (status s = made.memory.attach(t.members(), std::move(keys)); s.failed()) {
    t.fail(s.code() == errc::peer_dead ? s : status(errc::no_resource, s.text(), no_rank, s.native()));
    co_return s;
  }
  made.extras = std::move(extras);
  co_return made;
}

}  // namespace tutti

// What the parts of one process's engine have in common: who it is, the windows by which it communicates, and which
// superstep is under way.
#pragma once
#include <memory>
#include <string>

#include "bsp/scheme.h"
#include "bsp/window_layout.h"
#include "core/job/team.h"
#include "core/job/window.h"

namespace tutti::bsp {

struct context {
  context(tutti::team& t, scheme s, std::uint64_t chunk_room)
      : team(t), job(t.parent_job()), net(job.net()), how(row_of(s)), layout{t.size(), chunk_room}, me(t.index()), size(t.size()) {}

  tutti::team& team;
  tutti::job& job;
  transport& net;
  const scheme_row& how;
  const window_layout layout;
  const std::uint32_t me, size;
  std::unique_ptr<tutti::window> window, eager_window;  // eager_window: null where all read all in place
  std::byte* base = nullptr;  // of my window
  std::uint64_t epoch = 1;    // of the superstep under way

  unsigned half() const noexcept { return epoch & 1; }
  std::string sync_in_words() const { return "bsp_sync, superstep " + std::to_string(epoch); }
  rank_t rank_of(std::uint32_t pid) const noexcept { return team.rank_of(pid); }
};

}  // namespace tutti::bsp

// Ordered groups of ranks.
#pragma once
#include <tutti.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <tutti/result.hpp>

namespace tutti {
inline namespace cpp {

class team;

// What members agreed on (tutti_team_agree()).
struct agreement {
  std::uint64_t flags;
  bool all_alive;  // else team_view::dead() lists who is not
};

// A team that somebody else keeps: what every function takes. To be copied freely.
class team_view {
 public:
  team_view() noexcept = default;
  team_view(tutti_team_t t, tutti_t ctx) noexcept : team_(t), ctx_(ctx) {}

  std::uint32_t rank() const noexcept { return tutti_team_rank(team_); }
  std::uint32_t size() const noexcept { return tutti_team_size(team_); }
  // The rank in `to` of a rank of this team, or TUTTI_NO_RANK.
  result<std::uint32_t> translate(std::uint32_t rank, team_view to) const {
    std::uint32_t there = TUTTI_NO_RANK;
    if (const auto code = tutti_team_translate(team_, rank, to.team_, &there); code != TUTTI_OK) return why(code);
    return there;
  }

  // Collective over this team. Of an empty list, or a negative color, comes a team without members.
  result<team> create(std::span<const std::uint32_t> members) const;
  // Collective over these members alone, which meet by `meeting`.
  result<team> create_group(std::span<const std::uint32_t> members, const tutti_bootstrap_t& meeting) const;
  result<team> split(std::int32_t color, std::int32_t key = 0) const;

  // What a collective takes for so many bytes; null: see tutti_team_algorithm().
  const char* algorithm(const char* collective, std::size_t bytes) const { return tutti_team_algorithm(team_, collective, bytes); }

  // After a death, collective over the living.
  result<agreement> agree(std::uint64_t flags) const {
    const auto code = tutti_team_agree(team_, &flags);
    if (code == TUTTI_OK) return agreement{flags, true};
    // Of its own death a rank hears only where the others have taken it for dead.
    if (code == TUTTI_PEER_DEAD && tutti_error_peer(ctx_) != tutti_rank(ctx_)) return agreement{flags, false};
    return why(code);
  }
  result<team> shrink() const;
  std::vector<std::uint32_t> dead() const {  // by the last agreement, in ascending order
    std::vector<std::uint32_t> ranks(size());
    std::size_t count = 0;
    (void)tutti_team_dead(team_, ranks.data(), ranks.size(), &count);
    ranks.resize(count);
    return ranks;
  }

  tutti_team_t handle() const noexcept { return team_; }
  tutti_t owner() const noexcept { return ctx_; }
  // Whose error text tells of a call upon this team: null where the team is gone.
  tutti_t context_handle() const noexcept { return size() > 0 ? ctx_ : nullptr; }

 protected:
  failure why(tutti_status_t code) const { return detail::failure_of(code, context_handle()); }
  tutti_team_t team_ = nullptr;
  tutti_t ctx_ = nullptr;
};

// A team of one's own. To free it is collective, and no destructor waits for other ranks: what is not freed by free() is left
// to the context, which frees it at its end.
class team : public team_view {
 public:
  using team_view::team_view;
  team(team&& other) noexcept : team_view(std::exchange(other.team_, nullptr), other.ctx_) {}
  team& operator=(team&& other) noexcept {
    std::swap(team_, other.team_), std::swap(ctx_, other.ctx_);
    return *this;
  }
  team(const team&) = delete;
  team& operator=(const team&) = delete;

  explicit operator bool() const noexcept { return team_ != nullptr; }  // this rank is a member
  result<> free() {
    const tutti_t ctx = context_handle();
    return detail::answer(tutti_team_free(&team_), ctx);
  }
};

inline result<team> team_view::create(std::span<const std::uint32_t> members) const {
  tutti_team_t made = nullptr;
  if (const auto code = tutti_team_create(team_, members.data(), members.size(), &made); code != TUTTI_OK) return why(code);
  return team(made, ctx_);
}
inline result<team> team_view::create_group(std::span<const std::uint32_t> members, const tutti_bootstrap_t& meeting) const {
  tutti_team_t made = nullptr;
  if (const auto code = tutti_team_create_group(team_, members.data(), members.size(), &meeting, &made); code != TUTTI_OK) return why(code);
  return team(made, ctx_);
}
inline result<team> team_view::split(std::int32_t color, std::int32_t key) const {
  tutti_team_t made = nullptr;
  if (const auto code = tutti_team_split(team_, color, key, &made); code != TUTTI_OK) return why(code);
  return team(made, ctx_);
}
inline result<team> team_view::shrink() const {
  tutti_team_t made = nullptr;
  if (const auto code = tutti_team_shrink(team_, &made); code != TUTTI_OK) return why(code);
  return team(made, ctx_);
}

}  // namespace cpp
}  // namespace tutti

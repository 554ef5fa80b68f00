#include "core/engine/multicast_group.h"

#include <string>

namespace tutti {

multicast_group::multicast_group(team& t, std::uint32_t root, std::vector<std::byte>& token)
    : team_(t), root_(root), mc_(t.parent_job().net().mcast()) {
  token.clear();
  if (!mc_) {
    trouble_ = status(errc::unsupported, "this transport has no multicast; choose another algorithm");
  } else if (t.index() == root) {
    auto group = mc_->create(t.members(), token, team_.parent_job().setup_deadline());
    if (group) group_ = *group, joined_ = true;
    else trouble_ = group.error(), token.clear();
  }
}

multicast_group::~multicast_group() {
  if (joined_) mc_->leave(group_);
}

status multicast_group::accept(std::span<const std::byte> token) {
  if (trouble_.failed() || team_.index() == root_) return trouble_;
  if (token.empty()) {
    const rank_t root = team_.rank_of(root_);
    return {errc::unavailable, worded("the multicast root, rank ", root, ", could not form the group"), root};
  }
  auto group = mc_->join(team_.members(), token, team_.parent_job().setup_deadline());
  if (!group) return group.error();
  group_ = *group, joined_ = true;
  return {};
}

status multicast_group::form(std::span<const std::byte> token) {
  if (!mc_) return trouble_;  // in all alike
  auto tokens = team_.exchange(token, team_.parent_job().setup_deadline());
  if (!tokens) return tokens.error();
  return team_.agreed(accept((**tokens)[root_]), team_.parent_job().setup_deadline());
}

}  // namespace tutti

// The members of a team in one multicast group, which the root forms and the others join by its token. Made in two halves,
// between which the token travels by whatever exchange there is, or in one by form().
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/job/team.h"
#include "core/transport/multicast.h"

namespace tutti {

class multicast_group {
 public:
  // The first half. The root gives out its token, empty if it could not form the group.
  multicast_group(team&, std::uint32_t root, std::vector<std::byte>& token);
  ~multicast_group();
  multicast_group(const multicast_group&) = delete;
  multicast_group& operator=(const multicast_group&) = delete;

  // The second half, with the root's token: what went wrong in either. Errors: unsupported, the transport has no multicast;
  // unavailable, the root could not form the group; the transport's own. Nobody may send before all have accepted: what is
  // sent would be repaired, at the price of a timeout.
  status accept(std::span<const std::byte> token);
  // Collective over the team, instead of accept() and with the token of the first half; blocks. Errors are alike in all:
  // unavailable, some member has none of these, and is named.
  status form(std::span<const std::byte> token);

  bool send(std::uint32_t tag, std::span<const std::byte> payload) noexcept { return mc_->send(group_, tag, payload); }
  bool receive(multicast::datagram& d) noexcept { return mc_->receive(group_, d); }
  multicast::limits limits() const noexcept { return mc_ ? mc_->query() : multicast::limits{}; }
  std::uint32_t root() const noexcept { return root_; }
  team& members() const noexcept { return team_; }

 private:
  team& team_;
  std::uint32_t root_;
  multicast* mc_;
  multicast::group_id group_{};
  bool joined_ = false;
  status trouble_;  // of the first half
};

}  // namespace tutti

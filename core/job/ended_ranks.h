// Which ranks of a job have ended, as their launcher saw it: a file of their numbers in that order, in a folder that both know. PMIx
// has no word for it that reaches a rank in the midst of an exchange, or before its first.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/base/status.h"

namespace tutti {

class ended_ranks {
 public:
  enum class how : std::uint32_t { not_yet, in_order, died };  // in_order: with status 0, after leaving PMIx
  struct one {
    rank_t rank = no_rank;
    how ended = how::not_yet;
  };
  static constexpr const char* file_name = "tutti-ended";  // in the launcher's folder

  // The launcher's: makes the file in `folder`, where only this user may write.
  static result<ended_ranks> make(const std::string& folder, std::uint32_t ranks);
  // A rank's: knows nothing where there is no such file of this user.
  static ended_ranks look(const std::string& path, std::uint32_t ranks);

  ended_ranks() = default;
  ended_ranks(ended_ranks&& o) noexcept : fd_(std::exchange(o.fd_, -1)), ranks_(o.ranks_), next_(o.next_) {}
  ended_ranks& operator=(ended_ranks&& o) noexcept {
    std::swap(fd_, o.fd_), std::swap(ranks_, o.ranks_), std::swap(next_, o.next_);
    return *this;
  }
  ~ended_ranks();

  bool known() const noexcept { return fd_ >= 0; }
  void mark(rank_t, how) noexcept;
  // The first that died, or else that ended in order; none if all others still run. A system call. Who dies of another's
  // death comes after it.
  std::optional<one> first_but(rank_t self) const noexcept;

 private:
  int fd_ = -1;
  std::uint32_t ranks_ = 0, next_ = 0;  // entries that there are; the launcher's next
};

}  // namespace tutti

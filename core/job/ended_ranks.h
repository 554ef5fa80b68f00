// Which ranks of a job have ended, as their launcher saw it: a file of their numbers, in order of their ends, in a folder that
// launcher and ranks know. PMIx has no event for this that reaches a rank during an exchange, or before its first one.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "core/base/status.h"
#include "core/base/unique_fd.h"

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

  bool known() const noexcept { return static_cast<bool>(fd_); }
  void mark(rank_t, how) noexcept;
  // The first rank that died, or else the first that ended in order; none if all others still run. A system call. A rank that
  // dies of another's death comes after that other.
  std::optional<one> first_but(rank_t self) const noexcept;

 private:
  unique_fd fd_;
  std::uint32_t ranks_ = 0, next_ = 0;  // entries that there are; the launcher's next
};

}  // namespace tutti

// What the ranks of a job wait for, as their launcher can see it: a file with a place for each rank, in a folder that both know. A
// launcher that ends a job which does not end by itself, at its --timeout or when it is told to quit, shows it. Ranks write into a
// mapping of the file, which no limit of file sizes forbids.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/base/unique_fd.h"

namespace tutti {

class shown_waits {
 public:
  enum class state : std::uint32_t { unknown, waits, waits_not };
  struct one {
    state now;
    char words[252];  // end with a 0
  };
  static_assert(sizeof(one) == 256);
  static constexpr const char* file_name = "tutti-waits";  // in the launcher's folder

  shown_waits() = default;
  ~shown_waits();
  shown_waits(const shown_waits&) = delete;
  shown_waits& operator=(const shown_waits&) = delete;

  // The launcher's: makes the file in `folder`, where only this user may write.
  status make(const std::string& folder, std::uint32_t ranks);
  // A rank's: shows nothing where there is no such file of this user. `beside`: the path of another file of the launcher's.
  void find(const std::string& beside, std::uint32_t ranks) noexcept;

  void show(rank_t r, const one& what) noexcept { if (all_) all_[r] = what; }
  // A line for each of these ranks, "rank 2 waits in a barrier": first those that wait for nobody. None where nothing is known of any.
  std::vector<std::string> in_words(const std::vector<rank_t>&) const;

 private:
  bool map(const unique_fd&, std::uint32_t ranks) noexcept;
  one* all_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tutti

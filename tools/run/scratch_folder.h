// A private folder for the life of a job.
#pragma once
#include <string>

#include "core/base/status.h"

namespace tutti::launching {

std::string temporary_parent();  // TMPDIR, else /tmp

class scratch_folder {
 public:
  scratch_folder() = default;
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder();               // removes it with all it holds
  status make(std::string_view parent);
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace tutti::launching

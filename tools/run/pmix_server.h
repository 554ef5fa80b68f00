// The PMIx server of one job on one node, so that any PMIx client runs under `tutti run` as under a big launcher.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tools/run/machine.h"

namespace tutti::launching {

class pmix_server {
 public:
  // Called on libpmix's thread: who asked for the end of the job, with which status and words.
  using abort_handler = std::function<void(rank_t, int status, std::string text, std::function<void()> answer)>;

  // Begins a job of `size` ranks; the server's files go to `folder`, which exists and is the caller's to remove.
  // One server in the life of a process, whose end is its end: leave by _Exit, since libpmix's thread is still there.
  static result<std::unique_ptr<pmix_server>> start(std::uint32_t size, const std::string& folder, const machine&,
                                                    abort_handler);

  // What a rank needs in its environment to find this server: NAME=VALUE.
  result<std::vector<std::string>> variables(rank_t);
  bool said_farewell(rank_t) const noexcept;  // it called PMIx_Finalize
  bool took_part(rank_t) const noexcept;      // it called PMIx_Init

 private:
  pmix_server() = default;
  status register_job();
  std::uint32_t size_ = 0;
};

}  // namespace tutti::launching

// How the ranks of a job find each other before any transport works. One implementation for each way of being
// started: PMIx (prterun, mpirun, srun, tutti run), none (a job of one), callbacks of an embedding runtime, and ranks
// that are threads or forked processes of one program. Used once, at start: addresses travel here, and afterwards
// everything travels over the transport itself.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "core/base/blob_table.h"
#include "core/base/host.h"
#include "core/base/status.h"
#include "core/base/time_point.h"

namespace tutti {

class bootstrap {
 public:
  virtual ~bootstrap() = default;
  virtual rank_t rank() const noexcept = 0;
  virtual std::uint32_t size() const noexcept = 0;              // >= 1
  // The same text in every rank of the job and in no other job that runs on any of its hosts; names shared resources.
  virtual const std::string& job_id() const noexcept = 0;
  virtual host_id host() const noexcept { return this_host(); }
  // Every rank gives a blob and gets those of all, by rank. Blocks; all ranks call it in the same order. Lengths may differ.
  // If a rank dies inside, the call ends with peer_dead or timed_out.
  virtual result<shared_blobs> allgather(std::span<const std::byte> mine, time_point deadline) = 0;
  // Asks the launcher to end every rank of the job, this one included, with an exit status and a line that says why.
  // Returns at once, and always: where no launcher listens, the others find out by this rank's death.
  virtual void end_job(int /*status*/, const std::string& /*why*/) noexcept {}
};

}  // namespace tutti

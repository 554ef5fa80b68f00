// One rank of a job of two, by the C API alone, that does a little of everything and says what came of it.
#pragma once
#include <atomic>
#include <cstdint>

namespace tutti::test {

inline constexpr std::uint32_t job_ranks = 2;

// How a rank ended, in memory that its job's starter reads.
struct rank_report {
  std::atomic<const char*> during = "nothing";  // the call it is in; a literal of this program
  std::atomic<bool> ended = false;
  std::int32_t code = 0;                        // tutti_status_t of the first call that failed
  std::uint32_t peer = ~0u;
  char text[600] = {};
  char wrong[200] = {};                         // what it saw that should not be
  double seconds = 0, waited = 0;               // of these for a core
  std::int32_t descriptors = 0, threads = 0;    // more at the end than before tutti_init()
};

// How the ranks meet without a launcher. Lives in shared memory; the starter marks those that have ended.
struct meeting {
  static constexpr std::size_t most_bytes = 1 << 16;
  std::atomic<std::uint64_t> entered[job_ranks] = {};
  std::atomic<bool> gone[job_ranks] = {};
  unsigned char blob[2][job_ranks][most_bytes];
};

struct injection;

// Blocks to the end of the rank. `page` null: nothing fails in this rank.
void run_rank(std::uint32_t rank, const char* job_id, const char* provider, meeting&, injection* page, rank_report&);

}  // namespace tutti::test

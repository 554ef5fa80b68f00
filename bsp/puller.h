// Puts whose data stay where their process packed them until the target's process reads them, straight to where they
// belong: RDMA reads into scatter lists (Birk 2006, 3.2, BSP-IB-R). No copy is made at the target, at the price of a round
// trip. Reads go to the next process first, as chunks do, so that not all read from the same one. That the reads are over
// needs no word of its own: the sender packs over the data two supersteps later only.
//
// Reads run side by side and in any order, so of two puts to one place neither might be there whole. Whoever pulls looks
// for ranges that meet, which costs a sort, and then reads one after the other.
#pragma once
#include <cstdint>
#include <vector>

#include "bsp/wire.h"
#include "core/job/job.h"

namespace tutti::bsp {

class puller {
 public:
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;  // of one read, so that several processes' are under way

  // `scatters`: several puts by one read, where the fabric has scatter lists.
  puller(job& j, bool scatters) noexcept : job_(j), scatters_(scatters) {}
  ~puller();
  puller(const puller&) = delete;
  puller& operator=(const puller&) = delete;

  struct pull {
    std::uint32_t turn;        // how far on its sender is: the order, also among those that meet
    rank_t rank;
    segment_id segment;        // the sender's region
    std::uint64_t at;          // in it
    region_id local;           // of the target; unregistered_memory: `into` is all there is to say
    std::uint64_t local_offset;
    std::byte* into;
    std::uint64_t bytes;
  };
  void add(const pull& p) { pulls_.push_back(p); }
  bool empty() const noexcept { return pulls_.empty(); }

  // Once all are added and nothing else is written any more. True: all are over, and the list is empty again.
  bool advance(bool& moved);
  const status& outcome() const noexcept { return done_.outcome(); }
  std::uint64_t operations() const noexcept { return operations_; }  // so far, for tests and reports

 private:
  void plan();
  void merge();

  job& job_;
  bool scatters_;
  std::vector<pull> pulls_;
  std::vector<rma_op> ops_;
  std::vector<slice> slices_;
  std::vector<std::pair<const std::byte*, const std::byte*>> ranges_;
  std::size_t offered_ = 0;
  bool planned_ = false, one_by_one_ = false;
  completion done_;
  std::uint64_t operations_ = 0;
};

}  // namespace tutti::bsp

// How the metadata of each superstep goes: flags from each process to each, which say what it has for the other
// (metadata_flag), and by which the processes meet.
//
// By words alone, of which each process sets one at every other; or by a metadata_exchange, which is chosen at open where it
// is the cheaper barrier, and besides by words to those for whom something comes with the word. A superstep in which most
// have something for most is then dearer than by words alone. Traffic is known only when it is there, and all must go the
// same way: so the supersteps before decide. With its metadata each process says whether words alone would have been dearer
// for what it had, and everyone learns in the same sync whether anybody said so. If from that it is likely that nobody will
// object to the next superstep, all go by words then (way_forecast.h). A wrong guess costs a barrier that is not the
// cheapest.
//
// Every way is a barrier: who leaves knows that all have entered. The arguments of superstep.cpp need no more of the
// superstep between s and s + 2, so each may go its own way. Words of s may stay where none is set in s + 2, and the halves
// of a metadata_exchange where s + 2 goes by words: what is found later names its superstep, which is not the one awaited.
// And nothing of a metadata_exchange is under way when a superstep goes by words, since a sync by it ends with its own
// operations.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "bsp/metadata_exchange.h"
#include "bsp/outbox.h"
#include "bsp/peer_memory.h"
#include "bsp/way_forecast.h"

namespace tutti::bsp {

class announcement {
 public:
  explicit announcement(const context&);
  // Once the windows are there. Collective; blocks. Process 0 chooses the way, by what the job has agreed of the fabric and by
  // its own multicast, and all take it.
  status open();

  // What this process has for each other one: the owner sets it before run(). What each has for this one, after it.
  std::span<std::uint8_t> out() noexcept { return out_; }
  std::span<const std::uint8_t> in() const noexcept { return in_; }
  // Blocks until all have entered the sync. Chunks that go with a word are read by the fabric until `sending` is idle.
  status run(const arena&, std::span<const outbox>, const peer_memory&, completion& sending);

  metadata_way way() const noexcept { return way_; }                               // chosen at open
  metadata_way next_way() const noexcept { return by_words_ ? metadata_way::direct : way_; }  // of the superstep under way
  std::uint64_t by_words_instead() const noexcept { return by_words_instead_; }    // supersteps that did not go that way

 private:
  bool wants_word(const outbox& box) const noexcept { return box.eager() || (out_[box.to()] & went_ahead); }
  void add_word(const arena&, const outbox&, completion& sending);
  bool offer_words() noexcept;
  status by_words(const peer_memory&);
  status by_bytes();

  const context& c_;
  metadata_way way_ = metadata_way::direct;
  std::unique_ptr<metadata_exchange> exchange_;  // null: always by a word from each to each
  bool by_words_ = true;                   // this superstep: by words alone
  std::uint32_t words_pay_from_ = 0;       // words besides, from which on words alone are cheaper; 0: always
  bool objected_ = false;                  // to words alone: this process, then anybody
  way_forecast forecast_;                  // alike in all
  std::uint64_t by_words_instead_ = 0;
  std::vector<std::uint8_t> out_, in_;
  std::vector<rma_op> words_;              // to offer
  std::size_t offered_ = 0;
};

}  // namespace tutti::bsp

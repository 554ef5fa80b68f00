// bsp_direct_get: bytes of another process's area now, not at the end of the superstep.
//
// The memory of a program is the fabric's to read on some providers only, and there only where it was registered with it. So the
// owner of the bytes serves them: the asker writes a request into the owner's window and waits, and the owner answers when it
// makes progress, as it does whenever it waits: in its own direct gets, and at the latest in its bsp_sync. Nobody waits for
// ever: who asks has not entered the sync of the superstep, so the owner cannot leave it.
//
// What it reads. A request names its superstep. The owner may still be in the sync before, and has not written all puts;
// then the request lies until that sync is over. From there on the asker sees what the program of the owner has made of its
// memory by then.
//
// An asker has one request under way, of a piece that fits into its landing place, and an owner one answer. So whoever wrote
// a word or a place in the window is known, and nothing is written again before it was read.
#pragma once
#include "bsp/context.h"
#include "bsp/registrar.h"

namespace tutti::bsp {

class direct_gets final : public background {
 public:
  direct_gets(const context&, const registrar&);
  ~direct_gets() override;

  // Of a range that lies inside. Blocks.
  status fetch(std::uint32_t pid, std::uint32_t area, std::uint64_t offset, std::byte* into, std::uint64_t bytes);

 private:
  struct request {
    std::uint64_t epoch, offset;
    std::uint32_t area, bytes;
    std::uint64_t piece;                   // of all that the asker has asked for
  };
  static_assert(sizeof(request) == window_layout::request_bytes);

  void advance() noexcept override;
  bool serve(std::uint32_t pid, std::uint64_t number) noexcept;

  const context& c_;
  const registrar& areas_;
  completion sending_, answering_;
  std::vector<std::uint64_t> asked_;       // requests of mine, by process; the last one's number is this
  std::vector<std::uint64_t> served_;      // requests of others
  std::uint64_t all_served_ = 0, pieces_ = 0;
  rma_op answer_{};
  bool answer_waits_ = false;              // the fabric has not taken it
};

}  // namespace tutti::bsp

// TUTTI_BSP_CHECK=1: mistakes that BSPlib leaves undefined, or that end in a far place, found in the superstep that makes
// them. Each sync first makes known to everyone what everyone did, so it costs much more than a sync, and every process
// judges all of it: all come to the same error and end with it.
//
//   an error    processes that call bsp_push_reg or bsp_pop_reg a different number of times; high-performance calls that
//               meet: one may write at any time from the call to the end of the superstep, so what another call reads or
//               writes of the same bytes is anything, and so is what is put or sent of the target of a bsp_hpget before it
//   a warning   bytes that are put or sent although a bsp_get is to overwrite them at the end of the same superstep: that
//               is allowed, and takes the bytes as they were before
//
// What a program itself reads or writes between its calls is not seen.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bsp/words.h"
#include "bsp/registrar.h"
#include "core/job/team.h"

namespace tutti::bsp {

class checker {
 public:
  // `tell` is called with each warning.
  checker(team&, const registrar&, std::function<void(const std::string&)> tell);

  // A call of this process: `mine` is its source or target here; offset in area is the other end at `pid`.
  void note(call_kind, std::uint32_t pid, const void* mine, std::uint32_t area, std::uint64_t offset, std::uint64_t bytes);
  void pushed() noexcept { ++pushes_; }
  void popped() noexcept { ++pops_; }
  void drop_registrations() noexcept { pushes_ = pops_ = 0; }

  // Collective, at the begin of a sync of superstep `epoch`. The error names processes, calls and bytes.
  status judge(std::uint64_t epoch);

 private:
  struct access {           // as it travels
    std::uint32_t pid;      // in whose memory
    std::uint32_t area;     // no_area: `at` is an address
    std::uint64_t at, bytes;
    call_kind kind;
    bool local;             // the caller's own end of a call
  };
  struct touch {            // of my memory
    std::uintptr_t begin, end;
    std::uint32_t by;
    call_kind kind;
    bool local;
    bool writes() const noexcept;
    bool any_time() const noexcept { return kind == call_kind::hpput || kind == call_kind::hpget; }
  };
  struct counts {
    std::uint64_t pushes, pops;
  };
  void takes(call_kind, const void* mine, std::uint64_t bytes);
  static status same_counts(const std::vector<counts>&, std::uint64_t epoch);
  status meetings(std::vector<touch>, std::uint64_t epoch) const;

  team& team_;
  const registrar& areas_;
  std::function<void(const std::string&)> tell_;
  std::uint64_t pushes_ = 0, pops_ = 0, epoch_ = 1;
  std::vector<access> accesses_;
  bool warned_ = false;     // in this superstep
  std::string trouble_;     // of a call in it
};

}  // namespace tutti::bsp

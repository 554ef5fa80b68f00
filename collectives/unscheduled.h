// What carries out an operation of data_collectives where no schedule of one row does. Its begin() is its own; then:
#pragma once
#include "core/job/job.h"

namespace tutti {

class unscheduled {
 public:
  virtual ~unscheduled() = default;
  virtual bool advance(status& error) noexcept = 0;        // true: over here, and `error` says how
  virtual status look() noexcept = 0;                      // asked now and then by what waits: whether it does so in vain
  virtual void cancel(const status&) noexcept = 0;         // given up with this error: the caller's memory is the caller's again
  virtual wait_note waiting_for() const noexcept = 0;
  virtual status explained(const status& error) = 0;       // in full: who differs, if that is what it is; waits a second at most
};

}  // namespace tutti

// The operations of one kind on one team: numbered, in the order of the calls, one at a time. What runs them derives from this
// and says how one begins, goes on and ends; starting, testing and waiting are the same for all, and blocking is start and
// wait. Different kinds share no words, so a team's sequences go on side by side. A request is an operation's number.
//
// An operation begins when the one before has finished here, driven by any progress of this rank. The first error ends the
// sequence: what was started before it has this error, and so has every later call.
#pragma once
#include <cstdint>

#include "collectives/call_record.h"
#include "core/job/team.h"

namespace tutti {

class operation_sequence : public background {
 public:
  ~operation_sequence() override { team_.parent_job().dismiss(*this); }

  team& group() const noexcept { return team_; }
  bool test(std::uint64_t number) noexcept;        // complete or failed; does not progress the transport
  // Blocks until that operation is complete. Errors: the sequence's; timed_out: it goes on, and may be waited for again.
  status wait(std::uint64_t number, time_point deadline = time_point::max()) noexcept;
  void look_after() noexcept;                      // for whoever waits by test(): ends it if waiting has become hopeless
  void polled() noexcept;                          // the same, for whoever tests over and over: looks each job::look_every at most
  std::uint64_t started() const noexcept { return started_; }   // the newest number
  const status& outcome() const noexcept { return error_; }     // of all operations so far
  const status& outcome_in_full() noexcept;        // the same as explained() says it
  void advance() noexcept override;

 protected:
  operation_sequence(team& t, std::uint64_t first, call_record* record) noexcept
      : team_(t), record_(record), started_(first - 1), completed_(first - 1) {}

  virtual void begin(std::uint64_t number) noexcept = 0;
  // True: the present operation has finished; `error` says how. `looks`: how often in a row a word is looked at.
  virtual bool go_on(std::uint32_t looks, status& error) noexcept = 0;
  virtual status look() noexcept = 0;              // whether waiting has become hopeless; asked now and then
  virtual wait_note waiting_for() const noexcept = 0;
  virtual void tell(const status& error) noexcept { team_.fail(error); }  // the other members, of what they cannot find themselves
  // The error of an operation or of a deadline in full, asked for once; may block, for a second at most.
  virtual status explained(const status& error) { return error; }

  std::uint64_t start() noexcept;
  // start() and wait() without the ceremony, where nothing else is under way. `self`: this, whose begin() and go_on() are called
  // directly.
  template <class Engine>
  status run(Engine& self, time_point deadline) noexcept {
    if (error_.failed()) [[unlikely]] return error_;
    if (!idle()) return wait(start(), deadline);
    job& j = team_.parent_job();
    self.Engine::begin(++started_);
    running_ = true;
    // The common end: a word is seen sooner by looking often than by coming back each time.
    const std::uint32_t looks = j.oversubscribed() ? 1 : 64;
    for (std::uint32_t turn = 0; turn < looks; ++turn) {
      status error;
      stepping_ = true;
      const bool over = self.Engine::go_on(looks, error);
      stepping_ = false;
      if (over) return finished(error), error_.ok() ? status{} : wait(started_, deadline);
      j.progress();
    }
    return wait(started_, deadline);
  }
  void fail(const status&) noexcept;               // and tells
  bool idle() const noexcept { return started_ == completed_; }

  team& team_;
  call_record* record_;                            // null: nobody looks there
  std::uint64_t started_, completed_;              // newest asked for; newest finished
  status error_;
  bool test_steps_ = false;                        // test() calls go_on(), which then takes no progress of the transport

 private:
  bool finish_present(std::uint32_t looks) noexcept;
  void fail_unexplained(const status& error) noexcept { fail(error), unexplained_ = true; }
  void finished(const status& error) noexcept {    // the present operation
    running_ = false;
    if (error.ok()) ++completed_;
    else fail_unexplained(error);
  }

  bool running_ = false;                           // on completed_ + 1
  bool stepping_ = false;                          // progress made meanwhile is not to step again
  bool unexplained_ = false;                       // error_
  std::uint32_t polls_ = 0;
  time_point next_look_{};                         // of polled()
};

}  // namespace tutti

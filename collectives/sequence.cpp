#include "collectives/sequence.h"

namespace tutti {

void operation_sequence::fail(const status& error) noexcept {
  error_ = error;
  completed_ = started_;
  running_ = false;
  if (error.code() != errc::protocol) tell(error);  // the others read of it in the record
}

// True: no operation is under way any more.
bool operation_sequence::finish_present(std::uint32_t looks) noexcept {
  if (stepping_) return !running_;
  while (running_) {
    status error;
    stepping_ = true;
    const bool over = go_on(looks, error);
    stepping_ = false;
    if (!over) return false;
    finished(error);
    if (completed_ != started_) begin(completed_ + 1), running_ = true;
  }
  return true;
}

void operation_sequence::advance() noexcept {
  if (finish_present(1)) team_.parent_job().dismiss(*this);
}

std::uint64_t operation_sequence::start() noexcept {
  if (error_.failed()) return completed_;
  ++started_;
  if (running_) return started_;
  begin(started_), running_ = true;
  if (!finish_present(1)) team_.parent_job().enlist(*this);  // a team of one, or the last to arrive, has finished
  return started_;
}

bool operation_sequence::test(std::uint64_t number) noexcept {
  if (test_steps_ && !reached(completed_, number)) (void)finish_present(1);
  return reached(completed_, number) || error_.failed();
}

void operation_sequence::look_after() noexcept {
  if (idle() || error_.failed()) return;
  if (const status s = look(); s.failed()) fail_unexplained(s);
}

// Most polls cost no clock.
void operation_sequence::polled() noexcept {
  if (++polls_ % 64 != 0) return;
  const time_point now = team_.parent_job().net().now();
  if (now < next_look_) return;
  next_look_ = now + job::look_every;
  look_after();
}

const status& operation_sequence::outcome_in_full() noexcept {
  if (unexplained_) unexplained_ = false, error_ = explained(error_);
  return error_;
}

status operation_sequence::wait(std::uint64_t number, time_point deadline) noexcept {
  if (!test(number)) {
    job& j = team_.parent_job();
    wait_note note = waiting_for();
    const auto tell = [&] { return note.from = waiting_for().from, record_->in_words(note); };
    const function_ref<std::string> words(tell);
    if (record_) note.words = &words;
    const status s = j.wait([&] { return advance(), test(number); }, [&] { return look(); }, note, deadline);
    if (s.code() == errc::timed_out) {
      if (!idle()) j.enlist(*this);
      return explained(s);
    }
    if (s.failed()) fail_unexplained(s);
  }
  return outcome_in_full();
}

}  // namespace tutti

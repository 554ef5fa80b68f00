// All messages of one rank: the endpoint and the engines upon it, made together with the rank's first call of messages.
#pragma once
#include <memory>

#include "messaging/active.h"
#include "messaging/endpoint.h"
#include "messaging/tagged.h"

namespace tutti::messaging {

class messages {
 public:
  // `in_handler` is true while a handler of an active message runs.
  static result<std::unique_ptr<messages>> open(job& j, active_messages::surroundings* program = nullptr, std::atomic<bool>* in_handler = nullptr) {
    auto end = endpoint::open(j);
    if (!end) return end.error();
    return std::unique_ptr<messages>(new messages(std::move(*end), program, in_handler));
  }
  ~messages() { end_->close(); }
  messages(const messages&) = delete;
  messages& operator=(const messages&) = delete;

  endpoint& end() noexcept { return *end_; }
  tagged& by_tag() noexcept { return tagged_; }
  active_messages& active() noexcept { return active_; }
  void forget(team& t) noexcept { tagged_.forget(t); }  // it goes

 private:
  messages(std::unique_ptr<endpoint> e, active_messages::surroundings* program, std::atomic<bool>* in_handler) noexcept
      : end_(std::move(e)), tagged_(*end_), active_(*end_, program ? *program : nothing_, in_handler ? *in_handler : ignored_) {}

  active_messages::surroundings nothing_;  // for who brings none
  std::atomic<bool> ignored_ = false;
  std::unique_ptr<endpoint> end_;
  tagged tagged_;
  active_messages active_;
};

}  // namespace tutti::messaging

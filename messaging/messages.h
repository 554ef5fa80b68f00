// All messages of one rank: the endpoint and the engines upon it, made together with the rank's first call of messages.
#pragma once
#include <memory>

#include "messaging/endpoint.h"
#include "messaging/tagged.h"

namespace tutti::messaging {

class messages {
 public:
  static result<std::unique_ptr<messages>> open(job& j) {
    auto end = endpoint::open(j);
    if (!end) return end.error();
    return std::unique_ptr<messages>(new messages(std::move(*end)));
  }
  ~messages() { end_->close(); }
  messages(const messages&) = delete;
  messages& operator=(const messages&) = delete;

  endpoint& end() noexcept { return *end_; }
  tagged& by_tag() noexcept { return tagged_; }
  void forget(team& t) noexcept { tagged_.forget(t); }  // it goes

 private:
  explicit messages(std::unique_ptr<endpoint> e) noexcept : end_(std::move(e)), tagged_(*end_) {}

  std::unique_ptr<endpoint> end_;
  tagged tagged_;
};

}  // namespace tutti::messaging

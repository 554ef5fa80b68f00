// TCP between the machine's hosts, as far as one who only watches a connection can see it, and its system calls.
#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "tests/seeded/machine.h"

namespace tutti::test {

struct stream : object {
  enum class state : std::uint8_t { fresh, connecting, standing, ended_by_peer, closed };
  state now = state::fresh;
  int error = 0;                    // for whoever asks first
  std::vector<std::byte> arrived;
  std::weak_ptr<stream> other;      // what was accepted for it
  int to_host = -1;
  bool resets = false;              // where it ends: SO_LINGER of no time; an accepted one has its listener's
  bool readable() const override { return error || !arrived.empty() || now == state::ended_by_peer || now == state::closed; }
  void closed() override;
};

struct listener : object {
  int host = 0, port = 0;
  bool listens = false, resets = false;
  std::deque<std::shared_ptr<stream>> waiting;
  bool readable() const override { return !waiting.empty(); }
  void closed() override;           // resets those who wait
};

void connect_stream(const std::shared_ptr<stream>&, int host, int port);
void bind_listener(const std::shared_ptr<listener>&);
void forget_sockets();              // before another trial

}  // namespace tutti::test

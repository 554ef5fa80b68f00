// What a rank knows of one peer.
#pragma once
#include <array>
#include <memory>

#include "core/base/time_point.h"
#include "providers/common/peer_life.h"
#include "providers/verbs/endpoint.h"
#include "providers/verbs/send_queue.h"

namespace tutti::verbs {

// The name of a send queue: its peer's place among those with one, and, above, how often it was opened.
inline constexpr unsigned line_bits = 22;
inline constexpr std::uint32_t line_mask = (1u << line_bits) - 1, no_line = ~0u;

struct backlog;  // backlogs.h
struct backlog_closer { void operator()(backlog*) const noexcept; };
struct correspondence;  // packets.h
struct correspondence_closer { void operator()(correspondence*) const noexcept; };

struct peer {
  rank_t rank = no_rank;
  peer_life life;
  status unreported;            // clause 3: the first error that no completion took
  status lost;                  // clause 10: of its operations upon me
  status lacks;                 // what this process lacks to send it two-sided messages
  send_queue out;
  bool ready = false;           // confirmed, not failing and nothing waits: operations may be posted
  bool confirmed = false;       // out is open, and what is sent arrives at once
  bool failing = false;         // out is in error: only the rest of its completions is awaited
  bool losing = false;          // some of that had none that took the error
  std::unique_ptr<backlog, backlog_closer> waiting;  // operations taken while it was being connected
  std::unique_ptr<correspondence, correspondence_closer> talk;  // two-sided messages, from the first on
  status failure;               // what those in flight end with when they are flushed
  status unexplained;           // the first error, while it is open whether a port of mine is its cause
  time_point ask_port_at{};     // while unexplained
  bool rings = false;           // signals to it must ring
  bool told = false, sure = false;  // it knows that mine must; and has confirmed (announcements.h)
  bool confirm_owed = false;    // it is to be told that signals to it ring
  bool probing = false;         // a probe is under way
  bool goodbye = false;         // was said
  std::uint32_t swaps = 0;      // under way
  std::uint32_t flushes = 0;    // under way
  std::uint32_t flushed = 0;    // out.head() behind the last of them
  std::uint32_t line = no_line; // its place in peer_table::lines()
  std::uint32_t opened = 0;     // how often out was
  time_point quiet_since{};     // the last completion
  time_point drain_until{};     // while failing

  bool alive() const noexcept { return life.alive(); }
  void look_again() noexcept { ready = confirmed && !failing && !waiting; }
  // What somebody waits for, or nobody: then its next flush tells the first error.
  void tell(completion* done, const status& outcome) noexcept {
    if (done) done->finish(outcome);
    else if (outcome.failed() && unreported.ok()) unreported = outcome;
  }
};

}  // namespace tutti::verbs

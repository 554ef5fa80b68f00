// `tutti perf messages`: what messages take, through the C interface as programs call it, beside other libraries' (--peers) and in the
// three designs of Huang, Santhanaraman, Jin and Panda (2005) side by side (--designs, --rings). A cell is a part and a number of bytes:
//
//   latency    a ping-pong of ranks 0 and 1: half of a round trip
//   bandwidth  from rank 0 to rank 1, a window of 64 messages and an answer, again and again: the time of one message
//   rate       the same, shown in messages a second
//   active     an active message whose handler replies: half of a round trip
//   put        a put and its synchronisation, to and fro: half of a round trip (the paper's figure 7)
//   mixed      16 puts and 16 gets in an epoch that the target opens: the time of one operation (figure 8)
//   rings      latencies among all ranks as in the HPC Challenge (figure 9): ping-pong of each pair, the least, the mean and the most;
//              then all ranks at once exchange messages with both neighbours, by sendrecv or nonblocking, whichever is faster: the time of
//              the slowest rank for each of the two; ranks stand in their order, and in 10 random orders (geometric mean)
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tools/perf/contest.h"

namespace tutti::tools {

inline constexpr const char* message_parts[] = {"latency", "bandwidth", "rate", "active", "put", "mixed", "rings"};
std::string words_of(const std::vector<contest_cell>&);  // "latency:8 bandwidth:64"

struct messages_plan {
  std::string self;                   // path of this executable
  std::vector<std::string> providers; // as TUTTI_PROVIDER names them
  std::vector<contest_cell> cells;
  std::vector<int> ranks;
  bool sorts = false;                 // of the designs: an integer sort as well
  double seconds = 0;                 // for everything, about
  std::string json;                   // a file; empty: none
};

// A job of ours for these cells. `design`: as TUTTI_MESSAGING; empty: as it is set.
contestant our_messages(const messages_plan&, const std::string& provider, std::string name, const std::string& design = {});

// Each prints tables; the exit status. Throw std::runtime_error.
int compare_messages_with_peers(const messages_plan&);
int compare_message_designs(const messages_plan&);
int compare_message_rings(const messages_plan&);

// In each rank of a job: measures the cells for `seconds` each, by a context of its own, and prints them in rank 0. one_sided_by_messages:
// put and mixed are made of messages, as in the paper's designs below the third. Throws std::runtime_error.
void measure_messages(const std::vector<contest_cell>&, double seconds, bool one_sided_by_messages);

}  // namespace tutti::tools

// TUTTI_BSP_PROFILE=FILE: what each superstep of each process cost, kept in memory while the program runs, brought to
// process 0 when it ends and written there as one JSON file, which `tutti bsp-report` reads.
//
// The cost of a superstep in the BSP model is w + g h + l (Valiant 1990; Hill et al. 1998): w is the longest computation
// of any process, h the most bytes that any process sends or receives. g and l are measured on this very job before the
// program begins. Who receives what is known to the sender alone, so a process notes what it sends to whom and what it
// fetches from whom, and process 0 adds up. By which way the metadata of a superstep went (metadata_cost.h) is the same for all.
//
// File: {"tutti_bsp_profile": 3, "program", "provider", "processes", "g_ns_per_byte", "l_ns", "dropped",
//        "sites": [{"module", "offset", "function", "call"}], "ways": ["words", "dissemination", "multicast"],
//        "supersteps": [[site, [w ns of each process], [sync ns], [bytes sent], [bytes received], [calls], way]],
//        "traffic": [[process, other, bytes from the one to the other, calls of the one upon the other]],
//        "calls": [[site, calls, bytes]]}
// A site is where the program called bsp_sync or, as `call` tells, a collective call or one that moves data, as bsp_put: `offset` is that of
// the return address in the module's file. "calls" has what was moved from sites of the last kind, by all processes. Where the processes were in several places, a list of each process's site stands for `site`. `way` is the place in
// "ways" of the one that the metadata took. No list has what a process puts, gets or sends to itself,
// since that is nobody's to send or to receive. "traffic" is of the whole part, and empty where that has more than 512 processes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bsp/metadata_cost.h"
#include "core/base/status.h"
#include "core/transport/transport.h"

namespace tutti::bsp {

class engine;

struct machine {
  double g_ns_per_byte = 0, l_ns = 0;
};
// Collective: measured by supersteps of the engine's own, some milliseconds. False: the engine's error.
bool measure_machine(engine&, machine&);

class ledger {
 public:
  // Supersteps that are kept; those beyond are only counted.
  static constexpr std::size_t most_supersteps = std::size_t{1} << 18;

  // Times are those of the transport's clock: a simulated world has its own.
  ledger(std::uint32_t processes, const machine&, const transport& clock);

  struct called {
    const void* from = nullptr;  // null: nobody is to see where
    std::string_view call;       // which stays
  };
  // Calls of this process; `out` of bytes that it sends, else it fetches them.
  void note(std::uint32_t pid, std::uint64_t bytes, bool out, const called& by) {
    traffic& t = with_[pid];
    if (t.calls++ == 0) busy_.push_back(pid);
    (out ? t.out : t.in) += bytes;
    if (!by.from) return;
    moved& m = moved_[by.from];
    m.call = by.call, ++m.calls, m.bytes += bytes;
  }
  // The program's call from there, which is a sync, and how its metadata is to go. The call's name must stay until leave().
  void enter(const void* site, std::string_view call, metadata_way) noexcept;
  void leave();

  // Collective, when the program has ended its last superstep; nothing is kept any more. Process 0 writes the file.
  // False: the engine's error. A file that cannot be written is told in `why` of process 0.
  bool write(engine&, const std::string& file, const std::string& provider, status& why);

 private:
  struct traffic {
    std::uint64_t out = 0, in = 0, calls = 0;
  };
  struct superstep {
    std::uint64_t work_ns, sync_ns;
    std::uint32_t site, flows;  // how many of flows_ are its
  };
  struct flow {
    std::uint32_t pid, calls;
    std::uint64_t out, in;
  };
  std::string own_part() const;

  machine machine_;
  const transport& clock_;
  std::vector<traffic> with_;
  std::vector<std::uint32_t> busy_;
  std::vector<superstep> supersteps_;
  std::vector<metadata_way> ways_;  // of each; told by process 0, for all
  std::vector<flow> flows_;
  std::unordered_map<const void*, std::uint32_t> site_numbers_;
  struct sync_site {
    const void* from;
    std::string call;
  };
  std::vector<sync_site> sites_;
  struct moved {
    std::string_view call;
    std::uint64_t calls = 0, bytes = 0;
  };
  std::unordered_map<const void*, moved> moved_;  // by the program's place
  std::uint64_t dropped_ = 0;
  const void* site_ = nullptr;
  std::string_view call_;
  metadata_way way_ = metadata_way::direct;
  time_point left_, entered_;
};

}  // namespace tutti::bsp

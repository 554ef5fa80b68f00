// Pictures of a profile, for its page, and its supersteps as a table for other programs.
#pragma once
#include <string>

#include "tools/bsp_report/analysis.h"

namespace tutti::tools {

// What supersteps took beside w, by their h, beside the line g h + l; "" where fewer than two h are there.
std::string time_by_h(const ledger_file&, const bsp_analysis&);
// Each process from left to right: how much of a run of supersteps it computed, and how much it was in the syncs. Of the first
// processes, where there are many.
std::string timeline(const ledger_file&, const bsp_analysis&);
// How many bytes each process sends to each: as a table, or the pairs with most. "" where there is nothing.
std::string traffic(const ledger_file&);

// A line for each superstep and process: "superstep,process,site,call,w_ns,sync_ns,sent,received,calls,metadata".
std::string to_csv(const ledger_file&);

}  // namespace tutti::tools

// What a comparison found, for people and for programs.
#pragma once
#include <string>

#include "tools/perf/session.h"

namespace tutti::tools {

void print_table(const session&, std::uint32_t ranks);
// Medians and quartiles with provenance: host, processor, kernel, versions, ranks per core. Throws std::runtime_error.
void write_json(const session&, std::uint32_t ranks, const std::string& file);

}  // namespace tutti::tools

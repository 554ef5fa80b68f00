// What a BSP program wrote to TUTTI_BSP_PROFILE (bsp/ledger.h), read back.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tutti::tools {

struct call_site {
  std::string module, function;
  std::uint64_t offset = 0;       // of the return address in the module's file
  std::string call = "bsp_sync";  // or the collective call, or one that moves data
  std::string name;               // "lu.c:93", once resolved
  std::string line = {};          // with the whole path; empty: not known
};

// Of each process, in nanoseconds and bytes.
struct superstep_record {
  std::vector<std::uint32_t> sites;  // of each process, or one for all
  std::vector<double> work, sync, sent, received, calls;
  std::uint32_t way = 0;          // by which its metadata went, of ledger_file::ways
};

// From one process to another, in the whole program.
struct pair_traffic {
  std::uint32_t from = 0, to = 0;
  double bytes = 0, calls = 0;
};

// What all processes moved by the calls at one place.
struct site_traffic {
  std::uint32_t site = 0;
  double calls = 0, bytes = 0;
};

struct ledger_file {
  std::string program, provider;
  std::uint32_t processes = 0;
  double g_ns_per_byte = 0, l_ns = 0;
  std::uint64_t dropped = 0;
  std::vector<call_site> sites;
  std::vector<std::string> ways;  // "words", ...
  std::vector<superstep_record> supersteps;
  std::vector<pair_traffic> traffic;
  std::vector<site_traffic> calls;
};

// Throw std::runtime_error that says what is wrong, and names the file if there is one.
ledger_file read_ledger(const std::string& path);
ledger_file ledger_from_json(const std::string& text);

// Names the sites by source file and line where the program has debug information and addr2line is there, else by
// function or by module and offset.
void resolve_sites(std::vector<call_site>&);

}  // namespace tutti::tools

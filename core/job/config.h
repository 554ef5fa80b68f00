// The settings, in one table (config.cpp), and the only reader of the environment. A value comes from the first of these that
// has one: an option passed in by the program, the environment (TUTTI_BARRIER=rds), the file named by TUTTI_CONFIG_FILE (lines of
// `barrier = rds`, # starts a comment; 1 MiB at most), the default. Each value keeps its source, for `tutti info --config`.
// To add a setting, add a name to `knob` and a row to the table.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace tutti {

enum class knob : std::uint8_t {
  provider, provider_path, barrier, barrier_radix, bcast, reduce, allreduce, gather, scatter, allgather, alltoall,
  alltoallv, reduce_scatter, scan, exscan, messaging, reproducible, multicast_interface, multicast_ttl, wait, progress, timeout_s,
  notice_s, unexpected_mib, registration_cache, registration_cache_mib, check, tune, tuning, bsp, bsp_memory_mib, bsp_check, bsp_profile, mpi,
  mpi_report, config_file,
  count_
};
inline constexpr std::size_t knob_count = static_cast<std::size_t>(knob::count_);

enum class knob_kind : std::uint8_t { text, word, number };
enum class knob_source : std::uint8_t { standard, file, environment, option };
std::string_view knob_source_name(knob_source) noexcept;  // "default", "file", "environment", "option"

struct knob_row {
  knob id;
  std::string_view name;      // "barrier_radix"; the variable is TUTTI_BARRIER_RADIX
  knob_kind kind;
  std::string_view standard;  // the default, as text
  std::string_view words;     // kind word: the allowed ones, separated by '|'
  std::uint64_t least, most;  // kind number
  std::string_view meaning;   // one line, with its unit
};
std::span<const knob_row> knobs() noexcept;

// What a program passes in, by name as in the file.
struct config_option {
  std::string_view name, value;
};

// A copy of the environment, so that a test can make its own.
using environment = std::map<std::string, std::string, std::less<>>;
environment process_environment();
// As it was when the program began, whatever the process has changed since; empty where the kernel does not tell.
environment environment_at_start();

// The user's folder for what configures tutti; "" if there is none. It need not exist.
std::string users_folder(const environment&);

// Who started this process, from the variables that launchers leave.
struct launcher_traces {
  bool pmix = false;               // a PMIx server waits for us
  std::string other;               // a launcher with another protocol, "" if there is none: "MPICH's mpiexec (PMI-1)"
  std::string remedy;              // and what to start the job by instead
  std::uint32_t ranks = 1;         // how many that launcher says it started
  std::string ended;               // path of the file of core/job/ended_ranks.h, if that launcher has one
  std::string simulated;           // the line to the simulated world that this process is a rank of (simulated_link.h), "" if it is none
  bool rewritten = false;          // the process has changed what the launcher told it since: which job, which rank
};

class config {
 public:
  config();  // all defaults
  // Unknown names, here, in the file or among TUTTI_ variables, are `invalid` with the nearest known name; so are bad
  // values, naming value and remedy. Variables that begin with TUTTI_TEST_ are left to the tests, and TUTTI_SIMULATED is a launcher's.
  static result<config> load(std::span<const config_option> options = {},
                             const environment& variables = process_environment(),
                             const environment& at_start = environment_at_start());
  // Sets the values that the text of a file holds; `path` is for the errors. Values may have changed before an error.
  status read_lines(std::string_view text, const std::string& path);

  std::string_view text(knob k) const noexcept { return at(k).text; }
  std::uint64_t number(knob k) const noexcept { return at(k).number; }  // 0 for a knob of another kind
  knob_source source(knob k) const noexcept { return at(k).source; }
  const launcher_traces& launcher() const noexcept { return launcher_; }

 private:
  struct value {
    std::string text;
    std::uint64_t number = 0;
    knob_source source = knob_source::standard;
  };
  const value& at(knob k) const noexcept { return values_[static_cast<std::size_t>(k)]; }
  status set(const knob_row&, std::string_view text, knob_source, std::string_view called);
  status read_file(const std::string& path);
  void set_users_tuning(const environment&);
  std::array<value, knob_count> values_;
  launcher_traces launcher_;
};

}  // namespace tutti

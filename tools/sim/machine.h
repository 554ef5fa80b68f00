// A simulated machine as a file and as options: what sim::parameters says of the machine, by name. One table says each
// parameter's name, option, range and place, and reading, writing and the command line go by it: a new parameter is a row.
//
// A file is a JSON object:
//
//   { "tutti_machine": 1,
//     "name": "ndr-infiniband",
//     "about": "one line",
//     "network": { "source": "of the group", "latency_us": 0.6, "bytes_per_ns": {"value": 48, "source": "of the value"} },
//     "node": { ... } }
//
// A parameter stands in its group's object: `network.latency_us` is "latency_us" in "network". What a file leaves out has its
// default. Each value may carry where its number comes from, and so may a group.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/status.h"
#include "providers/sim/sim.h"

namespace tutti::tools {

// One of several words.
struct choice_field {
  std::span<const std::string_view> words;
  unsigned (*get)(const sim::parameters&);
  void (*set)(sim::parameters&, unsigned);
};

struct machine_parameter {
  std::string_view name;       // "network.latency_us"
  const char* option;          // "--latency"
  const char* meaning;         // with its unit
  double least, most;          // of numbers
  std::variant<double& (*)(sim::parameters&), std::uint32_t& (*)(sim::parameters&), std::uint64_t& (*)(sim::parameters&),
               bool& (*)(sim::parameters&), choice_field>
      field;
};

std::span<const machine_parameter> machine_parameters();
const machine_parameter* find_machine_parameter(std::string_view name);

// From text as on a command line: a number, "on" or "off", or a word. `invalid`: says what is expected, and leaves all as it was.
status set(sim::parameters&, const machine_parameter&, const std::string& text);
std::string text_of(const machine_parameter&, const sim::parameters&);
// What may stand there: "0 to 1e+06", "on or off", "flat, torus or ...".
std::string range_of(const machine_parameter&);

struct machine {
  std::string name, about;
  sim::parameters par;
  std::map<std::string, std::string, std::less<>> sources;  // by a parameter's name, or its group's
  // The parameter's own source, else its group's, else "".
  std::string source_of(std::string_view parameter) const;
};

// `invalid`, in one line that begins with `file` and says what stands where, what is expected there, and of an unknown name the
// nearest known one.
result<machine> machine_from_text(std::string_view text, const std::string& file);
// Every parameter, and the sources; read again it gives the same machine.
std::string to_text(const machine&);
// A path (whatever has a '/' or ends in ".json"), else the name of a machine that is shipped: NAME.json in a folder of
// machine_folders(). A table of `tutti tune` is a machine as well, of its only fabric or the named one (calibrated.h). Errors: as
// machine_from_text(); there is no such file or name, with the nearest.
result<machine> read_machine(const std::string& path_or_name, const std::string& fabric = "");
std::span<const std::string> machine_folders();   // where shipped machines are looked for, in this order
std::vector<std::string> shipped_machines();

}  // namespace tutti::tools

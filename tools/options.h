// The command line of `tutti` and of its subcommands. What reads it is CLI11, whose header costs each source that includes it
// 7 s to compile; options.cpp alone does.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tutti::tools {

struct command;

// One option, as declared; what is said of it further is said in a chain.
class option {
 public:
  explicit option(CLI::Option* o) : o_(o) {}
  option between(int least, int most);
  option between(double least, double most);
  option above_zero();
  option one_of(std::vector<std::string> words);
  option sizes();          // in bytes; 64k and 1MiB are 65536 and 1048576
  option pair();           // two values
  option by_commas();      // several values in one argument
  option one_each();       // one value each time it is given
  option required();
  option not_with(option other);
  option hidden();         // from --help
  option shows_default();  // in --help

 private:
  CLI::Option* o_;
};

// Those of one subcommand. A handle; what it declares upon outlives every command that runs.
class options {
 public:
  explicit options(CLI::App* app) : app_(app) {}
  // `names` as in "-n,--ranks", or without dashes an argument known by its place. `value` is the default and takes what is
  // given. T is bool, which is a flag and takes no value; long, int, std::uint32_t, std::uint64_t, double, std::string, or a
  // vector of the last or of std::uint64_t.
  template <class T>
  option add(const char* names, T& value, const char* meaning);
  options subcommand(const char* name, const char* meaning);
  [[nodiscard]] bool chose(const char* subcommand) const;
  void footer(const char* text);
  // What follows the options, or --, is the command of a program, whose options are its own.
  void program_follows();
  // The same, but that options of this command are taken behind the program's name as well, up to a --.
  void program_stands_among();
  [[nodiscard]] std::vector<std::string> program() const;

 private:
  CLI::App* app_;
};

// Reads the command line and runs the subcommand that it names; returns the exit status. `help` and what completes the line in
// a shell (`completion`) are subcommands as well.
int parse_and_run(std::span<const command* const> commands, const char* version, int argc, char** argv);

// As option::sizes() reads it; none: that is no size.
std::optional<std::uint64_t> size_in_bytes(std::string word);

}  // namespace tutti::tools

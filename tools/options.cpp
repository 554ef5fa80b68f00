#include "tools/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/listing.h"
#include "core/base/nearest.h"
#include "tools/command.h"
#include "tools/process.h"

namespace tutti::tools {

constexpr const char* end_of_options = "the program";  // stands for --
std::vector<const CLI::App*> mixed;                     // whose options may stand behind the program's name

namespace {

// Makes a number of bytes of a size as people write it; else returns what is wrong. CLI11 takes -1, and whatever is too long, for the
// largest of all numbers.
std::string in_bytes(std::string& word) {
  const std::string given = word;
  std::uint64_t number = 0;
  try {
    if (std::from_chars(word.data(), word.data() + word.size(), number).ec == std::errc{} && CLI::AsSizeValue(false)(word).empty()) return {};
  } catch (const CLI::ValidationError&) {  // no such unit, or too many of it
  }
  return "\"" + given + "\" is no size; write a number of bytes, or as 64k or 1MiB";
}

// CLI11 finds nan in every range.
std::string is_number(const std::string& word) {
  return std::isnan(std::strtod(word.c_str(), nullptr)) ? word + " is no number" : std::string{};
}

}  // namespace

option option::between(int least, int most) { return option(o_->check(CLI::Range(least, most))); }
option option::between(double least, double most) { return option(o_->check(CLI::Range(least, most))->check(CLI::Validator(is_number, ""))); }
option option::above_zero() { return option(o_->check(CLI::PositiveNumber)->check(CLI::Validator(is_number, ""))); }
option option::one_of(std::vector<std::string> words) { return option(o_->check(CLI::IsMember(std::move(words)))); }
option option::sizes() { return option(o_->transform(CLI::Validator(in_bytes, "SIZE"))); }
option option::pair() { return option(o_->expected(2)); }
option option::by_commas() { return option(o_->delimiter(',')); }
option option::one_each() { return option(o_->allow_extra_args(false)); }
option option::required() { return option(o_->required()); }
option option::not_with(option other) { return option(o_->excludes(other.o_)); }
option option::hidden() { return option(o_->group("")); }
option option::shows_default() { return option(o_->capture_default_str()); }

std::optional<std::uint64_t> size_in_bytes(std::string word) {
  if (!in_bytes(word).empty()) return std::nullopt;
  return std::stoull(word);
}

template <class T>
option options::add(const char* names, T& value, const char* meaning) {
  if constexpr (std::is_same_v<T, bool>)
    return option(app_->add_flag(names, value, meaning));
  else
    return option(app_->add_option(names, value, meaning));
}
template option options::add(const char*, bool&, const char*);
template option options::add(const char*, int&, const char*);
template option options::add(const char*, long&, const char*);
template option options::add(const char*, std::uint32_t&, const char*);
template option options::add(const char*, std::uint64_t&, const char*);
template option options::add(const char*, double&, const char*);
template option options::add(const char*, std::string&, const char*);
template option options::add(const char*, std::vector<std::string>&, const char*);
template option options::add(const char*, std::vector<std::uint64_t>&, const char*);

options options::subcommand(const char* name, const char* meaning) { return options(app_->add_subcommand(name, meaning)); }
bool options::chose(const char* subcommand) const { return app_->get_subcommand(subcommand)->parsed(); }
void options::footer(const char* text) { app_->footer(text); }
void options::program_follows() { app_->prefix_command(); }
void options::program_stands_among() {
  program_follows();
  mixed.push_back(app_);
}
std::vector<std::string> options::program() const {
  std::vector<std::string> words = app_->remaining();
  if (!words.empty() && words[0] == end_of_options) words.erase(words.begin());
  return words;
}

namespace {

// CLI11 knows options of one letter after one dash only, and mpirun has -np for -n.
std::string ours(const std::string& word) { return word == "-np" ? "-n" : word; }

bool takes_value(const CLI::Option* option) { return option && option->get_items_expected_max() > 0; }

const CLI::App* subcommand_of(const CLI::App& app, const std::string& name) {
  for (const CLI::App* sub : app.get_subcommands(nullptr))
    if (sub->get_name() == name) return sub;
  return nullptr;
}

// `tutti` alone and `tutti help` are --help, and `tutti help run` is `tutti run --help`. What follows a program's name is left
// as it is.
void spell_as_ours(const CLI::App& app, std::vector<std::string>& words) {
  if (words.empty()) words = {"help"};
  if (words[0] == "help") {
    words.erase(words.begin());
    const CLI::App* const about = words.empty() ? nullptr : subcommand_of(app, words[0]);
    if (about && about->get_prefix_command()) words.resize(1);
    words.emplace_back("--help");
  }
  const CLI::App* sub = subcommand_of(app, words[0]);
  if (!sub || !sub->get_prefix_command()) return;
  std::size_t i = 1;
  for (; i < words.size() && words[i].starts_with('-') && words[i] != "--"; ++i) {
    words[i] = ours(words[i]);
    if (takes_value(sub->get_option_no_throw(words[i]))) ++i;
  }
  // CLI11 takes what stands behind -- for arguments that were declared. A word that is no option ends ours.
  if (i < words.size() && words[i] == "--") {
    words[i] = end_of_options;
    return;
  }
  if (std::ranges::find(mixed, sub) == mixed.end()) return;
  for (std::size_t at = i + 1, first = i; at < words.size(); ++at) {
    if (words[at] == "--") {
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    }
    const CLI::Option* const own = words[at].starts_with('-') ? sub->get_option_no_throw(ours(words[at]).substr(0, words[at].find('='))) : nullptr;
    if (!own) continue;
    const std::size_t count = takes_value(own) && words[at].find('=') == std::string::npos && at + 1 < words.size() ? 2 : 1;
    words[at] = ours(words[at]);
    const auto begin = words.begin() + static_cast<std::ptrdiff_t>(at);
    std::rotate(words.begin() + static_cast<std::ptrdiff_t>(first), begin, begin + static_cast<std::ptrdiff_t>(count));
    first += count, at += count - 1;
  }
}

// Empty: the first word is an option or a command's name.
std::string no_command(const CLI::App& app, const std::vector<std::string>& words) {
  if (words[0].starts_with('-') || subcommand_of(app, words[0])) return "";
  std::vector<std::string> known{"help"};
  for (const CLI::App* sub : app.get_subcommands(nullptr)) known.push_back(sub->get_name());
  const std::string_view near = nearest_name(words[0], known);
  if (!near.empty()) return "there is no command \"" + words[0] + "\"; did you mean " + std::string(near) + "?";
  std::string all;
  for (const std::string& name : known) add_to_list(all, name);
  return "there is no command \"" + words[0] + "\"; there are " + all;
}

// --- what a shell completes `tutti` with: its function asks `tutti completion words`, which reads the declared options

constexpr const char* bash_script = R"(# bash completion of tutti
_tutti() {
  mapfile -t COMPREPLY < <(tutti completion words "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
}
complete -o default -F _tutti tutti
)";

constexpr const char* zsh_script = R"(#compdef tutti
_tutti() {
  local -a replies
  replies=("${(@f)$(tutti completion words "${(@)words[2,CURRENT]}" 2> /dev/null)}")
  if [[ -n "$replies" ]]; then compadd -a replies; else _files; fi
}
if [[ "$funcstack[1]" = _tutti ]]; then _tutti "$@"; else compdef _tutti tutti; fi
)";

// "{auto,core,none}" at the end of an option's type, which is how CLI11 shows a choice; empty: anything goes.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto open = type.find('{'), close = type.find('}');
  if (open == type.npos || close == type.npos || close < open) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

// For the last word, of which `words` has what was typed so far. Nothing for what is the program's, or a file.
int complete(const CLI::App& tutti, std::vector<std::string> words) {
  if (words.empty()) words.emplace_back();
  const std::string begun = words.back();
  words.pop_back();
  if (!words.empty() && words[0] == "help") words.erase(words.begin());
  const CLI::App* app = &tutti;
  const CLI::Option* waiting = nullptr;
  for (const std::string& word : words) {
    if (waiting) {
      waiting = nullptr;
    } else if (word.starts_with('-')) {
      const CLI::Option* option = app->get_option_no_throw(ours(word));
      if (takes_value(option)) waiting = option;
    } else if (const CLI::App* sub = subcommand_of(*app, word)) {
      app = sub;
    } else if (app->get_prefix_command()) {
      return 0;  // the program was named
    }
  }
  std::vector<std::string> candidates;
  if (waiting) {
    candidates = choices_of(*waiting);
  } else if (begun.starts_with('-')) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) candidates.push_back("--" + name);
      for (const std::string& name : option->get_snames()) candidates.push_back("-" + name);
    }
  } else {
    if (app == &tutti) candidates.emplace_back("help");
    for (const CLI::App* sub : app->get_subcommands(nullptr))
      if (!sub->get_group().empty()) candidates.push_back(sub->get_name());
  }
  for (const std::string& c : candidates)
    if (c.starts_with(begun)) std::printf("%s\n", c.c_str());
  return 0;
}

std::function<int()> declare_completion(const CLI::App& tutti, CLI::App& app) {
  app.require_subcommand(1);
  const CLI::App* bash = app.add_subcommand("bash", "a script for bash: source <(tutti completion bash)");
  app.add_subcommand("zsh", "a script for zsh: source <(tutti completion zsh)");
  CLI::App* words = app.add_subcommand("words", "what the last of these words may become")->group("");
  words->prefix_command()->set_help_flag();
  return [&tutti, bash, words] {
    if (words->parsed()) return complete(tutti, words->remaining());
    std::fputs(bash->parsed() ? bash_script : zsh_script, stdout);
    return 0;
  };
}

}  // namespace

static int parse_and_run_unchecked(std::span<const command* const> commands, const char* version, int argc, char** argv) {
  CLI::App app{"tutti: communication among the ranks of a parallel program", "tutti"};
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  app.footer("`tutti help COMMAND` tells more of one.");
  std::vector<std::function<int()>> runs;
  for (const command* c : commands) runs.push_back(c->declare(options(app.add_subcommand(c->name, c->summary))));
  CLI::App* completion = app.add_subcommand("completion", "what bash or zsh completes this command with");
  const auto run_completion = declare_completion(app, *completion);
  std::vector<std::string> words(argv + (argc > 0), argv + argc);
  spell_as_ours(app, words);
  if (const std::string why = no_command(app, words); !why.empty()) {
    std::fprintf(stderr, "tutti: %s\n", why.c_str());
    return usage_error;
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes them from the end
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "tutti: %s; `tutti --help` tells more\n", e.what());
    return usage_error;
  }
  if (completion->parsed()) return run_completion();
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (app.got_subcommand(commands[i]->name)) return runs[i]();
  return usage_error;
}

int parse_and_run(std::span<const command* const> commands, const char* version, int argc, char** argv) {
  reset_inherited_state();
  const int status = parse_and_run_unchecked(commands, version, argc, argv);
  return output_is_written(argc > 1 && argv[1][0] != '-' ? argv[1] : "") || status ? status : 1;
}

}  // namespace tutti::tools

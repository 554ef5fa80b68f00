#include "core/job/config.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>

#include "core/job/launcher_traces.h"
#include "core/job/simulated_link.h"
#include "core/base/nearest.h"
#include "core/base/small_file.h"

namespace tutti {
namespace {

// In the order of `knob`.
constexpr knob_row table[] = {
    {knob::provider, "provider", knob_kind::text, "auto", "", 0, 0,
     "transport to use: auto, a provider and optionally its device (ucx:tcp), or one inside nodes and one between (shm+ucx)"},
    {knob::provider_path, "provider_path", knob_kind::text, "", "", 0, 0,
     "folders of provider modules, separated by ':'; empty: beside the library"},
    {knob::barrier, "barrier", knob_kind::text, "auto", "", 0, 0,
     "barrier algorithm: auto, or a name that `tutti info --explain barrier` lists"},
    {knob::barrier_radix, "barrier_radix", knob_kind::number, "0", "", 0, 64,
     "fan-in or radix of the algorithms that have one; 0: chosen"},
    {knob::bcast, "bcast", knob_kind::text, "auto", "", 0, 0,
     "broadcast algorithm: auto, or a name that `tutti info --explain broadcast` lists"},
    {knob::reduce, "reduce", knob_kind::text, "auto", "", 0, 0,
     "reduce algorithm: auto, or a name that `tutti info --explain reduce` lists"},
    {knob::allreduce, "allreduce", knob_kind::text, "auto", "", 0, 0,
     "allreduce algorithm: auto, or a name that `tutti info --explain allreduce` lists"},
    {knob::gather, "gather", knob_kind::text, "auto", "", 0, 0,
     "gather algorithm: auto, or a name that `tutti info --explain gather` lists"},
    {knob::scatter, "scatter", knob_kind::text, "auto", "", 0, 0,
     "scatter algorithm: auto, or a name that `tutti info --explain scatter` lists"},
    {knob::allgather, "allgather", knob_kind::text, "auto", "", 0, 0,
     "allgather algorithm, also with unlike counts: auto, or a name that `tutti info --explain allgather` lists"},
    {knob::alltoall, "alltoall", knob_kind::text, "auto", "", 0, 0,
     "alltoall algorithm: auto, or a name that `tutti info --explain alltoall` lists"},
    {knob::alltoallv, "alltoallv", knob_kind::text, "auto", "", 0, 0,
     "alltoallv algorithm, and of all exchanges with unlike counts but allgather's: auto, or a name that `tutti info --explain alltoallv` lists"},
    {knob::reduce_scatter, "reduce_scatter", knob_kind::text, "auto", "", 0, 0,
     "reduce_scatter algorithm: auto, or a name that `tutti info --explain reduce_scatter` lists"},
    {knob::scan, "scan", knob_kind::text, "auto", "", 0, 0,
     "scan algorithm: auto, or a name that `tutti info --explain scan` lists"},
    {knob::exscan, "exscan", knob_kind::text, "auto", "", 0, 0,
     "exscan algorithm: auto, or a name that `tutti info --explain exscan` lists"},
    {knob::messaging, "messaging", knob_kind::word, "full", "full|packet|channel", 0, 0,
     "design of messages (Huang 2005): full, all that is known; packet, without cached headers and without copying in place; "
     "channel, long messages as a stream, one at a time; alike in all ranks"},
    {knob::reproducible, "reproducible", knob_kind::number, "0", "", 0, 1,
     "1: reductions whose grouping shows in their bits (floats', users') give the same bits on any provider and any layout of ranks"},
    {knob::multicast_interface, "multicast_interface", knob_kind::text, "", "", 0, 0,
     "interface for multicast over IP, by name or address; none: no multicast; empty: the one that reaches the peers"},
    {knob::multicast_ttl, "multicast_ttl", knob_kind::number, "1", "", 0, 32,
     "routers that multicast over IP may pass, plus 1; 1 stays in the subnet"},
    {knob::wait, "wait", knob_kind::word, "auto", "auto|spin|yield|sleep", 0, 0,
     "how a rank waits: auto spins, then yields, then sleeps"},
    {knob::progress, "progress", knob_kind::word, "calls", "calls|thread", 0, 0,
     "who serves peers where the fabric does not (ucx:tcp, ofi): this rank's calls, or a thread while it makes none"},
    {knob::timeout_s, "timeout_s", knob_kind::number, "60", "", 1, 86400,
     "seconds that start-up and other set-up may take"},
    {knob::notice_s, "notice_s", knob_kind::number, "5", "", 0, 86400,
     "seconds after which a call that waits says for whom: to the program where that listens, else, if a launcher started it or it is "
     "an MPI program, on stderr; and again after twice as long each time; 0: never"},
    {knob::unexpected_mib, "unexpected_mib", knob_kind::number, "64", "", 0, 1u << 20,
     "most MiB that messages without a receive take in a rank, beside 256 KiB from each sender; and as much in a sender that must wait"},
    {knob::registration_cache, "registration_cache", knob_kind::word, "auto", "auto|off|interpose", 0, 0,
     "whether registrations of the program's own memory are kept for the next use: auto, where none can become stale or userfaultfd "
     "tells what is unmapped; interpose, by the preloaded libtutti-unmap.so instead of userfaultfd; off"},
    {knob::registration_cache_mib, "registration_cache_mib", knob_kind::number, "0", "", 0, 1u << 24,
     "most MiB of memory that kept registrations hold; 0: an eighth of the machine's, shared by the node's ranks, where that pins it, "
     "else no bound"},
    {knob::check, "check", knob_kind::number, "0", "", 0, 1,
     "1: verify ranks, offsets, alignment and sizes of every operation; the same in all ranks"},
    {knob::tune, "tune", knob_kind::word, "table", "table|off|online|online-any", 0, 0,
     "what chooses algorithms: table, what `tutti tune` measured, where that says nothing their predicted costs; off, these alone; "
     "online, as table, and early calls try what may be faster, but for reductions that then had other bits; online-any, these too"},
    {knob::tuning, "tuning", knob_kind::text, "", "", 0, 0,
     "file that `tutti tune` wrote; empty: tutti/tuning.json in the user's folder of configurations, if it is there"},
    {knob::bsp, "bsp", knob_kind::word, "auto", "auto|B|H|D|M|R|N", 0, 0,
     "how bsp_sync exchanges: auto, or one way for all (Birk 2006): B baseline, H short headers, D words by "
     "dissemination, M by multicast, R RDMA reads, N those without scatter lists"},
    {knob::bsp_memory_mib, "bsp_memory_mib", knob_kind::number, "0", "", 0, 1u << 24,
     "most MiB a process packs puts, gets and sends into; 0: a quarter of the machine's, shared by the node's ranks"},
    {knob::bsp_check, "bsp_check", knob_kind::number, "0", "", 0, 1,
     "1: find high-performance calls that meet, registrations that differ in number, and gets' targets put too early"},
    {knob::bsp_profile, "bsp_profile", knob_kind::text, "", "", 0, 0,
     "file to which a BSP program writes what each superstep cost, for `tutti bsp-report`"},
    {knob::mpi, "mpi", knob_kind::text, "all", "", 0, 0,
     "what a preloaded libtutti-openmpi.so or libtutti-mpich.so takes from MPI: all, collectives, messages, windows, off, or names of collectives, "
     "separated by commas, each with the most bytes if wanted (messages,allreduce:64KiB); rank 0's holds for all"},
    {knob::mpi_report, "mpi_report", knob_kind::number, "0", "", 0, 1,
     "1: at its end an MPI program with such a library tells what went by tutti and what by MPI, and why"},
    {knob::config_file, "config_file", knob_kind::text, "", "", 0, 0, "file with lines `name = value`"},
};
static_assert(std::size(table) == knob_count);
static_assert([] {
  for (std::size_t i = 0; i < knob_count; ++i)
    if (table[i].id != knob(i)) return false;
  return true;
}(), "rows stand in the order of `knob`");

constexpr std::string_view variable_prefix = "TUTTI_";
constexpr std::size_t longest_file = 1 << 20;

std::string variable_of(std::string_view name) {
  std::string upper{variable_prefix};
  for (const char c : name) upper += (c >= 'a' && c <= 'z') ? static_cast<char>(c - 'a' + 'A') : c;
  return upper;
}

std::string_view trimmed(std::string_view s) {
  const auto first = s.find_first_not_of(" \t\r");
  return first == s.npos ? std::string_view{} : s.substr(first, s.find_last_not_of(" \t\r") - first + 1);
}

const knob_row* row_of(std::string_view name) {
  for (const knob_row& row : table)
    if (row.name == name) return &row;
  return nullptr;
}

status unknown(std::string_view called, bool as_variable, std::string_view where) {
  // Without the prefix, which makes all variables alike.
  const std::string_view own = as_variable ? called.substr(std::min(called.size(), variable_prefix.size())) : called;
  std::vector<std::string> names;
  for (const knob_row& row : table) names.push_back(as_variable ? variable_of(row.name).substr(variable_prefix.size()) : std::string{row.name});
  const std::string_view nearest = nearest_name(own, names);
  return {errc::invalid, "unknown " + std::string{as_variable ? "variable " : "setting "} + std::string{called} + std::string{where} +
                             (nearest.empty() ? "; `tutti info --config` lists what there is"
                                              : "; did you mean " + (as_variable ? variable_of(nearest) : std::string{nearest}) + "?")};
}

void add(environment& variables, const char* entry) {
  if (const char* equals = std::strchr(entry, '='))  // of a doubled name getenv sees the first, and so does emplace
    variables.emplace(std::string(entry, static_cast<std::size_t>(equals - entry)), equals + 1);
}

bool is_word_of(std::string_view words, std::string_view text) {
  while (!words.empty()) {
    const auto bar = words.find('|');
    if (words.substr(0, bar) == text) return true;
    words = bar == words.npos ? std::string_view{} : words.substr(bar + 1);
  }
  return false;
}

}  // namespace

std::span<const knob_row> knobs() noexcept { return table; }

std::string_view knob_source_name(knob_source s) noexcept {
  switch (s) {
    case knob_source::standard: return "default";
    case knob_source::file: return "file";
    case knob_source::environment: return "environment";
    case knob_source::option: return "option";
  }
  return "?";
}

environment process_environment() {
  environment variables;
  for (char** entry = environ; entry && *entry; ++entry) add(variables, *entry);
  return variables;
}

environment environment_at_start() {
  environment variables;
  std::ifstream kept{"/proc/self/environ"};
  for (std::string entry; std::getline(kept, entry, '\0');) add(variables, entry.c_str());
  return variables;
}

config::config() {
  for (const knob_row& row : table) set(row, row.standard, knob_source::standard, row.name);
}

status config::set(const knob_row& row, std::string_view text, knob_source source, std::string_view called) {
  value v{std::string{text}, 0, source};
  const auto bad = [&](const std::string& remedy) {
    return status{errc::invalid, worded(called, "=", v.text, " is not valid: ", remedy)};
  };
  if (row.kind == knob_kind::word && !is_word_of(row.words, text))
    return bad("use one of " + std::string{row.words});
  if (row.kind == knob_kind::number) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, v.number);
    if (text.empty() || stop != end || error != std::errc{} || v.number < row.least || v.number > row.most)
      return bad("use a whole number from " + std::to_string(row.least) + " to " + std::to_string(row.most));
  }
  values_[static_cast<std::size_t>(row.id)] = std::move(v);
  return {};
}

status config::read_file(const std::string& path) {
  const auto text = read_small_file(path, longest_file);
  if (!text)
    return {errc::invalid, worded("cannot read the configuration file ", path, ": ", text.error().text(),
                                  "; correct TUTTI_CONFIG_FILE or unset it"), no_rank, text.error().native()};
  return read_lines(*text, path);
}

status config::read_lines(std::string_view text, const std::string& path) {
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), whole.size() + 1));
    const std::string_view line = trimmed(whole.substr(0, whole.find('#')));
    if (line.empty()) continue;
    const std::string where = " in " + path + " line " + std::to_string(number);
    const auto equals = line.find('=');
    if (equals == line.npos)
      return {errc::invalid, worded(line, where, " is not of the form `name = value`")};
    const std::string_view name = trimmed(line.substr(0, equals));
    const knob_row* row = row_of(name);
    if (!row) return unknown(name, false, where);
    if (row->id == knob::config_file)
      return {errc::invalid, worded("config_file", where, " cannot name another file; remove the line")};
    if (status s = set(*row, trimmed(line.substr(equals + 1)), knob_source::file, name); s.failed())
      return s.during(worded(path, " line ", number));
  }
  return {};
}

result<config> config::load(std::span<const config_option> options, const environment& variables,
                            const environment& at_start) {
  config c;
  c.launcher_ = trace_launcher(variables, at_start);
  // Which file to read is settled first; then from the weakest source to the strongest.
  const knob_row& file = table[static_cast<std::size_t>(knob::config_file)];
  if (const auto v = variables.find(variable_of(file.name)); v != variables.end())
    c.set(file, v->second, knob_source::environment, v->first);
  for (const config_option& o : options)
    if (o.name == file.name) c.set(file, o.value, knob_source::option, o.name);
  if (const std::string path{c.text(knob::config_file)}; !path.empty())
    if (status s = c.read_file(path); s.failed()) return s;

  for (auto v = variables.lower_bound(variable_prefix); v != variables.end() && v->first.starts_with(variable_prefix); ++v) {
    if (v->first.starts_with("TUTTI_TEST_") || v->first == simulated::variable) continue;
    const auto row = std::find_if(std::begin(table), std::end(table),
                                  [&](const knob_row& r) { return variable_of(r.name) == v->first; });
    if (row == std::end(table)) return unknown(v->first, true, "");
    if (row->id == knob::config_file || v->second.empty()) continue;  // empty is as unset, as in a shell's `NAME= command`
    if (status s = c.set(*row, v->second, knob_source::environment, v->first); s.failed()) return s;
  }
  for (const config_option& o : options) {
    const knob_row* row = row_of(o.name);
    if (!row) return unknown(o.name, false, "");
    if (status s = c.set(*row, o.value, knob_source::option, o.name); s.failed()) return s;
  }
  if (c.text(knob::tuning).empty() && c.text(knob::tune) != "off") c.set_users_tuning(variables);
  return c;
}

// $XDG_CONFIG_HOME, or what stands for it (XDG Base Directory Specification).
std::string users_folder(const environment& variables) {
  const auto folder = [&](const char* name) {
    const auto v = variables.find(std::string_view(name));
    return v != variables.end() && v->second.starts_with('/') ? v->second : std::string{};
  };
  if (const std::string named = folder("XDG_CONFIG_HOME"); !named.empty()) return named + "/tutti";
  const std::string home = folder("HOME");
  return home.empty() ? home : home + "/.config/tutti";
}

void config::set_users_tuning(const environment& variables) {
  const std::string folder = users_folder(variables);
  if (const std::string path = folder + "/tuning.json"; !folder.empty() && access(path.c_str(), F_OK) == 0)
    (void)set(table[static_cast<std::size_t>(knob::tuning)], path, knob_source::standard, "tuning");
}

}  // namespace tutti

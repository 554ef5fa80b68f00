// Machine files, read strictly and written whole.
#include "tools/sim/machine.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "collectives/tuning/file.h"
#include "core/base/json_text.h"
#include "core/base/nearest.h"
#include "core/base/small_file.h"
#include "tools/sim/calibrated.h"

namespace tutti::tools {
namespace {

using json = nlohmann::ordered_json;

constexpr std::uint64_t format = 1;
constexpr std::size_t longest_file = 16 << 20, longest_text = 2000;

[[noreturn]] void wrong(const std::string& why) { throw std::invalid_argument(why); }

std::string shown(const json& at) {
  if (at.is_structured()) return std::string("an ") + at.type_name();
  std::string text = at.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 60) + "..." : text;
}

std::string text_at(const json& at, const std::string& path) {
  if (!at.is_string() || at.get_ref<const std::string&>().empty() || at.get_ref<const std::string&>().size() > longest_text)
    wrong(path + " is " + shown(at) + ": a text of 1 to " + std::to_string(longest_text) + " bytes is expected");
  return at.get<std::string>();
}

template <class Names>
[[noreturn]] void unknown(const std::string& path, std::string_view name, const Names& known) {
  const std::string_view near = nearest_name(name, known);
  std::string all;
  for (const std::string_view k : known) all += (all.empty() ? "" : ", ") + std::string(k);
  wrong("there is no " + path + (near.empty() ? "; known are " + all : "; did you mean \"" + std::string(near) + "\"?"));
}

std::string_view group_of(std::string_view name) { return name.substr(0, name.find('.')); }
std::string_view in_group(std::string_view name) { return name.substr(name.find('.') + 1); }

// A value by its own JSON type, as text for the table's own check.
std::string as_text(const machine_parameter& m, const json& at, const std::string& path) {
  const bool word = std::holds_alternative<choice_field>(m.field);
  const bool flag = std::holds_alternative<bool& (*)(sim::parameters&)>(m.field);
  if (flag && at.is_boolean()) return at.get<bool>() ? "on" : "off";
  if (word && at.is_string()) return at.get<std::string>();
  if (!flag && !word && at.is_number()) return at.dump();
  wrong(path + " is " + shown(at) + ": expected is " + (flag ? "true or false" : word ? "one of " + range_of(m) : "a number, " + range_of(m)));
}

void read_value(const machine_parameter& m, const json& at, machine& out) {
  const std::string path(m.name);
  const json* value = &at;
  if (at.is_object()) {
    static constexpr std::string_view known[] = {"value", "source"};
    for (const auto& [name, part] : at.items())
      if (std::ranges::find(known, name) == std::end(known)) unknown("\"" + name + "\" in " + path, name, known);
    if (!at.contains("value")) wrong(path + " has no \"value\"");
    value = &at["value"];
    if (at.contains("source")) out.sources[path] = text_at(at["source"], path + ".source");
  }
  if (const status s = set(out.par, m, as_text(m, *value, path)); s.failed()) wrong(path + " is " + shown(*value) + ": expected is " + range_of(m));
}

void read_group(const std::string& group, const json& in, machine& out) {
  if (!in.is_object()) wrong(group + " is " + shown(in) + ": an object is expected");
  for (const auto& [name, at] : in.items()) {
    if (name == "source") {
      out.sources[group] = text_at(at, group + ".source");
    } else if (const machine_parameter* m = find_machine_parameter(group + "." + name)) {
      read_value(*m, at, out);
    } else {
      std::vector<std::string_view> known{"source"};
      for (const machine_parameter& k : machine_parameters())
        if (group_of(k.name) == group) known.push_back(in_group(k.name));
      unknown("\"" + name + "\" in " + group, name, known);
    }
  }
}

machine read(const json& in) {
  if (!in.is_object()) wrong("it is " + shown(in) + ": an object is expected");
  const auto version = in.find("tutti_machine");
  if (version == in.end()) wrong("it has no \"tutti_machine\", the number of the format: write \"tutti_machine\": " + std::to_string(format));
  if (*version != format) wrong("tutti_machine is " + shown(*version) + ": this version of tutti reads format " + std::to_string(format));
  std::vector<std::string_view> known{"tutti_machine", "name", "about"};
  for (const machine_parameter& m : machine_parameters())
    if (std::ranges::find(known, group_of(m.name)) == known.end()) known.push_back(group_of(m.name));
  machine out;
  for (const auto& [name, at] : in.items()) {
    if (name == "tutti_machine") continue;
    if (name == "name") out.name = text_at(at, name);
    else if (name == "about") out.about = text_at(at, name);
    else if (std::ranges::find(known, name) != known.end()) read_group(name, at, out);
    else unknown("\"" + name + "\" in a machine", name, known);
  }
  return out;
}

bool is_path(const std::string& s) { return s.find('/') != s.npos || s.ends_with(".json"); }

}  // namespace

std::string machine::source_of(std::string_view parameter) const {
  for (const std::string_view one : {parameter, group_of(parameter)})
    if (const auto found = sources.find(one); found != sources.end()) return found->second;
  return "";
}

result<machine> machine_from_text(std::string_view text, const std::string& file) {
  std::string why;
  try {
    // A name that is given twice is an error: one of the two would be ignored in silence.
    std::vector<std::set<std::string>> seen;
    return read(parse_json<json>(text, [&](int, json::parse_event_t event, json& parsed) {
      if (event == json::parse_event_t::object_start) seen.emplace_back();
      if (event == json::parse_event_t::object_end) seen.pop_back();
      if (event == json::parse_event_t::key && !seen.back().insert(parsed.get<std::string>()).second)
        wrong("\"" + parsed.get<std::string>() + "\" is given twice in one object");
      return true;
    }));
  } catch (const std::invalid_argument& e) {
    why = e.what();
  }
  return status(errc::invalid, "machine " + file + ": " + as_one_line(std::move(why)));
}

std::string to_text(const machine& m) {
  json out = {{"tutti_machine", format}};
  if (!m.name.empty()) out["name"] = m.name;
  if (!m.about.empty()) out["about"] = m.about;
  for (const machine_parameter& p : machine_parameters()) {
    const std::string group(group_of(p.name));
    json& in = out[group];
    if (const auto s = m.sources.find(group); s != m.sources.end()) in["source"] = s->second;
    const std::string text = text_of(p, m.par);
    json value;
    if (std::holds_alternative<bool& (*)(sim::parameters&)>(p.field)) value = text == "on";
    else if (std::holds_alternative<choice_field>(p.field)) value = text;
    else value = json::parse(text);
    if (const auto s = m.sources.find(p.name); s != m.sources.end()) value = {{"value", value}, {"source", s->second}};
    in[std::string(in_group(p.name))] = std::move(value);
  }
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::vector<std::string> shipped_machines() {
  std::set<std::string> names;
  for (const std::string& folder : machine_folders()) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none))
      if (entry.path().extension() == ".json") names.insert(entry.path().stem().string());
  }
  return {names.begin(), names.end()};
}

result<machine> read_machine(const std::string& wanted, const std::string& fabric) {
  std::string file = wanted;
  if (!is_path(wanted)) {
    file.clear();
    for (const std::string& folder : machine_folders())
      if (std::error_code none; file.empty() && std::filesystem::exists(folder + "/" + wanted + ".json", none)) file = folder + "/" + wanted + ".json";
    if (file.empty()) {
      const auto known = shipped_machines();
      std::string all;
      for (const std::string& k : known) all += (all.empty() ? "" : ", ") + k;
      const std::string_view near = nearest_name(wanted, known);
      return status(errc::invalid, "there is no machine \"" + wanted + "\": " +
                                       (near.empty() ? "" : "did you mean \"" + std::string(near) + "\"? ") + "known are " +
                                       (all.empty() ? "none" : all) + "; a file of your own ends in .json");
    }
  }
  const auto text = read_small_file(file, longest_file);
  if (!text) return status(errc::invalid, "machine " + file + ": " + text.error().text());
  if (text->find("\"tutti_tuning\"") != text->npos) {
    const auto table = tuning::from_text(*text, file);
    if (!table) return table.error();
    auto m = machine_of(*table, fabric);
    return m ? std::move(m) : status(errc::invalid, "tuning table " + file + ": " + m.error().text());
  }
  if (!fabric.empty()) return status(errc::invalid, "--fabric " + fabric + ": " + file + " is a machine, not a tuning table of several fabrics");
  return machine_from_text(*text, file);
}

}  // namespace tutti::tools

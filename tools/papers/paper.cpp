#include "tools/papers/paper.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/base/json_text.h"
#include "core/base/nearest.h"
#include "tools/perf/report.h"
#include "tools/sim/machine.h"

namespace tutti::tools::papers {
namespace {

using json = nlohmann::json;

const json& member(const json& of, const char* name, const std::string& where) {
  const auto found = of.find(name);
  if (found == of.end()) throw std::runtime_error(where + ": `" + name + "` is missing");
  return *found;
}

std::string text_of(const json& of, const char* name, const std::string& where) {
  const json& v = member(of, name, where);
  if (!v.is_string() || v.get<std::string>().empty()) throw std::runtime_error(where + ": `" + name + "` must be a text");
  return v.get<std::string>();
}

double number_of(const json& of, const char* name, const std::string& where) {
  const json& v = member(of, name, where);
  if (!v.is_number()) throw std::runtime_error(where + ": `" + name + "` must be a number");
  return v.get<double>();
}

// A machine that is another's says so, and gives what is different.
void read_machine(paper& p, const json& all, const std::string& name, const json& of, const std::string& where) {
  machine m;
  if (of.contains("as")) {
    const std::string other = text_of(of, "as", where);
    if (!all.contains(other) || other == name) throw std::runtime_error(where + ": no machine `" + other + "` to be as");
    if (!p.machines.contains(other)) throw std::runtime_error(where + ": `" + other + "`, which it is as, must come by an earlier name");
    m = p.machines.at(other);
  }
  for (const auto& [key, value] : of.items()) {
    if (key == "as" || key == "text") continue;
    const std::string here = where + ", " + key;
    if (!value.is_object()) throw std::runtime_error(here + ": write {\"value\": NUMBER, \"from\": TEXT}");
    const sourced s{name, key, number_of(value, "value", here), text_of(value, "from", here)};
    if (const machine_parameter* known = find_machine_parameter(key)) {
      const bool flag = std::holds_alternative<bool& (*)(sim::parameters&)>(known->field);
      if (const status set_to = set(m.fabric, *known, flag ? (s.value != 0 ? "on" : "off") : value["value"].dump()); set_to.failed())
        throw std::runtime_error(here + ": " + set_to.text());
    } else if (key.find('.') != key.npos) {
      std::vector<std::string_view> names;
      for (const machine_parameter& q : machine_parameters()) names.push_back(q.name);
      const std::string_view nearest = nearest_name(key, names);
      throw std::runtime_error(here + ": the simulator has no such parameter" + (nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?"));
    } else {
      m.other[key] = s.value;
    }
    p.numbers.push_back(s);
  }
  p.machines[name] = std::move(m);
}

constexpr std::pair<const char*, statement::kind> kinds[] = {
    {"value", statement::kind::value}, {"ratio", statement::kind::ratio}, {"gain", statement::kind::gain}, {"rise", statement::kind::rise},
    {"most", statement::kind::most},   {"order", statement::kind::order}};

statement read_statement(const json& of, const std::string& where) {
  statement s;
  s.text = text_of(of, "text", where);
  s.quote = text_of(of, "quote", where + ", " + s.text);
  s.cause = of.value("cause", "");
  s.calibrates = of.value("calibrates", false);
  const auto kind = std::ranges::find_if(kinds, [&](const auto& k) { return of.contains(k.first); });
  if (kind == std::end(kinds)) throw std::runtime_error(where + ", " + s.text + ": says neither value, ratio, gain, rise, most nor order");
  s.is = kind->second;
  const json& curves = of[kind->first];
  if (curves.is_string()) s.of = {curves.get<std::string>()};
  else if (curves.is_array()) s.of = curves.get<std::vector<std::string>>();
  const std::size_t least = s.is == statement::kind::value ? 1 : 2;
  if (s.of.size() < least || (s.is != statement::kind::order && s.of.size() > least))
    throw std::runtime_error(where + ", " + s.text + ": `" + kind->first + "` names " + (least == 1 ? "one curve" : "two curves"));
  for (const std::string& name : s.of) {
    const auto at = name.rfind('@');
    char* end = nullptr;
    if (at != name.npos && (std::strtod(name.c_str() + at + 1, &end), *end || end == name.c_str() + at + 1))
      throw std::runtime_error(where + ", " + s.text + ": `" + name + "`: behind the @ stands a number");
  }
  if (s.is != statement::kind::order) s.paper = number_of(of, "paper", where + ", " + s.text);
  s.unit = of.value("unit", s.is == statement::kind::value ? "us" : s.is == statement::kind::gain || s.is == statement::kind::rise ? "%" : "x");
  return s;
}

}  // namespace

paper read_paper(const std::string& folder, const std::string& name) {
  const std::string file = folder + "/" + name + ".json";
  try {
    const json all = parse_json<json>(read_text(file));
    if (!all.is_object()) throw std::invalid_argument("an object is expected");
    paper p;
    p.title = text_of(all, "title", file);
    const json& machines = member(all, "machines", file);
    for (const auto& [key, value] : machines.items()) read_machine(p, machines, key, value, file + ", machine " + key);
    for (const auto& [id, value] : member(all, "figures", file).items()) {
      figure_notes notes{text_of(value, "title", file + ", " + id), {}};
      for (const json& s : member(value, "statements", file + ", " + id)) notes.statements.push_back(read_statement(s, file + ", " + id));
      p.figures[id] = std::move(notes);
    }
    return p;
  } catch (const json::exception& e) {
    throw std::runtime_error(file + ": " + as_one_line(e.what()));
  } catch (const std::invalid_argument& e) {
    throw std::runtime_error(file + " is no JSON object; it came with tutti, install it again: " + e.what());
  }
}

}  // namespace tutti::tools::papers

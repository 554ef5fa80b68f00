#include "collectives/tuning/file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "core/base/hash.h"
#include "core/base/json_text.h"
#include "core/base/small_file.h"
#include "core/transport/facts.h"

namespace tutti::tuning {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t longest_file = 16 << 20;
constexpr std::size_t longest_text = 256;
constexpr double longest_us = 1e9;

// Where in the file something stands; what is wrong is said with it.
struct spot {
  const json& at;
  std::string path;  // "rows[3].us"

  [[noreturn]] void wrong(const std::string& why) const {
    std::string text = at.is_structured() ? std::string("an ") + at.type_name() : at.dump(-1, ' ', true, json::error_handler_t::replace);
    if (text.size() > 60) text = text.substr(0, 60) + "...";
    throw std::invalid_argument(path + " is " + text + ": " + why);
  }
  spot operator[](const char* name) const {
    if (!at.is_object()) wrong("an object is expected");
    const auto found = at.find(name);
    if (found == at.end()) throw std::invalid_argument((path.empty() ? "the table" : path) + " has no \"" + name + "\"");
    return {*found, path.empty() ? name : path + "." + name};
  }
  template <class Each>
  void each(Each do_with) const {
    if (!at.is_array()) wrong("a list is expected");
    for (std::size_t i = 0; i < at.size(); ++i) do_with(spot{at[i], path + "[" + std::to_string(i) + "]"});
  }
  double number(double least, double most) const {
    if (!at.is_number()) wrong("a number is expected");
    const double value = at.get<double>();
    if (!(value >= least && value <= most)) wrong("it is not between " + json(least).dump() + " and " + json(most).dump());
    return value;
  }
  std::uint64_t count(std::uint64_t least, std::uint64_t most) const {
    if (!at.is_number_unsigned()) wrong("a whole number is expected");
    const auto value = at.get<std::uint64_t>();
    if (value < least || value > most) wrong("it is not between " + std::to_string(least) + " and " + std::to_string(most));
    return value;
  }
  bool flag() const {
    if (!at.is_boolean()) wrong("true or false is expected");
    return at.get<bool>();
  }
  std::string text() const {
    if (!at.is_string()) wrong("a text is expected");
    const std::string value = at.get<std::string>();
    if (value.empty() || value.size() > longest_text) wrong("a text of 1 to " + std::to_string(longest_text) + " bytes is expected");
    return value;
  }
};

json write(const calibration& c) {
  json values = json::object();
  for (std::size_t i = 0; i < parameter_count; ++i)
    if (const auto& v = c.values[i])
      values[std::string(parameters()[i].name)] = {{"value", v->value}, {"spread", v->spread}, {"source", v->source}, {"when", v->when}};
  json out = {{"fabric", c.fabric}, {"values", std::move(values)}};
  if (c.can)
    out["can"] = {{"target_must_progress", c.can->target_must_progress}, {"maps_node", c.can->maps_node}, {"multicasts", c.can->multicasts},
                  {"message_bytes", c.can->message_bytes}};
  return out;
}

json write(const row& r) {
  json timings = json::array();
  for (const timing& t : r.timings)
    timings.push_back({{"algorithm", name_of(t.algorithm)}, {"us", t.us}, {"spread", t.spread}, {"chunks", t.chunks}});
  return {{"collective", name_of(r.of)}, {"fabric", r.fabric}, {"nodes", r.nodes}, {"ranks", r.ranks},
          {"ranks_per_core", r.ranks_per_core}, {"bytes", r.bytes}, {"when", r.when}, {"host", r.host}, {"timings", std::move(timings)}};
}

calibration read_calibration(const spot& in) {
  calibration out;
  out.fabric = in["fabric"].text();
  if (in.at.contains("can")) {
    const spot can = in["can"];
    out.can = {.target_must_progress = can["target_must_progress"].flag(), .maps_node = can["maps_node"].flag(), .multicasts = can["multicasts"].flag()};
    if (can.at.contains("message_bytes")) out.can->message_bytes = static_cast<std::uint32_t>(can["message_bytes"].number(0, 1 << 30));
  }
  const spot values = in["values"];
  if (!values.at.is_object()) values.wrong("an object is expected");
  for (const auto& [name, value] : values.at.items()) {
    const auto known = std::ranges::find(parameters(), name, &parameter::name);
    const spot at{value, values.path + "." + name};
    if (known == parameters().end()) at.wrong("there is no such parameter");
    measured_value& v = out.values[static_cast<std::size_t>(known - parameters().begin())].emplace();
    v.value = known->rate ? at["value"].number(1e-6, 1e6) : at["value"].number(0, 1e6);
    v.spread = at["spread"].number(0, 1e6), v.source = at["source"].text(), v.when = at["when"].text();
  }
  return out;
}

row read_row(const spot& in) {
  row out;
  const auto of = find_collective(in["collective"].text());
  if (!of) in["collective"].wrong("known are " + known_collectives());
  out.of = *of, out.fabric = in["fabric"].text();
  out.ranks = static_cast<std::uint32_t>(in["ranks"].count(1, 1u << 24));
  out.nodes = static_cast<std::uint32_t>(in["nodes"].count(1, out.ranks));
  out.ranks_per_core = in["ranks_per_core"].number(1e-3, 1e6);
  out.bytes = in["bytes"].count(0, std::uint64_t{1} << 62);
  out.when = in["when"].text(), out.host = in["host"].text();
  in["timings"].each([&](const spot& t) {
    auto algorithm = parse_wanted(out.of, t["algorithm"].text());
    if (!algorithm || algorithm->name.empty()) t["algorithm"].wrong(algorithm ? "a name is expected" : algorithm.error().text());
    out.timings.push_back({*algorithm, t["us"].number(0, longest_us), t["spread"].number(0, 1e6),
                           static_cast<std::uint32_t>(t["chunks"].count(1, 1u << 30))});
  });
  if (out.timings.empty()) in["timings"].wrong("at least one candidate is expected");
  std::stable_sort(out.timings.begin(), out.timings.end(), [](const timing& a, const timing& b) { return a.us < b.us; });
  return out;
}

table read(const json& in) {
  const spot all{in, ""};
  const spot version = all["tutti_tuning"];
  if (version.count(0, ~std::uint64_t{0}) != format) version.wrong("this version of tutti reads format " + std::to_string(format));
  table out;
  const spot machine = all["machine"];
  if (!machine.at.is_object()) machine.wrong("an object is expected");
  for (const auto& [name, value] : machine.at.items()) out.machine.emplace_back(name, spot{value, "machine." + name}.text());
  all["calibration"].each([&](const spot& c) { out.fabrics.push_back(read_calibration(c)); });
  all["rows"].each([&](const spot& r) { out.rows.push_back(read_row(r)); });
  return out;
}

}  // namespace

std::string to_text(const table& t) {
  json out = {{"tutti_tuning", format}, {"machine", json::object()}, {"calibration", json::array()}, {"rows", json::array()}};
  for (const auto& [name, value] : t.machine) out["machine"][name] = value;
  for (const calibration& c : t.fabrics) out["calibration"].push_back(write(c));
  for (const row& r : t.rows) out["rows"].push_back(write(r));
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

result<table> from_text(std::string_view text, const std::string& file) {
  const auto bad = [&](std::string why) {
    return status(errc::invalid, worded("tuning table ", file, ": ", as_one_line(std::move(why)),
                                        "; measure again by `tutti tune`, or set TUTTI_TUNE=off"));
  };
  try {
    table out = read(parse_json<json>(text));
    out.file = file;
    out.digest = std::max<std::uint64_t>(1, hash::text(text));
    return out;
  } catch (const std::invalid_argument& e) {
    return bad(e.what());
  }
}

result<table> read_file(const std::string& file) {
  const auto text = read_small_file(file, longest_file);
  if (!text) return status(errc::invalid, worded("cannot read the tuning table ", file, ": ", text.error().text(),
                                                 "; correct TUTTI_TUNING or unset it"), no_rank, text.error().native());
  return from_text(*text, file);
}

result<std::shared_ptr<const table>> of_settings(const config& c) {
  const std::string file(c.text(knob::tuning));
  if (file.empty() || c.text(knob::tune) == "off") return std::shared_ptr<const table>{};
  auto read = read_file(file);
  if (!read) return read.error();
  return std::make_shared<const table>(std::move(*read));
}

}  // namespace tutti::tuning

#include "tools/bsp_report/ledger_file.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/base/json_text.h"
#include "core/base/small_file.h"
#include "tools/perf/numbers.h"

namespace tutti::tools {

ledger_file ledger_from_json(const std::string& text) {
  ledger_file out;
  const auto json = parse_json<nlohmann::json>(text);
  if (json.value("tutti_bsp_profile", 0) != 3)
    throw std::runtime_error("it is no profile of a BSP program, or of another version of tutti");
  out.program = json.at("program"), out.provider = json.at("provider"), out.processes = count<std::uint32_t>(json.at("processes"));
  out.g_ns_per_byte = quantity(json.at("g_ns_per_byte")), out.l_ns = quantity(json.at("l_ns"));
  out.dropped = count<std::uint64_t>(json.at("dropped"));
  for (const auto& s : json.at("sites"))
    out.sites.push_back({s.at("module"), s.at("function"), count<std::uint64_t>(s.at("offset")), s.at("call"), {}});
  out.ways = json.at("ways");
  for (const auto& s : json.at("supersteps")) {
    superstep_record r{{}, quantities(s.at(1)), quantities(s.at(2)), quantities(s.at(3)),
                       quantities(s.at(4)), quantities(s.at(5)), count<std::uint32_t>(s.at(6))};
    for (const auto* column : {&r.work, &r.sync, &r.sent, &r.received, &r.calls})
      if (column->size() != out.processes) throw std::runtime_error("a superstep does not have a value for each process");
    if (s.at(0).is_array())
      for (const auto& site : s.at(0)) r.sites.push_back(count<std::uint32_t>(site));
    else
      r.sites.push_back(count<std::uint32_t>(s.at(0)));
    if (r.sites.size() != 1 && r.sites.size() != out.processes)
      throw std::runtime_error("a superstep does not have a site for each process");
    for (const std::uint32_t site : r.sites)
      if (site >= out.sites.size()) throw std::runtime_error("a superstep names a site that is not listed");
    if (r.way >= out.ways.size()) throw std::runtime_error("a superstep names a way of its metadata that is not listed");
    out.supersteps.push_back(std::move(r));
  }
  for (const auto& t : json.at("traffic")) {
    const pair_traffic one{count<std::uint32_t>(t.at(0)), count<std::uint32_t>(t.at(1)), quantity(t.at(2)), quantity(t.at(3))};
    if (one.from >= out.processes || one.to >= out.processes) throw std::runtime_error("its traffic is of a process that there is not");
    out.traffic.push_back(one);
  }
  for (const auto& c : json.value("calls", nlohmann::json::array())) {
    const site_traffic one{count<std::uint32_t>(c.at(0)), quantity(c.at(1)), quantity(c.at(2))};
    if (one.site >= out.sites.size()) throw std::runtime_error("its calls name a site that is not listed");
    out.calls.push_back(one);
  }
  if (out.processes == 0 || out.supersteps.empty()) throw std::runtime_error("it has no supersteps");
  return out;
}

ledger_file read_ledger(const std::string& path) {
  constexpr std::size_t longest = std::size_t{1} << 30;
  const auto text = read_small_file(path, longest);
  if (!text)
    throw std::runtime_error(path + " cannot be read: " + text.error().text() + "; run the program with TUTTI_BSP_PROFILE=" + path);
  try {
    return ledger_from_json(*text);
  } catch (const std::exception& e) {
    throw std::runtime_error(path + ": " + as_one_line(e.what()));
  }
}

}  // namespace tutti::tools

// What `tutti info` says of providers, settings and this machine: gathered once, shown as text or as JSON.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/job/config.h"
#include "core/transport/transport.h"

namespace tutti::tools {

struct device_report {
  std::string spec;  // what TUTTI_PROVIDER would say
  std::string why_not;
  capabilities caps;
  bool multicast = false, offload = false, two_sided = false;
  std::string registrations;  // of the program's own memory: kept or not, and why
};

struct provider_report {
  std::string name, summary, version;  // summary: empty where the module was not loaded
  std::string why_not;                 // why it was not loaded, or what it does not offer here
  std::vector<device_report> devices;
};

struct finding {
  bool well;
  std::string what, remedy;
};

std::vector<provider_report> look_at_providers();
std::vector<finding> examine();

std::string to_text(const std::vector<provider_report>&);
std::string to_text(const config&);
std::string to_text(const std::vector<finding>&);
nlohmann::ordered_json to_json(const std::vector<provider_report>&);
nlohmann::ordered_json to_json(const config&);
nlohmann::ordered_json to_json(const std::vector<finding>&);

}  // namespace tutti::tools

#include "core/transport/provider.h"

#include "core/base/listing.h"
#include "providers/ofi/link.h"
#include "providers/ofi/quirks.h"

namespace tutti {
namespace {

// Found by what libfabric says it can do, and then by opening it. One whose threads compete with the ranks for cores is for those who name it.
std::vector<std::string> probe(std::string& why_not) {
  const auto add = [&](const std::string& more) { if (!more.empty()) add_to_list(why_not, more, "; "); };
  auto found = ofi::find_devices();
  if (!found) {
    add(found.error().text());
    return {};
  }
  std::vector<std::string> usable;
  for (const ofi::found_device& d : *found) {
    if (const status s = ofi::ofi_link::worth_taking(d.name); s.ok()) usable.push_back(d.name);
    else add(d.name + ": " + s.text());
  }
  add(ofi::not_found(*found));
  return usable;
}

// What it moves it mostly moves by messages, as UCX does with less; so it is asked last.
std::vector<network_device> between_nodes(bool all, std::string& why_not) {
  std::vector<network_device> found;
  if (!all) return found;
  for (std::string& name : probe(why_not)) {
    const auto described = ofi::describe_device(name);
    if (described && ofi::reaches_other_hosts(**described)) found.push_back({std::move(name), false});
  }
  return found;
}

result<std::unique_ptr<transport>> open(const open_params& p) {
  if (status s = ofi::quirks::room_to_open(); s.failed()) return s;
  auto link = ofi::ofi_link::open(p.device);
  if (!link) return link.error();
  return messages::message_transport::open(p, std::move(*link));
}

const char* version() {
  static const std::string text = std::to_string(FI_MAJOR(fi_version())) + "." + std::to_string(FI_MINOR(fi_version()));
  return text.c_str();
}

}  // namespace

extern const provider ofi_provider;
const provider ofi_provider{
    .name = "ofi",
    .summary = "libfabric: tcp, verbs, and whatever else it finds here",
    .probe = probe,
    .open = open,
    .is_network = true,
    .version = version,
    .between_nodes = between_nodes,
};

}  // namespace tutti

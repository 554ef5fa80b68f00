#include "core/transport/provider.h"

#include <dlfcn.h>

#include <filesystem>

#include "core/base/listing.h"
#include "providers/verbs/device.h"
#include "providers/verbs/transport.h"

namespace tutti {
namespace {

// Its own choice first, then each port that could be named.
std::vector<std::string> probe(std::string& why_not) {
  const auto all = verbs::survey();
  if (!all) {
    why_not = all.error().text();
    return {};
  }
  std::vector<std::string> usable;
  for (const verbs::found_port& p : *all)
    if (!p.why_not.empty()) add_to_list(why_not, p.name() + " " + p.why_not, "; ");
  for (const verbs::found_port* p : verbs::candidates(*all)) usable.push_back(p->name());
  if (!usable.empty()) usable.insert(usable.begin(), "");
  return usable;
}

// Its own choice, which each rank makes for itself: ranks need not have adapters of one name.
std::vector<network_device> between_nodes(bool, std::string& why_not) {
  return probe(why_not).empty() ? std::vector<network_device>{} : std::vector<network_device>{{"", true}};
}

// libibverbs has no function that tells, but its file is called libibverbs.so.1.14.44.0, of which rdma-core's version
// are the last two.
const char* version() {
  static const std::string text = [] {
    Dl_info info{};
    if (::dladdr(reinterpret_cast<void*>(&ibv_get_device_list), &info) == 0 || !info.dli_fname) return std::string{"unknown"};
    std::error_code ignored;
    const std::string file = std::filesystem::canonical(info.dli_fname, ignored).filename();
    const auto at = file.find(".so.");
    return at == file.npos ? std::string{"unknown"} : "libibverbs " + file.substr(at + 4);
  }();
  return text.c_str();
}

}  // namespace

extern const provider verbs_provider;
const provider verbs_provider{
    .name = "verbs",
    .summary = "InfiniBand and RoCE by libibverbs, with the fabric's multicast",
    .probe = probe,
    .open = verbs::verbs_transport::open,
    .is_network = true,
    .version = version,
    .between_nodes = between_nodes,
};

}  // namespace tutti

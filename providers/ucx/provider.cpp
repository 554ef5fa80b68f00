#include "core/transport/provider.h"

#include "core/base/adapters.h"
#include "core/base/listing.h"
#include "providers/ucx/link.h"
#include "providers/ucx/quirks.h"

namespace tutti {
namespace {

// UCX's own choice first: a job that spans hosts takes the first, and "shm" reaches one host only. Then lists of UCX's
// transports that are worth a name of their own. UCX knows by trying what can be used here.
constexpr std::string_view devices[] = {"", "shm", "rc", "tcp"};

// `alone`: only if a put by it arrives with nobody's help.
bool usable(std::string_view device, bool alone, std::string& why_not) {
  auto opened = ucx::open_worker(device);
  const auto tried = opened && alone ? ucx::works_alone(*opened) : result<bool>{true};
  const status failed = !opened ? opened.error() : !tried ? tried.error() : status{};
  if (opened) ucx::close_worker(*opened);
  if (failed.ok()) return *tried;
  add_to_list(why_not, std::string{device.empty() ? "any" : device} + ": " + failed.text(), "; ");
  return false;
}

std::vector<std::string> probe(std::string& why_not) {
  std::vector<std::string> found;
  for (const std::string_view device : devices)
    if (usable(device, false, why_not)) found.emplace_back(device);
  return found;
}

// An adapter by its remote keys before whatever UCX would choose.
std::vector<network_device> between_nodes(bool, std::string& why_not) {
  std::vector<network_device> found;
  if (has_adapters() && usable("rc", true, why_not)) found.push_back({"rc", true});
  if (usable("", false, why_not)) found.push_back({"", false});
  return found;
}

result<std::unique_ptr<transport>> open(const open_params& p) {
  // UCX takes ranks of one machine to share memory, and one in another pid namespace for dead, whom its keepalive cannot see.
  const std::string_view device = p.device.empty() && p.machine_is_parted ? (has_adapters() ? "^shm" : "tcp") : p.device;
  auto link = ucx::ucx_link::open(device, p.progress_thread);
  if (!link) return link.error();
  return messages::message_transport::open(p, std::move(*link));
}

const char* version() {
  static const std::string text = ucp_get_version_string() + std::string{", memory hooks "} +
                                  (ucx::quirks::needs_memory_hooks("") ? "for adapters" : "off");
  return text.c_str();
}

}  // namespace

extern const provider ucx_provider;
const provider ucx_provider{
    .name = "ucx",
    .summary = "UCX: shared memory, tcp, and whatever fabrics UCX finds here",
    .probe = probe,
    .open = open,
    .is_network = true,
    .version = version,
    .between_nodes = between_nodes,
};

}  // namespace tutti

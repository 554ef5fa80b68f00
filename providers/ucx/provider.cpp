#include "core/provider.h"

#include "providers/ucx/link.h"

namespace tutti {
namespace {

// UCX's own choice first: a job that spans hosts takes the first, and "shm" reaches one host only. Then lists of UCX's
// transports that are worth a name of their own. UCX knows by trying what can be used here.
constexpr std::string_view devices[] = {"", "shm", "rc", "tcp"};

std::vector<std::string> probe(std::string& why_not) {
  std::vector<std::string> usable;
  for (const std::string_view device : devices) {
    auto opened = ucx::open_worker(device);
    if (opened) {
      ucx::close_worker(*opened);
      usable.emplace_back(device);
    } else if (!why_not.empty()) {
      why_not += "; ";
    }
    if (!opened) why_not += std::string{device.empty() ? "any" : device} + ": " + opened.error().text();
  }
  return usable;
}

result<std::unique_ptr<transport>> open(const open_params& p) {
  auto link = ucx::ucx_link::open(p.device, p.progress_thread);
  if (!link) return link.error();
  return messages::message_transport::open(p, std::move(*link));
}

}  // namespace

extern const provider ucx_provider;
const provider ucx_provider{
    .name = "ucx",
    .summary = "UCX: shared memory, tcp, and whatever fabrics UCX finds here",
    .probe = probe,
    .open = open,
    .is_network = true,
    .version = ucp_get_version_string,
};

}  // namespace tutti

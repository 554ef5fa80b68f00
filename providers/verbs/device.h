// Which device, port and GID a rank uses, and the port once it is open.
#pragma once
#include <infiniband/verbs.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace tutti::verbs {

// TUTTI_PROVIDER=verbs:DEVICE[/PORT][,gid=INDEX][,relaxed]; everything may be left out.
struct device_request {
  std::string name;      // empty: chosen here
  unsigned port = 0;     // 0: the first that is active
  int gid = -1;          // index in the port's table; -1: chosen here
  bool relaxed = false;  // payloads with PCIe's relaxed ordering, see regions.h
};
result<device_request> parse_device(std::string_view text);

// A port as it was found. `why_not` is empty if it can be used.
struct found_port {
  std::string device;
  unsigned port = 0;
  std::string why_not;
  int gid_index = 0;
  ibv_gid gid{};
  bool ethernet = false;
  bool software = false;       // soft-RoCE: no adapter behind it
  bool near = true;            // to the cores that this process may use
  std::uint64_t bandwidth = 0; // Mbit/s
  std::string network;         // ports of equal networks reach each other
  std::string name() const { return port == 1 ? device : device + "/" + std::to_string(port); }
};

// Every port of every device. The error says why there is not even a list.
result<std::vector<found_port>> survey(int requested_gid = -1);

// Ports that a job may use without being told, best first: the nearest, then the fastest. Of those that are alike and
// in one network, rank r takes the (r mod count)th, so that the ranks of a node share its adapters.
std::vector<const found_port*> candidates(const std::vector<found_port>&);
result<found_port> choose(const std::vector<found_port>&, const device_request&, std::uint32_t rank);

struct context_closer {
  void operator()(ibv_context* c) const noexcept { ibv_close_device(c); }
};

// An open port.
struct adapter {
  std::unique_ptr<ibv_context, context_closer> context;
  ibv_device_attr limits{};
  ibv_port_attr port{};
  found_port where;
  std::string text() const;  // "port 1 of mlx5_0"
};
result<adapter> open_adapter(const device_request&, std::uint32_t rank);

}  // namespace tutti::verbs

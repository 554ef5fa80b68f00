// A provider is one constant of this type, found in the registry (providers/registry.cpp): built in, or in a module
// that is loaded at run time, so that a build made with every vendor's library runs where some are missing.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/siphash.h"
#include "core/transport/transport.h"

namespace tutti {

// Takes a line of text that is worth knowing but is no error. Called seldom, by whichever thread is in the transport.
using notice_fn = std::function<void(const std::string& line)>;

struct open_params {
  std::string_view device;   // what follows the colon in TUTTI_PROVIDER=ucx:tcp; empty: the provider chooses
  std::string_view job_id;   // bootstrap::job_id(): names shared resources without collision
  rank_t rank = 0;
  std::uint32_t size = 1;
  std::string_view multicast_interface;  // TUTTI_MULTICAST_INTERFACE, for multicast over IP
  std::uint32_t multicast_ttl = 1;       // TUTTI_MULTICAST_TTL
  bool progress_thread = false;          // two threads will call, one at a time (core/transport/driven_transport.h)
  siphash_key key{};                     // of the job: random, alike in its ranks; proves that a message is from one of them
  bool one_host = false;                 // all ranks live on one host: nobody else's connections are wanted
  bool machine_is_parted = false;        // ranks of one machine are on several hosts, which share no memory (core/base/host.h)
  notice_fn notice;                      // empty: nobody listens
};

// A device that reaches ranks on other nodes.
struct network_device {
  std::string name;
  bool one_sided = false;  // seen to work: puts arrive with nobody's help at the target
};

struct provider {
  std::string_view name;                               // "shm"
  std::string_view summary;                            // one line for `tutti info`
  // Devices usable here, best first ("" for a provider without devices); empty result and a reason when none is.
  // Opens nothing that stays open.
  std::vector<std::string> (*probe)(std::string& why_not);
  result<std::unique_ptr<transport>> (*open)(const open_params&);
  bool is_network = false;                             // reaches ranks on other nodes
  const char* (*version)() = nullptr;                  // of the vendor's library, as it runs here
  // Of a network: the devices that a job over several nodes may take unasked, best first. With `all` false, devices of last
  // resort may be left out, to save the time of looking for them. Null: none, and with `all` those that probe() finds.
  std::vector<network_device> (*between_nodes)(bool all, std::string& why_not) = nullptr;
};

// A module exports one function of this type and name. It returns null if `abi` is not the one it was built for.
inline constexpr int provider_abi = 12;
using provider_module_fn = const provider* (*)(int abi);
inline constexpr const char* provider_module_symbol = "tutti_provider_module";

// What the registry knows about one provider, whether it could be loaded or not.
struct provider_entry {
  std::string_view name;
  const provider* impl = nullptr;   // null: not loaded
  std::string why_not;              // the loader's own words when impl is null
};

// Directories to look for modules in before the usual places (providers/module.h), separated by colons. Takes effect
// if it is called before the first use of the registry.
void set_provider_path(std::string directories);

// All rows of the registry, loading modules at the first call. Thread-safe.
std::span<const provider_entry> providers();

// "ucx" or "ucx:tcp" -> entry and device. Unknown name: invalid, with the known ones; known but absent: unavailable.
struct provider_choice {
  const provider* impl = nullptr;
  std::string device;
};
result<provider_choice> find_provider(std::string_view spec);

}  // namespace tutti

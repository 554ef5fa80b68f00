// libfabric's objects of one transport, how they are found, and the words of its errors.
#pragma once
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace tutti::ofi {

inline constexpr std::uint32_t api_version = FI_VERSION(1, 17);

// `code` as libfabric returns it, negative or not.
status vendor_error(std::int64_t code, const text_parts& what, rank_t peer = no_rank) noexcept;

struct free_info {
  void operator()(fi_info* i) const noexcept { fi_freeinfo(i); }
};
using info_list = std::unique_ptr<fi_info, free_info>;

// Every libfabric object is closed by fi_close.
template <class T>
struct close_fid {
  void operator()(T* object) const noexcept { fi_close(&object->fid); }
};
template <class T>
using owned = std::unique_ptr<T, close_fid<T>>;

// What can carry ordered messages to any rank without connections to be made by hand (RDM endpoints), by device. A
// device is named after libfabric's core provider ("tcp" for "tcp;ofi_rxm"); of several ways upon one core provider the
// first is taken, which is libfabric's own choice. The long name works as well.
struct found_device {
  std::string name;      // "tcp"
  std::string provider;  // "tcp;ofi_rxm"
};
result<std::vector<found_device>> find_devices();
// "tcp" of "tcp;ofi_rxm": utility providers stand behind a semicolon.
std::string_view core_name(std::string_view provider) noexcept;
// Core providers that libfabric has and that are not among `found`, each with the reason.
std::string not_found(const std::vector<found_device>& found);

// What is done by remote keys (remote_memory.h): nothing; long payloads, driven by both ends' programs; or all that can be, with
// nobody's help at the target.
enum class by_keys : std::uint8_t { nothing, driven, alone };

// Libfabric's description of one device, the first that fits and may do this by remote keys, as far as libfabric says; or
// unsupported. Empty `device`: the first of find_devices().
result<info_list> describe_device(std::string_view device, by_keys = by_keys::nothing);

bool reaches_other_hosts(const fi_info&);
bool is_udp(const fi_info&) noexcept;  // datagrams, parts of which an outsider could replace

struct handles {  // closed from the last to the first
  info_list info;
  owned<fid_fabric> fabric;
  owned<fid_domain> domain;
  owned<fid_av> addresses;
  owned<fid_cq> completions;
  owned<fid_ep> endpoint;
  int wait_fd = -1;      // of `completions`; -1: the provider has none
};
// Registers memory, under a key that is drawn at random where the library leaves that to us. What it returns is libfabric's.
int register_memory(const handles&, const void* at, std::size_t bytes, std::uint64_t access, std::uint64_t flags, owned<fid_mr>& made);

// What is asked for to find one: ordered messages between endpoints of kind RDM. Null: no memory.
info_list hints_for(std::string_view provider, by_keys = by_keys::nothing);
// An enabled endpoint of `info`, which is set, bound to a queue for each of `completes`, of what it says. `must_wait`: not
// without a descriptor to wait on, if the queue asks for one.
status open_endpoint(handles&, fi_cq_attr, bool must_wait, std::initializer_list<std::uint64_t> completes);
// `waits`: with a descriptor to wait on, if the provider has one.
result<handles> open_device(std::string_view device, bool waits, by_keys);

}  // namespace tutti::ofi

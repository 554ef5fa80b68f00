#include "providers/ofi/context.h"

#include <algorithm>
#include <cstring>

#include "core/base/file_limit.h"
#include "core/base/listing.h"
#include "core/base/random.h"
#include "providers/ofi/quirks.h"

namespace tutti::ofi {

info_list hints_for(std::string_view provider, by_keys how) {
  info_list h{fi_allocinfo()};
  if (!h) return h;
  h->caps = FI_MSG;
  h->mode = FI_CONTEXT | FI_CONTEXT2;
  h->ep_attr->type = FI_EP_RDM;
  h->tx_attr->msg_order = h->rx_attr->msg_order = FI_ORDER_SAS;
  if (how != by_keys::nothing) h->caps |= FI_RMA;
  if (how == by_keys::driven) h->tx_attr->msg_order = h->rx_attr->msg_order |= FI_ORDER_SAW;
  h->domain_attr->threading = FI_THREAD_DOMAIN;
  h->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  h->domain_attr->av_type = FI_AV_TABLE;
  h->domain_attr->resource_mgmt = FI_RM_ENABLED;
  if (provider.empty()) return h;
  h->fabric_attr->prov_name = ::strndup(provider.data(), provider.size());
  return h->fabric_attr->prov_name ? std::move(h) : info_list{};  // without a name libfabric would give any provider
}

namespace {

result<info_list> ask(std::string_view provider, by_keys how = by_keys::nothing) {
  const info_list hints = hints_for(provider, how);
  if (!hints) return status{errc::no_resource, "no memory for libfabric's hints"};
  fi_info* first = nullptr;
  constexpr std::uint64_t longest_file = 16 << 20;  // which libfabric makes in /dev/shm without asking whether it may be so long
  if (provider == "shm" && !file_may_have(longest_file))
    return status{errc::no_resource, worded("libfabric's shared memory takes files of some MiB", remedy_of_long_files)};
  const std::string what = "libfabric finds no " + std::string{provider.empty() ? "provider" : provider} +
                           " with ordered messages between endpoints of kind RDM";
  if (const int e = fi_getinfo(api_version, nullptr, nullptr, 0, hints.get(), &first); e != 0) {
    if (status small = quirks::too_small_for(provider); small.failed()) return small;
    return vendor_error(e, what);
  }
  return info_list{first};
}

result<std::vector<std::string>> providers_with(std::uint64_t flags, std::string_view name) {
  const info_list hints = hints_for(name);
  if (!hints) return status{errc::no_resource, "no memory for libfabric's hints"};
  fi_info* first = nullptr;
  if (const int e = fi_getinfo(api_version, nullptr, nullptr, flags, flags ? nullptr : hints.get(), &first); e != 0)
    return vendor_error(e, "fi_getinfo");
  const info_list all{first};
  std::vector<std::string> names;
  for (const fi_info* i = all.get(); i; i = i->next)
    if (const std::string n = i->fabric_attr->prov_name; std::find(names.begin(), names.end(), n) == names.end())
      names.push_back(n);
  return names;
}

// To reach memory without its program a library needs a thread, and then its progress is automatic; or an adapter, which
// asks for registration of all memory. This it says of itself; remote_trial.cpp tries whether it is so.
bool may_reach(const fi_info& info) noexcept {
  return info.domain_attr->data_progress == FI_PROGRESS_AUTO || (info.domain_attr->mr_mode & FI_MR_LOCAL);
}

bool may_drive(const fi_info& info) {
  return !is_udp(info) && (info.tx_attr->msg_order & info.rx_attr->msg_order & FI_ORDER_SAW) && !quirks::answers_in_order(info);
}

bool is_utility(std::string_view provider) noexcept { return provider.starts_with("ofi_"); }

}  // namespace

status vendor_error(std::int64_t code, const text_parts& what, rank_t peer) noexcept {
  const int e = static_cast<int>(code < 0 ? -code : code);
  errc kind = errc::fabric;
  if (e == FI_ENOMEM || e == FI_EMFILE || e == FI_ENOSPC) kind = errc::no_resource;
  if (e == FI_ENODATA || e == FI_ENODEV || e == FI_ENOSYS) kind = errc::unavailable;
  return status(kind, fi_strerror(e), peer, e).during(what);
}

result<std::vector<found_device>> find_devices() {
  const quirks::first_call cheaper{{}};
  auto names = providers_with(0, {});
  if (!names) return names.error();
  std::vector<found_device> devices;
  for (const std::string& provider : *names) {
    const std::string_view core = core_name(provider);
    const auto same = [&](const found_device& d) { return d.name == core; };
    if (std::none_of(devices.begin(), devices.end(), same)) devices.push_back({std::string{core}, provider});
  }
  return devices;
}

std::string not_found(const std::vector<found_device>& found) {
  const auto all = providers_with(FI_PROV_ATTR_ONLY, {});
  if (!all) return all.error().text();
  std::string why;
  for (const std::string& name : *all) {
    const auto same = [&](const found_device& d) { return d.name == name; };
    if (is_utility(name) || std::any_of(found.begin(), found.end(), same)) continue;
    if (const auto info = describe_device(name); !info) add_to_list(why, name + ": " + info.error().text(), "; ");
  }
  return why;
}

result<info_list> describe_device(std::string_view device, by_keys how) {
  const quirks::first_call cheaper{device};
  std::string provider{device};
  if (device.find(';') == device.npos) {
    const auto devices = find_devices();
    if (!devices) return devices.error();
    for (const found_device& d : *devices)
      if (device.empty() || d.name == device) {
        provider = d.provider;
        break;
      }
  }
  auto info = ask(provider, how);
  if (how == by_keys::nothing) return info;
  if (!info || !(how == by_keys::alone ? may_reach(**info) : may_drive(**info)))
    return status{errc::unsupported, worded(provider, " cannot do that by remote keys")};
  return info;
}

std::string_view core_name(std::string_view provider) noexcept { return provider.substr(0, provider.find(';')); }

bool is_udp(const fi_info& info) noexcept { return std::string_view{info.fabric_attr->prov_name}.starts_with("udp"); }

// A provider that does not say may be asked.
bool reaches_other_hosts(const fi_info& info) {
  const info_list hints = hints_for(info.fabric_attr->prov_name);
  if (!hints) return false;
  hints->caps |= FI_REMOTE_COMM;
  fi_info* first = nullptr;
  const bool found = fi_getinfo(api_version, nullptr, nullptr, 0, hints.get(), &first) == 0;
  return info_list{first}, found;
}

// Closed by the destructor of `h` as far as it came.
status open_endpoint(handles& h, fi_cq_attr queue, bool must_wait, std::initializer_list<std::uint64_t> completes) {
  int e = 0;
  fid_fabric* fabric = nullptr;
  if ((e = fi_fabric(h.info->fabric_attr, &fabric, nullptr)) != 0) return vendor_error(e, "fi_fabric");
  h.fabric.reset(fabric);
  fid_domain* domain = nullptr;
  if ((e = fi_domain(fabric, h.info.get(), &domain, nullptr)) != 0) return vendor_error(e, "fi_domain");
  h.domain.reset(domain);
  fi_av_attr table{};
  table.type = FI_AV_TABLE;
  fid_av* addresses = nullptr;
  if ((e = fi_av_open(domain, &table, &addresses, nullptr)) != 0) return vendor_error(e, "fi_av_open");
  h.addresses.reset(addresses);

  fid_cq* completions = nullptr;
  e = fi_cq_open(domain, &queue, &completions, nullptr);
  if (e != 0 && !must_wait) queue.wait_obj = FI_WAIT_NONE, e = fi_cq_open(domain, &queue, &completions, nullptr);
  if (e != 0) return vendor_error(e, "fi_cq_open");
  h.completions.reset(completions);
  if (queue.wait_obj == FI_WAIT_FD && (e = fi_control(&completions->fid, FI_GETWAIT, &h.wait_fd)) != 0) {
    if (must_wait) return vendor_error(e, "FI_GETWAIT");
    h.wait_fd = -1;
  }
  fid_ep* endpoint = nullptr;
  if ((e = fi_endpoint(domain, h.info.get(), &endpoint, nullptr)) != 0) return vendor_error(e, "fi_endpoint");
  h.endpoint.reset(endpoint);
  if ((e = fi_ep_bind(endpoint, &h.addresses->fid, 0)) != 0) {
    (void)h.endpoint.release();  // quirks.h, unbound endpoints
    return vendor_error(e, "binding addresses");
  }
  for (const std::uint64_t what : completes)
    if ((e = fi_ep_bind(endpoint, &completions->fid, what)) != 0) return vendor_error(e, "binding a completion queue");
  return quirks::enable(*endpoint);
}

// Two keys of one domain may not be alike, and some libraries take short ones.
int register_memory(const handles& h, const void* at, std::size_t bytes, std::uint64_t access, std::uint64_t flags,
                    owned<fid_mr>& made) {
  const fi_domain_attr& domain = *h.info->domain_attr;
  const bool theirs = domain.mr_mode & FI_MR_PROV_KEY;
  fid_mr* mr = nullptr;
  int e = 0;
  for (int tries = 0; tries < 16; ++tries) {
    std::uint64_t key = 0;
    if (!theirs && !draw(key)) return -FI_EOTHER;
    if (domain.mr_key_size < sizeof key) key &= (std::uint64_t{1} << 8 * domain.mr_key_size) - 1;
    e = fi_mr_reg(h.domain.get(), at, bytes, access, 0, key, flags, &mr, nullptr);
    if (e != -FI_ENOKEY || theirs) break;
  }
  made.reset(e == 0 ? mr : nullptr);
  return e;
}

result<handles> open_device(std::string_view device, bool waits, by_keys how) {
  auto info = describe_device(device, how);
  if (!info) return info.error();
  handles h;
  h.info = std::move(*info);
  quirks::count_no_early_messages(*h.info);
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_MSG;
  queue.wait_obj = waits ? FI_WAIT_FD : FI_WAIT_NONE;
  if (status opened = open_endpoint(h, queue, false, {FI_TRANSMIT | FI_RECV}); opened.failed()) return opened;
  return h;
}

}  // namespace tutti::ofi

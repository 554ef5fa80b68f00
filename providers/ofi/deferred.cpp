// Opening: a domain and an endpoint for deferred work.
#include "providers/ofi/deferred.h"

#include <cstring>

namespace tutti::ofi {
namespace {

result<info_list> ask(const std::string& provider) {
  const info_list h = hints_for(provider);
  if (!h) return status{errc::no_resource, "no memory for libfabric's hints"};
  h->caps = FI_RMA | FI_WRITE | FI_REMOTE_WRITE | FI_RMA_EVENT | FI_TRIGGER;
  h->tx_attr->msg_order = h->rx_attr->msg_order = FI_ORDER_WAW;
  h->domain_attr->data_progress = FI_PROGRESS_AUTO;
  h->domain_attr->mr_mode |= FI_MR_RMA_EVENT;
  h->domain_attr->resource_mgmt = FI_RM_UNSPEC;
  fi_info* first = nullptr;
  if (const int e = fi_getinfo(api_version, nullptr, nullptr, 0, h.get(), &first); e != 0)
    return vendor_error(e, "libfabric's " + provider + " has no triggered operations with counted arrivals");
  return info_list{first};
}

}  // namespace

result<std::unique_ptr<deferred>> deferred::open(const std::string& provider) {
  std::unique_ptr<deferred> d{new deferred};
  auto info = ask(provider);
  if (!info) return info.error();
  handles& h = d->ofi_;
  h.info = std::move(*info);
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_DATA;
  queue.wait_obj = FI_WAIT_FD;
  queue.size = 4096;
  // Of this rank's own work counters tell; of what arrives, each has an entry.
  if (status opened = open_endpoint(h, queue, true, {FI_TRANSMIT | FI_SELECTIVE_COMPLETION, FI_RECV}); opened.failed()) return opened;
  d->name_.resize(256);
  std::size_t bytes = d->name_.size();
  if (const int e = fi_getname(&h.endpoint->fid, d->name_.data(), &bytes); e != 0) return vendor_error(e, "fi_getname");
  d->name_.resize(bytes);
  if (status s = d->try_out(); s.failed()) return s.during("deferred work");
  return d;
}

// The endpoint first: then nothing counts, and nobody reads a description of work.
deferred::~deferred() {
  for (std::uint32_t i = 0; i < plans_.size(); ++i)
    if (plans_[i]) drop(plan_id{i});
  ofi_.endpoint.reset();
}

result<owned<fid_cntr>> deferred::new_counter() const {
  fi_cntr_attr how{};
  how.events = FI_CNTR_EVENTS_COMP;
  how.wait_obj = FI_WAIT_NONE;
  fid_cntr* made = nullptr;
  if (const int e = fi_cntr_open(ofi_.domain.get(), &how, &made, nullptr); e != 0) return vendor_error(e, "fi_cntr_open");
  return owned<fid_cntr>{made};
}

result<owned<fid_mr>> deferred::register_region(void* memory, std::size_t bytes, fid_cntr* counter) {
  const int mode = ofi_.info->domain_attr->mr_mode;
  owned<fid_mr> mr;
  int e = register_memory(ofi_, memory, bytes, FI_REMOTE_WRITE, FI_RMA_EVENT, mr);
  if (e != 0) return vendor_error(e, "fi_mr_reg");
  fid_mr* const made = mr.get();
  if ((e = fi_mr_bind(made, &counter->fid, FI_REMOTE_WRITE)) != 0) return vendor_error(e, "binding a counter to memory");
  if (mode & FI_MR_ENDPOINT)
    if ((e = fi_mr_bind(made, &ofi_.endpoint->fid, 0)) != 0) return vendor_error(e, "binding memory to an endpoint");
  if (mode & (FI_MR_ENDPOINT | FI_MR_RMA_EVENT))
    if ((e = fi_mr_enable(made)) != 0) return vendor_error(e, "fi_mr_enable");
  return mr;
}

std::uint64_t deferred::address_of(const void* at, const void* base) const noexcept {
  const auto a = reinterpret_cast<std::uint64_t>(at);
  return ofi_.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? a : a - reinterpret_cast<std::uint64_t>(base);
}

result<fi_addr_t> deferred::reach(std::span<const std::byte> name) {
  const std::string text(reinterpret_cast<const char*>(name.data()), name.size());
  if (const auto k = known_.find(text); k != known_.end()) return k->second;
  fi_addr_t made = FI_ADDR_UNSPEC;
  const int n = fi_av_insert(ofi_.addresses.get(), name.data(), 1, &made, 0, nullptr);
  if (n != 1) return vendor_error(n < 0 ? n : FI_EADDRNOTAVAIL, "fi_av_insert");
  known_.emplace(text, made);
  return made;
}

unsigned deferred::progress() noexcept {
  if (plans_.empty()) return 0;
  fi_cq_data_entry came[16];
  unsigned events = 0;
  for (;;) {
    const ssize_t n = fi_cq_read(ofi_.completions.get(), came, std::size(came));
    if (n == -FI_EAVAIL) {
      fi_cq_err_entry what{};
      if (fi_cq_readerr(ofi_.completions.get(), &what, 0) != 1) return events;
      ++events;
      continue;
    }
    if (n <= 0) return events;
    events += static_cast<unsigned>(n);
  }
}

bool deferred::arm() noexcept {
  fid* queue = &ofi_.completions->fid;
  return plans_.empty() || fi_trywait(ofi_.fabric.get(), &queue, 1) == 0;
}

}  // namespace tutti::ofi

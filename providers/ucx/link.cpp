// Opening UCX, its endpoints, and what is sent through them.
#include "providers/ucx/link.h"

#include <unistd.h>

#include "providers/ucx/callbacks.h"
#include "providers/ucx/quirks.h"

namespace tutti::ucx {
namespace {

using namespace std::chrono_literals;

using clock = std::chrono::steady_clock;

messages::link_traits describe(std::string_view device, bool reaches) {
  messages::link_traits t;
  t.name = "UCX";
  t.only_this_host = device == "shm";
  t.shared_memory = device != "tcp" && device != "^shm" && !only_adapters(device);
  // Measured: tcp sends large pieces best, one segment each (quirks.cpp); shared memory copies through cells of 8 KiB anyhow.
  t.piece_bytes = t.only_this_host ? 8000 : 60000;
  t.longest_sleep_alone = quirks::longest_sleep_alone, t.longest_sleep = quirks::longest_sleep;
  if (reaches) t.longest_sleep = 5ms;  // the bell for a signal by key comes when its origin next drives UCX

  capabilities& c = t.caps;
  // Memory that peers can map does better than these, but what the caller allocated itself does not.
  c.native_signal = c.native_when_added = reaches;
  c.maps_node = t.shared_memory;
  c.follows_mapping = !reaches;  // by message, by this process's own loads and stores; an adapter keeps pages
  if (!c.follows_mapping) c.registering = registered_with_an_adapter;
  c.native_atomics = false;  // an adapter's would not be atomic to the CPU's, and then no router could be made
  c.target_must_progress = !reaches;
  c.cost = t.only_this_host ? loggp{0.2, 0.05, 0.05, 10} : reaches ? loggp{1.5, 0.3, 0.2, 10} : loggp{4, 1, 1, 4};
  if (t.shared_memory) c.node_cost = loggp{0.1, 0.03, 0.02, 10};  // between two cores
  return t;
}

}  // namespace

result<std::unique_ptr<messages::link>> ucx_link::open(std::string_view device, bool two_threads) {
  std::unique_ptr<ucx_link> made{new ucx_link};
  made->hear_first_ = !only_adapters(device);
  auto opened = open_worker(device, two_threads);
  if (!opened) return opened.error();
  made->ucx_ = *opened;
  if (quirks::keys_are_safe(device)) {
    const auto alone = works_alone(made->ucx_);
    if (!alone) return alone.error();
    made->reaches_ = *alone;
  }
  made->traits_ = describe(device, made->reaches_);
  return std::unique_ptr<link>{std::move(made)};
}

ucx_link::~ucx_link() { close_worker(ucx_); }

status ucx_link::start(messenger& net) {
  net_ = &net;
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
  if (const auto e = ucp_worker_query(ucx_.worker, &attributes); e != UCS_OK)
    return vendor_error(e, "ucp_worker_query");
  if (attributes.max_am_header < sizeof(message))
    return {errc::unsupported, worded("UCX's active messages carry headers of ", attributes.max_am_header, " bytes, ",
                                      sizeof(message), " are needed")};
  if (const auto e = callbacks::install(ucx_.worker, net); e != UCS_OK)
    return vendor_error(e, "ucp_worker_set_am_recv_handler");
  if (const auto e = ucp_worker_get_efd(ucx_.worker, &fd_); e != UCS_OK) return vendor_error(e, "ucp_worker_get_efd");
  return {};
}

result<std::vector<std::byte>> ucx_link::address() {
  ucp_address_t* worker = nullptr;
  std::size_t bytes = 0;
  if (const auto e = ucp_worker_get_address(ucx_.worker, &worker, &bytes); e != UCS_OK)
    return vendor_error(e, "ucp_worker_get_address");
  std::vector<std::byte> blob;
  messages::append(blob, reinterpret_cast<const std::byte*>(worker), bytes);
  ucp_worker_release_address(ucx_.worker, worker);
  return blob;
}

status ucx_link::open(peer& p, std::span<const std::byte> address) noexcept {
  const auto made = connections_.add(p.rank);
  if (!made) return made.error();
  connection* const line = *made;
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = callbacks::on_failure;
  params.err_handler.arg = &p;
  if (const auto e = ucp_ep_create(ucx_.worker, &params, &line->endpoint); e != UCS_OK)
    return vendor_error(e, "ucp_ep_create", p.rank);
  if (hear_first_) line->kept_from = net_->now() + quirks::longest_greeting;
  p.line = line;
  return {};
}

void ucx_link::close(peer& p) noexcept {
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  void* request = ucp_ep_close_nbx(endpoint_of(p), &params);
  p.line = nullptr;
  if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);  // goes on by itself
}

// A message is offered to UCX twice: to be sent at once and, if there is no room or it is too long for that, to be kept
// until it can be.
sending ucx_link::send(peer& p, const message& head, const std::byte* payload, std::uint32_t bytes, bool may_keep) noexcept {
  ucp_request_param_t how;
  how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
  how.flags = UCP_AM_SEND_FLAG_EAGER;  // a rendezvous would deliver it later than what follows
  const auto& line = *static_cast<const connection*>(p.line);
  void* request = ucp_am_send_nbx(line.endpoint, am_id, &head, sizeof head, payload, bytes, &how);
  if (UCS_PTR_STATUS(request) == UCS_ERR_NO_RESOURCE) {
    if (!may_keep || (!p.heard && net_->now() < line.kept_from)) return sending::full;  // quirks.h, kept answers
    how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
    how.cb.send = callbacks::on_sent;
    how.user_data = &p;
    request = ucp_am_send_nbx(line.endpoint, am_id, &head, sizeof head, payload, bytes, &how);
  }
  if (!request) return sending::taken;
  if (!UCS_PTR_IS_ERR(request)) return sending::kept;
  net_->suspect(p, vendor_error(UCS_PTR_STATUS(request), "sending", p.rank));
  return sending::failed;
}

// Handed to UCX is not yet handed to the kernel.
void ucx_link::push_out(own_time longest) noexcept {
  std::vector<void*> flushes;
  ucp_request_param_t params{};
  for (peer* p : net_->opened()) {
    if (!p->line || p->life.now() != peer_life::stage::alive || p->queue.front()) continue;
    void* request = ucp_ep_flush_nbx(endpoint_of(*p), &params);
    try {
      if (UCS_PTR_IS_PTR(request)) flushes.push_back(request);
    } catch (...) {
      ucp_request_free(request);
    }
  }
  for (void* request : flushes) {
    while (ucp_request_check_status(request) == UCS_INPROGRESS && !longest.over(clock::now()))
      if (!net_->progress()) ::usleep(50);
    ucp_request_free(request);
  }
}

bool ucx_link::settle(own_time longest) noexcept { return quirks::come_to_rest(ucx_.worker, fd_, longest, *net_); }

}  // namespace tutti::ucx

// UCX calls C functions with an argument of ours.
#pragma once
#include "providers/ucx/link.h"
#include "providers/ucx/quirks.h"

namespace tutti::ucx {

struct callbacks {
  static ucs_status_t install(ucp_worker_h worker, messenger& net) noexcept {
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_FLAGS | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.flags = UCP_AM_FLAG_WHOLE_MSG;
    handler.cb = on_message;
    handler.arg = &net;
    return quirks::install_for_every_id(worker, handler);
  }

  static ucs_status_t on_message(void* net, const void* header, size_t header_length, void* data, size_t length,
                                 const ucp_am_recv_param_t* how) noexcept {
    if (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) header_length = length = 0;  // no rank sends one, and its data is not here
    static_cast<messenger*>(net)->receive({static_cast<const std::byte*>(header), header_length},
                                                  {static_cast<const std::byte*>(data), length});
    return UCS_OK;
  }

  static void on_sent(void* request, ucs_status_t outcome, void* argument) noexcept {
    ucp_request_free(request);
    auto& p = *static_cast<peer*>(argument);
    p.net->sent(p, outcome == UCS_OK ? status{} : vendor_error(outcome, "sending", p.rank));
  }

  static void on_reached(void* request, ucs_status_t outcome, void* argument) noexcept {
    ucp_request_free(request);
    auto& f = *static_cast<frame*>(argument);
    peer& p = *f.to;
    p.net->reached(f, outcome == UCS_OK ? status{} : vendor_error(outcome, "reaching", p.rank));
  }

  static void on_failure(void* argument, ucp_ep_h, ucs_status_t why) noexcept {
    auto& p = *static_cast<peer*>(argument);
    p.net->connection_lost(p, vendor_error(why, "connection lost", p.rank));
  }
};

}  // namespace tutti::ucx

// Whoever reaches a rank's port over tcp may speak UCX to it, and gets no further.
#include <boost/test/unit_test.hpp>

#include "providers/ucx/link.h"
#include "tests/messages/outsider.h"

using namespace tutti;
using namespace tutti::test;

namespace tutti {
extern const provider ucx_provider;
}

namespace {

struct outsider {
  ucx::worker_handles own;
  ucp_ep_h endpoint = nullptr;

  explicit outsider(const std::vector<std::byte>& address) {
    auto opened = ucx::open_worker("tcp");
    BOOST_REQUIRE_MESSAGE(opened, opened.error().text());
    own = *opened;
    ucp_ep_params_t p{};
    p.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    p.address = reinterpret_cast<const ucp_address_t*>(address.data());
    p.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    BOOST_REQUIRE(ucp_ep_create(own.worker, &p, &endpoint) == UCS_OK);
  }
  ~outsider() {
    ucp_request_param_t p{};
    p.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, p.flags = UCP_EP_CLOSE_FLAG_FORCE;
    if (void* request = ucp_ep_close_nbx(endpoint, &p); UCS_PTR_IS_PTR(request)) {
      while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(own.worker);
      ucp_request_free(request);
    }
    ucx::close_worker(own);
  }
  outsider(const outsider&) = delete;

  void send(two_ranks& job, unsigned id, std::span<const std::byte> header, std::span<const std::byte> payload, std::uint32_t flags) {
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, how.flags = flags;
    void* request = ucp_am_send_nbx(endpoint, id, header.data(), header.size(), payload.data(), payload.size(), &how);
    BOOST_REQUIRE(!UCS_PTR_IS_ERR(request));
    BOOST_TEST(job.until([&] {
      ucp_worker_progress(own.worker);
      return !request || ucp_request_check_status(request) != UCS_INPROGRESS;
    }));
    if (request) ucp_request_free(request);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_outsider_changes_nothing) {
  two_ranks job{ucx_provider, "tcp"};
  BOOST_TEST(job.works(0));
  outsider other{job.link_address};
  std::uint64_t sent = 0;
  for (const auto& m : job.forged()) {
    const auto payload = std::as_bytes(std::span{&forged_payload, m.bytes ? 1u : 0u});
    other.send(job, ucx::am_id, std::as_bytes(std::span{&m, 1}), payload, UCP_AM_SEND_FLAG_EAGER);
    ++sent;
  }
  const auto all_came = [&] { return ucp_worker_progress(other.own.worker), job.messages(0).rejected() >= sent; };
  BOOST_TEST(job.until(all_came));

  const messages::message m = job.forged()[0];
  const std::vector<std::byte> much(100'000);
  for (const unsigned id : {0u, 3u, 6u, 8u, 300u, 40'000u, 65'535u}) {
    other.send(job, id, std::as_bytes(std::span{&m, 1}), {}, UCP_AM_SEND_FLAG_EAGER);
    other.send(job, id, std::as_bytes(std::span{&m, 1}).first(id % 64), much, UCP_AM_SEND_FLAG_EAGER);
    other.send(job, id, std::as_bytes(std::span{&m, 1}), much, UCP_AM_SEND_FLAG_RNDV);
    sent += 3;
  }
  BOOST_TEST(job.until(all_came));
  BOOST_TEST(job.messages(0).rejected() == sent);
  BOOST_TEST(job.word(0, 0) == 1u);
  BOOST_TEST(job.net[0]->health(1).ok());
  BOOST_TEST(job.works(1));
}

// Tokens of multicast groups, as a member would get them from a peer that is wrong or of another version: those of shared
// memory, and the router's, which hold two of them. Each is refused with an error or joined; the rank then still makes
// groups of its own.
#include "core/transport/multicast.h"
#include "core/transport/provider.h"
#include "core/router/router.h"
#include "tests/harness/expect.h"

using namespace tutti;
using namespace tutti::test;

namespace {

std::unique_ptr<transport> alone_on_shm() {
  open_params p;
  p.job_id = "fuzz";
  return take(take(find_provider("shm"), "shm").impl->open(p), "open");
}

std::unique_ptr<transport> connected(std::unique_ptr<transport> net) {
  auto addresses = std::make_shared<blob_table>();
  addresses->push_back(take(net->address(), "address"));
  require(net->connect(addresses, net->now() + std::chrono::seconds(5)), "connect");
  return net;
}

void still_works(multicast& m, const rank_map& members, std::vector<std::byte>& token) {
  const auto made = take(m.create(members, token, time_point::max()), "create");
  require(m.send(made, 1, {}), "send");
  m.leave(made);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto shm = connected(alone_on_shm());
  static const auto router = connected(take(make_router(alone_on_shm(), alone_on_shm(), {}), "router"));
  const rank_map members = rank_map::strided(0, 1);
  for (transport* net : {shm.get(), router.get()}) {
    multicast* const m = net->mcast();
    require(m, "no multicast");
    const auto bytes = std::as_bytes(std::span{data, size});
    if (const auto joined = m->join(members, bytes, time_point{})) m->leave(*joined);
    std::vector<std::byte> own;
    still_works(*m, members, own);
    // A token of this version that a few bytes of the input have changed.
    for (std::size_t i = 0; i + 1 < size && i < 16; i += 2) own[data[i] % own.size()] ^= static_cast<std::byte>(data[i + 1]);
    if (const auto joined = m->join(members, own, time_point{})) m->leave(*joined);
  }
  return 0;
}

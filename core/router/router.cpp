#include "core/router/router.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/blob_stream.h"
#include "core/router/impl.h"
#include "core/transport/multicast.h"

namespace tutti {
namespace {

// What holds whichever child serves an operation.
capabilities combined(const capabilities& node, const capabilities& network, bool one_fd) {
  capabilities c;
  // A caller sizes an operation before it looks at the rank: the smaller limit is right for both.
  c.max_bytes = std::min(node.max_bytes, network.max_bytes);
  c.max_inline = std::min(node.max_inline, network.max_inline);
  c.max_slices = std::min(node.max_slices, network.max_slices);
  c.message_bytes = network.message_bytes;
  // A promise about the target or the source holds if it holds at both.
  // What the router allocates is the node transport's, and added to the network.
  c.native_signal = node.native_signal && network.native_signal && network.native_when_added;
  c.native_atomics = node.native_atomics && network.native_atomics && network.native_when_added;
  c.native_when_added = node.native_when_added && network.native_when_added;
  c.follows_mapping = node.follows_mapping && network.follows_mapping;
  c.maps_node = node.maps_node, c.kernel_copies = node.kernel_copies;
  c.cpu_atomics_agree = node.cpu_atomics_agree && network.cpu_atomics_agree;
  // A burden is there if either has it: a peer on another node is stalled by a rank that computes for long.
  c.target_must_progress = node.target_must_progress || network.target_must_progress;
  c.virtual_clock = node.virtual_clock || network.virtual_clock;
  // Both must be able to end one sleep; without a common descriptor the router naps (wait.cpp).
  c.can_sleep = node.can_sleep && network.can_sleep && one_fd;
  // The slow steps of a collective set its time, and those cross the network.
  c.cost = network.cost;
  c.node_cost = node.cost;
  c.registering = network.registering;  // what is added is added to both, of which the node's costs next to nothing
  return c;
}

// One descriptor that is readable when either is. Not open if a child has none.
result<epoll_set> join_fds(int node, int network) {
  epoll_set both;
  if (node < 0 || network < 0) return both;
  if (!both.open() || !both.add(node, nullptr) || !both.add(network, nullptr))
    return status{errc::no_resource, worded("waiting on two transports: epoll: ", std::strerror(errno)), no_rank, errno};
  return both;
}

}  // namespace

result<std::unique_ptr<transport>> make_router(std::unique_ptr<transport> node, std::unique_ptr<transport> network,
                                               place_in_job self) {
  if (!node || !network) return status{errc::invalid, "a router needs a node transport and a network"};
  auto both = join_fds(node->wait_fd(), network->wait_fd());
  if (!both) return both.error();
  return std::unique_ptr<transport>{std::make_unique<router>(std::move(node), std::move(network), self, *std::move(both))};
}

router::router(std::unique_ptr<transport> node, std::unique_ptr<transport> network, place_in_job self, epoll_set both)
    : node_{std::move(node)},
      scatters_{std::min(node_->caps().max_slices, network->caps().max_slices)},
      network_{std::move(network)},
      caps_{combined(node_->caps(), network_->caps(), both.fd() >= 0)},
      self_{self},
      both_{std::move(both)} {}

// What the network ends with itself still reaches the completions of its callers.
router::~router() {
  multicast_.reset();
  lobby_.reset();
  network_.reset();
  scatters_.settle();
}

multicast* router::mcast() noexcept {
  if (single_node_) return node_->mcast();
  return multicast_ ? &*multicast_ : network_->mcast();
}

// The children's addresses, and what multicast needs: this rank's node, and where the other ranks of the node find its lobby.
result<std::vector<std::byte>> router::address() {
  const auto near = node_->address();
  if (!near) return near.error();
  const auto far = network_->address();
  if (!far) return far.error();
  std::vector<std::byte> extra(sizeof self_.node);
  std::memcpy(extra.data(), &self_.node, sizeof self_.node);
  if (node_->mcast()) {
    if (!lobby_) lobby_.emplace(*node_);
    const auto key = lobby_->address();
    if (!key) return key.error();
    extra.insert(extra.end(), key->begin(), key->end());
  }
  return joined({*near, *far, extra});
}

status router::connect(shared_blobs addresses, time_point deadline) {
  auto near = std::make_shared<blob_table>();
  auto far = std::make_shared<blob_table>();
  blob_table extras;
  for (rank_t r = 0; r < addresses->size(); ++r) {
    const auto parts = blobs_in((*addresses)[r], 3);
    if (!parts || (*parts)[2].size() < sizeof self_.node)
      return {errc::protocol, worded("the address of rank ", r, " is not that of a shared memory and "
              "network transport: do all ranks run the same version with the same TUTTI_PROVIDER?"), r};
    near->push_back((*parts)[0]);
    far->push_back((*parts)[1]);
    extras.push_back((*parts)[2]);
  }
  if (const status s = node_->connect(near, deadline); s.failed()) return s;
  if (const status s = network_->connect(far, deadline); s.failed()) return s;
  on_node_.resize(addresses->size());
  for (rank_t r = 0; r < on_node_.size(); ++r) on_node_[r] = node_->reaches(r);
  single_node_ = std::find(on_node_.begin(), on_node_.end(), 0) == on_node_.end();
  two_sided* const near_by = node_->sendrecv();
  two_sided* const elsewhere = single_node_ ? near_by : network_->sendrecv();
  if (near_by && elsewhere) two_sided_.emplace(*near_by, *elsewhere, on_node_);
  if (single_node_) return {};
  if (status s = open_paths(); s.failed()) return s;
  return connect_multicast(extras);
}

// Where the children's atomics do not agree.
status router::open_paths() {
  const bool node = node_->caps().cpu_atomics_agree, network = network_->caps().cpu_atomics_agree;
  if (node && network) return {};
  for (rank_t r = 0; r < on_node_.size(); ++r)
    if (on_node(r) && !network_->reaches(r))
      return {errc::unsupported,
              worded("atomics of the ", (node ? "network" : "node transport"), " are not atomic towards the CPU's, and "
                  "the network does not reach rank ", r, " of this node, so that no one of the two can "
                  "serve one word; use one provider for all"), r};
  paths_.open(on_node_.size());
  return {};
}

// Whether there is such a multicast is alike in all ranks: both children answer so, and a node transport maps memory in
// every rank or in none.
status router::connect_multicast(const blob_table& extras) {
  if (!lobby_ || !network_->mcast()) return {};
  std::vector<std::uint32_t> node_of(extras.size());
  std::vector<rank_t> mates;
  auto keys = std::make_shared<blob_table>();
  for (rank_t r = 0; r < extras.size(); ++r) {
    std::memcpy(&node_of[r], extras[r].data(), sizeof node_of[r]);
    if (!on_node(r)) continue;
    mates.push_back(r);
    keys->push_back(extras[r].subspan(sizeof node_of[r]));
  }
  const status mapped = lobby_->connect(mates, std::move(keys));
  if (mapped.code() == errc::unsupported) return {};
  if (mapped.failed()) return mapped.during("multicast");
  multicast_.emplace(*node_, *network_, self_.rank, std::move(node_of), *lobby_, [this] { return progress(); });
  return {};
}

}  // namespace tutti

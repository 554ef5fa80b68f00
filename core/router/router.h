// A transport made of two: one that serves the ranks of this node (shared memory), and a network for all others.
//
// Every rank is served by exactly one of the two, chosen at connect() by node->reaches() and never changed (but for
// atomics, see below). All orders that the contract promises are orders among operations of one origin towards one rank
// (clause 5: a signal after its payload, after everything before it, after earlier signals to its word), so each of them
// is a promise of one child, and the router hands every child its operations in the order in which it got them. A flush of one
// rank is its child's; a flush of all ranks is one of each child. Nothing is promised between ranks, hence nothing between
// children.
//
// One word of a rank's memory is reached through both: by ranks of its node and by others. Plain data is coherent:
// either child's visibility (clause 4) is in the owner's memory, where loads of any process of the node and the
// network's adapter find it. Atomics (clause 7) need more: the two must be atomic to each other, which is so if each
// is atomic towards the CPU. Where one is not (adapters' atomics mostly agree with those of the same adapter only), all
// atomics and added signals go by the network, to ranks of this node and to this rank itself too: then only the owner's adapter
// acts upon a word. Such operations cost what the network costs, and core/router/paths.h says how order is kept.
//
// A job on a single node needs no router: shared memory alone serves it and wakes without a second file descriptor.
// core/job decides so from the host ids, before it opens a network. Multicast is made of that of both children
// (core/router/multicast.h), or is that of one child where it serves all ranks.
#pragma once
#include <memory>

#include "core/transport/transport.h"

namespace tutti {

struct place_in_job {
  rank_t rank = 0;
  std::uint32_t node = 0;  // equal in two ranks exactly if the node transport connects them
};

// `node` and `network` are open and not yet connected; they are consumed, also on an error. Errors: invalid (a transport is
// missing), no_resource (no descriptor left for waiting on both). If their atomics do not agree and the network cannot serve
// this node's ranks, connect() returns unsupported.
result<std::unique_ptr<transport>> make_router(std::unique_ptr<transport> node, std::unique_ptr<transport> network,
                                               place_in_job self);

}  // namespace tutti

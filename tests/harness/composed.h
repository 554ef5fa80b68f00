// Fabrics made of fabrics, so that every test runs upon the router and the decorators as well:
//   router(A+B)   A serves the ranks whose number has the same parity, as if they shared a node; B the others
//   checked(A)    core/transport/checked_transport.h
//   faulty(A)     tests/doubles/fault_transport.h: refusals and idle progress, often
//   failingK(A)   A, whose K-th operation with a completion fails in rank 1; in no list
//   apart(A)      A, whose atomics are said not to agree with the CPU's: a router then keeps them apart
//   far(A)        A, whose memory is not mapped but read by itself, at an adapter's price; in no list
//   driven(A)     core/transport/driven_transport.h: a thread makes progress while the rank makes no call
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/transport/provider.h"
#include "tests/harness/fabrics.h"

namespace tutti::test {

// By a name as above, or a provider's. The device of `params` is set from the name.
result<std::unique_ptr<transport>> open_fabric(std::string_view name, const open_params& params);

// Those that can be made of `plain` fabrics.
std::vector<fabric_spec> composed_fabrics(const std::vector<fabric_spec>& plain);

}  // namespace tutti::test

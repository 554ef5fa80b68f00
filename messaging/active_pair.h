// What active messages keep of a peer.
#pragma once

namespace tutti::messaging {

struct active_pair {};

}  // namespace tutti::messaging

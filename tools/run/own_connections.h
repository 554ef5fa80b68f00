// Which TCP connections libpmix's server gets to see: those of this process's own user, as the kernel knows them.
#pragma once

namespace tutti::launching {

// From now on accept(), in all of this process, drops a connection whose other end belongs to another user, or to nobody
// any more. Only connections within the host can be known so: all others are dropped too.
void take_own_connections_only() noexcept;

}  // namespace tutti::launching

// A decorator for users: it verifies what the contract leaves to the caller (clause 13), so that a wrong offset is an
// error with a text instead of corrupted memory. Every rank of a job uses the decorator or none does, since the sizes
// of remote memory travel in the keys.
//
// An operation that breaks a precondition is taken and finishes with `invalid`, naming the value and the remedy; it never
// reaches the transport below, and the operations around it are unaffected. If it names no completion, the next flush of its
// rank or of all ranks reports the error, as clause 3 says. Set-up calls return their error.
//
// Verified: rank in range and a member that exposes memory; ids alive; ranges inside, without overflow; words aligned;
// bytes and slices within caps(); unregistered memory only where that is allowed. Not verified: that memory given to add() is
// alive, that buffers in flight are left alone, that two operations in flight do not overlap.
// Cost: some tens of nanoseconds an operation; attach() keeps eight bytes a member.
#pragma once
#include <memory>

#include "core/transport/transport.h"

namespace tutti {

std::unique_ptr<transport> make_checked(std::unique_ptr<transport> inner);

}  // namespace tutti

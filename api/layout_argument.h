// A layout that a caller passes, read and checked.
#pragma once
#include "api/tutti.h"
#include "core/base/layout.h"

namespace tutti::api {

// Errors: invalid; `what` names the argument: "remote". The lists of the result are the caller's.
result<block_layout> read_layout(const tutti_layout_t* layout, const char* what);

// Whether data of the layout can lie at `base`: nothing does at NULL, unless offsets are addresses.
status check_base(const block_layout&, const tutti_layout_t&, const void* base, const char* what);

// Both, of a call whose arguments are `layout` and `base`.
result<block_layout> read_layout_at(const tutti_layout_t* layout, const void* base);

}  // namespace tutti::api

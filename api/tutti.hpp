// tutti for C++20: headers alone, over the C interface of tutti.h, which specifies what every call does, costs and needs. What is
// here does nothing that the C interface cannot do, and prints and ends nothing; where a size, a handle or a buffer can be known
// to the type system, it is.
//
//  1. Errors     are values: a call returns result<T> (result.hpp). A call of the library never throws; or_throw() does, for programs
//                that want it. What allocates here (objects that own a function, and lists of requests) throws as the standard library
//                does. The headers compile without exceptions.
//  2. Ownership  Contexts, teams, windows, requests and handlers belong to one object each and can be moved. Destructors of contexts,
//                teams and windows never wait: to free a team or a window, and to leave a job, is collective, so it is an explicit
//                call, free() or finalize(). A team or window that was not freed is left to its context. A context that was not
//                finalized is abandoned, which the other ranks see as a death. A request's destructor cancels a receive that no message
//                has matched, and waits for any other operation, as long as the other ranks take; release() avoids that. A matched
//                message that was not received is received and discarded.
//  3. Buffers    are contiguous ranges. Where a call may return before the operation is complete, a temporary container is no
//                argument: the call does not compile.
//  4. Beginning  Collectives and messages take how to begin as their last argument: blocking, nonblocking, persistent.
//  5. Cost       That of the C call. In the steady state nothing is allocated, but for the text of a failure.
//
//   auto ctx = tutti::context::init();
//   if (ctx.failed()) return report(ctx.error().text);
//   auto most = tutti::allreduce(ctx->world(), mine, tutti::op::max);
//
// Coroutines that wait for requests are in <tutti/coroutine.hpp>, which this header leaves out.
#pragma once
#if __cplusplus < 202002L
#error "<tutti.hpp> needs C++20: compile with -std=c++20, or use the C interface, <tutti.h>"
#else
#include <tutti/active.hpp>
#include <tutti/collectives.hpp>
#include <tutti/context.hpp>
#include <tutti/data.hpp>
#include <tutti/layout.hpp>
#include <tutti/messages.hpp>
#include <tutti/request.hpp>
#include <tutti/result.hpp>
#include <tutti/team.hpp>
#include <tutti/window.hpp>
#endif

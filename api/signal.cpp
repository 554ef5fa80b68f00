// Waiting for signals upon words of one's own window.
#include <atomic>

#include "api/use.h"

using namespace tutti;
using namespace tutti::api;

namespace {

bool compares(std::uint64_t word, int how, std::uint64_t value) noexcept {
  if (how == TUTTI_REACHED) return reached(word, value);
  return (how == TUTTI_EQUAL) == (word == value);
}

std::uint64_t load(const tutti_window* w, std::uint64_t offset) noexcept {
  auto* word = reinterpret_cast<std::uint64_t*>(w->memory->base() + offset);
  return std::atomic_ref<std::uint64_t>(*word).load(std::memory_order_acquire);
}

tutti_status_t check(tutti_window* w, const char* call, std::uint64_t offset, int compare) noexcept {
  if (compare < TUTTI_REACHED || compare > TUTTI_NOT_EQUAL)
    return refuse(w->ctx, "%s: %d is no comparison; use TUTTI_REACHED, TUTTI_EQUAL or TUTTI_NOT_EQUAL", call, compare);
  if (offset % 8 != 0)
    return refuse(w->ctx, "%s: offset %llu of the word is not a multiple of 8; use one that is", call,
                  static_cast<unsigned long long>(offset));
  const std::uint32_t me = w->memory->group().index();
  if (!w->memory->holds(me, offset, 8))
    return refuse(w->ctx, "%s: offset %llu with 8 bytes ends behind this rank's part of the window, which has %llu bytes",
                  call, static_cast<unsigned long long>(offset),
                  static_cast<unsigned long long>(w->memory->size_of(me)));
  return TUTTI_OK;
}

// Whether the wait has become hopeless. From one rank: when that one is gone. From any: when any is, since no member
// leaves in an orderly way while another still waits here.
status hopeless(team& t, std::uint32_t from) noexcept {
  transport& net = t.parent_job().net();
  const status& known = t.health();
  if (from != TUTTI_ANY) return known.peer() == t.rank_of(from) ? known : net.health(t.rank_of(from));
  if (known.failed()) return known;
  for (std::uint32_t i = 0; i < t.size(); ++i)
    if (i != t.index())
      if (status s = net.health(t.rank_of(i)); s.failed()) return s;
  return {};
}

}  // namespace

tutti_status_t tutti_wait_signal(tutti_window_t handle, uint64_t offset, int compare, uint64_t value,
                                 uint32_t from, double timeout_s) {
  constexpr const char* call = "tutti_wait_signal";
  const use held(handle, call);
  if (!held) return held.refuse("the window");
  tutti_window* window = held.get();
  if (auto bad = check(window, call, offset, compare); bad != TUTTI_OK) return bad;
  tutti_context* ctx = window->ctx;
  team& t = window->memory->group();
  if (from != TUTTI_ANY && from >= t.size())
    return refuse(ctx, "%s: rank %u is not in the window's team of %u; use 0 to %u, or TUTTI_ANY", call, from, t.size(),
                  t.size() - 1);
  if (compares(load(window, offset), compare, value)) return TUTTI_OK;
  time_point deadline;
  if (!deadline_in(*ctx->job, timeout_s, deadline)) return refuse(ctx, "%s: timeout_s is not a number", call);
  const auto tell = [&] {
    static constexpr const char* wanted[] = {"reach", "equal", "differ from"};
    return std::string(call) + " for the word at offset " + std::to_string(offset) + ", which is " + std::to_string(load(window, offset)) +
           " and is to " + wanted[compare] + " " + std::to_string(value) +
           (from == TUTTI_ANY ? ", by any rank" : ", by rank " + std::to_string(t.rank_of(from)));
  };
  const function_ref<std::string> words(tell);
  const wait_note note{call, from == TUTTI_ANY ? no_rank : t.rank_of(from), load(window, offset), value, &words};
  return guarded(ctx, call, [&] {
    return finish(ctx, ctx->job->wait([&] { return compares(load(window, offset), compare, value); },
                                      [&] { return hopeless(t, from); }, note, deadline));  // which names the call
  });
}

tutti_status_t tutti_test_signal(tutti_window_t handle, uint64_t offset, int compare, uint64_t value,
                                 int* yes) {
  constexpr const char* call = "tutti_test_signal";
  const use held(handle, call);
  if (!held) return held.refuse("the window");
  tutti_window* window = held.get();
  if (auto bad = check(window, call, offset, compare); bad != TUTTI_OK) return bad;
  if (!yes) return refuse_null(window->ctx, call, "yes");
  *yes = compares(load(window, offset), compare, value);
  if (*yes) return TUTTI_OK;
  window->ctx->job->progress();
  *yes = compares(load(window, offset), compare, value);
  return TUTTI_OK;
}

tutti_status_t tutti_load_signal(tutti_window_t handle, uint64_t offset, uint64_t* value) {
  constexpr const char* call = "tutti_load_signal";
  const use held(handle, call, by_handlers_too);
  if (!held) return held.refuse("the window");
  tutti_window* window = held.get();
  if (auto bad = check(window, call, offset, TUTTI_REACHED); bad != TUTTI_OK) return bad;
  if (!value) return refuse_null(window->ctx, call, "value");
  *value = load(window, offset);
  return TUTTI_OK;
}

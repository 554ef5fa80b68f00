// How this rank leaves. A goodbye is the last request on every queue pair: who gets it has got everything before. A peer
// that leaves at the same time may drop its end before it has acknowledged; but then its own goodbye is here.
#include <unistd.h>

#include <algorithm>

#include "core/base/own_time.h"
#include "providers/verbs/transport.h"

namespace tutti::verbs {
namespace {

using namespace std::chrono_literals;
constexpr auto longest_leave = 500ms;  // a destructor must end though no peer answers

}  // namespace

void verbs_transport::say_goodbye() noexcept {
  own_time longest{longest_leave, now()};
  disarm();
  std::size_t said = 0;
  const auto say = [&] {
    said = 0;
    for (peer* p : lines_) {
      if (p->alive() && p->confirmed && !p->failing && !p->waiting && !p->goodbye) p->goodbye = post_ring(*p, ring_kind::bye);
      said += !p->alive() || !p->confirmed || p->failing || (p->goodbye && p->out.in_flight() == 0);
    }
    return said == lines_.size() && waiting_ == 0;
  };
  while (!say() && !longest.over(now()))
    if (!progress()) ::usleep(20);
  manager_.say_bye();  // for those who were only asked after
}

}  // namespace tutti::verbs

#include "tools/tune/contest.h"

#include <algorithm>
#include <cstring>

#include "collectives/data_collectives.h"
#include "collectives/pick.h"
#include "core/transport/offload.h"

namespace tutti::tools {
namespace {

constexpr std::uint64_t sizes[] = {8, 128, 1 << 10, 8 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
constexpr std::uint64_t most_bytes = 64 << 20;  // of one member's data
constexpr int most_iterations = 20000;
constexpr double long_call = 20e-3;                // seconds
constexpr int calls_at_least = 9;                  // of a candidate that is calibrated and measured once
constexpr int most_warming = 64;

// 0, n/2, n/4, 3n/4 ...
std::vector<std::size_t> far_apart_first(std::size_t n) {
  std::vector<std::size_t> out;
  std::size_t step = 1;
  while (step < n) step *= 2;
  for (std::size_t stride = step; stride > 0; stride /= 2)
    for (std::size_t i = 0; i < n; i += stride)
      if (stride == step || i % (2 * stride) != 0) out.push_back(i);
  return out;
}

}  // namespace

std::span<const std::uint64_t> sizes_to_measure() noexcept { return sizes; }

const timed_candidate& size_contest::best() const {
  const timed_candidate* found = nullptr;
  for (const timed_candidate& c : all) {
    if (c.chosen) continue;
    if (!found || c.us.count() > found->us.count() || (c.us.count() == found->us.count() && typical(c.us) < typical(found->us))) found = &c;
  }
  return *found;
}

double size_contest::us(const timed_candidate& c) const {
  const timed_candidate& first = best();
  const double then = typical(first.us.first(c.us.count()));
  return typical(first.us) * (then > 0 ? std::max(1.0, typical(c.us) / then) : 1);
}

std::pair<double, double> size_contest::chosen() const {
  std::vector<double> medians;
  for (const timed_candidate& c : all)
    if (c.chosen) medians.push_back(typical(c.us));
  const auto [least, most] = std::ranges::minmax(medians);
  return {(least + most) / 2, least > 0 ? most / least : 1};
}

tournament::tournament(measured_provider& p, collective of, std::span<const std::uint64_t> at, std::vector<text_pair>& left_out)
    : p_(p), of_(of) {
  if (of == collective::barrier) enter_barriers(left_out);
  else if (of != collective::alltoallv) enter_data(at, left_out);  // of which the members know no size alike
}

void tournament::enter_barriers(std::vector<text_pair>& left_out) {
  job& j = p_.of();
  const std::vector<std::uint32_t> nodes = p_.world().group().nodes();
  const auto candidates = barriers_for(j.where(), j.facts(), j.fabric(), j.net().mcast() != nullptr, nodes, p_.world().options());
  require(candidates.error());
  size_contest& one = contests_.emplace_back();
  for (const candidate& c : *candidates) {
    if (c.row->needs.multicast && !j.net().mcast()) continue;
    communicator_options options;
    options.barrier = as_wanted(c);
    auto team = p_.world().split(0, 0, options);
    if (!team) {
      left_out.emplace_back(p_.name() + " barrier " + to_string(c), team.error().text());
      continue;
    }
    team_barrier& b = barriers_.emplace_back(std::move(*team))->barrier();
    one.all.push_back({.what = c, .run = [&b](int iterations) {
                         for (int i = 0; i < iterations; ++i)
                           if (status s = b.enter(); s.failed()) require(s);
                       }});
  }
}

void tournament::enter_data(std::span<const std::uint64_t> at, std::vector<text_pair>& left_out) {
  auto team = p_.world().split(0, 0, {});
  require(team.error());
  team_ = std::move(*team);
  require(team_->data().choices().agree_on_facts());
  std::uint64_t longest = 0;
  for (const std::uint64_t bytes : at)
    if (p_.room_for(of_, bytes) <= most_bytes) longest = std::max(longest, bytes);
  p_.make_room(p_.room_for(of_, longest));
  // Whether the group can be formed shows in a team that is given up if not.
  bool multicasts = p_.of().net().mcast() != nullptr;
  for (const algorithm& a : algorithms(of_)) {
    if (!a.needs.multicast || !multicasts) continue;
    communicator_options options;
    options.wanted(of_) = a.name;
    auto trial = p_.world().split(0, 0, options);
    require(trial.error());
    if (const status s = (*trial)->run(p_.call_of(of_, 8)); s.failed())
      multicasts = false, left_out.emplace_back(p_.name() + " " + std::string(name_of(of_)) + " " + std::string(a.name), s.text());
  }
  for (const std::uint64_t bytes : at) {
    if (bytes > longest) continue;
    size_contest& one = contests_.emplace_back();
    one.bytes = bytes;
    const auto candidates = team_->data().choices().candidates(of_, bytes);
    require(candidates.error());
    for (const candidate& c : *candidates) {
      if (!c.runnable || (c.row->needs.multicast && !multicasts)) continue;
      one.all.push_back({.what = c,
                         .run =
                             [this, c, call = p_.call_of(of_, bytes)](int iterations) {
                               team_->data().take(of_, c);
                               for (int i = 0; i < iterations; ++i)
                                 if (status s = team_->run(call); s.failed()) require(s);
                             },
                         .warming = warming(bytes)});
    }
  }
}

void tournament::add_chosen_twice() {
  for (size_contest& one : contests_)
    for (int twice = 0; twice < 2; ++twice) {
      timed_candidate c{.chosen = true};
      if (of_ == collective::barrier) {
        team_barrier& b = p_.world().barrier();
        c.what = b.choice();
        c.run = [&b](int iterations) {
          for (int i = 0; i < iterations; ++i)
            if (status s = b.enter(); s.failed()) require(s);
        };
      } else {
        require(p_.world().data().choices().agree_on_facts());
        c.what = p_.world().data().choices().candidates(of_, one.bytes)->front();
        c.warming = warming(one.bytes);
        c.run = [this, call = p_.call_of(of_, one.bytes)](int iterations) {
          for (int i = 0; i < iterations; ++i)
            if (status s = p_.world().run(call); s.failed()) require(s);
        };
      }
      one.all.insert(one.all.begin(), std::move(c));
    }
}

// Rank 0's clock decides for all.
bool tournament::in_time(std::chrono::steady_clock::time_point end, double us) {
  if (end == std::chrono::steady_clock::time_point::max()) return true;
  const std::chrono::duration<double> left = end - std::chrono::steady_clock::now();
  return share(p_.world().group(), left.count() > us * 1e-6 ? 1 : 0) != 0;
}

// Where ranks have a core each, slots are taken by turns: all of them are to be in the caches again that other candidates have used
// meanwhile. 1 MiB from rank to rank took 250 us after four calls, 57 in a loop, and what copies once, of the caller's memory, was ahead.
int tournament::warming(std::uint64_t bytes) {
  if (p_.of().where().most_ranks_per_core() > 1) return 0;
  return static_cast<int>(std::min<std::uint64_t>(most_warming, 2 * slots_by_turns / std::max<std::uint64_t>(1, bytes)));
}

// As many calls before, or more, which are not timed.
double tournament::chunk(timed_candidate& c, int iterations) {
  team_barrier& together = p_.world().barrier();
  if (!c.long_calls) c.run(std::max(iterations, c.warming));
  require(together.enter());
  const auto start = std::chrono::steady_clock::now();
  c.run(iterations);
  require(together.enter());
  return seconds_since(start);
}

void tournament::calibrate(timed_candidate& c, double seconds) {
  const auto shared = [&](int iterations) { return share(p_.world().group(), chunk(c, iterations)) / iterations; };
  const auto times = [&](double each, double least) {
    return static_cast<int>(std::clamp(seconds / std::max(each, 1e-8), least, double(most_iterations)));
  };
  c.run(1);  // makes what it needs
  const double first = shared(1);
  c.long_calls = first > long_call;
  c.iterations = c.long_calls ? 1 : times(std::min({first, shared(1), shared(1)}), 1);
  // The barrier behind so short a chunk hides what is short.
  if (c.iterations > 50) c.iterations = times(shared(50), 50);
}

void tournament::round(double seconds, std::chrono::steady_clock::time_point end, const std::function<void(const size_contest&)>& told) {
  seconds *= std::max(1.0, p_.of().where().most_ranks_per_core());  // a few turns of all ranks, whoever has the core first
  for (const std::size_t at : far_apart_first(contests_.size())) {
    size_contest& one = contests_[at];
    if (std::ranges::none_of(one.all, &timed_candidate::in)) continue;
    if (told) told(one);
    for (int turn = 0; turn < 3; ++turn)
      for (timed_candidate& c : one.all) {
        if (!c.in || (turn > 0 && c.long_calls)) continue;
        const bool first = c.us.count() == 0;
        if (first && !in_time(end, calls_at_least * std::max(0.0, c.what.cost_us))) {
          c.in = false;
          continue;
        }
        if (c.iterations == 0) calibrate(c, seconds);
        c.us.add(chunk(c, c.iterations) / c.iterations * 1e6);
      }
  }
}

bool tournament::halve(double margin) {
  std::vector<std::byte> stay;
  bool open = false;
  for (size_contest& one : contests_) {
    std::vector<double> medians;
    for (const timed_candidate& c : one.all)
      if (c.in) medians.push_back(typical(c.us));
    std::ranges::sort(medians);
    const std::size_t most = std::max<std::size_t>(2, (medians.size() + 1) / 2);
    const double bound = medians.empty() ? 0 : std::min(medians[std::min(most, medians.size()) - 1], medians[0] * (1 + margin));
    std::size_t left = 0;
    for (const timed_candidate& c : one.all) left += c.in && typical(c.us) <= bound;
    for (const timed_candidate& c : one.all) stay.push_back(std::byte{c.in && left > 1 && typical(c.us) <= bound});
    open = open || left > 1;
  }
  stay.push_back(std::byte{open});
  const auto all = p_.world().group().exchange(stay);
  require(all.error());
  const auto of_rank_0 = (**all)[0];
  std::size_t at = 0;
  for (size_contest& one : contests_)
    for (timed_candidate& c : one.all) c.in = of_rank_0[at++] != std::byte{0};
  return of_rank_0[at] != std::byte{0};
}

}  // namespace tutti::tools

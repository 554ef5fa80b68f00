#include "tools/sim/virtual_job.h"

#include <algorithm>

namespace tutti::tools {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::nanoseconds linger_for = 100us;

std::shared_ptr<const layout> layout_of(sim::world& w) {
  blob_table hosts;
  for (rank_t r = 0; r < w.size(); ++r) hosts.push_back(w.boot(r).host());
  auto where = std::make_shared<layout>(make_layout(hosts));
  where->cores = virtual_cores(w.params(), *where);
  return where;
}

}  // namespace

std::vector<std::uint32_t> virtual_cores(const sim::parameters& p, const layout& where) {
  std::vector<std::uint32_t> out = where.population;
  if (p.cores.per_node)
    for (std::uint32_t& c : out) c = std::min(c, p.cores.per_node);
  return out;
}

result<picked_barrier> virtual_job::pick(sim::world& w, const communicator_options& options) {
  // Its machines are alike.
  return pick_barrier(*layout_of(w), facts_of(w.net(0)), "sim", w.net(0).mcast() != nullptr, rank_map::strided(0, w.size()), options,
                      ~std::uint32_t{0});
}

result<std::unique_ptr<virtual_job>> virtual_job::open(sim::world& w, const picked_barrier& barrier,
                                                       std::uint64_t first_epoch) {
  std::unique_ptr<virtual_job> v(new virtual_job(w));
  if (const status s = v->join(barrier.lines); s.failed()) return s;
  const status met = v->equip(&member::barrier, [&](job& home, std::vector<std::byte>& blob) {
    return team_barrier::offer(home.world(), barrier.choice, first_epoch, blob);
  });
  if (met.failed()) return met;
  return v;
}

result<std::unique_ptr<virtual_job>> virtual_job::open(sim::world& w, const picked_barrier& barrier, const communicator_options& options) {
  std::unique_ptr<virtual_job> v(new virtual_job(w));
  if (const status s = v->join(barrier.lines, true); s.failed()) return s;
  const status met = v->equip(&member::world, [&](job& home, std::vector<std::byte>& blob) {
    return communicator::offer_world(home, options, barrier.choice, blob);
  });
  if (met.failed()) return met;
  return v;
}

// Each rank's part, which `offer(home, blob)` makes and accept() completes.
template <class Part, class Offer>
status virtual_job::equip(std::unique_ptr<Part> member::* part, Offer offer) {
  return world_.exchange(
      [&](rank_t r) -> result<std::vector<std::byte>> {
        std::vector<std::byte> blob;
        auto offered = offer(*members_[r].home, blob);
        if (!offered) return offered.error();
        members_[r].*part = std::move(*offered);
        return blob;
      },
      [&](rank_t r, const shared_blobs& all) { return (members_[r].*part)->accept(all); });
}

status virtual_job::join(std::uint32_t lines, bool gathers) {
  const auto where = layout_of(world_);
  result<job::admission> in = status(errc::invalid, "not asked yet");
  return world_.exchange(
      [&](rank_t r) -> result<std::vector<std::byte>> {
        job_options options;
        options.world_lines = [lines](std::uint32_t) { return lines; };
        if (gathers) options.gather = [this, r](std::span<const std::byte> mine) { return world_.gather(r, mine); };
        std::vector<std::byte> blob;
        auto offered = job::offer(world_.boot(r), world_.net(r), std::move(options), blob);
        if (!offered) return offered.error();
        members_[r].home = std::move(*offered);
        return blob;
      },
      [&](rank_t r, const shared_blobs& all) -> status {
        if (r == 0) {
          in = job::digest(*all, where);
          if (in) in->where = where;  // with the virtual cores, not this machine's
        }
        return in ? members_[r].home->accept(*in) : in.error();
      });
}

status virtual_job::run(const script& s) {
  still_ = 0;
  for (rank_t r = 0; r < size(); ++r) {
    member& m = members_[r];
    m.done = 0;
    m.ended = m.computed = m.inside = false;
    m.operations = s.call ? static_cast<operation_sequence*>(&world(r).data()) : &barrier(r);
    m.look_at = world_.params().deaths.empty() ? time_point::max() : world_.clock(r) + job::look_every;
  }
  return world_.drive([&](rank_t r) { return step(r, s); });
}

// As far as the rank gets without waiting. True: it will do nothing more in this run.
bool virtual_job::step(rank_t r, const script& s) {
  member& m = members_[r];
  transport& net = world_.net(r);
  if (net.now() < m.busy_until) {  // a computing rank drives nothing
    world_.call_again(r, m.busy_until);
    return false;
  }
  m.home->progress();
  while (!m.ended) {
    if (m.inside) {
      if (!m.operations->test(m.request) && waits(r)) return false;
      m.inside = false;
      if (m.operations->outcome().failed()) {
        m.ended = true;
        break;
      }
      ++m.done;
      if (s.leaves) s.leaves(r, m.done);
    }
    if (m.done == s.epochs) {
      m.ended = true;
      break;
    }
    if (s.compute && !m.computed) {
      m.computed = true;
      const double us = s.compute(r, m.done + 1);
      m.busy_until = net.now() + std::chrono::nanoseconds(static_cast<std::int64_t>(us * 1000));
      if (us > 0) {
        world_.call_again(r, m.busy_until);
        return false;
      }
    }
    m.computed = false;
    if (s.enters) s.enters(r, m.done + 1);
    start(r, s);
    m.inside = true;
  }
  return !linger(r, s);
}

// One that fails at once is complete, with its outcome.
void virtual_job::start(rank_t r, const script& s) {
  member& m = members_[r];
  if (!s.call) m.request = barrier(r).start();
  else if (const auto request = m.world->start(*s.call); request.ok()) m.request = *request;
}

// True: nothing to do until something arrives or a timer runs out, and the transport knows of the timer.
bool virtual_job::waits(rank_t r) {
  member& m = members_[r];
  transport& net = world_.net(r);
  if (net.now() >= m.look_at) {
    m.look_at = net.now() + job::look_every;
    (void)m.home->world().look(no_rank);  // what it finds ends the operation
    m.home->progress();
    if (m.operations->test(m.request)) return false;
  }
  world_.call_again(r, std::min(m.home->take_timer(), m.look_at));
  return true;
}

// A multicast root owes repairs after it has left its last barrier, and where a fabric's target must progress, whoever
// was sent one must take it in, wanted or not, or it holds up the root. In a job of processes all that happens in the
// closing barrier; here everyone stays until the last rank has ended, which a simulator can know. What moves data may owe
// more than its last part of it.
bool virtual_job::linger(rank_t r, const script& s) {
  const member& m = members_[r];
  if ((!s.call && !barrier(r).mcast()) || m.operations->outcome().failed()) return false;
  while (still_ < size() && (members_[still_].ended || !world_.alive(still_))) ++still_;
  if (still_ == size()) return false;
  world_.call_again(r, world_.clock(r) + linger_for);
  return true;
}

}  // namespace tutti::tools

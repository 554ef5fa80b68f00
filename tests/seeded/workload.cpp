#include "tests/seeded/workload.h"

#include <poll.h>

#include "tests/seeded/rank_program.h"

extern "C" int __wrap_poll(pollfd*, nfds_t, int);

namespace tutti::test {

using namespace std::chrono_literals;

// Everyone's blobs, once they are there; false if somebody has ended without.
bool rank_program::together(const std::array<std::vector<std::byte>, most_ranks>& board, shared_blobs& out) {
  for (rank_t r = 0; r < t_.ranks; ++r)
    while (board[r].empty()) {
      if (t_.fates[r] != fate::runs) return false;
      world->idle(20us);
    }
  auto table = std::make_shared<blob_table>();
  for (rank_t r = 0; r < t_.ranks; ++r) table->push_back(board[r]);
  out = std::move(table);
  return true;
}

bool rank_program::meet() {
  const auto publish = [&](auto& board, const std::vector<std::byte>& blob) {
    const in_kernel k;
    board[me_].assign(blob.begin(), blob.end());
  };
  open_params params;
  params.rank = me_, params.size = t_.ranks, params.job_id = "seeded";
  params.multicast_interface = "none";
  auto opened = t_.open(params);
  if (!opened) return wrong(std::string{"cannot open: "} + opened.error().text()), false;
  net_ = std::move(*opened);
  auto address = net_->address();
  if (!address) return wrong(std::string{"no address: "} + address.error().text()), false;
  publish(t_.addresses, *address);
  shared_blobs blobs;
  if (!together(t_.addresses, blobs)) return false;
  if (const status s = net_->connect(blobs, net_->now() + 10s); s.failed()) {
    for (rank_t r = 0; r < t_.ranks; ++r)
      if (t_.fates[r] != fate::runs) return false;
    return wrong(std::string{"cannot connect: "} + s.text()), false;
  }
  t_.met[me_] = world->now();
  const bool own = t_.own_windows && draw_.one_in(2);
  if (own) own_window_.resize(window_bytes), memory_ = own_window_;
  auto window = own ? net_->add(memory_) : net_->allocate(window_bytes, memory_);
  auto mine = net_->add(local_);
  if (!window || !mine) return wrong("no regions"), false;
  window_ = *window, mine_ = *mine;
  t_.windows[me_] = memory_.data();
  auto key = net_->key(window_);
  if (!key) return wrong("no key"), false;
  publish(t_.keys, *key);
  if (!together(t_.keys, blobs)) return false;
  auto segment = net_->attach(rank_map::strided(0, t_.ranks), blobs);
  if (!segment) return wrong(std::string{"cannot attach: "} + segment.error().text()), false;
  segment_ = *segment;
  return true;
}

void rank_program::run() {
  if (meet()) operate();
  if (t_.exits[me_]) {
    const in_kernel k;
    world->at(world->now(), [t = &t_, me = me_] {
      t->fates[me] = fate::dead, t->ended[me] = world->now();
      world->kill(*t->processes[me]);
    });
  }
  if (t_.exits[me_]) world->idle(1h);
  t_.fates[me_] = fate::leaves;
  t_.ended[me_] = world->now();
  say("leaves");
  doing("its end", no_rank);
  const nanoseconds began = world->now(), kept_off = world->kept_off;
  t_.windows[me_] = nullptr;
  {
    const in_kernel k;
    t_.spares[me_].clear();
    if (t_.stops[me_] > 0ns)
      world->at(world->now() + draw_.time(100us), [t = &t_, me = me_] {
        if (t->processes[me]->running) world->stop(*t->processes[me], t->stops[me]);
      });
  }
  net_.reset();
  if (world->now() - began > 2s + slack + (world->kept_off - kept_off) + t_.longest_stop)
    wrong("leaving took " + std::to_string((world->now() - began).count() / 1'000'000) + " ms");
  t_.fates[me_] = fate::left;
  say("has left");
  world->idle(draw_.time(50ms));
}

void rank_program::operate() {
  for (unsigned i = 0; i < t_.steps[me_]; ++i) {
    auto to = static_cast<rank_t>(draw_.below(t_.ranks));
    if (ended_[to] && !draw_.one_in(8)) to = me_;
    switch (draw_.below(22)) {
      case 0: case 1: case 2: case 3: case 4: put(to); break;
      case 5: case 6: get(to); break;
      case 7: case 8: case 9: atomic(to); break;
      case 10: flush(to); break;
      case 11: flush(no_rank); break;
      case 12: world->idle(draw_.time(5ms)); break;
      case 13: ask(to); break;
      case 14: net_->progress(); break;
      case 15: finish_all(no_rank); break;
      case 16: drop_local(to); break;
      case 17: case 18: use_spare(to); break;
      case 19:
        if (t_.has_spares) change_spare();
        break;
      default: send_messages(to);
    }
    look_at_signals();
    if (!draw_.one_in(4)) take_messages();
  }
  take_messages();
  finish_all(no_rank);
  flush(no_rank);
  see_the_ends();
  take_messages();
}

// One turn of a wait, in one of the ways in which engines wait.
void rank_program::pause_within_wait(unsigned turn, bool by_fd, const completion& done) {
  net_->progress();
  if (draw_.one_in(4)) take_messages();
  if (turn < 4 || done.idle()) return;
  const time_point until = net_->now() + draw_.time(20ms);
  if (by_fd) {
    if (!net_->arm_fd()) return;
    if (done.idle()) return net_->disarm();
    pollfd p{net_->wait_fd(), POLLIN, 0};
    ::poll(&p, 1, static_cast<int>(draw_.below(100)));
    net_->disarm();
  } else if (armed open = net_->arm()) {
    done.idle() ? net_->disarm() : net_->sleep(std::move(open), until);
  }
}

bool rank_program::wait(completion& done, rank_t to, const char* what) {
  const nanoseconds began = world->now(), kept_off = world->kept_off;
  const bool by_fd = draw_.one_in(4) && net_->wait_fd() >= 0;
  doing(what, to);
  for (unsigned turn = 0; !done.idle(); ++turn) {
    pause_within_wait(turn, by_fd, done);
    if (turn % 8 == 7) {
      if (to != no_rank) ask(to);
      else
        for (rank_t r = 0; r < t_.ranks; ++r) ask(r);
    }
    if (world->now() - began > within() + slack + (world->kept_off - kept_off) + t_.longest_stop)
      return wrong(std::string{what} + " towards " + (to == no_rank ? "all" : name_of(to)) + " does not end"), false;
  }
  return true;
}

// Health is right: nobody is told of who goes on, and how it ended is told right.
void rank_program::ask(rank_t r) {
  if (r == me_ || ended_[r]) return;
  const status s = net_->health(r);
  if (s.ok()) return;
  ended_[r] = true;
  say("is told: " + std::string{s.text()});
  const fate what = t_.fates[r];
  if (t_.broken[me_ * most_ranks + r]) return;
  if (s.code() != errc::peer_dead) wrong("health(" + std::to_string(r) + ") says: " + s.text());
  if (what == fate::runs) wrong(name_of(r) + " runs, and is told of: " + s.text());
  const bool left = s.native() == peer_left, beside = t_.processes[r]->host == t_.processes[me_]->host;
  const nanoseconds mine = t_.connected(me_, r), its = t_.connected(r, me_);
  const bool saw_it_stand = beside || (mine >= 0ns && mine + 20ms < t_.ended[r]);
  const bool was_told = its >= 0ns && its < t_.ended[r];
  if (left ? what == fate::dead && t_.exits[r] && saw_it_stand : (what == fate::left || what == fate::leaves) && was_told)
    wrong(std::string{what == fate::dead ? "dead " : "orderly "} + name_of(r) + " is told of: " + s.text());
}

void rank_program::see_the_ends() {
  for (rank_t r = 0; r < t_.ranks; ++r) {
    if (r == me_ || t_.fates[r] == fate::runs || t_.fates[r] == fate::leaves) continue;
    const nanoseconds began = world->now(), kept_off = world->kept_off;
    doing("word of the end", r);
    while (!ended_[r]) {
      ask(r);
      net_->progress();
      world->idle(1ms);
      const nanoseconds mine = t_.connected(me_, r);
      if (world->silent_hosts.count(t_.processes[r]->host) && (mine < 0ns || mine + 20ms > t_.ended[r])) break;
      if (world->now() - std::max(began, t_.ended[r]) > (world->silent_hosts.empty() ? 1s : 5s) + slack + (world->kept_off - kept_off) + t_.longest_stop)
        wrong("the end of " + name_of(r) + " is not told within a second");
    }
  }
}

trial::trial(std::uint64_t seed, std::uint32_t n, opener o) : ranks(n), open(std::move(o)), plan(seed ^ 0x5eed) {
  met.fill(nanoseconds{-1});
}

void trial::start() {
  for (rank_t r = 0; r < ranks; ++r) {
    steps[r] = 5 + static_cast<unsigned>(plan.below(plan.one_in(4) ? 120 : 40));
    exits[r] = plan.one_in(6);
    const int host = same_host ? 0 : static_cast<int>(plan.below(3));
    processes[r] = &world->start(host, name_of(r), [this, r] { rank_program{*this, r}.run(); });
  }
  const auto some_time = [this] { return plan.one_in(4) ? plan.time(2ms) : plan.time(60ms); };
  for (auto n = plan.below(3); n; --n) {
    const auto r = static_cast<rank_t>(plan.below(ranks));
    world->at(some_time(), [this, r] {
      if (!processes[r]->running || fates[r] == fate::left) return;
      if (fates[r] == fate::runs) exits[r] = true;
      fates[r] = fate::dead, ended[r] = world->now(), windows[r] = nullptr;
      world->kill(*processes[r]);
    });
  }
  if (!same_host && plan.one_in(4)) {
    world->at(some_time(), [this] {
      world->note("host 1 falls silent");
      world->silent_hosts.insert(1);
      for (rank_t r = 0; r < ranks; ++r) {
        if (processes[r]->host != 1 || !processes[r]->running || fates[r] == fate::left) continue;
        exits[r] = true, fates[r] = fate::dead, ended[r] = world->now(), windows[r] = nullptr;
        world->kill(*processes[r]);
      }
    });
  }
  if (break_connection && plan.one_in(3)) {
    const auto a = static_cast<rank_t>(plan.below(ranks)), b = static_cast<rank_t>((a + 1 + plan.below(ranks - 1)) % ranks);
    world->at(some_time(), [this, a, b] {
      world->note("the connection of " + name_of(a) + " and " + name_of(b) + " breaks");
      broken[a * most_ranks + b] = broken[b * most_ranks + a] = true;
      break_connection(a, b);
    });
  }
  if (plan.one_in(3)) {
    const auto r = static_cast<rank_t>(plan.below(ranks));
    const nanoseconds how_long = plan.time(2s);
    longest_stop = how_long;
    world->at(some_time(), [this, r, how_long] {
      if (processes[r]->running) world->stop(*processes[r], how_long);
    });
  }
  if (plan.one_in(3)) {
    nanoseconds& how_long = stops[plan.below(ranks)] = plan.time(2s);
    longest_stop = std::max(longest_stop, how_long);
  }
}

bool trial::run() {
  const bool all = world->run(60s);
  if (!all && !world->failed()) {
    for (rank_t r = 0; r < ranks; ++r)
      if (processes[r]->running) world->complain(name_of(r) + " hangs: it waits for " + doing[r].what + ", " + (doing[r].towards == no_rank ? "all" : name_of(doing[r].towards)));
  }
  const bool ok = !world->failed();
  for (rank_t r = 0; r < ranks; ++r) world->kill(*processes[r]);
  return ok;
}

}  // namespace tutti::test

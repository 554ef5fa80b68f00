#include "tests/seeded/fabric.h"

#include <unistd.h>

#include <atomic>
#include <cstring>

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using messages::message;
using messages::messenger;
using messages::peer;
using messages::sending;

struct doorbell : object {
  bool rung = false;
  bool readable() const override { return rung; }
};

status lost(rank_t rank) { return {errc::peer_dead, "the fabric lost its connection", rank}; }

struct key_of_fabric {
  std::uint32_t index;
};

class seeded_link final : public messages::link, private messages::one_sided {
 public:
  seeded_link(fabric& net, rank_t me) : net_(net), me_(me) {}
  ~seeded_link() override {
    if (fd_ < 0) return;
    {
      const in_kernel k;
      net_.closed(me_, true);
    }
    ::close(fd_);
  }

  const messages::link_traits& traits() const noexcept override { return net_.knobs().traits; }
  status start(messenger& up) override {
    up_ = &up;
    {
      const in_kernel k;
      net_.opened(me_, k.caller());
      port().notify = std::make_shared<doorbell>();
      k.caller().at_end.push_back([net = &net_, me = me_] { net->closed(me, false); });
    }
    fd_ = world->open(port().notify);
    return {};
  }
  result<std::vector<std::byte>> address() override {
    std::vector<std::byte> blob;
    messages::append(blob, &me_);
    return blob;
  }
  status open(peer& p, std::span<const std::byte>) noexcept override {
    world->step();
    fabric::line& l = port().lines[p.rank];
    l.open = true;
    l.since = world->now();
    l.towards = &p;
    p.line = &l;
    const in_kernel k;
    net_.seek(me_, p.rank);
    return {};
  }
  void close(peer& p) noexcept override {
    p.line = nullptr;
    {
      const in_kernel k;
      net_.cut(me_, p.rank);
    }
    world->step();
  }
  sending send(peer& p, const message& head, const std::byte* payload, std::uint32_t bytes, bool may_keep) noexcept override {
    world->step();
    fabric::line& l = port().lines[p.rank];
    if (l.kept) world->complain("the transport sends to a peer whose last message the link keeps");
    if (l.broken) {
      up_->suspect(p, lost(p.rank));
      return sending::failed;
    }
    const fabric_knobs& how = net_.knobs();
    if (l.library.size() + l.wire.size() >= how.room || world->random.one_in(how.refuse_one_in)) return sending::full;
    if (world->random.one_in(how.keep_one_in)) {
      if (!may_keep) return sending::full;
      l.kept = &head, l.kept_payload = payload, l.kept_bytes = bytes;
      return sending::kept;
    }
    const in_kernel k;
    hand_over(l, head, payload, bytes);
    if (world->random.one_in(2)) net_.put_on_wire(me_, p.rank);
    return sending::taken;
  }
  unsigned progress() noexcept override {
    world->step();
    unsigned events = 0;
    fabric::port& here = port();
    here.armed = false;
    for (rank_t r = 0; r < here.lines.size(); ++r) {
      fabric::line& l = here.lines[r];
      if (l.kept && (l.kept_lost || world->random.one_in(2))) {
        const bool was_lost = l.kept_lost;
        if (!was_lost) {
          const in_kernel k;
          hand_over(l, *l.kept, l.kept_payload, l.kept_bytes);
        }
        l.kept = nullptr, l.kept_lost = false;
        up_->sent(*l.towards, was_lost ? lost(r) : status{});
        ++events;
      }
      if (!l.library.empty() && !world->random.one_in(4)) {
        const in_kernel k;
        net_.put_on_wire(me_, r);
        ++events;
      }
    }
    for (auto n = 1 + world->random.below(16); n && !here.inbox.empty(); --n, ++events) {
      fabric::packet p;
      {
        const in_kernel k;
        p = std::move(here.inbox.front());
        here.inbox.pop_front();
      }
      take(p);
      const in_kernel k;
      p = {};
    }
    idle_ = events ? 0 : idle_ + 1;
    if (idle_ > 64) world->idle(std::min<nanoseconds>(1us * idle_, 200us));  // who spins for long spins slower here
    return events;
  }
  int fd() const noexcept override { return fd_; }
  bool arm() noexcept override {
    world->step();
    fabric::port& here = port();
    static_cast<doorbell&>(*here.notify).rung = false;
    if (!here.inbox.empty()) return false;
    for (const fabric::line& l : here.lines)
      if (l.kept || !l.library.empty()) return false;
    here.armed = true;
    return true;
  }
  one_sided* reach() noexcept override { return net_.knobs().reaches ? this : nullptr; }
  bool settle(own_time longest) noexcept override {
    while (port().under_way && !longest.over(up_->now()))
      if (!progress()) ::usleep(50);
    return true;
  }
  void push_out(own_time longest) noexcept override {
    const auto waits = [&] {
      for (const fabric::line& l : port().lines)
        if (!l.library.empty() && !l.broken) return true;
      return false;
    };
    while (waits() && !longest.over(up_->now()))
      if (!up_->progress()) ::usleep(50);
  }

 private:
  // --- one_sided
  result<void*> register_region(std::span<std::byte> memory, std::vector<std::byte>& key) override {
    auto* made = new key_of_fabric{static_cast<std::uint32_t>(port().registered.size())};
    {
      const in_kernel k;
      port().registered.push_back({memory.data(), memory.size()});
    }
    messages::append(key, made);
    return static_cast<void*>(made);
  }
  void deregister_region(void* registered) noexcept override {
    auto* gone = static_cast<key_of_fabric*>(registered);
    port().registered[gone->index] = {};
    delete gone;
  }
  void* unlock(peer& p, std::span<const std::byte> key) noexcept override {
    world->step();
    const auto there = messages::head_of<key_of_fabric>(key);
    return there && p.line ? new key_of_fabric{*there} : nullptr;
  }
  void forget(void* unlocked) noexcept override { delete static_cast<key_of_fabric*>(unlocked); }
  messages::reaching put(messages::frame& f, void* unlocked, std::uint64_t offset, const std::byte* from, std::uint32_t bytes,
                         status&) noexcept override {
    const rank_t to = f.to->rank;
    world->step();
    if (port().lines[to].broken) return up_->suspect(*f.to, lost(to)), messages::reaching::lost;
    const bool at_once = bytes <= 64 && !world->random.one_in(4);
    const in_kernel k;
    fabric::reach r{me_, to, static_cast<key_of_fabric*>(unlocked)->index, offset, const_cast<std::byte*>(from), bytes, true, nullptr, {}};
    at_once ? r.payload.assign(from, from + bytes) : void(r.f = &f);
    net_.post(std::move(r));
    return at_once ? messages::reaching::done : messages::reaching::under_way;
  }
  messages::reaching get(messages::frame& f, void* unlocked, std::uint64_t offset, std::byte* to, std::uint32_t bytes,
                         status&) noexcept override {
    const rank_t from = f.to->rank;
    world->step();
    if (port().lines[from].broken) return up_->suspect(*f.to, lost(from)), messages::reaching::lost;
    const in_kernel k;
    net_.post({me_, from, static_cast<key_of_fabric*>(unlocked)->index, offset, to, bytes, false, &f, {}});
    return messages::reaching::under_way;
  }
  void fence(peer& p) noexcept override {
    fabric::line& l = port().lines[p.rank];
    l.not_before = l.done_by;
  }
  bool in_order(std::uint32_t) const noexcept override { return net_.knobs().in_order; }
  messages::reaching flush(messages::frame& f, void*) noexcept override {
    const rank_t to = f.to->rank;
    world->step();
    if (port().lines[to].broken) return up_->suspect(*f.to, lost(to)), messages::reaching::lost;
    const in_kernel k;
    if (port().lines[to].all_by < world->now()) return messages::reaching::done;
    net_.post_flush(me_, to, f);
    return messages::reaching::under_way;
  }

  fabric::port& port() const noexcept { return net_.at(me_); }
  void hand_over(fabric::line& l, const message& head, const std::byte* payload, std::uint32_t bytes) {
    std::vector<std::byte> all(sizeof head + bytes);
    std::memcpy(all.data(), &head, sizeof head);
    if (bytes) std::memcpy(all.data() + sizeof head, payload, bytes);
    l.library.push_back(std::move(all));
  }
  void take(const fabric::packet& p) {
    if (p.what == fabric::packet::kind::lost) {
      fabric::line& l = port().lines[p.from];
      l.broken = true;
      if (l.kept) l.kept_lost = true;
      if (!l.open) return;
      if (net_.knobs().traits.tells_losses) up_->connection_lost(*l.towards, lost(p.from));
      else up_->suspect(*l.towards, lost(p.from));
      return;
    }
    if (p.what != fabric::packet::kind::message) {
      --port().under_way;
      return up_->reached(*p.f, p.what == fabric::packet::kind::failed ? lost(p.from) : status{});
    }
    message head;
    std::memcpy(&head, p.bytes.data(), sizeof head);
    if (world->tracing)
      world->note("  rank " + std::to_string(me_) + " gets message " + std::to_string(head.sequence) + " of rank " + std::to_string(p.from) +
                  ", kind " + std::to_string(static_cast<int>(head.kind)) + ", " + std::to_string(p.bytes.size() - sizeof head) + " bytes");
    up_->receive(std::span{p.bytes}.first(sizeof head), std::span{p.bytes}.subspan(sizeof head));
  }

  fabric& net_;
  const rank_t me_;
  messenger* up_ = nullptr;
  int fd_ = -1;
  unsigned idle_ = 0;
};

}  // namespace

fabric::fabric(std::uint32_t ranks, fabric_knobs knobs) : knobs_(std::move(knobs)), ports_(ranks), hosts_(ranks) {
  for (port& p : ports_) p.lines.resize(ranks);
}

std::unique_ptr<messages::link> fabric::link_of(rank_t me) { return std::make_unique<seeded_link>(*this, me); }

void fabric::opened(rank_t me, process& owner) {
  at(me).owner = &owner;
  hosts_[me] = owner.host;
}

// A host that has fallen silent does not answer; its peer's kernel asks again after 1, 3 and 7 seconds.
void fabric::seek(rank_t from, rank_t to) {
  if (world->silent_hosts.count(hosts_[to])) tell_lost(from, to, world->now() + 7s + world->random.time(500ms));
}

void fabric::put_on_wire(rank_t from, rank_t to) {
  line& l = at(from).lines[to];
  for (auto& bytes : l.library) {
    if (l.broken) break;
    l.wire.push_back({packet::kind::message, from, std::move(bytes), nullptr});
    l.last = std::max(l.last + 1ns, world->now() + 1us + world->random.time(knobs_.longest_way));
    world->at(l.last, [this, from, to] { arrive(from, to); });
  }
  l.library.clear();
}

void fabric::arrive(rank_t from, rank_t to) {
  line& l = at(from).lines[to];
  if (l.wire.empty()) return;  // it was cut off, or came early
  packet p = std::move(l.wire.front());
  l.wire.pop_front();
  if (at(to).owner) {
    deliver(to, std::move(p));
  } else if (!l.broken) {  // refused, or silence_watch finds that nothing answers
    l.broken = true;
    const nanoseconds when = world->silent_hosts.count(hosts_[to]) ? 3s + world->random.time(500ms) : world->random.time(knobs_.longest_way);
    tell_lost(from, to, world->now() + when);
  }
}

void fabric::deliver(rank_t to, packet p) {
  port& there = at(to);
  there.inbox.push_back(std::move(p));
  if (!there.armed || world->random.one_in(knobs_.forget_wake_one_in)) return;
  there.armed = false;
  static_cast<doorbell&>(*there.notify).rung = true;
  ++there.notify->events;
}

void fabric::tell_lost(rank_t whom, rank_t of, nanoseconds when) {
  world->at(when, [this, whom, of] {
    if (at(whom).owner) deliver(whom, {packet::kind::lost, of, {}, nullptr});
  });
}

// A fence is a time before which nothing that comes after it is executed. Without the origin's promise of an order, what is
// under way is not covered by it: its library may hand it to the adapter later.
void fabric::post(reach r) {
  line& l = at(r.from).lines[r.to];
  if (r.f) ++at(r.from).under_way;
  nanoseconds when = std::max(l.not_before, world->now() + 1us + world->random.time(knobs_.longest_way));
  if (!r.puts) when = std::max(when, l.done_by);
  else if (!r.f || knobs_.in_order) l.done_by = std::max(l.done_by, when);
  l.all_by = std::max(l.all_by, when);
  if (world->tracing)
    world->note("  by key, " + std::to_string(r.from) + (r.puts ? " puts " : " gets ") + std::to_string(r.bytes) + " bytes at " +
                std::to_string(r.offset) + " of rank " + std::to_string(r.to) + (r.f ? ", under way" : ""));
  world->at(when, [this, r = std::move(r), life = l.life] { execute(r, life); });
}

void fabric::post_flush(rank_t from, rank_t to, messages::frame& f) {
  ++at(from).under_way;
  const line& l = at(from).lines[to];
  world->at(l.all_by + 1us, [this, from, to, &f, life = l.life] { finish(from, to, &f, at(from).lines[to].life == life); });
}

void fabric::execute(const reach& r, unsigned life) {
  line& l = at(r.from).lines[r.to];
  const port& there = at(r.to);
  const exposure* e = there.owner && r.key < there.registered.size() ? &there.registered[r.key] : nullptr;
  const bool reaches = e && e->base && r.offset <= e->bytes && r.bytes <= e->bytes - r.offset;
  if (r.f && !at(r.from).owner) return;
  if (l.life != life && (r.f || l.broken)) return finish(r.from, r.to, r.f, false);
  if (!reaches) {
    if (!std::exchange(l.broken, true)) tell_lost(r.from, r.to, world->now() + world->random.time(knobs_.longest_way));
    return finish(r.from, r.to, r.f, false);
  }
  if (world->tracing) world->note("  by key, " + std::to_string(r.bytes) + " bytes at " + std::to_string(r.offset) + " of rank " + std::to_string(r.to));
  std::byte* far = e->base + r.offset;
  const std::byte* source = !r.puts ? far : r.payload.empty() ? r.mine : r.payload.data();
  std::byte* target = r.puts ? far : r.mine;
  if (r.bytes == 8)  // a word is stored whole
    std::atomic_ref{*reinterpret_cast<std::uint64_t*>(target)}.store(*reinterpret_cast<const std::uint64_t*>(source));
  else std::memcpy(target, source, r.bytes);
  finish(r.from, r.to, r.f, true);
}

void fabric::finish(rank_t origin, rank_t towards, messages::frame* f, bool ok) {
  if (f && at(origin).owner) deliver(origin, {ok ? packet::kind::reached : packet::kind::failed, towards, {}, f});
}

// The peer is told behind what is on its way to it, if it has a connection of its own here and its library tells at all.
void fabric::cut(rank_t from, rank_t to) {
  line& l = at(from).lines[to];
  l.library.clear();
  if (l.kept) l.kept_lost = true;
  ++l.life;
  if (!l.open) return;
  l.open = false;
  if (knobs_.traits.tells_losses && at(to).lines[from].open)
    tell_lost(to, from, std::max(l.last, world->now()) + 1us + world->random.time(knobs_.longest_way));
}

// What an orderly end has put on the wire arrives before anybody on its host can see that the process has ended. Of what a
// dead one has sent, a part arrives.
void fabric::closed(rank_t me, bool orderly) {
  port& p = at(me);
  if (!p.owner) return;
  const int host = p.owner->host;
  const bool silent = world->silent_hosts.count(host) != 0;
  p.owner = nullptr;
  p.inbox.clear();
  p.registered.clear();
  p.under_way = 0;
  p.armed = false;
  for (rank_t r = 0; r < p.lines.size(); ++r) {
    line& l = p.lines[r];
    if (!orderly && !l.wire.empty()) l.wire.resize(l.wire.size() - world->random.below(l.wire.size() + 1));
    const bool beside = at(r).owner && at(r).owner->host == host;
    while (beside && !l.wire.empty()) arrive(me, r);
    l.open = false;
    l.broken = l.broken || !orderly;  // the adapter executes nothing more for a dead process
    cut(me, r);
    l.kept = nullptr;
    if (silent && at(r).lines[me].open)  // silence_watch has the library tell
      tell_lost(r, me, world->now() + 3s + world->random.time(500ms));
    else if (knobs_.traits.tells_losses && at(r).lines[me].open)
      tell_lost(r, me, std::max(l.last, world->now()) + 1us + world->random.time(10ms));
  }
}

void fabric::lose_connection(rank_t a, rank_t b) {
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
    line& l = at(from).lines[to];
    l.wire.clear(), l.library.clear();
    l.broken = true;
    ++l.life;
    if (knobs_.traits.tells_losses && l.open) tell_lost(from, to, world->now() + world->random.time(10ms));
  }
}

}  // namespace tutti::test

// How a peer is reached, and how it ends.
//
// Endpoints are opened by the first operation towards a peer, by the first answer to it, or when its health is asked
// for. A peer ends in one of three ways: it says goodbye; its process ends (on this host a pidfd tells, sooner and surer
// than any library: UCX's keepalive looks at /proc, where a zombie looks alive; across hosts a liveness connection, where the link
// keeps quiet); or the link loses the connection. A lost connection is only a suspicion at first, because a peer that
// leaves closes its sockets right behind its goodbye, and a process that is killed closes its sockets before its pidfd
// tells. Both get a moment before judgement.
#include <unistd.h>

#include <algorithm>

#include "core/base/headroom.h"
#include "core/base/listing.h"
#include "providers/messages/authentication.h"
#include "providers/messages/transport.h"

namespace tutti::messages {
namespace {

using namespace std::chrono_literals;

constexpr auto moment = 50ms;  // from suspicion to judgement

status unreachable(const status& why, rank_t rank) {
  const errc code = why.code() == errc::no_resource ? why.code() : errc::peer_dead;
  return {code, "rank " + std::to_string(rank) + " cannot be reached: " + std::string{why.text()}, rank, why.native()};
}

}  // namespace

result<std::vector<std::byte>> message_transport::address() {
  auto own = link_->address();
  if (!own) return own.error();
  address_head head;
  head.pid = ::getpid(), head.host = host_, head.line = liveness_.address();
  head.link_bytes = static_cast<std::uint32_t>(own->size());
  const region* doze = regions_.find(doze_region_);
  if (doze) {
    head.doze = doze->memory.name();
    head.doze_key_bytes = static_cast<std::uint32_t>(doze->key.size());
  }
  std::vector<std::byte> blob;
  append(blob, &head);
  append(blob, own->data(), own->size());
  if (doze) append(blob, doze->key.data(), doze->key.size());
  if (ip_) {
    const auto multicast_address = ip_->address();
    append(blob, multicast_address.data(), multicast_address.size());
  }
  return blob;
}

status message_transport::connect(shared_blobs addresses, time_point) {
  if (!addresses || addresses->size() != size_)
    return {errc::invalid, "connect() needs the addresses of all " + std::to_string(size_) + " ranks"};
  blob_table multicast_addresses;
  for (rank_t r = 0; r < size_; ++r) {
    const auto parts = read_address((*addresses)[r]);
    if (!parts)
      return {errc::protocol, "rank " + std::to_string(r) + " runs another version of the " + traits_.name + " provider", r};
    multicast_addresses.push_back(parts->multicast);
  }
  if (ip_)
    if (status s = ip_->connect(multicast_addresses); s.failed()) return s;
  addresses_ = std::move(addresses);
  return {};
}

bool message_transport::reaches(rank_t rank) const noexcept {
  return rank < size_ && (rank == rank_ || !traits_.only_this_host || same_host(rank));
}

bool message_transport::same_host(rank_t rank) const noexcept {
  return addresses_ && head_of<address_head>((*addresses_)[rank])->host == host_;
}

std::string message_transport::ranks_beside(rank_t rank) const {
  if (same_host(rank)) return {};
  const auto host = [&](rank_t r) { return head_of<address_head>((*addresses_)[r])->host; };
  return and_its_host(size_, [&, there = host(rank)](rank_t r) { return host(r) == there; });
}

peer* message_transport::peer_of(rank_t rank) noexcept {
  if (peers_[rank]) return peers_[rank].get();
  try {
    for (auto* list : {&open_, &to_open_, &to_close_, &suspects_, &stalled_}) list->reserve(peers_made_ + 1);
    auto made = std::make_unique<peer>();
    made->net = this, made->rank = rank;
    made->sends_by = key_between(key_, rank_, rank), made->hears_by = key_between(key_, rank, rank_);
    peers_[rank] = std::move(made);
    ++peers_made_;
  } catch (...) {
    return nullptr;
  }
  return peers_[rank].get();
}

void message_transport::open_soon(peer& p) noexcept {
  if (std::find(to_open_.begin(), to_open_.end(), &p) == to_open_.end()) to_open_.push_back(&p);
}

void message_transport::open_endpoint(peer& p) noexcept {
  if (p.asked || !p.alive() || !addresses_) return;
  p.asked = true;
  open_.push_back(&p);  // reserved by peer_of()
  const auto there = *read_address((*addresses_)[p.rank]);
  const address_head& head = there.head;
  const bool local = head.host == host_;
  if (local && head.pid != ::getpid() && !p.process) watch_process(p, head.pid);
  if (!local && !leaving_) watch_host(p, head.line);
  // It may have left, or died, and that may have arrived here: then no connection is made. Its goodbye arrives before its
  // process ends, so who has seen the end first, and then looks, finds it.
  const bool ended = p.process.ended();
  drain();
  if (p.alive() && ended) end_dead_peer(p);
  if (!p.alive()) return;
  if (const status s = link_->open(p, there.link); s.failed()) {
    return end_peer(p, unreachable(cause_of(s), p.rank));
  }
  if (local && !leaving_) {
    p.doze_page = map_shared_memory(head.doze);
    p.doze = reinterpret_cast<std::uint64_t*>(p.doze_page.base);
  }
  if (alone_ && !p.doze && head.doze_key_bytes && !leaving_)
    p.doze_key = reach_->unlock(p, there.doze_key);
  p.greeting.to = &p;
  p.greeting.head.kind = message_kind::hello;
  p.queue.push_front(p.greeting);  // before any answer that waits already
  pump(p);
}

// Where it cannot be watched, the link has to notice, or a later look finds that the process is gone, or room for a
// descriptor: health() tries again.
void message_transport::watch_process(peer& p, std::int32_t pid) noexcept {
  if (p.process.open(pid) == process_watch::found::ended) {
    drain();  // its goodbye may have arrived
    return end_dead_peer(p);
  }
  if (p.process && !sleep_.add(p.process.fd(), &p)) p.process.close();
}

void message_transport::watch_host(peer& p, const liveness_address& there) noexcept {
  const liveness::attempt made = liveness_.connect(there);
  p.liveness = unique_fd{made.socket}, p.line_beside = made.beside;
  if (p.liveness && !sleep_.add(p.liveness.get(), &p, liveness::events)) p.liveness.close();
}

void message_transport::read_liveness(peer& p) noexcept {
  switch (liveness::read(p.liveness.get(), p.line_stood, head_of<address_head>((*addresses_)[p.rank])->line.key)) {
    case liveness::observation::nothing: return;
    case liveness::observation::stands: p.line_stood = true; return;
    case liveness::observation::never: break;
    case liveness::observation::refused:
      if (!p.line_beside) break;
      [[fallthrough]];
    case liveness::observation::left: suspect(p, {errc::peer_dead, "its transport was closed", p.rank}, told_by::itself); break;
    case liveness::observation::ended:
      suspect(p, {errc::peer_dead, "its process has ended, says its host", p.rank}, told_by::its_host);
      break;
    case liveness::observation::silent: suspect(p, {errc::peer_dead, "its host has fallen silent", p.rank}); break;
  }
  sleep_.remove(p.liveness.get());
  p.liveness.close();
}

void message_transport::close_watches(peer& p) noexcept {
  sleep_.remove(p.process.fd());
  sleep_.remove(p.liveness.get());
  p.process.close();
  p.liveness.close();
}

// What this process lacks says nothing about a peer. Libraries say it in words of their own, or say that a connection which
// got no descriptor was lost: so it is looked whether there are any.
status message_transport::cause_of(status why) const noexcept {
  constexpr unsigned of_a_connection = 2;
  const status want = headroom(traits_.name, of_a_connection, 0);
  return want.ok() ? why : status{want.code(), std::string{why.text()} + ": " + std::string{want.text()}, why.peer(), want.native()};
}

void message_transport::suspect(peer& p, status why, told_by who) noexcept {
  if (!p.life.suspect(p.life.suspected() ? why : cause_of(why), who)) return;
  p.judged_at = now() + moment;
  suspects_.push_back(&p);
}

void message_transport::connection_lost(peer& p, status why) noexcept {
  p.lost = true;
  if (!p.alive()) close_soon(p);
  else suspect(p, std::move(why));
}

void message_transport::end_peer(peer& p, status why, told_by who) noexcept {
  if (!p.life.ends(std::move(why), who)) return;
  p.order.clear();
  close_watches(p);
  fail_queue(p);
  close_soon(p);
}

// A process of this host is no more.
void message_transport::end_dead_peer(peer& p) noexcept {
  if (!p.alive()) return;
  end_peer(p, rank_died(p.rank, "its process has ended"), told_by::its_process);
  link_->peer_died(read_address((*addresses_)[p.rank])->link);
}

// All that waits to be sent or answered. What the link keeps or has under way ends in sent() and reached(): until then it
// may use its memory.
void message_transport::fail_queue(peer& p) noexcept {
  frame* const kept = p.kept ? p.queue.pop() : nullptr;
  p.held = 0;
  while (frame* f = p.queue.pop()) finish(*f, p.life.end());
  if (kept) p.queue.push(*kept);
  for (frame& f : frames_.all())
    if (f.to == &p && &f != kept && !f.parts) finish(f, p.life.end());
}

// Not while the link keeps a piece, which it would go on to read: sent() comes back here. A connection that is lost has
// nothing more to send.
void message_transport::close_soon(peer& p) noexcept {
  if (p.kept && !p.lost) return;
  if (std::find(to_close_.begin(), to_close_.end(), &p) == to_close_.end()) to_close_.push_back(&p);
}

void message_transport::close_endpoints() noexcept {
  while (!to_close_.empty()) {
    peer& p = *to_close_.back();
    to_close_.pop_back();
    if (!p.line) continue;
    forget_keys(p);
    link_->close(p);
  }
}

// Lets everything in that arrived already, above all goodbyes.
void message_transport::drain() noexcept {
  for (int idle = 0, turns = 0; idle < 4 && turns < 10000; ++turns)
    idle = link_->progress() ? 0 : idle + 1;
}

void message_transport::judge(peer& p) noexcept {
  drain();
  if (p.alive() && p.liveness) read_liveness(p);  // may tell that it left
  if (!p.alive()) return;
  const status& suspicion = p.life.suspicion();
  const told_by who = p.life.by();
  if (suspicion.code() == errc::no_resource && who == told_by::connection) return end_peer(p, unreachable(suspicion, p.rank));
  std::string why = suspicion.text();
  // Its process lives on and nothing else breaks a connection within one host, or it said so: its transport is gone.
  if (p.process || who == told_by::itself) return end_peer(p, rank_left(p.rank, why), who);
  if (who == told_by::connection) why += ranks_beside(p.rank);  // its host may be gone, and then all of these are
  end_peer(p, rank_died(p.rank, why), who);
}

void message_transport::judge_suspects() noexcept {
  for (std::size_t i = 0; i < suspects_.size();) {
    peer& p = *suspects_[i];
    if (p.alive() && p.process.ended()) {
      drain();
      if (p.alive()) end_dead_peer(p);
    }
    if (p.alive() && now() >= p.judged_at) judge(p);
    if (p.alive()) {
      ++i;
    } else {
      suspects_[i] = suspects_.back();
      suspects_.pop_back();
    }
  }
}

void message_transport::look_for_deaths() noexcept {
  sleep_.wait(0, [this](void* what) {
    auto* p = static_cast<peer*>(what);  // null: the link's, or the alarm
    if (!p || !p->alive()) return;
    drain();
    if (!p->alive()) return;
    p->liveness ? read_liveness(*p) : end_dead_peer(*p);
  });
}

status message_transport::health(rank_t rank) noexcept {
  if (rank == rank_) return {};
  peer* p = peer_of(rank);
  if (!p) return {errc::no_resource, "no memory for a peer", rank};
  if (p->alive()) {
    // Of a peer on this host a pidfd tells the death, and no connection is made to know of it: ranks that wait ask after one
    // more each time, and would all be connected after a while. Who has connected here says when it leaves. Another may leave
    // without a word: whoever asks after it again is connected, and told.
    const bool watched = static_cast<bool>(p->process);
    if (!watched && same_host(rank))
      if (const std::int32_t pid = head_of<address_head>((*addresses_)[rank])->pid; pid != ::getpid()) watch_process(*p, pid);
    if (!p->process || (watched && !p->heard)) open_endpoint(*p);
    progress();
    if (p->alive() && (p->process || p->liveness)) look_for_deaths();
  }
  return p->life.end();
}

}  // namespace tutti::messages

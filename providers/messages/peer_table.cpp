#include "providers/messages/peer_table.h"

#include <unistd.h>

#include "providers/messages/authentication.h"

namespace tutti::messages {
namespace {

status unreachable(const status& why, rank_t rank) {
  const errc code = why.code() == errc::no_resource ? why.code() : errc::peer_dead;
  return {code, worded("rank ", rank, " cannot be reached: ", why.text()), rank, why.native()};
}

}  // namespace

status peer_table::open(const open_params& p, link& l) {
  self_ = p.rank, key_ = p.key, link_ = &l;
  peers_.resize(p.size);
  if (!traits_.only_this_host && !traits_.tells_losses && !p.one_host) liveness_.listen(p.size, l.ip_address());
  return {};
}

status peer_table::connect(shared_blobs addresses) {
  return book_.open(std::move(addresses), static_cast<std::uint32_t>(peers_.size()), this_host(), traits_.name,
                    [](std::span<const std::byte> blob) { return read_address(blob).has_value(); });
}

peer* peer_table::make(rank_t rank) noexcept {
  try {
    due_.reserve(made_ + 1);
    open_.reserve(made_ + 1);
    auto made = std::make_unique<peer>();
    made->net = &net_, made->rank = rank;
    made->sends_by = key_between(key_, self_, rank), made->hears_by = key_between(key_, rank, self_);
    peers_[rank] = std::move(made);
    ++made_;
  } catch (...) {
    return nullptr;
  }
  return peers_[rank].get();
}

void peer_table::open_endpoint(peer& p) noexcept {
  if (p.asked || p.rank == self_ || !p.alive() || !book_) return;  // to itself a rank sends nothing
  p.asked = true;
  open_.push_back(&p);  // reserved by make()
  const auto there = *read_address(book_.blob(p.rank));
  const address_head& head = there.head;
  const bool local = same_host(p.rank);
  if (local && head.pid != ::getpid() && !p.process) watch_process(p, head.pid);
  if (!local && !leaving_) watch_host(p, head.line);
  // It may have left, or died, and that may have arrived here: then no connection is made. Its goodbye arrives before its
  // process ends, so who has seen the end first, and then looks, finds it.
  const bool ended = p.process.ended();
  drain();
  if (p.alive() && ended) end_dead(p);
  if (!p.alive()) return;
  if (const status s = link_->open(p, there.link); s.failed()) return end(p, unreachable(due_.cause_of(s), p.rank));
  if (local && !leaving_) {
    p.doze_page = map_shared_memory(head.doze);
    p.doze = reinterpret_cast<std::uint64_t*>(p.doze_page.base);
  }
  one_sided* const reach = link_->reach();
  if (reach && reach->alone() && !p.doze && head.doze_key_bytes && !leaving_) p.doze_key = reach->unlock(p, there.doze_key);
  p.greeting.to = &p;
  p.greeting.head.kind = message_kind::hello;
  p.queue.push_front(p.greeting);  // before any answer that waits already
  out_.pump(p);
}

// Where it cannot be watched, the link has to notice, or a later look finds that the process is gone, or room for a
// descriptor: watch() tries again.
void peer_table::watch_process(peer& p, std::int32_t pid) noexcept {
  if (p.process.open(pid) == process_watch::found::ended) {
    drain();  // its goodbye may have arrived
    return end_dead(p);
  }
  if (p.process && !watch_.add(p.process.fd(), &p)) p.process.close();
}

void peer_table::watch_host(peer& p, const liveness_address& there) noexcept {
  const liveness::attempt made = liveness_.connect(there);
  p.liveness = unique_fd{made.socket}, p.line_beside = made.beside;
  if (p.liveness && !watch_.add(p.liveness.get(), &p, liveness::events)) p.liveness.close();
}

// Of a peer on this host a pidfd tells the death, and no connection is made to know of it: ranks that wait ask after one more
// each time, and would all be connected after a while. Who has connected here says when it leaves. Another may leave without a
// word: whoever asks after it again is connected, and told.
void peer_table::watch(peer& p) noexcept {
  const bool watched = static_cast<bool>(p.process);
  if (!watched && same_host(p.rank))
    if (const std::int32_t pid = book_.head(p.rank).pid; pid != ::getpid()) watch_process(p, pid);
  if (!p.process || (watched && !p.heard)) open_endpoint(p);
}

void peer_table::read_liveness(peer& p) noexcept {
  using observation = liveness::observation;
  const auto told = [&](const char* what, told_by who) { due_.suspect(p, {errc::peer_dead, what, p.rank}, who); };
  switch (liveness::read(p.liveness.get(), p.line_stood, book_.head(p.rank).line.key)) {
    case observation::nothing: return;
    case observation::stands: p.line_stood = true; return;
    case observation::never: break;
    case observation::refused:
      if (!p.line_beside) break;
      [[fallthrough]];
    case observation::left: told("its transport was closed", told_by::itself); break;
    case observation::ended: told("its process has ended, says its host", told_by::its_host); break;
    case observation::silent: told("its host has fallen silent", told_by::connection); break;
  }
  watch_.remove(p.liveness.get());
  p.liveness.close();
}

void peer_table::close_watches(peer& p) noexcept {
  watch_.remove(p.process.fd());
  watch_.remove(p.liveness.get());
  p.process.close();
  p.liveness.close();
}

void peer_table::end(peer& p, status why, told_by who) noexcept {
  if (!p.life.ends(std::move(why), who)) return;
  p.order.clear();
  close_watches(p);
  out_.fail_all(p);
  due_.close(p);
}

void peer_table::lose(peer& p, const status& why) noexcept {
  p.lost = true;
  end(p, unreachable(why, p.rank));
}

void peer_table::end_dead(peer& p) noexcept {
  if (!p.alive()) return;
  end(p, rank_ended(p.rank), told_by::its_process);
  link_->peer_died(read_address(book_.blob(p.rank))->link);
}

void peer_table::drain() noexcept {
  for (int idle = 0, turns = 0; idle < 4 && turns < 10000; ++turns)
    idle = link_->progress() ? 0 : idle + 1;
}

void peer_table::judge(peer& p) noexcept {
  drain();
  if (p.alive() && p.liveness) read_liveness(p);  // may tell that it left
  if (!p.alive()) return;
  const status& suspicion = p.life.suspicion();
  const told_by who = p.life.by();
  if (suspicion.code() == errc::no_resource && who == told_by::connection) return end(p, unreachable(suspicion, p.rank));
  // Its process lives on and nothing else breaks a connection within one host, or it said so: its transport is gone.
  if (p.process || who == told_by::itself) return end(p, rank_left(p.rank, suspicion.text()), who);
  std::string beside;
  try {
    if (who == told_by::connection) beside = book_.and_its_host(p.rank);
  } catch (const std::bad_alloc&) {
  }
  end(p, rank_died(p.rank, suspicion.text(), 0, beside), who);
}

void peer_table::judge_due() noexcept {
  due_.each_suspect([this](peer& p) {
    if (p.alive() && p.process.ended()) {
      drain();
      end_dead(p);
    }
    if (p.alive() && std::chrono::steady_clock::now() >= p.judged_at) judge(p);
    return !p.alive();
  });
}

void peer_table::open_due() noexcept {
  while (peer* p = due_.next_to_open()) leaving_ ? part_from(*p) : open_endpoint(*p);
}

void peer_table::close_due() noexcept {
  while (peer* p = due_.next_to_close()) {
    if (!p->line) continue;
    members_.forget_keys(*p);
    link_->close(*p);
  }
}

// A link may keep a message for a peer that is dead for as long as it has the connection, since it knows of no death: and its
// library would tell of the message when it is closed itself, to a transport that is no more.
void peer_table::close_all() noexcept {
  close_due();
  for (peer* p : open_) {
    if (!p->line) continue;
    members_.forget_keys(*p);
    link_->close(*p);
  }
}

void peer_table::look_for_deaths() noexcept {
  watch_.wait(0, [this](void* what) {
    auto* p = static_cast<peer*>(what);  // null: the link's, or the alarm
    if (!p || !p->alive()) return;
    drain();
    if (!p->alive()) return;
    p->liveness ? read_liveness(*p) : end_dead(*p);
  });
}

void peer_table::part_from(peer& p) noexcept {
  open_endpoint(p);
  if (!p.alive() || p.farewell.to) return;
  p.farewell.to = &p;
  p.farewell.head.kind = message_kind::bye;
  out_.queue(p.farewell);
}

void peer_table::part_from_all() noexcept {
  for (auto& p : peers_)
    if (p && p->alive() && (p->asked || p->heard)) part_from(*p);
}

void peer_table::end_suspects() noexcept {
  due_.each_suspect([this](peer& p) {
    end(p, {errc::peer_dead, worded("the connection to rank ", p.rank, " was lost while this rank left"), p.rank});
    return true;
  });
  close_due();
}

void peer_table::release() noexcept {
  for (auto& p : peers_)
    if (p) members_.forget_keys(*p);
  members_.drop_all();
  for (auto& p : peers_) {
    if (!p) continue;
    unmap(p->doze_page);
    close_watches(*p);
  }
}

}  // namespace tutti::messages

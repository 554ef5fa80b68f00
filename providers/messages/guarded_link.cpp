#include "providers/messages/guarded_link.h"

#include <mutex>

#include "providers/messages/messenger.h"

namespace tutti::messages {
namespace {

using namespace std::chrono_literals;

constexpr auto between_looks = 10us;  // closing a set of sockets took 30 us and more
constexpr std::uint32_t turns_between_looks = 1024;

status closed_by_program(rank_t rank) {
  return {errc::no_resource, worded("the program has closed descriptors of this library", remedy_of_closing), rank};
}

// To the end of the process, and for leak checkers within reach.
void keep(std::unique_ptr<link> l) noexcept {
  static std::mutex one_at_a_time;
  static auto& kept = *new std::vector<std::unique_ptr<link>>;
  link* const left = l.release();
  try {
    const std::lock_guard hold{one_at_a_time};
    kept.emplace_back(left);
  } catch (...) {  // it stays all the same
  }
}

}  // namespace

guarded_link::guarded_link(std::unique_ptr<link> inner, const sleeper& own) noexcept
    : inner_(std::move(inner)),
      own_(own),
      by_sockets_(inner_->traits().caps.target_must_progress && !inner_->traits().only_this_host) {}

guarded_link::~guarded_link() {
  if (gone()) keep(std::move(inner_));
}

status guarded_link::start(messenger& net) {
  net_ = &net;
  status s = inner_->start(net);
  reach_ = inner_->reach();
  return s;
}

bool guarded_link::gone_soon() noexcept {
  if (gone_) return true;
  if (!by_sockets_) return ++turns_ % turns_between_looks == 0 && gone();
  const time_point now = net_->now();
  if (now < due_) return false;
  due_ = now + between_looks;
  return gone();
}

unsigned guarded_link::tell_all() noexcept {
  unsigned told = 0;
  for (peer* p : net_->opened()) {
    if (!p->alive()) continue;
    net_->lose(*p, closed_by_program(p->rank));
    ++told;
  }
  return told;
}

bool guarded_link::lost(peer& p) noexcept {
  if (!gone_soon()) return false;
  net_->connection_lost(p, closed_by_program(p.rank));
  return true;
}

status guarded_link::open(peer& p, std::span<const std::byte> address) noexcept {
  return gone() ? closed_by_program(p.rank) : inner_->open(p, address);
}

// What the library has in its hands it never gives back.
void guarded_link::close(peer& p) noexcept {
  if (!gone()) return inner_->close(p);
  p.line = nullptr;
  net_->end_under_way(p, closed_by_program(p.rank));
}

sending guarded_link::send(peer& p, const message& head, const std::byte* payload, std::uint32_t bytes, bool may_keep) noexcept {
  return lost(p) ? sending::failed : inner_->send(p, head, payload, bytes, may_keep);
}

void guarded_link::push_out(own_time longest) noexcept {
  if (!gone()) inner_->push_out(longest);
}

void guarded_link::abandon() noexcept {
  if (!gone()) inner_->abandon();
}

void guarded_link::let_go() noexcept {
  if (!gone()) inner_->let_go();
}

result<void*> guarded_link::register_region(std::span<std::byte> memory, std::vector<std::byte>& key) {
  if (gone()) return closed_by_program(no_rank);
  return reach_->register_region(memory, key);
}

void guarded_link::deregister_region(void* registered) noexcept {
  if (!gone()) reach_->deregister_region(registered);
}

void* guarded_link::unlock(peer& p, std::span<const std::byte> key) noexcept { return gone() ? nullptr : reach_->unlock(p, key); }

void guarded_link::forget(void* unlocked) noexcept {
  if (!gone()) reach_->forget(unlocked);
}

reaching guarded_link::put(frame& f, void* unlocked, std::uint64_t offset, const std::byte* from, std::uint32_t bytes,
                           status& why) noexcept {
  return lost(*f.to) ? reaching::lost : reach_->put(f, unlocked, offset, from, bytes, why);
}

reaching guarded_link::get(frame& f, void* unlocked, std::uint64_t offset, std::byte* to, std::uint32_t bytes, status& why) noexcept {
  return lost(*f.to) ? reaching::lost : reach_->get(f, unlocked, offset, to, bytes, why);
}

void guarded_link::fence(peer& p) noexcept {
  if (!gone_soon()) reach_->fence(p);
}

reaching guarded_link::flush(frame& f, void* unlocked) noexcept {
  return lost(*f.to) ? reaching::lost : reach_->flush(f, unlocked);
}

}  // namespace tutti::messages

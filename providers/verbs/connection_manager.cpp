// The thread, and what the owner asks of it. connection_notes.cpp has the talk between connection managers, connection_links.cpp the
// queue pairs.
#include "providers/verbs/connection_manager.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "providers/verbs/error.h"

namespace tutti::verbs {
namespace {

using namespace std::chrono_literals;

constexpr auto first_interval = 2ms, longest_interval = 64ms;
constexpr auto between_looks = 100ms;   // after a peer that was heard
constexpr auto port_grace = 500ms;      // for a port that is down, or has another address, to come back

void set_nonblocking(int fd) noexcept { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace

status connection_manager::open(const resources& p) {
  at_ = p;
  qkey_ = qkey_of(p.key);
  links_.resize(p.size);
  in_sysfs_ = ::access(p.device->context->device->dev_path, F_OK) == 0;
  if (status s = open_notes(); s.failed()) return s;
  if (p.size > 1) calls_.listen(p.size - 1, p.one_host ? messages::liveness::loopback : 0);
  wake_ = unique_fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  set_nonblocking(channel_->fd);
  set_nonblocking(p.device->context->async_fd);
  if (!wake_ || !watched_.open() || !watched_.add(wake_.get(), &wake_) || !watched_.add(channel_->fd, channel_) ||
      !watched_.add(p.device->context->async_fd, &at_) || (calls_.listener() >= 0 && !watched_.add(calls_.listener(), &calls_)))
    return os_error("descriptors for connecting", errno);
  try {
    thread_ = std::thread{[this] { run(); }};
  } catch (const std::system_error& e) {
    return os_error("a thread for connecting", e.code().value());
  }
  return {};
}

void connection_manager::close() noexcept {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock{mutex_};
      stop_ = true;
      wake_thread();
    }
    thread_.join();
  }
  for (auto& l : links_) {
    if (!l) continue;
    drop_qp(*l);
    if (l->ah) ibv_destroy_ah(l->ah);
  }
  links_.clear();
  asking_.clear();
  close_notes();
  calls_.close();
  watched_.close();
  wake_.close();
}

void connection_manager::run() noexcept {
  for (;;) {
    int timeout;
    {
      const std::lock_guard lock{mutex_};
      if (stop_) return;
      timeout = until_next();
    }
    watched_.wait(timeout, [this](void* what) {
      if (what == &wake_) {
        eventfd_t ignored;
        ::eventfd_read(wake_.get(), &ignored);
        return;
      }
      if (what == &at_) {  // the device
        while (read_async_event()) {}
        return;
      }
      const std::lock_guard lock{mutex_};
      if (what == channel_) poll_notes();
      else if (what == &calls_) answer_calls();
      else look_at(*static_cast<link*>(what));
    });
    const std::lock_guard lock{mutex_};
    ask_again();
    if (!port_trouble_.empty() && lost_.empty() && clock::now() >= port_troubled_ + port_grace) look_at_port();
  }
}

// An event must be acknowledged before its queue pair can be destroyed, which the owner may be about to do under the
// mutex: hence first that, and then the mutex. In between the queue pair may be destroyed and another made in its place, at
// the same address, which the event does not mean: the two differ by number, and until the acknowledgement it can be read.
bool connection_manager::read_async_event() noexcept {
  ibv_async_event told{};
  if (ibv_get_async_event(at_.device->context.get(), &told) != 0) return false;
  switch (told.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR: {
      const ibv_qp* const qp = told.element.qp;
      const std::uint32_t number = qp->qp_num;
      ibv_ack_async_event(&told);
      const std::lock_guard lock{mutex_};
      for (const auto& l : links_)
        if (l && l->qp == qp && l->qp->qp_num == number) tell(*l, event::kind::broken);
      return true;
    }
    default: ibv_ack_async_event(&told);
  }
  const std::string& device = at_.device->where.device;
  const std::lock_guard lock{mutex_};
  switch (told.event_type) {
    case IBV_EVENT_SRQ_LIMIT_REACHED: at_.in->refill_from_event(); break;
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_GID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE: look_at_port(); break;
    // Of a queue that has failed no entry comes any more, so that nothing that is under way would ever end.
    case IBV_EVENT_CQ_ERR: lose(sentence([&] { return "a completion queue of " + device + " has failed"; })); break;
    case IBV_EVENT_SRQ_ERR: lose(sentence([&] { return "the shared receive queue of " + device + " has failed"; })); break;
    case IBV_EVENT_DEVICE_FATAL: lose(sentence([&] { return device + " has failed or was removed"; })); break;
    default: break;
  }
  return true;
}

// Nobody can be reached by this adapter any more: once, since peers that were given up stay so.
void connection_manager::lose(std::string why) noexcept {
  if (!lost_.empty()) return;
  lost_ = std::move(why);
  calls_.close();  // those who have not met me will not
  tell({}, event::kind::device_lost);
}

// What keeps this port from being reached where its peers look for it: they were told one LID and one GID, once. Either may
// be taken away and given back, as a link may go down for a moment, so there is a grace, in which adapters repeat what is
// not acknowledged. (A P_Key that was taken away is no address: operations then fail, and say so.)
std::string connection_manager::port_trouble() const {
  const adapter& a = *at_.device;
  ibv_port_attr port{};
  if (ibv_query_port(a.context.get(), static_cast<std::uint8_t>(a.where.port), &port) != 0 || port.state < IBV_PORT_ACTIVE)
    return a.text() + " is down";
  if (!a.where.ethernet && port.lid != a.port.lid)
    return a.text() + " has LID " + std::to_string(port.lid) + " now, where peers know it by " + std::to_string(a.port.lid);
  ibv_gid gid{};
  if (ibv_query_gid(a.context.get(), static_cast<std::uint8_t>(a.where.port), a.where.gid_index, &gid) != 0 ||
      std::memcmp(gid.raw, a.where.gid.raw, sizeof gid.raw) != 0)
    return a.text() + " has another GID " + std::to_string(a.where.gid_index) +
           " than peers know: was the address of its network interface changed?";
  return {};
}

void connection_manager::look_at_port() noexcept {
  if (port_trouble_.empty()) port_troubled_ = clock::now();
  port_trouble_ = sentence([&] { return port_trouble(); });
  if (!port_trouble_.empty() && clock::now() - port_troubled_ >= port_grace) lose(sentence([&] { return port_trouble_; }));
}

// A driver that can take a device away from its users tells so by an event. One that cannot (soft-RoCE) waits for them to
// go, with the device halfway gone: it serves nobody any longer, and is no longer listed.
void connection_manager::check_device() noexcept {
  if (!lost_.empty() || !in_sysfs_ || ::access(at_.device->context->device->dev_path, F_OK) == 0) return;
  lose(sentence([&] { return at_.device->where.device + " has failed or was removed"; }));
}

void connection_manager::look_at_device() noexcept {
  const std::lock_guard lock{mutex_};
  if (clock::now() - looked_ < between_looks) return;
  looked_ = clock::now();
  check_device();
}

std::string connection_manager::device_trouble() noexcept {
  const std::lock_guard lock{mutex_};
  check_device();
  if (lost_.empty()) look_at_port();
  if (!port_trouble_.empty()) wake_thread();  // for the end of the grace
  const std::string& why = lost_.empty() ? port_trouble_ : lost_;
  return sentence([&] { return why.empty() ? why : "; " + why; });
}

// --- asking until there is an answer ---------------------------------------------------------------------------------
void connection_manager::begin_asking(link& l) noexcept {
  if (l.asking || l.gone) return;
  l.asking = true;
  l.since = l.next = clock::now();
  l.interval = first_interval;
  hang_up(l);
  asking_.push_back(&l);  // reserved by link_to()
  ask_again();
  wake_thread();  // it may sleep without an end
}

void connection_manager::wake_thread() noexcept { ::eventfd_write(wake_.get(), 1); }

int connection_manager::until_next() noexcept {
  const bool troubled = !port_trouble_.empty() && lost_.empty();
  if (asking_.empty() && !troubled) return -1;
  auto first = troubled ? port_troubled_ + port_grace : asking_.front()->next;
  for (const link* l : asking_) first = std::min(first, l->next);
  return static_cast<int>(std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(first - clock::now()).count()));
}

void connection_manager::ask_again() noexcept {
  const auto now = clock::now();
  for (std::size_t i = 0; i < asking_.size();) {
    link& l = *asking_[i];
    if (now >= l.next) give_up_on_silent(l);
    const bool connecting = l.wanted && !l.confirmed;
    if (l.gone || (!connecting && !l.watched)) {
      l.asking = false;
      asking_[i] = asking_.back();
      asking_.pop_back();
      continue;
    }
    if (now >= l.next) {
      send(l, connecting && l.qp && !l.stale ? note_kind::hello : note_kind::ping);
      l.next = now + l.interval;
      l.interval = std::min<std::chrono::milliseconds>(2 * l.interval, longest_interval);
      ++l.asked;
    }
    ++i;
  }
}

// --- the owner's side ------------------------------------------------------------------------------------------------
void connection_manager::meet(shared_blobs addresses) noexcept {
  const std::lock_guard lock{mutex_};
  addresses_ = std::move(addresses);
}

status connection_manager::want(rank_t rank) noexcept {
  const std::lock_guard lock{mutex_};
  link* l = link_to(rank);
  if (!l) return {errc::no_resource, "no memory for a connection", rank};
  if (l->gone || l->confirmed || (l->wanted && l->asking)) return {};
  if (!l->qp && !l->stale)
    if (status s = make_qp(*l); s.failed()) return s;
  if (rank == at_.rank) {
    address_blob mine;
    if (!address_of(rank, mine)) return {};
    l->their_life = l->life;
    if (status s = connect_qp(*l, l->qp->qp_num, l->psn, mine); s.failed()) return s;
    l->connected = l->confirmed = true;
    tell(*l, event::kind::connected);
    return {};
  }
  l->wanted = true;
  begin_asking(*l);
  return {};
}

void connection_manager::look_after(rank_t rank) noexcept {
  const std::lock_guard lock{mutex_};
  link* l = link_to(rank);
  if (!l || l->gone || l->asking || l->confirmed || rank == at_.rank || clock::now() - l->since < between_looks) return;
  l->watched = true;
  begin_asking(*l);
}

void connection_manager::forget(rank_t rank, std::uint32_t number) noexcept {
  const std::lock_guard lock{mutex_};
  link* l = link_to(rank);
  if (!l || (number != any_pair && l->qp && l->qp->qp_num != number)) return;
  drop_qp(*l);
  if (!std::exchange(l->has_waiting, false) || l->gone) return;
  hear_hello(*l, l->waiting);
}

void connection_manager::confess(rank_t rank) noexcept {
  {
    const std::lock_guard lock{mutex_};
    link* l = link_to(rank);
    if (!l || rank == at_.rank) return;
    l->lost = true;
  }
  want(rank);
}

bool connection_manager::stands(rank_t rank, std::uint32_t number) noexcept {
  const std::lock_guard lock{mutex_};
  const link* l = links_[rank].get();
  return l && l->qp && l->qp->qp_num == number;
}

void connection_manager::owner_sleeps() noexcept {
  const std::lock_guard lock{mutex_};
  owner_sleeps_ = true;
}

bool connection_manager::process_lives(rank_t rank) noexcept {
  const std::lock_guard lock{mutex_};
  const link* l = links_[rank].get();
  return l && l->process && !l->ended;
}

void connection_manager::say_bye() noexcept {
  const std::lock_guard lock{mutex_};
  for (auto& l : links_)
    if (l && l->ah && !l->gone) send(*l, note_kind::bye);
}

void connection_manager::take_events(std::vector<event>& out) noexcept {
  const std::lock_guard lock{mutex_};
  out.swap(events_);
  events_.clear();
  has_events_.store(false, std::memory_order_release);
}

void connection_manager::tell(const link& l, event::kind what) noexcept {
  try {
    events_.push_back({l.rank, what, l.confirmed, l.sleeps, l.told, l.qp, l.qp ? l.qp->qp_num : any_pair});
  } catch (...) {
    return;  // no memory for it
  }
  has_events_.store(true, std::memory_order_release);
  ::eventfd_write(at_.notify_fd, 1);
}

// Nothing will come of this peer any more.
void connection_manager::end(link& l, event::kind how) noexcept {
  if (l.gone) return;
  l.gone = true;
  l.ended = how == event::kind::ended;
  watched_.remove(l.process.fd());
  hang_up(l);
  tell(l, how);
}

void connection_manager::watch_process(link& l, const address_blob& a) noexcept {
  if (a.host != at_.host || a.pid == ::getpid() || l.process) return;
  if (l.process.open(a.pid) == process_watch::found::ended) return end(l, event::kind::ended);
  if (l.process) watched_.add(l.process.fd(), &l);  // where it cannot be watched, its host has to tell
}

}  // namespace tutti::verbs

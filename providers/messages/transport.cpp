#include "providers/messages/transport.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tutti::messages {
namespace {

constexpr std::uint32_t max_slices = 64;
// Between looks at the processes of peers, which cost a system call.
constexpr std::uint32_t operations_between_looks = 1024, turns_between_looks = 1024;

status cannot_wait(int error) {
  return {errc::no_resource, worded("no descriptor to wait by: ", std::strerror(error)), no_rank, error};
}

}  // namespace

// --- opening and closing -------------------------------------------------------------------------------------------------

result<std::unique_ptr<transport>> message_transport::open(const open_params& p, std::unique_ptr<link> l) {
  try {
    std::unique_ptr<message_transport> net{new message_transport};
    if (status s = net->start(p, std::move(l)); s.failed()) return s;
    return std::unique_ptr<transport>{std::move(net)};
  } catch (const std::bad_alloc&) {
    return status{errc::no_resource, "no memory for a transport by messages"};
  }
}

status message_transport::start(const open_params& p, std::unique_ptr<link> l) {
  rank_ = p.rank, size_ = p.size;
  if (!known(this_host())) return unknown_host();
  if (status s = net_.open(p, std::move(l)); s.failed()) return s;
  const link_traits& traits = net_.traits();
  const int fd = net_.line().fd();
  caps_ = traits.caps;
  caps_.max_bytes = max_bytes, caps_.max_inline = max_inline, caps_.max_slices = max_slices;
  caps_.cpu_atomics_agree = true;  // atomics are those of the target's CPU
  caps_.can_sleep = fd >= 0;
  one_sided* const reach = net_.line().reach();
  if (!reach) caps_.message_bytes = traits.piece_bytes;
  regions_.open(reach, traits.shared_memory);
  if (!sleep_.open() || (fd >= 0 && !sleep_.add(fd, nullptr))) return cannot_wait(errno);
  if (!traits.only_this_host) {
    ip_.emplace([this] { return progress(); }, [this](rank_t r) { return health(r); }, p);
    if (ip_->why_not().code() == errc::invalid) return ip_->why_not();  // the user's choice is none; nobody would hear of it later
    if (ip_->wait_fd() >= 0 && !sleep_.add(ip_->wait_fd(), nullptr)) return cannot_wait(errno);
  }
  return doze_.open(regions_, traits.shared_memory || (reach && reach->alone()));
}

message_transport::~message_transport() {
  if (sleep_.armed()) disarm();
  net_.close();
  regions_.close();
}

result<std::vector<std::byte>> message_transport::address() {
  auto own = net_.line().address();
  if (!own) return own.error();
  address_head head;
  head.pid = ::getpid(), head.host = this_host(), head.line = net_.peers().liveness_place();
  head.link_bytes = static_cast<std::uint32_t>(own->size());
  const region* doze = regions_.find(doze_.where());
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
  if (status s = net_.peers().connect(addresses); s.failed() || !ip_) return s;
  blob_table multicast_addresses;
  for (rank_t r = 0; r < size_; ++r) multicast_addresses.push_back(read_address((*addresses)[r])->multicast);
  return ip_->connect(multicast_addresses);
}

bool message_transport::reaches(rank_t rank) const noexcept {
  return rank < size_ && (rank == rank_ || !net_.traits().only_this_host || net_.peers().same_host(rank));
}

// --- memory --------------------------------------------------------------------------------------------------------------

result<segment_id> message_transport::attach(const rank_map& members, shared_blobs keys) {
  return net_.members().attach(members, std::move(keys), size_, net_.traits().name);
}

void message_transport::drop(region_id id) noexcept {
  const region* r = regions_.find(id);
  if (!r) return;
  net_.end_puts_from(id, !r->allocated());
  net_.members().forget_region(id);
  regions_.drop(id, net_.in_use());
}

// A peer that is gone by the kernel's word, or by its own, is in no agreement, or had completed all before. One whose connection was
// lost may live, and its last messages lie in the library's hands for good.
void message_transport::at_rest(bool on) noexcept {
  const auto lost = [](const peer* p) {
    return p->life.by() != told_by::nobody && p->life.by() != told_by::its_process && p->life.by() != told_by::itself;
  };
  regions_.at_rest(on && std::ranges::none_of(net_.peers().opened(), lost));
}

// --- operations ----------------------------------------------------------------------------------------------------------

// Stores into the memory of a dead process succeed, so that one who only stores would never call progress().
void message_transport::look_when_due(std::size_t submitted) noexcept {
  submitted_ += static_cast<std::uint32_t>(submitted);
  if (submitted_ < operations_between_looks) return;
  submitted_ = 0;
  net_.peers().look_for_deaths();
}

std::size_t message_transport::submit(std::span<const rma_op> ops) noexcept {
  look_when_due(ops.size());
  std::size_t taken = 0;
  while (taken < ops.size() && net_.ops().take(ops[taken])) ++taken;
  // An operation upon this rank itself, or a completion, between arm() and sleep() must end that sleep.
  if (sleep_.armed() && taken) end_sleep();
  return taken;
}

bool message_transport::flush(rank_t rank, completion* done) noexcept {
  const bool taken = net_.ops().flush(rank, done);
  if (sleep_.armed() && taken) end_sleep();
  return taken;
}

// As above: opening a connection may have let a message in, or this rank has sent itself one.
bool message_transport::two_sided_calls::send(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept {
  t_.look_when_due(1);
  const bool taken = t_.net_.two_sided().send(to, header, payload);
  if (t_.sleep_.armed() && taken) t_.end_sleep();
  return taken;
}

// What the caller had in its hands is released, of which a message may tell its origin.
bool message_transport::two_sided_calls::receive(message& out) noexcept {
  if (t_.sleep_.armed() && t_.net_.two_sided().holds_one()) t_.end_sleep();
  return t_.net_.two_sided().receive(out);
}

unsigned message_transport::progress() noexcept {
  const bool look = sleep_.armed_for_fd() || ++turns_ % turns_between_looks == 0;
  disarm();
  unsigned events = net_.progress(look);
  if (ip_) events += ip_->progress();
  if (!net_.in_use() && regions_.holds_dropped()) regions_.release_dropped();
  return events;
}

status message_transport::health(rank_t rank) noexcept {
  if (rank == rank_) return {};
  peer* p = net_.peers().of(rank);
  if (!p) return {errc::no_resource, "no memory for a peer", rank};
  if (p->alive()) {
    net_.peers().watch(*p);
    progress();
    if (p->alive() && (p->process || p->liveness)) net_.peers().look_for_deaths();
  }
  return p->life.end();
}

// --- sleep ---------------------------------------------------------------------------------------------------------------

// An odd doze word asks peers that store into my memory for a bell; the link's own arming covers all that comes as messages.
bool message_transport::arm_all() noexcept {
  if (sleep_.armed()) return true;
  if (!net_.may_sleep() || (ip_ && !ip_->arm())) return false;
  doze_.fall_asleep();
  if (!net_.line().arm()) {
    doze_.wake_up();
    return false;
  }
  sleep_.arm();
  return true;
}

bool message_transport::arm_fd() noexcept {
  if (!arm_all()) return false;
  sleep_.arm_fd([this] { return patience(); });
  return true;
}

std::chrono::nanoseconds message_transport::patience() const noexcept {
  return woken_ ? std::chrono::nanoseconds{1} : net_.longest_sleep();
}

// For what this rank does itself between arm() and sleep(): no library wakes it up for that.
void message_transport::end_sleep() noexcept {
  woken_ = true;
  sleep_.reset_alarm(patience());
}

void message_transport::disarm() noexcept {
  if (!sleep_.disarm()) return;
  woken_ = false;
  doze_.wake_up();
}

void message_transport::sleep(armed, time_point deadline) noexcept {
  if (!sleep_.armed()) return;
  if (sleep_.sleep(std::min<std::chrono::nanoseconds>(deadline - now(), patience()))) net_.peers().look_for_deaths();
  net_.look_for_silence();
  disarm();
}

}  // namespace tutti::messages

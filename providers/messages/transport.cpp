// Opening and closing.
#include "providers/messages/transport.h"

#include <cerrno>
#include <cstring>

#include "core/base/host.h"

namespace tutti::messages {
namespace {

status cannot_wait(int error) {
  return {errc::no_resource, std::string{"no descriptor to wait by: "} + std::strerror(error), no_rank, error};
}

}  // namespace

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
  rank_ = p.rank, size_ = p.size, key_ = p.key, notice_ = p.notice, host_ = this_host();
  if (!known(host_)) return unknown_host();
  traits_ = l->traits();
  traits_.caps.max_bytes = max_bytes;
  traits_.caps.max_inline = max_inline;
  traits_.caps.max_slices = max_slices;
  traits_.caps.cpu_atomics_agree = true;  // atomics are those of the target's CPU
  peers_.resize(size_);

  frames_.open();
  if (status started = l->start(*this); started.failed()) return started;
  link_ = std::move(l);
  reach_ = link_->reach();
  alone_ = reach_ && reach_->alone();
  regions_.open(reach_, traits_.shared_memory);
  traits_.caps.can_sleep = link_->fd() >= 0;
  if (!sleep_.open() || (link_->fd() >= 0 && !sleep_.add(link_->fd(), nullptr))) return cannot_wait(errno);

  if (!traits_.only_this_host) {
    if (!traits_.tells_losses && !p.one_host) liveness_.listen(size_, link_->ip_address());
    ip_.emplace([this] { return progress(); }, [this](rank_t r) { return health(r); }, p);
    if (ip_->why_not().code() == errc::invalid) return ip_->why_not();  // the user's choice is none; nobody would hear of it later
    if (ip_->wait_fd() >= 0 && !sleep_.add(ip_->wait_fd(), nullptr)) return cannot_wait(errno);
  }

  doze_ = &doze_alone_;
  if (!traits_.shared_memory && !alone_) return {};
  std::span<std::byte> word;
  auto region = allocate(64, word);
  if (!region) return region.error();
  doze_region_ = *region;
  doze_ = reinterpret_cast<std::uint64_t*>(word.data());
  return {};
}

// Memory goes after all that may touch it: peers' operations by key reach this rank's regions without its program, and
// this rank's own ones, of which some may be under way for good, read and fill them. Regions are where they were until the
// link has let go. The link itself goes last, since it holds what the library knows of them.
message_transport::~message_transport() {
  if (link_ && !say_goodbye()) link_->abandon();
  for (auto& p : peers_)
    if (p) forget_keys(*p);
  segments_.drop_all([this](rank_t r, member& m) { release(m, r); });
  for (auto& p : peers_) {
    if (!p) continue;
    unmap(p->doze_page);
    close_watches(*p);
  }
  if (link_) link_->let_go();
  regions_.close();
  link_.reset();
}

}  // namespace tutti::messages

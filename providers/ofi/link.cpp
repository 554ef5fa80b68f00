// Opening the endpoint, its buffers, and what is sent from them.
#include "providers/ofi/link.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "providers/ofi/quirks.h"

namespace tutti::ofi {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::uint32_t longest_inject = 4096;

messages::link_traits describe(const fi_info& info, bool can_wait, bool alone) {
  messages::link_traits t;
  t.name = "libfabric";
  t.only_this_host = !reaches_other_hosts(info);
  const std::size_t longest = quirks::answers_in_order(info) ? std::min<std::size_t>(buffer_bytes, info.tx_attr->inject_size) : buffer_bytes;
  t.piece_bytes = static_cast<std::uint32_t>(longest - sizeof(message));
  t.keeps = false;
  t.tells_losses = false;
  t.reorders = true;
  t.forgeable = is_udp(info);
  if (!can_wait) t.longest_sleep_alone = t.longest_sleep = 100us;
  else if (alone) t.longest_sleep = 5ms;  // the bell for a signal by key comes when its origin next drives libfabric

  capabilities& c = t.caps;
  c.native_signal = c.native_when_added = alone;
  // An adapter keeps pages, and asks for registration of all memory. Else this process loads and stores, in its progress or in a
  // thread of libfabric's.
  c.follows_mapping = !alone || !(info.domain_attr->mr_mode & (FI_MR_LOCAL | FI_MR_ALLOCATED));
  if (!c.follows_mapping) c.registering = registered_with_an_adapter;
  c.target_must_progress = !alone;
  c.cost = t.only_this_host ? loggp{2, 0.5, 0.5, 4} : loggp{6, 1, 1, 2};
  return t;
}

}  // namespace

result<std::unique_ptr<messages::link>> ofi_link::open(std::string_view device) {
  by_keys how = by_keys::alone;
  auto made = make(device, true, how);
  for (const by_keys less : {by_keys::driven, by_keys::nothing})
    if (!made && made.error().code() == errc::unsupported) made = make(device, true, how = less);
  // A descriptor that serves no purpose costs system calls all the same.
  if (made && (*made)->ofi_.wait_fd < 0) made = make(device, false, how);
  if (!made) return made.error();
  if (const status s = (*made)->add_deferred_work(); s.failed()) return s;
  return std::unique_ptr<link>{std::move(*made)};
}

// By messages alone, which show as well what its threads do.
status ofi_link::worth_taking(std::string_view device) {
  const own_threads threads;
  const auto made = make(device, true, by_keys::nothing);
  return made ? (*made)->oversubscribes(threads) : made.error();
}

// Unsupported: its remote keys cannot do that.
result<std::unique_ptr<ofi_link>> ofi_link::make(std::string_view device, bool waits, by_keys how) {
  std::unique_ptr<ofi_link> made{new ofi_link};
  auto opened = open_device(device, waits, how);
  if (!opened) return opened.error();
  made->ofi_ = std::move(*opened);
  if (const status s = made->make_buffers(); s.failed()) return s;
  if (const status s = made->try_messages(); s.failed()) return s;
  if (how != by_keys::nothing) {
    made->reach_ = std::make_unique<remote_memory>(made->ofi_);
    if (const status s = made->reach_->open(); s.failed()) return s;
    const auto message = [&link = *made] { return link.message_to_itself(false); };
    const status tried = how == by_keys::alone ? made->reach_->try_alone(made->self_) : made->reach_->try_before(made->self_, message);
    if (tried.failed()) return tried;
  }
  made->traits_ = describe(*made->ofi_.info, made->ofi_.wait_fd >= 0, how == by_keys::alone);
  return made;
}

// And registrations before the domain.
ofi_link::~ofi_link() {
  if (both_fds_ >= 0) ::close(both_fds_);
  let_go();
  reach_.reset();
  registered_.reset();
  for (const auto& address : dead_) quirks::remove_file_of_dead(address);
}

// Most providers cannot, which libfabric says at once. Without a descriptor of the endpoint's own, ranks nap, and see by
// themselves that an epoch has finished.
status ofi_link::add_deferred_work() {
  auto can = schedule_runner::open(ofi_.info->fabric_attr->prov_name);
  if (!can) return {};
  deferred_ = std::move(*can);
  if (ofi_.wait_fd < 0) return {};
  both_fds_ = ::epoll_create1(EPOLL_CLOEXEC);
  for (const int fd : {ofi_.wait_fd, deferred_->wait_fd()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (both_fds_ < 0 || ::epoll_ctl(both_fds_, EPOLL_CTL_ADD, fd, &event) != 0)
      return {errc::no_resource, "no file descriptor for waiting", no_rank, errno};
  }
  return {};
}

status ofi_link::make_buffers() {
  const fi_info& info = *ofi_.info;
  usual_window_ = quirks::usual_window(info);
  const std::size_t injected = std::min<std::size_t>(info.tx_attr->inject_size, longest_inject);
  inject_bytes_ = usual_window_.moves() ? 0 : static_cast<std::uint32_t>(injected);
  constexpr std::size_t count = receive_buffers + send_buffers;
  memory_ = std::make_unique_for_overwrite<std::byte[]>(count * buffer_bytes);
  buffers_ = std::make_unique<buffer[]>(count);
  if (info.domain_attr->mr_mode & FI_MR_LOCAL) {
    fid_mr* mr = nullptr;
    const int e = fi_mr_reg(ofi_.domain.get(), memory_.get(), count * buffer_bytes, FI_SEND | FI_RECV, 0, 0, 0, &mr, nullptr);
    if (e != 0) return vendor_error(e, "registering message buffers");
    registered_.reset(mr);
    descriptor_ = fi_mr_desc(mr);
  }
  for (std::size_t i = 0; i < count; ++i) {
    buffer& b = buffers_[i];
    b.data = memory_.get() + i * buffer_bytes;
    b.what = i < receive_buffers ? asked::receive : asked::send;
    buffer*& list = b.what == asked::receive ? unposted_ : free_;
    b.next = list;
    list = &b;
  }
  return {};
}

status ofi_link::start(messenger& net) {
  net_ = &net;
  if (reach_) reach_->start(net);
  repost();
  return {};
}

result<std::vector<std::byte>> ofi_link::address() {
  std::vector<std::byte> name(256);
  std::size_t bytes = name.size();
  if (const int e = fi_getname(&ofi_.endpoint->fid, name.data(), &bytes); e != 0) return vendor_error(e, "fi_getname");
  name.resize(bytes);
  return name;
}

std::uint32_t ofi_link::ip_address() const noexcept {
  sockaddr_in name{};
  std::size_t bytes = sizeof name;
  if (fi_getname(&ofi_.endpoint->fid, &name, &bytes) != 0 || bytes != sizeof name || name.sin_family != AF_INET) return 0;
  return ntohl(name.sin_addr.s_addr);
}

status ofi_link::open(peer& p, std::span<const std::byte> address) noexcept {
  const auto made = connections_.add(p.rank);
  if (!made) return made.error();
  connection* const line = *made;
  line->window = usual_window_;
  const int n = fi_av_insert(ofi_.addresses.get(), address.data(), 1, &line->address, 0, nullptr);
  if (n != 1) return vendor_error(n < 0 ? n : FI_EADDRNOTAVAIL, "fi_av_insert", p.rank);
  p.line = line;
  return {};
}

// The endpoint is everyone's; libfabric drops what it has for one peer when the endpoint goes.
void ofi_link::close(peer& p) noexcept {
  if (reach_) reach_->closed(*static_cast<connection*>(p.line));
  p.line = nullptr;
}

void ofi_link::peer_died(std::span<const std::byte> address) noexcept {
  try {
    dead_.emplace_back(address.begin(), address.end());
  } catch (const std::bad_alloc&) {  // its file stays
  }
}

// A goodbye is never injected: it is the last message, and its completion tells that all before it have gone out. Where signals
// go by message alone, none overtakes a write that libfabric has not taken yet (remote_memory.h).
sending ofi_link::send(peer& p, const message& head, const std::byte* payload, std::uint32_t bytes, bool) noexcept {
  connection& line = *static_cast<connection*>(p.line);
  if (line.head && !reach_->alone()) return sending::full;
  const fi_addr_t to = line.address;
  const std::size_t total = sizeof head + bytes;
  const auto fill = [&](std::byte* at) {
    std::memcpy(at, &head, sizeof head);
    if (bytes) std::memcpy(at + sizeof head, payload, bytes);
  };
  ssize_t e = 0;
  buffer* b = nullptr;
  if (total <= inject_bytes_ && head.kind != messages::message_kind::bye) {
    if (bytes == 0) {
      e = fi_inject(ofi_.endpoint.get(), &head, sizeof head, to);
    } else {
      std::byte together[longest_inject];
      fill(together);
      e = fi_inject(ofi_.endpoint.get(), together, total, to);
    }
  } else {
    b = line.sending < line.window.messages() ? free_ : nullptr;
    if (!b) return sending::full;
    fill(b->data);
    e = fi_send(ofi_.endpoint.get(), b->data, total, descriptor_, to, &b->context);
    if (e == 0) {
      free_ = b->next;
      b->next = nullptr, b->to = &p, b->line = &line;
      if (line.window.moves()) b->sent = clock::now();
      ++line.sending;
      ++sending_;
    }
  }
  if (e == 0) return sending::taken;
  if (e == -FI_EAGAIN) return sending::full;
  net_->suspect(p, vendor_error(e, "sending", p.rank));
  return sending::failed;
}

void ofi_link::push_out(own_time longest) noexcept {
  while (sending_ && !longest.over(clock::now()))
    if (!net_->progress()) ::usleep(50);
}

// Until its endpoint is closed a provider may write into receive buffers, and one with a thread of its own into any memory
// (quirks.h, late copies). Memory that is bound to the endpoint keeps it from being closed, and has to be let go first; providers
// that bind it have an adapter, and no thread.
void ofi_link::let_go() noexcept {
  if (reach_) reach_->unbind();
  ofi_.endpoint.reset();
}

bool ofi_link::settle(own_time longest) noexcept {
  if (reach_) reach_->progress();
  constexpr auto quiet = quirks::quiet_before_closing;
  for (own_time rest{quiet, clock::now()}; !longest.over(clock::now()) && !rest.over(clock::now());)
    if (progress()) rest = {quiet, clock::now()};
    else ::usleep(50);
  return true;
}

}  // namespace tutti::ofi

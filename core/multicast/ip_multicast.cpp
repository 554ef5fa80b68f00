#include "core/multicast/ip_multicast.h"

#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "core/transport/first_death.h"
#include "core/base/another_version.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/transport/multicast.h"

namespace tutti {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t most_groups = 64;
constexpr double prior_latency_us = 5;  // two system calls and the kernel's way between them
// The check and the kernel's copies, at either end; and each datagram's way through it. Between namespaces on one machine
// 94 datagrams of 1.4 KiB took 2100 us to two hosts, and over loopback 64 of 16 KiB 1200 us to one other rank.
constexpr double prior_bytes_per_ns = 1, prior_datagram_ns = 10'000;
constexpr std::uint32_t udp_head_bytes = 28;  // with IP's
// On loopback, where an MTU is 64 KiB: smaller ones fill a receiver's buffer more evenly.
constexpr std::uint32_t longest_payload = 16 << 10;
constexpr std::uint32_t buffer_bytes_for(std::uint32_t payload) { return 2 * payload + 1024; }  // the kernel's own share

constexpr int addresses_to_try = 16;

// join(): how long it asks, and what convinces it that multicast is filtered.
constexpr std::chrono::milliseconds longest_asking = 8s, least_asking = 500ms, first_pause = 2ms, longest_pause = 50ms;
constexpr std::uint32_t answers_without_hello = 16;
constexpr std::chrono::milliseconds between_health = 50ms;
// How long the creator listens for those who join: they must have begun within the set-up's time limit.
constexpr auto longest_answering = 120s;
constexpr std::uint32_t turns_between_looks = 16;  // at the sockets for probes: a system call each

constexpr std::uint32_t most_taken_at_once = 64;  // outsiders' datagrams in one receive()

template <class T>
std::span<std::byte> bytes_of(T& value) noexcept {
  return std::as_writable_bytes(std::span{&value, 1});
}

}  // namespace

struct ip_multicast::group {
  std::uint64_t name = 0;
  siphash_key key{};
  rank_map members;
  ip_endpoint address;
  ip_socket listens, talks;
  std::vector<std::byte> room;           // the datagram received last
  std::uint64_t found_empty = 0;         // looks_ at which nothing was there
  std::uint32_t to_hear = 0;             // creator: members whose `heard` has not come
  std::vector<bool> heard;               // creator: by index
  time_point answers_until{};            // creator
};

ip_multicast::ip_multicast(std::function<unsigned()> drive, std::function<status(rank_t)> health, const open_params& p)
    : drive_(std::move(drive)), health_(std::move(health)), job_(hash::text(p.job_id)), rank_(p.rank), hops_(p.multicast_ttl) {
  interfaces_ = ip_interfaces();
  if (p.multicast_interface == "none") {
    why_not_ = {errc::unsupported, "multicast is switched off by TUTTI_MULTICAST_INTERFACE=none"};
  } else if (!p.multicast_interface.empty()) {
    if (auto i = find_ip_interface(p.multicast_interface)) {
      forced_ = *i;
      interfaces_ = {*i};
    } else {
      why_not_ = i.error().during("TUTTI_MULTICAST_INTERFACE");
    }
  } else if (interfaces_.empty()) {
    why_not_ = {errc::unsupported, "no IPv4 interface of this host is up and can multicast; `ip link set lo up` would "
                                   "do within a host"};
  }
  here_ = place_of_this_process(interfaces_);
  if (why_not_.ok() && !poll_.open())
    why_not_ = {errc::no_resource, worded("no descriptor to wait for multicast by: ", std::strerror(errno)),
                no_rank, errno};
  if (why_not_.failed()) here_.count = 0;
}

ip_multicast::~ip_multicast() = default;

std::vector<std::byte> ip_multicast::address() const {
  const auto bytes = std::as_bytes(std::span{&here_, 1});
  return {bytes.begin(), bytes.end()};
}

status ip_multicast::connect(const blob_table& addresses) {
  places_.resize(addresses.size());
  for (std::size_t r = 0; r < addresses.size(); ++r) {
    if (addresses[r].size() == sizeof here_) std::memcpy(bytes_of(places_[r]).data(), addresses[r].data(), sizeof here_);
    if (addresses[r].size() != sizeof here_ || places_[r].version != ip_place::current ||
        places_[r].count > places_[r].at.size())
      return another_version(static_cast<rank_t>(r));
    if (places_[r].count == 0 && why_not_.ok())
      why_not_ = {errc::unsupported, worded("rank ", r, " cannot multicast: its TUTTI_MULTICAST_INTERFACE is none, "
                                      "or its host has no IPv4 interface that is up"),
                  static_cast<rank_t>(r)};
  }
  if (why_not_.failed()) return {};
  // Fragments would be lost together, so a datagram fits the interface that all ranks' groups use.
  const auto through = interface_for(rank_map::strided(0, static_cast<std::uint32_t>(places_.size())));
  const std::uint32_t mtu = through ? through->mtu : 1500;
  max_payload_ = std::min(longest_payload, std::max(mtu, 576u) - udp_head_bytes - std::uint32_t{sizeof(datagram_head)});
  depth_ = std::max(1u, ip_socket::receive_buffer() / buffer_bytes_for(max_payload_));
  return {};
}

multicast::limits ip_multicast::query() const noexcept {
  const double full = max_payload_;
  return {max_payload_, most_groups, depth_, prior_latency_us, full / (prior_datagram_ns + full / prior_bytes_per_ns)};
}

ip_multicast::group* ip_multicast::at(group_id id) noexcept {
  const auto i = static_cast<std::size_t>(id);
  return i < groups_.size() ? groups_[i].get() : nullptr;
}

result<ip_interface> ip_multicast::interface_for(const rank_map& members) const {
  if (forced_) return *forced_;
  std::vector<const ip_place*> peers;
  for (std::uint32_t i = 0; i < members.size(); ++i)
    if (members[i] != rank_) peers.push_back(&places_[members[i]]);
  return interface_to(interfaces_, here_, peers);
}

result<multicast::group_id> ip_multicast::enter(std::unique_ptr<group> g) {
  for (const ip_socket* s : {&g->listens, &g->talks})
    if (!poll_.add(s->fd(), nullptr, EPOLLIN | EPOLLET))
      return status{errc::no_resource, worded("waiting for a multicast group: epoll: ", std::strerror(errno)),
                    no_rank, errno};
  g->room.resize(std::size_t{64} << 10);
  const auto free = std::find(groups_.begin(), groups_.end(), nullptr);
  const auto id = static_cast<std::uint32_t>(free - groups_.begin());
  if (free == groups_.end()) groups_.push_back(std::move(g));
  else *free = std::move(g);
  return group_id{id};
}

status ip_multicast::ready() const {
  if (why_not_.failed()) return why_not_;
  if (deaf_.failed()) return deaf_;
  if (places_.empty()) return {errc::invalid, "multicast groups are formed after connect()"};
  const auto joined = std::count_if(groups_.begin(), groups_.end(), [](const auto& g) { return g != nullptr; });
  if (joined >= most_groups)
    return {errc::no_resource, worded(most_groups, " multicast groups are joined; leave one first")};
  return {};
}

result<multicast::group_id> ip_multicast::create(const rank_map& members, std::vector<std::byte>& token, time_point) {
  if (status s = ready(); s.failed()) return s;
  auto through = interface_for(members);
  if (!through) return through.error();
  auto g = std::make_unique<group>();
  g->members = members;
  std::uint64_t number = 0;
  if (!draw(g->key) || !draw(number))
    return status{errc::no_resource, "no random key for a multicast group"};
  g->name = hash::add(hash::add(job_, rank_), number);

  // A port may be bound by a program that does not share it: then another.
  status last;
  for (int i = 0; i < addresses_to_try && g->listens.fd() < 0; ++i) {
    const std::uint64_t h = hash::add(g->name, static_cast<std::uint64_t>(i));
    g->address = {group_scope | static_cast<std::uint32_t>(h & ~group_scope_mask),
                  static_cast<std::uint16_t>(group_port_first + (h >> 16) % group_ports)};
    auto s = ip_socket::listening(g->address, *through);
    if (s) g->listens = std::move(*s);
    else if ((last = s.error()).native() != EADDRINUSE) return last;
  }
  if (g->listens.fd() < 0) return last;
  auto talks = ip_socket::talking(*through, hops_, shares_host(members));
  if (!talks) return talks.error();
  g->talks = std::move(*talks);

  ip_group_token t;
  t.creator = rank_, t.group = g->name, t.key = g->key;
  t.address = g->address.address, t.port = g->address.port;
  const ip_endpoint answers = g->talks.own();
  t.from = answers.address, t.from_port = answers.port;
  g->to_hear = members.size() - 1;
  g->heard.resize(members.size());
  g->answers_until = std::chrono::steady_clock::now() + longest_answering;
  const bool others = g->to_hear > 0;
  auto id = enter(std::move(g));
  if (!id) return id;
  to_answer_ += others;
  const auto bytes = std::as_bytes(std::span{&t, 1});
  token.assign(bytes.begin(), bytes.end());
  return id;
}

// Datagrams that this rank sends must come back to its host only where other members live there.
bool ip_multicast::shares_host(const rank_map& members) const noexcept {
  for (std::uint32_t i = 0; i < members.size(); ++i)
    if (members[i] != rank_ && places_[members[i]].network == here_.network) return true;
  return false;
}

result<multicast::group_id> ip_multicast::join(const rank_map& members, std::span<const std::byte> token,
                                               time_point deadline) {
  if (status s = ready(); s.failed()) return s;
  const auto read = read_group_token(token);
  if (!read) return status{errc::protocol, "the token is not one of an IP multicast group of this version"};
  const ip_group_token& t = *read;
  if (members.index_of(rank_) == members.size() || members.index_of(t.creator) == members.size())
    return status{errc::invalid, "this rank or the creator is no member of the multicast group"};
  const bool local = places_[t.creator].network == here_.network;
  auto through = forced_ ? result<ip_interface>{*forced_} : local ? interface_with(t.from) : interface_to(interfaces_, t.from);
  if (!through) return through.error();
  auto g = std::make_unique<group>();
  g->name = t.group, g->key = t.key, g->members = members, g->address = {t.address, t.port};
  auto listens = ip_socket::listening(g->address, *through);
  if (!listens) return listens.error();
  g->listens = std::move(*listens);
  auto talks = ip_socket::talking(*through, hops_, shares_host(members));
  if (!talks) return talks.error();
  g->talks = std::move(*talks);
  group& joined = *g;
  auto id = enter(std::move(g));
  if (!id) return id;
  if (status s = listen_for_hello(joined, {t.from, t.from_port}, t.creator, deadline); s.failed()) {
    leave(*id);
    return s;
  }
  return id;
}

// Loopback's and the host's own addresses: the kernel routes all of them by loopback.
result<ip_interface> ip_multicast::interface_with(std::uint32_t address) const {
  for (const ip_interface& i : interfaces_)
    if (i.address == address) return i;
  return status{errc::unsupported, worded("the group's creator multicasts through ", ip_text(address),
                                          ", which is no interface here")};
}

void ip_multicast::say(group& g, datagram_kind kind, ip_endpoint to, std::uint32_t tag) noexcept {
  datagram_head head;
  head.kind = kind, head.group = g.name, head.from = rank_, head.tag = tag;
  head.check = check_of(head, {}, g.key);
  g.talks.send(to, std::as_bytes(std::span{&head, 1}), {});
}

status ip_multicast::listen_for_hello(group& g, ip_endpoint creator, rank_t creator_rank, time_point deadline) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const time_point start = now(), end = std::min(deadline, start + longest_asking);
  time_point ask = start, look = start + between_health;
  std::chrono::nanoseconds pause = first_pause;
  std::uint32_t asked = 0, answers = 0;
  for (;;) {
    datagram_head head;
    ip_endpoint from;
    for (std::ptrdiff_t n; (n = g.listens.receive(g.room, from)) >= 0;) {
      if (!read_datagram(std::span{g.room}.first(static_cast<std::size_t>(n)), g.name, g.key, head)) continue;
      if (head.from != creator_rank) continue;
      say(g, datagram_kind::heard, creator, 0);
      return {};
    }
    for (std::ptrdiff_t n; (n = g.talks.receive(g.room, from)) >= 0;)
      if (read_datagram(std::span{g.room}.first(static_cast<std::size_t>(n)), g.name, g.key, head) &&
          head.kind == datagram_kind::answer)
        ++answers;
    const time_point t = now();
    if (t >= end || (answers >= answers_without_hello && t - start >= least_asking)) break;
    if (t >= look) {
      if (status dead = trouble_of(g.members, rank_, creator_rank, health_); dead.failed())
        return dead.during("joining a multicast group");
      look = t + between_health;
    }
    if (t >= ask) {
      say(g, datagram_kind::probe, creator, ++asked);
      ask = t + pause;
      pause = std::min<std::chrono::nanoseconds>(pause * 3 / 2, longest_pause);
    }
    // Others may be joining a group of mine, and peers may need this rank for anything else.
    if (drive_() != 0) continue;
    pollfd ready[2] = {{g.listens.fd(), POLLIN, 0}, {g.talks.fd(), POLLIN, 0}};
    ::poll(ready, 2, 1);
  }
  const std::string who = "rank " + std::to_string(creator_rank) + " at " + ip_text(creator.address);
  if (answers == 0) {
    if (now() >= deadline)
      return {errc::timed_out, worded("joining a multicast group: no word from ", who, " by the deadline"), creator_rank};
    return {errc::unavailable, worded("joining a multicast group: no word from ", who, ", to which ", asked,
                                      " datagrams were sent: is UDP let through? (TUTTI_MULTICAST_INTERFACE chooses the way, or none)"), creator_rank};
  }
  deaf_ = {errc::unavailable, worded("multicast of ", who, " to ", ip_text(g.address.address), " does not arrive here, though "
           "its unicast does: a switch or firewall filters it (an IGMP querier may be missing), or it is more than "
           "TUTTI_MULTICAST_TTL=", hops_, " hops away; TUTTI_MULTICAST_INTERFACE chooses another way"),
           creator_rank};
  return deaf_;
}

unsigned ip_multicast::answer_probes() noexcept {
  refused_ = false;
  if (++turns_ % turns_between_looks != 0) return 0;
  unsigned events = 0;
  for (auto& g : groups_)
    if (g && g->to_hear && answer_probes(*g)) ++events;
  return events;
}

// However many ask, one hello serves them all.
bool ip_multicast::answer_probes(group& g) noexcept {
  datagram_head head;
  ip_endpoint from;
  bool asked = false, any = false;
  std::byte room[sizeof head];
  for (std::ptrdiff_t n; (n = g.talks.receive(room, from)) >= 0;) {
    if (!read_datagram(std::span{room}.first(static_cast<std::size_t>(n)), g.name, g.key, head)) {
      ++rejected_;
      continue;
    }
    any = true;
    const std::uint32_t index = g.members.index_of(head.from);
    if (head.kind == datagram_kind::probe) {
      say(g, datagram_kind::answer, from, head.tag);
      asked = true;
    } else if (head.kind == datagram_kind::heard && index < g.heard.size() && !g.heard[index]) {
      g.heard[index] = true;
      --g.to_hear;
    }
  }
  if (asked) say(g, datagram_kind::hello, g.address, 0);
  if (g.to_hear && std::chrono::steady_clock::now() >= g.answers_until) g.to_hear = 0;
  if (g.to_hear == 0) --to_answer_;
  return any;
}

bool ip_multicast::arm() noexcept {
  ++looks_;
  if (refused_) return false;
  if (std::all_of(groups_.begin(), groups_.end(), [](const auto& g) { return !g; })) return true;
  // Takes back the edges so far: the caller looks for datagrams after this, and probes are answered here.
  for (int seen = 16; seen == 16;) {
    seen = 0;
    poll_.wait(0, [&](void*) { ++seen; });
  }
  if (to_answer_) {
    turns_ = turns_between_looks - 1;
    answer_probes();
  }
  return true;
}

bool ip_multicast::send(group_id id, std::uint32_t tag, std::span<const std::byte> payload) noexcept {
  group* g = at(id);
  if (!g) return true;  // clause 13: lost
  datagram_head head;
  head.kind = datagram_kind::data, head.group = g->name, head.from = rank_, head.tag = tag;
  head.check = check_of(head, payload, g->key);
  refused_ = g->talks.send(g->address, std::as_bytes(std::span{&head, 1}), payload) == ip_socket::outcome::full;
  return !refused_;
}

bool ip_multicast::receive(group_id id, datagram& out) noexcept {
  group* g = at(id);
  if (!g || g->found_empty == looks_) return false;
  datagram_head head;
  ip_endpoint from;
  for (std::uint32_t turn = 0; turn < most_taken_at_once; ++turn) {
    const std::ptrdiff_t n = g->listens.receive(g->room, from);
    if (n < 0) {
      g->found_empty = looks_;
      return false;
    }
    const auto bytes = std::span<const std::byte>{g->room}.first(static_cast<std::size_t>(n));
    if (!read_datagram(bytes, g->name, g->key, head)) {
      ++rejected_;
      continue;
    }
    if (head.kind != datagram_kind::data || head.from == rank_) continue;
    out = {head.from, head.tag, bytes.subspan(sizeof head)};
    return true;
  }
  return false;
}

void ip_multicast::leave(group_id id) noexcept {
  group* g = at(id);
  if (!g) return;
  if (g->to_hear) --to_answer_;
  groups_[static_cast<std::size_t>(id)].reset();  // closing a socket takes it out of the epoll
}

}  // namespace tutti

// Making an engine: the windows, and who reads whose memory in place.
#include <unistd.h>

#include <algorithm>
#include <string>

#include "bsp/engine.h"
#include "core/transport/multicast.h"
#include "core/transport/ops.h"
#include "core/transport/wait_out.h"

namespace tutti::bsp {
namespace {

// A quarter of the machine's memory, shared by the ranks of this node: buffers for two supersteps, and as much again
// for the program, in any case.
std::uint64_t usual_bound(job& j) {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const std::uint64_t all = pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)
                                                  : std::uint64_t{1} << 30;
  return all / 4 / std::max<std::uint32_t>(1, j.where().population[j.where().node_of[j.rank()]]);
}

}  // namespace

engine::engine(team& t, const engine_options& o)
    : team_(t), job_(t.parent_job()), scheme_(row_of(o.how)), layout_{t.size(), o.room}, me_(t.index()), size_(t.size()),
      outboxes_(std::make_unique<outbox[]>(size_)), peers_(std::make_unique<peer[]>(size_)),
      memory_(o.memory ? o.memory : usual_bound(job_)), puller_(job_, scheme_.scatters), placer_(areas_, queue_, *this, me_) {
  hp_bound_ = std::min(most_hp_packed, memory_.bytes() / 16 / size_);
  memory_.when_short([this] { queue_.spare(); });
  for (std::uint32_t i = 0; i < size_; ++i) peers_[i].rank = t.rank_of(i);
  const capabilities& caps = job_.net().caps();
  const std::uint64_t most_read = caps.max_bytes ? std::min(caps.max_bytes, puller::most_bytes) : puller::most_bytes;
  bulk_way_ = {caps.cost, caps.max_slices, most_read, slot_data};
}

result<std::unique_ptr<engine>> engine::open(team& t, const engine_options& o) {
  std::unique_ptr<engine> e(new engine(t, o));
  if (status s = e->meet(); !s.ok()) return s.during("beginning a BSP program");
  return e;
}

status engine::meet() {
  transport& net = job_.net();
  auto made = window::open(team_, {nullptr, layout_.bytes()});
  if (!made) return made.error();
  window_ = std::move(*made);
  base_ = window_->base();

  // Who can read whom. A process must know which of its chunks are read in place, so all tell.
  std::vector<std::byte> reads(size_), everyones(std::size_t{size_} * size_);
  peers_[me_].mapped = base_;
  for (std::uint32_t i = 0; i < size_; ++i) {
    if (i != me_ && scheme_.in_place) peers_[i].mapped = net.map(window_->segment(), peers_[i].rank);
    peers_[i].readable.assign(1, window_->segment());  // region 0
    reads[i] = std::byte{peers_[i].mapped != nullptr};
  }
  if (status s = team_.exchange(reads, everyones); !s.ok()) return s;
  const bool far = std::ranges::find(everyones, std::byte{0}) != everyones.end();  // somebody cannot read somebody
  for (std::uint32_t i = 0; i < size_; ++i) {
    peers_[i].reads_me = everyones[std::size_t{i} * size_ + me_] != std::byte{0};
    all_in_place_ = all_in_place_ && peers_[i].mapped && peers_[i].reads_me;
    const bool pulls = scheme_.pulls_from || (net.native_towards(peers_[i].rank) && net.caps().max_inline >= sizeof(chunk_head));
    if (!peers_[i].reads_me && pulls) peers_[i].bulk_from = scheme_.pulls_from ? scheme_.pulls_from : least_bulk();
    meet_ahead(i);
  }
  if (far) {
    auto second = window::open(team_, {nullptr, layout_.eager_window_bytes()});
    if (!second) return second.error();
    eager_window_ = std::move(*second);
  }

  arena_ = std::make_unique<arena>(net, memory_, [this](std::uint32_t region, std::span<const std::byte> key) {
    std::byte* const entry = base_ + layout_.directory(region);
    const auto length = static_cast<std::uint32_t>(key.size());
    if (length > window_layout::key_room - sizeof length)
      return status(errc::unsupported, "a memory key of " + std::to_string(length) + " bytes does not fit");
    std::memcpy(entry, &length, sizeof length);
    std::memcpy(entry + sizeof length, key.data(), length);
    return status{};
  });
  arena_->adopt(window_->region(), {base_, layout_.bytes()}, layout_.room(), layout_.room_bytes());
  if (size_ > 1) direct_gets_ = std::make_unique<direct_gets>(team_, *window_, layout_, areas_, epoch_);
  words_.reserve(size_);
  if (status s = choose_way(); !s.ok()) return s;
  begin_superstep();
  return {};
}

// Process 0 chooses for all, by its fabric's costs. What cannot be had after all is left out by all alike, unless it was
// asked for by name. From how much traffic on words alone are cheaper each says for itself; schemes that name a way keep it.
status engine::choose_way() {
  transport& net = job_.net();
  const multicast* const mc = net.mcast();
  metadata_costs costs{in_picoseconds(net.caps().cost), 0, true};
  for (std::uint32_t i = 0; i < size_; ++i) costs.loads = costs.loads && peers_[i].mapped;
  // A process that loses the release would wait for process 0's next call, which may compute for long.
  if (mc && !net.caps().target_must_progress) costs.multicast = in_picoseconds(mc->query().latency_us);
  way_ = scheme_.metadata ? *scheme_.metadata : choose_metadata_way(size_, costs);
  auto all = team_.exchange_values(way_);
  if (!all) return all.error();
  way_ = (*all)[0];
  if (way_ == metadata_way::multicast && size_ > 1) {
    auto made = make_multicast(team_);
    if (made) metadata_by_ = std::move(*made);
    else if (scheme_.metadata) return made.error().during("TUTTI_BSP=M");
    else way_ = metadata_way::dissemination;
  }
  if (way_ == metadata_way::dissemination && size_ > 1) {
    auto made = make_dissemination(team_);
    if (!made) return made.error();
    metadata_by_ = std::move(*made);
  }
  if (metadata_by_) {
    by_words_ = false;
    words_pay_from_ = scheme_.metadata ? size_ : words_pay_from(way_, size_, costs);
  }
  flags_out_.resize(size_), flags_in_.resize(size_);
  return {};
}

engine::~engine() {
  transport& net = job_.net();
  wait_out(net, {&sending_[0], &sending_[1], &hp_puts_, &hp_gets_});  // chunks that the fabric still reads
  for (std::uint32_t i = 0; i < size_; ++i) {
    for (const segment_id s : peers_[i].segments) net.drop(s);
    for (far_area& a : peers_[i].far) forget(a);
  }
  for (const registration& r : registrations_) net.drop(r.id);
}

}  // namespace tutti::bsp

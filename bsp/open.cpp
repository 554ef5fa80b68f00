// Making an engine: the windows, and who reads whose memory in place.
#include <unistd.h>

#include <algorithm>
#include <string>

#include "bsp/engine.h"

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

// Of a region of the arena, into the directory of my window.
status write_key(const context& c, std::uint32_t region, std::span<const std::byte> key) {
  std::byte* const entry = c.base + c.layout.directory(region);
  const auto length = static_cast<std::uint32_t>(key.size());
  if (length > window_layout::key_room - sizeof length)
    return {errc::unsupported, worded("a memory key of ", length, " bytes does not fit")};
  std::memcpy(entry, &length, sizeof length);
  std::memcpy(entry + sizeof length, key.data(), length);
  return {};
}

constexpr std::uint64_t most_hp_packed = std::uint64_t{4} << 20;

}  // namespace

engine::engine(team& t, const engine_options& o)
    : c_(t, o.how, o.room), memory_(o.memory ? o.memory : usual_bound(c_.job)), given_(c_.size), agreement_(c_, areas_),
      placer_(areas_, queue_, *this, c_.me), registered_(c_.net, areas_),
      arena_(c_.net, memory_, [this](std::uint32_t region, std::span<const std::byte> key) { return write_key(c_, region, key); }),
      packing_{c_, arena_, {}}, announcement_(c_) {
  hp_bound_ = std::min(most_hp_packed, memory_.bytes() / 16 / c_.size);
  memory_.when_short([this] { queue_.spare(); });
  const capabilities& caps = c_.net.caps();
  const std::uint64_t most_read = caps.max_bytes ? std::min(caps.max_bytes, puller::most_bytes) : puller::most_bytes;
  packing_.bulk = {caps.cost, caps.max_slices, most_read, slot_data};
}

result<std::unique_ptr<engine>> engine::open(team& t, const engine_options& o) {
  std::unique_ptr<engine> e(new engine(t, o));
  if (status s = e->meet(); s.failed()) return s.during("beginning a BSP program");
  return e;
}

status engine::meet() {
  auto made = window::open(c_.team, {nullptr, c_.layout.bytes()});
  if (!made) return made.error();
  c_.window = std::move(*made);
  c_.base = c_.window->base();
  arena_.adopt(c_.window->region(), {c_.base, c_.layout.bytes()}, c_.layout.room(), c_.layout.room_bytes());
  peers_.emplace(c_, arena_);

  // Who can read whom. A process must know which of its chunks are read in place, so all tell.
  std::vector<std::byte> reads(c_.size), everyones(std::size_t{c_.size} * c_.size);
  for (std::uint32_t i = 0; i < c_.size; ++i) reads[i] = std::byte{peers_->window(i) != nullptr};
  if (status s = c_.team.exchange(reads, everyones); s.failed()) return s;
  if (std::ranges::find(everyones, std::byte{0}) != everyones.end()) {  // somebody cannot read somebody
    auto eager = window::open(c_.team, {nullptr, c_.layout.eager_window_bytes()});
    if (!eager) return eager.error();
    c_.eager_window = std::move(*eager);
  }
  boxes_.reserve(c_.size);
  for (std::uint32_t i = 0; i < c_.size; ++i) {
    const bool in_place = everyones[std::size_t{i} * c_.size + c_.me] != std::byte{0};
    const bool reads_by_itself = c_.net.native_towards(c_.rank_of(i)) && c_.net.caps().max_inline >= sizeof(chunk_head);
    const std::uint64_t from = c_.how.pulls_from ? c_.how.pulls_from : reads_by_itself ? least_bulk() : never;
    boxes_.emplace_back(packing_, i, in_place, in_place ? never : from);
  }
  exchange_.emplace(c_, arena_, boxes_, *peers_, placer_, agreement_, registered_);
  hp_.emplace(c_, areas_, registered_);
  if (c_.size > 1) direct_gets_.emplace(c_, areas_);
  if (status s = announcement_.open(); s.failed()) return s;
  begin_superstep();
  return {};
}

}  // namespace tutti::bsp

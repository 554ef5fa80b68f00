// Making an engine: the boards, and who reads whose memory in place.
#include <unistd.h>

#include <algorithm>
#include <string>

#include "bsp/engine.h"
#include "core/ops.h"

namespace tutti::bsp {
namespace {

struct scheme_row {
  std::string_view name;
  scheme how;
};
constexpr scheme_row schemes[] = {
    {"auto", scheme::automatic}, {"B", scheme::baseline}, {"H", scheme::compressed}};

// A quarter of the machine's memory, shared by the ranks of this node: buffers for two supersteps, and as much again
// for the program, in any case.
std::uint64_t usual_bound(job& j) {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const std::uint64_t all = pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)
                                                  : std::uint64_t{1} << 30;
  return all / 4 / std::max<std::uint32_t>(1, j.where().population[j.where().node_of[j.rank()]]);
}

}  // namespace

result<scheme> parse_scheme(std::string_view name) {
  for (const scheme_row& row : schemes)
    if (row.name == name) return row.how;
  return status(errc::invalid, "no BSP scheme is called " + std::string(name) + "; use auto, B or H");
}

engine::engine(team& t, const engine_options& o)
    : team_(t), job_(t.parent_job()), options_(o), layout_{t.size()}, me_(t.index()), size_(t.size()),
      lanes_(std::make_unique<lane[]>(size_)), peers_(std::make_unique<peer[]>(size_)), placer_(areas_, queue_, me_) {
  if (options_.memory == 0) options_.memory = usual_bound(job_);
  for (std::uint32_t i = 0; i < size_; ++i) peers_[i].rank = t.rank_of(i);
}

result<std::unique_ptr<engine>> engine::open(team& t, const engine_options& o) {
  std::unique_ptr<engine> e(new engine(t, o));
  if (status s = e->meet(); !s.ok()) return s.during("beginning a BSP program");
  return e;
}

status engine::meet() {
  transport& net = job_.net();
  auto board = window::open(team_, {nullptr, layout_.bytes()});
  if (!board) return board.error();
  board_ = std::move(*board);
  base_ = board_->base();

  // Who can read whom. A process must know which of its chunks are read in place, so all tell.
  std::vector<std::byte> reads(size_);
  peers_[me_].board = base_;
  for (std::uint32_t i = 0; i < size_; ++i) {
    if (i != me_ && options_.how == scheme::automatic) peers_[i].board = net.map(board_->segment(), peers_[i].rank);
    reads[i] = std::byte{peers_[i].board != nullptr};
  }
  auto all = team_.exchange(reads);
  if (!all) return all.error();
  bool far = false;  // somebody cannot read somebody
  for (std::uint32_t i = 0; i < size_; ++i) {
    peers_[i].reads_me = (**all)[i][me_] != std::byte{0};
    for (const std::byte b : (**all)[i]) far = far || b == std::byte{0};
    all_in_place_ = all_in_place_ && peers_[i].board && peers_[i].reads_me;
  }
  if (far) {
    auto second = window::open(team_, {nullptr, layout_.second_bytes()});
    if (!second) return second.error();
    second_ = std::move(*second);
  }

  arena_ = std::make_unique<arena>(net, options_.memory, [this](std::uint32_t region, std::span<const std::byte> key) {
    std::byte* const entry = base_ + layout_.directory(region);
    const auto length = static_cast<std::uint32_t>(key.size());
    if (length > board_layout::key_room - sizeof length)
      return status(errc::unsupported, "a memory key of " + std::to_string(length) + " bytes does not fit");
    std::memcpy(entry, &length, sizeof length);
    std::memcpy(entry + sizeof length, key.data(), length);
    return status{};
  });
  arena_->adopt(board_->region(), {base_, layout_.bytes()});
  infos_.reserve(size_);
  begin_superstep();
  return {};
}

engine::~engine() {
  // Chunks that the fabric still reads name our completions: towards a dead peer they end soon (clause 10).
  transport& net = job_.net();
  const time_point end = net.now() + std::chrono::seconds(2);
  while (!(sending_[0].idle() && sending_[1].idle()) && net.now() < end)
    if (net.progress() == 0) net.sleep(net.now() + std::chrono::milliseconds(1));
  for (std::uint32_t i = 0; i < size_; ++i)
    for (const segment_id s : peers_[i].segments) net.drop(s);
}

}  // namespace tutti::bsp

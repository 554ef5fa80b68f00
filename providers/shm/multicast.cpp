// Multicast in shared memory: one ring of lines that all members read, each at its own pace. A small datagram is in
// one cache line, so a receiver misses once, and a sender writes once for all.
//
// A sender takes the next position (fetch_add of `head`) and then the slot of that position, by compare-and-swap of
// its state from "complete" of an earlier lap to "being written at this position". Receivers are not asked: who is a
// whole ring behind has lost datagrams, as this interface allows.
//
// Never corrupted. A slot has at most one writer: the swap fails while another writes (state odd) and when a later lap
// has been there; the sender then takes another position and leaves a mark that this one stays empty. A writer that
// was stopped half-way keeps its slot for as long as that lasts (for ever, if it died), and the others go round it. A
// receiver copies the payload out between two looks at the state (a seqlock); unless both show the position complete,
// it throws the copy away. The words are copied by atomic loads and stores, so that the race is one of values only.
//
// Position p in state terms: 2p+1 being written, 2p+2 complete; 0, fresh memory, is before all.
#include <algorithm>
#include <cstring>
#include <utility>

#include "providers/shm/multicast.h"

#include "core/transport/multicast.h"

namespace tutti::shm {

namespace {

constexpr std::uint32_t depth = 64;
constexpr std::size_t payload_words = 252;
constexpr std::uint32_t max_groups = 64;
constexpr double prior_bytes_per_ns = 2.5;  // word by word, and each slot's line changes hands twice
constexpr auto patience = std::chrono::milliseconds{2};  // with a writer that took a position and does not fill it

constexpr std::uint64_t writing(std::uint64_t position) noexcept { return 2 * position + 1; }
constexpr std::uint64_t complete(std::uint64_t position) noexcept { return 2 * position + 2; }

struct token_blob {
  std::uint32_t magic;
  std::uint32_t version;
  memory_name memory;
};

}  // namespace

struct alignas(64) shm_multicast::slot {
  std::atomic<std::uint64_t> state;
  std::atomic<std::uint64_t> empty;  // one past the last position that was given up here
  std::atomic<std::uint64_t> from_and_tag;
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> words[payload_words];
};

struct shm_multicast::ring {
  alignas(64) std::atomic<std::uint64_t> head;  // positions taken
  slot slots[depth];
};

multicast::limits shm_multicast::query() const noexcept {
  return {payload_words * 8, max_groups, depth, std::nullopt, prior_bytes_per_ns};
}

result<multicast::group_id> shm_multicast::open(const rank_map& members, shared_memory own, mapping joined) {
  std::size_t i = 0;
  while (i < groups_.size() && groups_[i].lines) ++i;
  if (i == max_groups)
    return status{errc::no_resource, worded("at most ", max_groups, " multicast groups can be joined")};
  group g;
  g.own = std::move(own);
  g.joined = std::move(joined);
  g.lines = reinterpret_cast<ring*>(g.own.memory ? g.own.memory.get() : g.joined.get());
  g.next = g.lines->head.load(std::memory_order_acquire);
  g.copy.resize(payload_words * 8);
  for (std::uint32_t m = 0; m < members.size(); ++m) {
    peer* p = net_.find(members[m]);
    if (!p)
      return status{errc::unsupported, worded("rank ", members[m], " is on another node, which multicast in shared memory does not reach"), members[m]};
    if (p != net_.self_) g.others.push_back(p);
  }
  if (i == groups_.size()) groups_.emplace_back();
  groups_[i] = std::move(g);
  return group_id{static_cast<std::uint32_t>(i)};
}

result<multicast::group_id> shm_multicast::create(const rank_map& members, std::vector<std::byte>& token, time_point) {
  auto memory = create_memory(sizeof(ring), "tutti-multicast");
  if (!memory) return memory.error();
  auto blob = to_blob(token_blob{token_magic, layout_version, memory->name});
  auto id = open(members, std::move(*memory), {});
  if (id) token = std::move(blob);
  return id;
}

result<multicast::group_id> shm_multicast::join(const rank_map& members, std::span<const std::byte> token,
                                                time_point) {
  token_blob t;
  if (!from_blob(token, token_magic, t) || t.memory.bytes < sizeof(ring))
    return status{errc::protocol, "the token is not one of a shared memory multicast group of this version"};
  auto memory = open_memory(t.memory, "a multicast group");
  if (!memory) return memory.error();
  return open(members, {}, std::move(*memory));
}

void shm_multicast::leave(group_id id) noexcept { groups_[static_cast<std::uint32_t>(id)] = {}; }

bool shm_multicast::send(group_id id, std::uint32_t tag, std::span<const std::byte> payload) noexcept {
  group& g = groups_[static_cast<std::uint32_t>(id)];
  slot* s = nullptr;
  std::uint64_t position = 0;
  for (std::uint32_t tries = 0; tries < depth; ++tries) {
    position = g.lines->head.fetch_add(1, std::memory_order_acq_rel);
    s = &g.lines->slots[position % depth];
    std::uint64_t state = s->state.load(std::memory_order_relaxed);
    const bool idle = state % 2 == 0 && !reached(state, writing(position));
    if (idle && s->state.compare_exchange_strong(state, writing(position), std::memory_order_acq_rel)) break;
    std::uint64_t empty = s->empty.load(std::memory_order_relaxed);
    while (!reached(empty, position + 1) && !s->empty.compare_exchange_weak(empty, position + 1)) {}
    s = nullptr;
  }
  if (!s) return false;

  // Release, each: a receiver that sees any of these words sees the state odd or later when it looks again.
  s->from_and_tag.store(std::uint64_t{net_.rank()} << 32 | tag, std::memory_order_release);
  s->bytes.store(payload.size(), std::memory_order_release);
  for (std::size_t at = 0, w = 0; at < payload.size(); at += 8, ++w) {
    std::uint64_t word = 0;
    std::memcpy(&word, payload.data() + at, std::min<std::size_t>(8, payload.size() - at));
    s->words[w].store(word, std::memory_order_release);
  }
  s->state.store(complete(position), std::memory_order_release);
  if (g.next == position) ++g.next;  // mine: receive() would pass it by
  for (peer* p : g.others)
    if (p->life.alive()) net_.wake(*p);
  return true;
}

// Copies the datagram out; false if it was overwritten meanwhile.
bool shm_multicast::deliver(group& g, slot& s, std::uint64_t position, datagram& out) noexcept {
  // Acquire, each: the second look at the state cannot move before them.
  const std::uint64_t from_and_tag = s.from_and_tag.load(std::memory_order_acquire);
  const std::uint64_t bytes = s.bytes.load(std::memory_order_acquire);
  if (bytes > payload_words * 8) return false;
  for (std::size_t at = 0, w = 0; at < bytes; at += 8, ++w) {
    const std::uint64_t word = s.words[w].load(std::memory_order_acquire);
    std::memcpy(g.copy.data() + at, &word, 8);
  }
  if (s.state.load(std::memory_order_relaxed) != complete(position)) return false;
  out.from = static_cast<rank_t>(from_and_tag >> 32);
  out.tag = static_cast<std::uint32_t>(from_and_tag);
  out.payload = {g.copy.data(), bytes};
  return true;
}

// Whether the position at hand was taken long ago and is still not filled. Looks at the head, which senders write,
// only now and then, unless there is such a position already.
bool shm_multicast::stalled(group& g) noexcept {
  if (g.stalled_since == time_point{} && (++g.polls % 64 != 0 || !being_written(g))) return false;
  const time_point t = net_.now();
  if (g.stalled_since == time_point{}) g.stalled_since = t;
  return t - g.stalled_since > patience;
}

bool shm_multicast::being_written(group& g) noexcept {
  const slot& s = g.lines->slots[g.next % depth];
  return reached(g.lines->head.load(std::memory_order_acquire), g.next + 1) &&
         !reached(s.state.load(std::memory_order_acquire), complete(g.next));
}

bool shm_multicast::receive(group_id id, datagram& out) noexcept {
  group& g = groups_[static_cast<std::uint32_t>(id)];
  for (std::uint32_t turn = 0; turn < 2 * depth; ++turn) {
    slot& s = g.lines->slots[g.next % depth];
    const std::uint64_t state = s.state.load(std::memory_order_acquire);
    bool got = false;
    if (state == complete(g.next)) {
      got = deliver(g, s, g.next, out);
    } else if (reached(state, complete(g.next))) {
      // A lap behind: go on with the oldest that may still be there.
      const std::uint64_t oldest = g.lines->head.load(std::memory_order_acquire) - depth;
      if (reached(oldest, g.next + 1)) g.next = oldest - 1;
    } else if (!reached(s.empty.load(std::memory_order_acquire), g.next + 1) && !stalled(g)) {
      return false;
    }
    ++g.next;
    g.polls = 0;
    g.stalled_since = {};
    if (got && out.from != net_.rank()) return true;
  }
  return false;
}

// Asked before a sleep. A datagram that was there before is left to the caller, who may not want it; but behind a
// position that is being written there may be others already, whose senders have rung in vain, so nobody sleeps until
// it is filled or given up.
bool shm_multicast::news() noexcept {
  bool any = false;
  for (group& g : groups_) {
    if (!g.lines) continue;
    const std::uint64_t head = g.lines->head.load(std::memory_order_acquire);
    if (head != g.next && head != std::exchange(g.told, head)) any = true;
    if (!being_written(g)) continue;
    const time_point t = net_.now();
    if (g.stalled_since == time_point{}) g.stalled_since = t;
    if (t - g.stalled_since <= patience) any = true;
  }
  return any;
}

}  // namespace tutti::shm

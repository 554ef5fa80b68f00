// An algorithm of a collective is a row: what it needs, which of its variants are worth considering, and make(), a pure
// function from a shape to the schedule of one rank. Each stands in a file of its own with its row; registry.cpp lists them.
// The chooser, the checker, the simulator, `tutti info` and `tutti perf` go by the rows and know no algorithm by name.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/cost.h"
#include "core/job/control.h"
#include "core/schedule/schedule.h"

namespace tutti {

// alltoallv: each member sends each other one as much as the two agree on, also within gatherv, scatterv and neighbourhoods.
enum class collective : std::uint8_t {
  barrier, broadcast, reduce, allreduce, gather, scatter, allgather, alltoall, alltoallv, reduce_scatter, scan, exscan
};
inline constexpr unsigned collectives = 12;
// One member gives or gets what the others do not.
constexpr bool has_root(collective c) noexcept {
  return c == collective::broadcast || c == collective::reduce || c == collective::gather || c == collective::scatter;
}
constexpr bool reduces(collective c) noexcept {
  return c == collective::reduce || c == collective::allreduce || c >= collective::reduce_scatter;
}
// Its data are one block for each member.
constexpr bool has_block_each(collective c) noexcept { return c >= collective::gather && c <= collective::reduce_scatter; }
struct composition;
std::string_view name_of(collective) noexcept;
std::optional<collective> find_collective(std::string_view name) noexcept;
std::vector<std::string> collective_names();
std::string known_collectives();  // "barrier, broadcast, ..."

// What the members of a team know about a call alike; `rank` alone differs.
struct shape {
  std::uint32_t rank = 0;                     // team index
  std::uint32_t size = 1;
  std::uint32_t radix = 0;                    // n-way: k; trees: fan-in l; hierarchical: its leaders'; 0: the row's default
  std::span<const std::uint32_t> node_of;     // by team index; empty: every rank on one node
  std::string_view inner;                     // hierarchical: the algorithm among the nodes' leaders; offloaded: the one that is
                                              // offloaded; empty: the default
  std::uint32_t root = 0;                     // team index
  bool first_set = false;                     // data_layout::synchronizes: of its turn; what the others hold is out of use
  // Of this rank alone: a put from the caller's memory costs more than one from staging memory, which is registered. What goes to
  // several is copied there first.
  bool copies_first = false;
};

// How a team lies on its machine, for who decides which variants are considered.
struct placement {
  std::uint32_t ranks, nodes, largest;        // largest: ranks on the fullest node
  bool oversubscribed;                        // on one node, more ranks than cores
};

template <std::uint32_t N>
bool ranks_from(const placement& p) { return p.ranks >= N; }

// A choice of parameters, and when it is worth its price.
struct variant {
  std::uint32_t radix = 0;
  std::string_view inner;
  bool (*considered)(const placement&) = nullptr;  // null: always
  std::string_view reason;
};

// What a closed form is told of: all messages between nodes if there are several.
struct form_input {
  std::uint32_t size, radix;                  // radix 0: the row's default
  link_cost link;
  picoseconds turn;
  const costs& all;
  bool inside;                                // a node
  bool by_cpu;                                // additions
  std::uint64_t bytes = 0, piece = 0;         // of data; pieces are passed on at once
};

// The buffers of a schedule that moves data.
enum : std::uint32_t {
  data_in,    // the caller's: what this rank gives; read only; has its own partition
  data_out,   // the caller's: what it gets. A broadcast has this one alone, and there may be none where nothing comes
  staging,    // slots that peers may write
  data_buffers
};

// How a row's schedules lay out data.
struct data_layout {
  // Of one run; null: it moves none. More bytes than they hold take several runs. Where the collective has a block for each
  // member (has_block_each), these are the blocks, and a run moves a part of each.
  std::uint32_t (*blocks)(const shape&) = nullptr;
  bool even = false;                                 // as many bytes in each block; else full blocks, one after the other
  std::uint32_t most_bytes = 0;                      // of a block, which a slot holds
  std::uint32_t (*slots)(const shape&) = nullptr;    // of staging memory; as words, alike in all ranks and for all roots
  std::uint32_t (*together)(const shape&) = nullptr; // the most blocks that one operation moves; null: 1
  // Data go from the caller's memory to the caller's memory, whatever their length: a slot holds what is told of where they lie.
  bool exposes = false;
  bool in_lines = false;                             // slot i belongs to line i, and a short block is put into that line
  // A line has a word in front, and room for the strictest alignment that a user's function may expect.
  static constexpr std::uint64_t line_data_at = 16, line_data_bytes = control::line_bytes - line_data_at;
  // Flow control. As a rule a schedule asks before it puts. Or all lines and slots are there several times, and runs use these
  // sets by turns:
  // two, if every rank's result takes every rank's data, for who has finished a run knows that all have begun it, so finished
  // the one before;
  bool needs_everyone = false;
  // two, by the pairs' own numbers of runs, if only pairs know what goes between them, and who has finished a run knows the same of all
  // to whom it gave something;
  bool needs_pairs = false;
  // or `sets_in_turn` of them, if a schedule for the first one (shape::first_set) begins with a barrier.
  bool synchronizes = false;
  static constexpr std::uint32_t sets_in_turn = 16;
  std::uint32_t sets() const noexcept { return needs_everyone || needs_pairs ? 2 : synchronizes ? sets_in_turn : 1; }
};

struct algorithm {
  collective of;
  std::string_view name;                      // as in TUTTI_BARRIER, TUTTI_BCAST
  std::string_view alias;                     // another name, as a paper has it
  std::string_view summary;                   // one line
  std::string_view source;                    // paper and section
  struct {
    bool multicast = false;                   // the transport's
    bool fetch_add = false;                   // `arrive`
    bool nodes = false;                       // reads node_of; another algorithm runs among the nodes' leaders
    bool offload = false;                     // the fabric runs another algorithm by itself
    bool root_calls = false;                  // who lost the multicast may have to wait for the root to call again
    bool commutative = false;                 // operands come in any order
    bool alike = false;                       // blocks of one length
    bool mapped = false;                      // reads peers' staging memory by loads: all ranks on one node, which maps it
  } needs;
  // The operands of each element are grouped by one tree, which depends on the number of ranks alone and is the same for all such rows
  // of a collective: these give the same bits.
  bool canonical = false;
  // Its schedules give rank 0 the result, which one reliable multicast (collectives/bcast/reliable_broadcast.h) then brings to all.
  bool down_by_multicast = false;
  std::uint32_t default_radix = 0;            // 0: takes none
  std::uint32_t least_radix = 0;              // smaller ones make no sense
  data_layout data{};
  const algorithm* resources = nullptr;       // whose words and slots it uses, since no two of both are in each other's way; null: its own
  std::span<const variant> variants;          // what the chooser considers; none: by name only
  // Lines of control memory a rank: depends on the shape but not on shape.rank or shape.root.
  std::uint32_t (*words)(const shape&) = nullptr;
  schedule (*make)(const shape&) = nullptr;   // null: it has phases, or what is sent depends on what is lost, which no schedule can say
  const composition* phases = nullptr;        // instead of schedules: other collectives (collectives/hierarchy.h)
  // For teams that are too large to evaluate the schedules, and for what has none. null: no price beyond.
  struct {
    picoseconds (*chain)(const form_input&) = nullptr;    // the longest chain of messages, for a row with schedules; else all
    std::int64_t (*messages)(const form_input&) = nullptr;  // of all ranks together; null: does not count
  } form;
};

// Whose words and slots the row uses.
constexpr const algorithm& owner_of(const algorithm& row) noexcept { return row.resources ? *row.resources : row; }

// The rows of a collective, in the order of the registry.
class algorithm_list {
 public:
  constexpr explicit algorithm_list(std::span<const algorithm* const> rows) noexcept : rows_(rows) {}
  struct iterator {
    const algorithm* const* at;
    const algorithm& operator*() const noexcept { return **at; }
    iterator& operator++() noexcept { return ++at, *this; }
    bool operator==(const iterator&) const noexcept = default;
  };
  iterator begin() const noexcept { return {rows_.data()}; }
  iterator end() const noexcept { return {rows_.data() + rows_.size()}; }
  std::size_t size() const noexcept { return rows_.size(); }
  const algorithm& operator[](std::size_t i) const noexcept { return *rows_[i]; }

 private:
  std::span<const algorithm* const> rows_;
};
algorithm_list algorithms(collective) noexcept;
const algorithm* find_algorithm(collective, std::string_view name) noexcept;  // by name or alias; null: unknown
// "dissemination, pairwise, ...", those that `keep` wants.
std::string known_algorithms(collective, const std::function<bool(const algorithm&)>& keep = {});

// The bytes of a slot, where there is room for all. Where the fabric cuts puts into messages of `message` bytes (0: it does not), a slot
// holds whole messages: each costs as much as a full one.
std::uint64_t full_slot(const algorithm&, std::uint64_t message) noexcept;
// What a run of it can hold, where one operation of the fabric moves `most` bytes at most: a slot has less where slots are many.
struct run_room {
  std::uint64_t blocks = 0, slot_bytes = 0;
};
run_room room_of(const algorithm&, const shape&, std::uint64_t most, std::uint64_t message) noexcept;
// How the next run falls into blocks of `bytes` bytes, of elements that must stay whole: all of the data, or of each block where
// there is one for each member. A block has an element at least, which is for who makes the slots to see to. No bytes: there is no room.
partition next_run(const algorithm&, const run_room&, std::uint64_t bytes, std::uint64_t element = 1) noexcept;
// How many of `bytes` it moves.
constexpr std::uint64_t moved_by(const algorithm& a, const partition& run) noexcept { return has_block_each(a.of) ? run.piece : run.bytes; }

// Signals and waits alone, which are what a fabric can run by itself.
inline bool can_be_offloaded(const algorithm& a) noexcept {
  return !a.needs.multicast && !a.needs.fetch_add && !a.needs.nodes && !a.needs.offload;
}

// Radix 0 asks for the row's default; less than its least means that (the chooser refuses such a radix by name before).
constexpr std::uint32_t radix_of(const algorithm& a, std::uint32_t asked) noexcept {
  return asked == 0 ? a.default_radix : asked < a.least_radix ? a.least_radix : asked;
}

}  // namespace tutti

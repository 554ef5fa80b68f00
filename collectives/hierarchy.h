// The hierarchical algorithms of the collectives that move data: an operation is a few others in turn, its phases, each among the
// ranks of every node or among the nodes' leaders (Gupta 2002, 5.3, for any collective and any two algorithms). An allreduce is a
// reduce to each leader, an allreduce among the leaders, and a broadcast from each leader. A phase is an ordinary collective of a
// team of its own, the node's or the leaders'; that team's data_collectives chooses an algorithm for it, so any two compose. The
// rows and their phases: collectives/hierarchical.cpp.
//
// A node's leader is its lowest team index. Each rank is in its node's team, as member 0 if it is the leader; the leaders' team has
// the nodes in the order of their leaders.
//
// Safety. What a rank does in each of its two teams, and in which order, follows from the table, the root and the number of bytes,
// which are alike in all members. So either team sees one sequence of collective calls and is as safe as any other team. A phase
// begins in a rank when the phase before, on the same bytes, has ended there: it reads what that one left in this rank's memory.
//
// Segments. Where every phase moves all of the data, long data go in segments, and the two teams work side by side: leaders
// exchange one segment while their nodes add up the next one. In each team, phase p of segment s comes in the order of p + s, the
// later phase first.
//
// Errors. In a phase a rank asks after deaths in the phase's team, and in the whole team, which is told of whatever ends an operation.
// Unlike calls show in the record of the whole team, which all engines share: the words and exchanges of a phase carry the digest
// of the operation.
//
// Unlike lengths. Of an allgather and a reduce_scatter all members know all lengths, and so where each block lies in data without
// gaps. That is how data travel; a rank whose own blocks have gaps between them packs or unpacks them itself.
//
// Memory: two teams, what their algorithms need, and in leaders as many bytes as the data have, where a leader that is not the root
// holds a part of the result; for a scan twice as many, for an alltoall twice those of all the node's ranks. Blocks with gaps, once more.
#pragma once
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "collectives/choose.h"
#include "collectives/data_collectives.h"

namespace tutti {

// One collective of a composition.
struct phase {
  enum class level : std::uint8_t { node, leaders };
  enum class reach : std::uint8_t { everywhere, at_root, elsewhere };  // at_root: in the root's node, if the root is not its leader
  enum class giver : std::uint8_t { leader, root };                    // of a node's: whom the data come from, or of a reduce or gather go to
  // As long as the call's; a node's blocks; the team's blocks; those of a node's ranks for another's.
  enum class extent : std::uint8_t { call, node, team, pair };
  // between, aside: in leaders. out_at_root, in_at_root: between, but the caller's if the leader is the root. carried: in, but
  // between in leaders that other nodes come before.
  enum class memory : std::uint8_t { none, in, out, between, aside, out_at_root, in_at_root, carried };
  // What leaders do before it. to_nodes: the blocks that their ranks give, in between, are put side by side for each node, in aside;
  // to_ranks: the reverse, of what nodes have given. carry: the sum of the nodes before, in aside, and this rank's own make between.
  enum class preparation : std::uint8_t { none, to_nodes, to_ranks, carry };
  struct operand {
    memory where = memory::none;
    bool of_node = false;                                              // its blocks, of those of the team
  };

  collective of = collective::broadcast;                               // alltoallv: from the root to its leader, or back
  level on = level::node;
  reach where = reach::everywhere;
  giver from = giver::leader;
  extent bytes = extent::call;                                         // where there is a block for each member, of one
  operand in{}, out{};
  preparation before = preparation::none;
};

struct composition {
  std::span<const phase> phases;                                       // one of them among the leaders
  bool in_segments = false;
  bool mixed_nodes = false;                                            // ranks of a node need not follow each other, if operands may not either
  bool nodes_overlap = false, leaders_overlap = false;                 // calls in a row: nobody there waits for all others
};
const phase& among_leaders(const composition&) noexcept;

// How a team lies on its nodes, by team index and by node; a pure function.
struct node_map {
  explicit node_map(std::span<const std::uint32_t> node_of);
  std::vector<std::vector<std::uint32_t>> members;  // of each node, ascending; nodes in the order of their leaders
  std::vector<std::uint32_t> node, place;           // of each rank: its node, and its index there
  std::uint32_t largest = 1, smallest = 1;
  bool consecutive = true;                          // the ranks of each node
};

// The most bytes of a segment whose elements have so many.
std::uint64_t segment_bytes(std::uint64_t element) noexcept;

// Predicted time in us of a composition, each phase by what would be chosen for it; below 0: one has no price. Errors: one has no
// algorithm, or not this one among the leaders.
result<double> price_of(const algorithm&, const choice_inputs&, const wanted_algorithm& inner);
status check_phases(const algorithm&, const choice_inputs&, const wanted_algorithm& inner);  // its errors, without a price

class hierarchy final : public unscheduled {
 public:
  // Collective over the team, which must outlive it, as must the record and what `like` was made with: that engine's settings hold
  // in both teams. `agreement`: as expose_together().
  static resumable<result<std::unique_ptr<hierarchy>>> opening(data_collectives& like, std::vector<std::byte> agreement);
  ~hierarchy() override;

  void begin(const composition&, const data_collectives::call&, std::uint64_t digest);
  bool advance(status& error) noexcept override;
  status look() noexcept override;
  void cancel(const status&) noexcept override;
  wait_note waiting_for() const noexcept override;
  status explained(const status& error) override;

  void want_among_leaders(const composition&, const wanted_algorithm&);  // from now on

 private:
  explicit hierarchy(data_collectives& like);
  struct level {
    std::unique_ptr<team> members;                  // null: this rank is not among them
    std::unique_ptr<data_collectives> engine;
    std::size_t present = ~std::size_t{0};          // the phase that it is in; that: none
  };
  level& at(phase::level l) noexcept { return levels_[static_cast<std::size_t>(l)]; }
  const level* waiting() const noexcept;
  bool takes_part(const phase&) const noexcept;
  std::size_t next(phase::level) const noexcept;
  bool go_on(phase::level, status& error);
  void begin_phase(const phase&, std::uint64_t segment);
  void pass(data_collectives::call&, bool to_leader);
  void list_ranks(data_collectives::call&);
  void list_nodes(data_collectives::call&);
  std::uint64_t begin_of(std::uint32_t rank) const noexcept { return call_.lists ? packed_[rank] : call_.bytes * rank; }
  void pack();
  void unpack() const noexcept;
  void prepare(phase::preparation, std::uint64_t from, std::uint64_t bytes);
  std::byte* room(bool aside);
  std::byte* memory_of(const phase::operand&, std::uint64_t from);

  team& team_;
  const node_map nodes_;
  std::array<level, 2> levels_;                     // by phase::level

  const composition* what_ = nullptr;               // of the present operation
  data_collectives::call call_;
  std::uint64_t around_ = 0;                        // what its digest adds to those of its phases
  std::uint64_t segment_ = 0, segments_ = 0;        // bytes of one; how many
  std::vector<std::uint64_t> done_;                 // by phase: segments
  struct {
    std::unique_ptr<std::byte[]> start;
    std::uint64_t bytes = 0;
  } rooms_[2];                                      // between, aside
  std::vector<std::uint64_t> packed_;               // of blocks of unlike lengths: where each rank's begins without gaps, and the end
  bool gaps_ = false;                               // this rank's own have some
  std::shared_ptr<block_lists> passed_;             // of a phase that passes
  std::shared_ptr<block_lists> unlike_[2];          // by phase::level, of blocks of unlike lengths
};

}  // namespace tutti

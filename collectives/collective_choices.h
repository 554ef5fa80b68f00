// Which algorithms the collectives of one team that move data take: by operation, by what else of a call decides, and by the class of
// its size. Chosen when it is first asked for, from prices or measurements (choose.h), alike in all members; with `online`, put to
// the test in the first calls of each class (tuning/online.h).
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "collectives/collective_call.h"
#include "collectives/pick.h"
#include "collectives/tuning/online.h"
#include "collectives/tuning/table.h"
#include "core/job/team.h"

namespace tutti {

struct common_choices;

struct choice_settings {
  std::array<wanted_algorithm, collectives> wanted{};       // by name
  bool multicast = false;                                   // false: never, though the transport has it
  bool reproducible = false;                                // reductions by canonical rows alone, where that matters
  const tuning::table* measured = nullptr;                  // outlives the engine; null: prices decide
  std::optional<payload_facts> known{};                     // agreed on in a team that this one's members are of
  // What is chosen is put to the test; not where results are to be reproducible, nor what is wanted by name.
  std::optional<tuning::online_settings> online{};
  std::shared_ptr<common_choices> common{};                 // with other members that live in this thread; null: there are none
};

// What the choice for a call goes by, in two steps: what its team has agreed on, then what the call says. `nodes` and what `with` points
// to are kept by reference.
choice_inputs inputs_of_team(const job&, std::span<const std::uint32_t> nodes, double ranks_per_core, const payload_facts& agreed,
                             const choice_settings& with);
choice_inputs inputs_of_call(choice_inputs of_team, const collective_call&, const choice_settings& with);

class collective_choices {
 public:
  struct trials;
  struct choice {
    const algorithm* row = nullptr;
    std::uint32_t radix = 0;
    trials* online = nullptr;              // null: what is chosen stays
    const algorithm* of_long = nullptr;    // of an alltoallv: by which the blocks beyond `long_beyond` go; null: by the same
    std::uint64_t long_beyond = never_direct;
  };
  // What calls of one class try by turns.
  struct trials {
    tuning::contest of;
    std::vector<choice> rows;
    time_point began{};                    // a call that is timed
  };

  collective_choices(team&, choice_settings);

  // Collective: agrees on what the choice depends on; before that there is none. The first form blocks.
  status agree_on_facts() { return facts() ? status{} : wait_for(team_.parent_job(), agreeing_on_facts()); }
  resumable<status> agreeing_on_facts();
  const std::optional<payload_facts>& facts() const noexcept { return with_.known; }
  run_room room_of(const algorithm& row, const shape& s) const noexcept { return tutti::room_of(row, s, facts_.piece, facts_.message_bytes); }
  const costs& machine() const noexcept { return facts_; }

  // Best first.
  result<std::vector<candidate>> candidates(collective, std::uint64_t bytes) const;
  const algorithm& algorithm_for(collective of, std::uint64_t bytes) const { return *candidates(of, bytes)->front().row; }
  choice& kept_for(const collective_call&);          // no row: none is chosen yet
  result<choice> choose_for(const collective_call&);

  bool is_wanted(collective of) const noexcept { return !with_.wanted[static_cast<unsigned>(of)].name.empty(); }
  void take(collective, const candidate&);           // this one from now on, whatever the size
  void want(collective, const wanted_algorithm&);    // what was chosen is forgotten
  void without_multicast() noexcept;                 // no group can be formed; what was chosen is forgotten

  // With `online`: the row of the call that begins. True: the members are to meet before it.
  bool next_turn(choice&) noexcept;
  resumable<status> settling(choice&, std::vector<std::byte> agreement);  // exchanges what was measured

  const std::vector<std::uint32_t>& nodes() const noexcept { return *nodes_; }
  const choice_settings& settings() const noexcept { return with_; }

 private:
  choice_inputs inputs(const collective_call& c) const { return inputs_of_call(facts_, c, with_); }
  trials* trials_among(std::span<const candidate>, const collective_call&);
  void take_facts(const payload_facts&);

  team& team_;
  std::shared_ptr<const std::vector<std::uint32_t>> nodes_;
  choice_settings with_;
  choice_inputs facts_;                    // agreed; but for what a call gives
  using by_size = std::array<choice, size_classes>;
  std::array<std::array<std::unique_ptr<by_size>, 16>, collectives> chosen_;  // by collective and class_of()
  std::vector<std::unique_ptr<trials>> trials_;
};

// What the members of a team know and choose alike, kept once for all of them that live in one thread, as virtual ranks do.
struct common_choices {
  using of_class = std::tuple<std::uint64_t, bool, collective, unsigned, unsigned>;  // team, multicast, and what `chosen_` goes by
  std::map<of_class, collective_choices::choice> chosen;
  std::map<std::uint64_t, std::shared_ptr<const std::vector<std::uint32_t>>> nodes;  // by team
  std::map<std::uint64_t, std::pair<payload_facts, choice_inputs>> facts;            // likewise, once agreed
};

// What decides beside the size; 8: its bits depend on the grouping of operands, and somebody cares.
inline unsigned class_of(const collective_call& c, const choice_settings& with) noexcept {
  return (c.op.commutative ? 1 : 0) | (c.lists ? 2 : 0) | (c.element() > short_element ? 4 : 0) |
         ((with.reproducible || with.online) && reduces(c.of) && !c.op.associative ? 8 : 0);
}

inline collective_choices::choice& collective_choices::kept_for(const collective_call& c) {
  auto& of = chosen_[static_cast<unsigned>(c.of)][class_of(c, with_)];
  if (!of) of = std::make_unique<by_size>();
  return (*of)[size_class(c.alike_bytes())];
}

}  // namespace tutti

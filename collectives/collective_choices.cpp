#include "collectives/collective_choices.h"

#include <algorithm>
#include <cstring>

namespace tutti {

collective_choices::collective_choices(team& t, choice_settings with) : team_(t), with_(std::move(with)) {
  if (with_.common) nodes_ = with_.common->nodes[t.id()];
  if (!nodes_) nodes_ = std::make_shared<const std::vector<std::uint32_t>>(t.nodes());
  if (with_.common) with_.common->nodes[t.id()] = nodes_;
  if (with_.reproducible) with_.online.reset();
  if (const auto known = with_.known) take_facts(*known);
}

choice_inputs inputs_of_team(const job& j, std::span<const std::uint32_t> nodes, double ranks_per_core, const payload_facts& agreed,
                             const choice_settings& with) {
  choice_inputs in = inputs_from(j.facts(), false, nodes);
  if (with.multicast) add_payload(in, agreed);
  in.ranks_per_core = ranks_per_core;
  choose_by(in, with.measured, j.fabric());
  return in;
}

choice_inputs inputs_of_call(choice_inputs in, const collective_call& c, const choice_settings& with) {
  const unsigned kind = class_of(c, with);
  in.bytes = c.alike_bytes();
  in.commutative = kind & 1, in.unlike = kind & 2, in.long_elements = kind & 4, in.canonical = with.reproducible && (kind & 8);
  in.wanted = with.wanted[static_cast<unsigned>(c.of)];
  return in;
}

void collective_choices::take_facts(const payload_facts& agreed) {
  const job& j = team_.parent_job();
  with_.known = agreed;
  if (with_.common)
    if (const auto known = with_.common->facts.find(team_.id()); known != with_.common->facts.end()) return void(facts_ = known->second.second);
  facts_ = inputs_of_team(j, *nodes_, j.where().most_ranks_per_core(), agreed, with_);
  if (with_.common) with_.common->facts[team_.id()] = {agreed, facts_};
}

// What may differ from rank to rank is agreed: of limits (interfaces, queues) the least holds for all, of priors member 0's.
resumable<status> collective_choices::agreeing_on_facts() {
  job& j = team_.parent_job();
  payload_facts agreed = payload_facts_of(j.net(), with_.multicast);
  if (with_.multicast && j.net().mcast() && team_.size() > 1) {
    const auto own = std::as_bytes(std::span{&agreed, 1});
    auto all = co_await team_.exchanging({own.begin(), own.end()}, j.setup_deadline());
    if (!all) co_return all.error().during("preparing to move data");
    const bool known = with_.common && with_.common->facts.contains(team_.id());
    if (known) agreed = with_.common->facts[team_.id()].first;
    for (std::uint32_t i = 0; !known && i < team_.size(); ++i) {
      payload_facts theirs;
      if ((**all)[i].size() != sizeof theirs) co_return team_.called_another(i);
      std::memcpy(&theirs, (**all)[i].data(), sizeof theirs);
      if ((theirs.multicast_us != not_known && !plausible_us(theirs.multicast_us)) ||
          (theirs.multicast_bytes_per_ns != not_known && !plausible_rate(theirs.multicast_bytes_per_ns))) co_return team_.called_another(i);
      if (i == 0) agreed.multicast_us = theirs.multicast_us, agreed.multicast_bytes_per_ns = theirs.multicast_bytes_per_ns;
      agreed.fragment = std::min(agreed.fragment, theirs.fragment), agreed.depth = std::min(agreed.depth, theirs.depth);
    }
  }
  take_facts(agreed);
  co_return status{};
}

result<std::vector<candidate>> collective_choices::candidates(collective of, std::uint64_t bytes) const {
  collective_call c;
  c.of = of, c.bytes = bytes, c.op.element_size = 1;
  auto all = choose(of, inputs(c));
  // All its blocks being of so many bytes.
  if (all && bytes > direct_beyond(inputs(c), *all->front().row))
    std::stable_partition(all->begin(), all->end(), [](const candidate& one) { return one.row->data.exposes; });
  return all;
}

void collective_choices::take(collective of, const candidate& c) {
  with_.wanted[static_cast<unsigned>(of)] = {std::string(c.row->name), c.radix, std::string(c.inner)};
  for (auto& kept : chosen_[static_cast<unsigned>(of)]) {
    if (!kept) kept = std::make_unique<by_size>();
    kept->fill({c.row, c.radix, nullptr});
  }
}

result<collective_choices::choice> collective_choices::choose_for(const collective_call& c) {
  choice& kept = kept_for(c);
  if (!kept.row && is_wanted(c.of)) {
    const auto wanted = choose_first(c.of, inputs(c));
    if (!wanted) return wanted.error();
    kept = {wanted->row, wanted->radix, nullptr};  // never put to the test
  } else if (!kept.row) {
    choice fresh;
    choice& common = with_.common ? with_.common->chosen[{team_.id(), facts_.multicast, c.of, class_of(c, with_), size_class(c.alike_bytes())}] : fresh;
    if (!common.row) {
      const auto made = choose(c.of, inputs(c));
      if (!made) return made.error();
      common = {made->front().row, made->front().radix, with_.online ? trials_among(*made, c) : nullptr};
      common.long_beyond = direct_beyond(inputs(c), *common.row);
      if (common.long_beyond != never_direct) common.of_long = find_algorithm(c.of, "direct");
    }
    kept = common;
  }
  return kept;
}

// Null: nothing is to be tried. Links that were measured have prices that are worth something, and candidates far from the best need
// no trial.
collective_choices::trials* collective_choices::trials_among(std::span<const candidate> all, const collective_call& c) {
  if (c.of == collective::alltoallv) return nullptr;  // no two calls need move as much
  const bool keeps_bits = (class_of(c, with_) & 8) && !with_.online->any_grouping;
  const tuning::calibration* const known = with_.measured ? with_.measured->of_fabric(team_.parent_job().fabric()) : nullptr;
  const bool measured = known && known->knows_links();
  const auto expected = [](const candidate& one) { return in_picoseconds(one.measured_us.value_or(one.cost_us)); };
  std::vector<choice> rows;
  std::vector<picoseconds> times;
  for (const candidate& one : all) {
    if (!one.runnable || one.cost_us < 0 || (keeps_bits && !(one.row->canonical && all.front().row->canonical))) continue;
    if (measured && expected(one) > 2 * expected(all.front())) continue;
    rows.push_back({one.row, one.radix, nullptr}), times.push_back(expected(one));
  }
  if (rows.size() < 2 || rows[0].row != all.front().row) return nullptr;
  return trials_.emplace_back(std::make_unique<trials>(trials{tuning::contest(times, *with_.online), std::move(rows), {}})).get();
}

// The row of the call that begins. True: the members are to meet before it.
bool collective_choices::next_turn(choice& c) noexcept {
  trials& t = *c.online;
  const choice& now = t.rows[t.of.next()];
  c.row = now.row, c.radix = now.radix;
  if (t.of.timed()) t.began = team_.parent_job().net().now();
  return t.of.exchange_due() || t.of.begins_trial();
}

resumable<status> collective_choices::settling(choice& kept, std::vector<std::byte> agreement) {
  trials& t = *kept.online;
  const std::vector<picoseconds> mine = t.of.medians();
  std::vector<std::byte> told = agreement;
  told.insert(told.end(), std::as_bytes(std::span(mine)).begin(), std::as_bytes(std::span(mine)).end());
  const auto all = co_await team_.exchanging(std::move(told), team_.parent_job().setup_deadline());
  if (!all) co_return all.error().during("learning which algorithm is the fastest");
  std::vector<picoseconds> medians(mine.size() * team_.size());
  std::vector<std::span<const picoseconds>> by_member;
  for (std::uint32_t i = 0; i < team_.size(); ++i) {
    const auto theirs = (**all)[i];
    const std::span own = std::span(medians).subspan(i * mine.size(), mine.size());
    if (theirs.size() != agreement.size() + own.size_bytes() || !std::ranges::equal(theirs.first(agreement.size()), agreement))
      co_return team_.called_another(i);
    std::memcpy(own.data(), theirs.data() + agreement.size(), own.size_bytes());
    by_member.push_back(own);
  }
  t.of.settle(by_member);
  kept = t.rows[t.of.incumbent()];
  if (!t.of.over()) kept.online = &t;
  co_return status{};
}

void collective_choices::want(collective of, const wanted_algorithm& w) {
  with_.wanted[static_cast<unsigned>(of)] = w;
  for (auto& kept : chosen_[static_cast<unsigned>(of)]) kept.reset();
}

void collective_choices::without_multicast() noexcept {
  facts_.multicast = false;
  for (auto& of : chosen_)
    for (auto& kind : of) kind.reset();
  trials_.clear();
}

}  // namespace tutti

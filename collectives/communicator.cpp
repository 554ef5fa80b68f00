#include "collectives/communicator.h"

#include <algorithm>

#include "collectives/pick.h"
#include "collectives/tuning/file.h"
#include "core/job/agreement.h"

namespace tutti {
namespace {

// The world's control memory is allocated before anyone knows who lives where, so algorithms that need a line for each
// rank of a node are provided for only up to here.
constexpr std::uint32_t lines_for_each_up_to = 64;

// All but the barrier.
template <class F>
void each_that_moves_data(F&& f) {
  for (unsigned c = 1; c < collectives; ++c) f(static_cast<collective>(c));
}

template <class F>
auto attempt(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return status{errc::no_resource, "out of memory"};
  }
}

struct request_context {
  job* j;
  const communicator_options* options;
  std::string agreement;
};

team_request request(void* context, const rank_map& members) {
  auto& c = *static_cast<request_context*>(context);
  c.agreement = "barrier=" + c.options->barrier + " radix=" + std::to_string(c.options->radix) +
                " reproducible=" + std::to_string(c.options->reproducible);
  each_that_moves_data([&](collective k) {
    if (const std::string& name = c.options->wanted(k); !name.empty()) c.agreement.append(" ").append(name_of(k)).append("=").append(name);
  });
  // Room for either choice: whether multicast arrives is known only when the team is equipped.
  std::uint32_t lines = 0;
  for (const bool multicast : {true, false}) {
    communicator_options o = *c.options;
    o.multicast = o.multicast && multicast;
    const auto picked = pick_barrier(*c.j, members, o, ~std::uint32_t{0});
    if (picked) lines = std::max(lines, picked->lines);
  }
  return {lines, c.agreement};  // what cannot be picked is refused when the team is equipped
}

std::uint32_t lines_for_world(std::uint32_t size, const communicator_options& options) {
  const auto wanted = parse_wanted(collective::barrier, options.barrier);
  const bool forced = wanted && !wanted->name.empty();
  std::vector<std::uint32_t> apart(size <= lines_for_each_up_to || forced ? size : 0);
  for (std::uint32_t i = 0; i < apart.size(); ++i) apart[i] = i;
  std::uint32_t lines = 0;
  for (const algorithm& a : algorithms(collective::barrier)) {
    candidate c;
    c.row = &a;
    if (forced) {
      if (find_algorithm(collective::barrier, wanted->name) != &a) continue;
      c.radix = options.radix ? options.radix : wanted->radix;
      if (const algorithm* inner = find_algorithm(collective::barrier, wanted->inner)) c.inner = inner->name;
    }
    // A node each, and one for all: what lies between needs no more than both together.
    std::uint32_t need = team_barrier::lines_for(c, {}, size);
    if (a.needs.nodes) need += team_barrier::lines_for(c, apart, size);
    if (forced || size <= lines_for_each_up_to || need <= lines_for_each_up_to) lines = std::max(lines, need);
  }
  return lines;
}

}  // namespace

communicator_options communicator_options_from(const config& c) {
  communicator_options o;
  if (const auto name = c.text(knob::barrier); name != "auto") o.barrier = name;
  o.radix = static_cast<std::uint32_t>(c.number(knob::barrier_radix));
  const auto text = [&](knob k) { return c.text(k) == "auto" ? std::string{} : std::string(c.text(k)); };
  static_assert(static_cast<unsigned>(knob::exscan) - static_cast<unsigned>(knob::bcast) ==
                static_cast<unsigned>(collective::exscan) - static_cast<unsigned>(collective::broadcast));
  each_that_moves_data([&](collective k) {
    o.wanted(k) = text(static_cast<knob>(static_cast<unsigned>(knob::bcast) + static_cast<unsigned>(k) - static_cast<unsigned>(collective::broadcast)));
  });
  o.reproducible = c.number(knob::reproducible) != 0;
  if (const auto tune = c.text(knob::tune); tune.starts_with("online"))
    o.online = tuning::online_settings{.any_grouping = tune == "online-any"};
  return o;
}

result<choice_settings> choice_settings_from(const communicator_options& o) {
  choice_settings with{.multicast = o.multicast, .reproducible = o.reproducible, .measured = o.measured.get(), .online = o.online,
                       .common = o.common};
  status unknown;
  each_that_moves_data([&](collective k) {
    auto named = parse_wanted(k, o.wanted(k));
    if (named) with.wanted[static_cast<unsigned>(k)] = std::move(*named);
    else if (unknown.ok()) unknown = named.error();
  });
  if (unknown.failed()) return unknown;
  return with;
}

void choose_by_settings(const config& c, job_options& job, communicator_options& engines) {
  auto measured = tuning::of_settings(c);
  if (!measured) job.trouble = measured.error();
  else engines.measured = std::move(*measured);
  if (!engines.measured) return;
  job.tuning = engines.measured->digest;
  job.measured = [table = engines.measured](transfer_costs& of_job, std::string_view fabric) {
    const tuning::calibration* const known = table->of_fabric(fabric);
    if (!known) return;
    costs all;
    static_cast<transfer_costs&>(all) = of_job;
    known->apply(all);
    of_job = all;
  };
}

std::string& communicator_options::wanted(collective c) noexcept {
  return c == collective::barrier ? barrier : c == collective::broadcast ? bcast : others[static_cast<unsigned>(c)];
}

std::uint32_t communicator::world_lines(std::uint32_t size) { return lines_for_world(size, {}); }

std::function<std::uint32_t(std::uint32_t)> communicator::world_lines_with(communicator_options options) {
  return [options = std::move(options)](std::uint32_t size) { return lines_for_world(size, options); };
}

result<std::unique_ptr<communicator>> communicator::world(job& j, communicator_options options) {
  return equip(&j.world(), std::move(options), nullptr);
}

result<std::unique_ptr<communicator>> communicator::offer_world(job& j, communicator_options options, const candidate& barrier,
                                                                std::vector<std::byte>& blob) {
  auto c = upon(&j.world(), std::move(options));
  if (!c) return c;
  auto b = team_barrier::offer(j.world(), barrier, (*c)->options_.first_epoch, blob);
  if (!b) return b.error();
  (*c)->barrier_ = std::move(*b);
  (*c)->barrier_->consult((*c)->record_.get());
  return c;
}

// Without a barrier still.
result<std::unique_ptr<communicator>> communicator::upon(team* t, communicator_options options) {
  std::unique_ptr<communicator> c(new communicator);
  c->options_ = std::move(options);
  c->team_ = t;
  c->record_ = std::make_unique<call_record>(*t);
  if (const auto with = choice_settings_from(c->options_); !with) return with.error();
  return c;
}

result<std::unique_ptr<communicator>> communicator::equip(team* t, communicator_options options, const communicator* parent) {
  auto made = upon(t, std::move(options));
  if (!made) return made;
  auto& c = *made;
  if (parent && parent->data_) c->payload_ = parent->data_->choices().facts();
  for (;;) {
    const auto picked = pick_barrier(t->parent_job(), t->members(), c->options_, t->lines());
    if (!picked) return picked.error();
    auto b = team_barrier::open(*t, picked->choice, c->options_.first_epoch);
    if (b) {
      c->barrier_ = std::move(*b);
      c->barrier_->consult(c->record_.get());
      return made;
    }
    // Multicast could not be formed, as all members have agreed: unless it was asked for, go without.
    if (b.error().code() != errc::unavailable || !c->options_.multicast || c->options_.forced()) return b.error();
    c->options_.multicast = false;
  }
}

data_collectives& communicator::data() {
  if (!data_) {
    choice_settings with = *choice_settings_from(options_);
    with.known = payload_;
    data_ = std::make_unique<data_collectives>(*team_, *record_, std::move(with));
  }
  return *data_;
}

status communicator::run(const collective_call& c, time_point deadline) {
  if (const status s = team_->has(c.root, name_of(c.of).data()); s.failed()) return s;
  record_->enter(c.recorded());
  return data().run(c, deadline);
}

result<std::uint64_t> communicator::start(const collective_call& c) {
  if (const status s = team_->has(c.root, name_of(c.of).data()); s.failed()) return s;
  if (data().outcome().failed()) return data_->outcome();
  record_->enter(c.recorded());
  return data_->start(c);
}

status communicator::enter(call_kind k) {
  record_->enter(k);
  return data_ ? data_->wait(data_->started()) : status{};
}

status communicator::finish() {
  const status s = barrier_->wait(barrier_->started());
  return s.failed() || !data_ ? s : data_->wait(data_->started());
}

result<std::unique_ptr<communicator>> communicator::made(result<std::unique_ptr<team>> t, const communicator_options& options) {
  if (!t) return t.error();
  if (!*t) return std::unique_ptr<communicator>{};
  auto c = attempt([&] { return equip(t->get(), options, this); });
  if (c) {
    (*c)->owned_ = std::move(*t);
    return c;
  }
  // All members have found it, and some may be in the team's last exchange still; but for want of memory, which is this rank's own.
  const status& s = c.error();
  if (s.code() == errc::no_resource && s.peer() == no_rank) (*t)->fail(s);
  else (void)(*t)->settle(team_->parent_job().setup_deadline());
  return s;
}

// What was measured holds for every team of the job.
communicator_options communicator::inherited(const communicator_options& given) const {
  communicator_options out = given;
  out.measured = options_.measured, out.online = options_.online, out.common = options_.common;
  return out;
}

result<std::unique_ptr<communicator>> communicator::create(std::span<const std::uint32_t> list,
                                                           const communicator_options& options) {
  const communicator_options with = inherited(options);
  request_context context{&team_->parent_job(), &with, {}};
  (void)enter(call_kind::team_create);
  return with_the_others([&] { return made(team_->create(list, request, &context), with); });
}

result<std::unique_ptr<communicator>> communicator::create_group(std::span<const std::uint32_t> list, bootstrap& meeting,
                                                                 const communicator_options& options) {
  const communicator_options with = inherited(options);
  request_context context{&team_->parent_job(), &with, {}};
  return made(team_->create_group(list, meeting, request, &context), with);
}

result<std::unique_ptr<communicator>> communicator::split(std::int32_t color, std::int32_t key,
                                                          const communicator_options& options) {
  const communicator_options with = inherited(options);
  request_context context{&team_->parent_job(), &with, {}};
  (void)enter(call_kind::team_split);
  return with_the_others([&] { return made(team_->split(color, key, request, &context), with); });
}

namespace {

// A vote, of which the bitwise AND of all is agreed on: well, or not and to begin again; or whose error no death explains. The bits
// of that index stand there with their complement, so that the AND of several can be told from one.
constexpr std::uint64_t well = 1, again = 2, index_bits = (1u << 31) - 1;
constexpr std::uint64_t culprit(std::uint64_t index) noexcept { return index << 2 | (~index & index_bits) << 33; }
constexpr std::uint32_t named(std::uint64_t vote) noexcept {
  const std::uint64_t index = vote >> 2 & index_bits;
  return vote == culprit(index) ? static_cast<std::uint32_t>(index) : ~std::uint32_t{0};
}

}  // namespace

// To make a communicator takes several steps, in each of which a further rank may die and leave some survivors with an
// error and others without. So an agreement follows each: on whether all were well, and on who is dead by then. Where not,
// all begin again without the dead. An error that no death explains would come again, and ends this in all of them.
//
// The first agreement is for members that are attached: from then on each can tell all others in the new team that it failed.
result<std::unique_ptr<communicator>> communicator::shrink(const communicator_options& options) {
  const communicator_options with = inherited(options);
  request_context context{&team_->parent_job(), &with, {}};
  agreement& all = team_->survivors();
  std::vector<std::uint32_t> without;
  status mine;
  // Whether all were as well as `mine` is, and nobody else is dead.
  const auto agreed_on = [&](const result<consensus>& said) {
    const bool good = (said->flags & well) && said->dead == without;
    without = said->dead;
    return good;
  };
  const auto my_own = [&] {
    const rank_t me = team_->parent_job().rank();
    return mine.failed() && mine.code() != errc::peer_dead && (mine.peer() == no_rank || mine.peer() == me);
  };
  bool last = false;
  const auto vote = [&] {
    const bool mine_to_tell = my_own() || (last && mine.failed());  // an error that names another rank may be of the way there
    return all.agree(mine_to_tell ? culprit(team_->index()) : mine.failed() ? ~well : ~std::uint64_t{0});
  };
  result<consensus> said = vote();
  if (said) without = said->dead;
  const std::uint32_t most = 2 * team_->size();  // as many as deaths may ask for: one may be found only in the second round after it
  for (std::uint32_t round = 0; said && (said->flags & again) && round <= most; ++round) {
    last = round == most;
    auto t = attempt([&] { return team_->regroup(without, request, &context); });
    mine = t.error();
    said = vote();
    if (!said || !agreed_on(said)) continue;
    auto made = attempt([&] { return equip(t->get(), with, nullptr); });
    mine = made.error();
    if (mine.failed()) (*t)->fail(mine);  // nobody is to wait for this rank there
    said = vote();
    if (!said || !agreed_on(said)) continue;
    (*made)->owned_ = std::move(*t);
    return made;
  }
  if (!said) return said.error();
  const std::uint32_t index = named(said->flags);
  const rank_t rank = index < team_->size() ? team_->rank_of(index) : no_rank;
  if (mine.failed() && (my_own() || rank == no_rank || index == team_->index())) return mine;
  return status{errc::no_resource, worded((rank == no_rank ? "several ranks" : "rank " + std::to_string(rank)),
                                          " could not make a team of the survivors; their own errors say why"), rank};
}

}  // namespace tutti

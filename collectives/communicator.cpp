#include "collectives/communicator.h"

#include <algorithm>

#include "collectives/barrier/pick.h"

namespace tutti {
namespace {

// The world's control memory is allocated before anyone knows who lives where, so algorithms that need a line for each
// rank of a node are provided for only up to here.
constexpr std::uint32_t lines_for_each_up_to = 64;

struct request_context {
  job* j;
  const communicator_options* options;
  std::string agreement;
};

team_request request(void* context, const rank_map& members) {
  auto& c = *static_cast<request_context*>(context);
  c.agreement = "barrier=" + c.options->barrier + " radix=" + std::to_string(c.options->radix);
  const auto picked = pick_barrier(*c.j, members, *c.options, ~std::uint32_t{0});
  return {picked ? picked->lines : 0, c.agreement};
}

}  // namespace

communicator_options communicator_options_from(const config& c) {
  communicator_options o;
  if (const auto name = c.text(knob::barrier); name != "auto") o.barrier = name;
  o.radix = static_cast<std::uint32_t>(c.number(knob::barrier_radix));
  return o;
}

std::uint32_t communicator::world_lines(std::uint32_t size) {
  std::uint32_t lines = 0;
  const barrier_shape one_node{.size = size};
  std::vector<std::uint32_t> apart(size <= lines_for_each_up_to ? size : 0);
  for (std::uint32_t i = 0; i < apart.size(); ++i) apart[i] = i;
  const barrier_shape each_alone{.size = size, .node_of = apart};
  for (const barrier_algorithm& a : barrier_algorithms()) {
    const std::uint32_t need = std::max(team_barrier::lines_for(a, one_node), team_barrier::lines_for(a, each_alone));
    if (size <= lines_for_each_up_to || need <= lines_for_each_up_to) lines = std::max(lines, need);
  }
  return lines;
}

result<std::unique_ptr<communicator>> communicator::world(job& j, communicator_options options) {
  return equip(&j.world(), nullptr, std::move(options));
}

result<std::unique_ptr<communicator>> communicator::equip(team* t, std::unique_ptr<team> owned,
                                                          communicator_options options) {
  std::unique_ptr<communicator> c(new communicator);
  c->options_ = std::move(options);
  c->owned_ = std::move(owned);
  c->team_ = t;
  const auto picked = pick_barrier(t->parent_job(), t->members(), c->options_, t->lines());
  if (!picked) return picked.error();
  auto b = team_barrier::open(*t, *picked->algorithm, picked->radix, c->options_.first_epoch);
  if (!b) return b.error();
  c->barrier_ = std::move(*b);
  return c;
}

result<std::unique_ptr<communicator>> communicator::create(std::span<const std::uint32_t> list,
                                                           const communicator_options& options) {
  request_context context{&team_->parent_job(), &options, {}};
  auto t = team_->create(list, request, &context);
  if (!t) return t.error();
  if (!*t) return std::unique_ptr<communicator>{};
  team* raw = t->get();
  return equip(raw, std::move(*t), options);
}

result<std::unique_ptr<communicator>> communicator::split(std::int32_t color, std::int32_t key,
                                                          const communicator_options& options) {
  request_context context{&team_->parent_job(), &options, {}};
  auto t = team_->split(color, key, request, &context);
  if (!t) return t.error();
  if (!*t) return std::unique_ptr<communicator>{};
  team* raw = t->get();
  return equip(raw, std::move(*t), options);
}

}  // namespace tutti

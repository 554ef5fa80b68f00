#include "tests/harness/composed.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include "core/transport/checked_transport.h"
#include "core/transport/driven_transport.h"
#include "tests/doubles/fault_transport.h"
#include "core/router/router.h"

namespace tutti::test {
namespace {

// A node transport that takes ranks of the other parity for ranks of another node.
class half_of_node final : public forwarding_transport {
 public:
  half_of_node(std::unique_ptr<transport> inner, rank_t self) : forwarding_transport{std::move(inner)}, self_{self} {}
  bool reaches(rank_t rank) const noexcept override { return rank % 2 == self_ % 2 && inner().reaches(rank); }

 private:
  rank_t self_;
};

// A network whose atomics agree with its own only.
class atomics_apart final : public forwarding_transport {
 public:
  explicit atomics_apart(std::unique_ptr<transport> net) : forwarding_transport{std::move(net)}, caps_{inner().caps()} {
    caps_.cpu_atomics_agree = false;
  }
  const capabilities& caps() const noexcept override { return caps_; }

 private:
  capabilities caps_;
};

// As adapters are: read by itself without map(), at their price. Signals upon added memory are what they were, so caps() does
// not say that they are native; native_towards() does, for those who only read.
class without_map final : public forwarding_transport {
 public:
  explicit without_map(std::unique_ptr<transport> net) : forwarding_transport{std::move(net)}, caps_{inner().caps()} {
    caps_.cost = {1.2, 0.2, 0.2, 10};
  }
  const capabilities& caps() const noexcept override { return caps_; }
  bool native_towards(rank_t) const noexcept override { return true; }
  std::byte* map(segment_id, rank_t) noexcept override { return nullptr; }

 private:
  capabilities caps_;
};

// "checked(shm)" for "checked" gives "shm"; empty: it is not of that kind.
std::string_view inside(std::string_view name, std::string_view kind) {
  if (!name.starts_with(kind) || name.size() < kind.size() + 2 || name[kind.size()] != '(' || name.back() != ')')
    return {};
  return name.substr(kind.size() + 1, name.size() - kind.size() - 2);
}

std::size_t outer_plus(std::string_view pair) {
  int depth = 0;
  for (std::size_t i = 0; i < pair.size(); ++i) {
    depth += (pair[i] == '(') - (pair[i] == ')');
    if (pair[i] == '+' && depth == 0) return i;
  }
  return pair.npos;
}

result<std::unique_ptr<transport>> open_router(std::string_view pair, const open_params& params) {
  const std::size_t plus = outer_plus(pair);
  if (plus == pair.npos) return status{errc::invalid, "a router is written router(A+B)"};
  const std::string node_job = std::string{params.job_id} + "n";  // both may be of one provider
  open_params node_params = params;
  node_params.job_id = node_job;
  auto node = open_fabric(pair.substr(0, plus), node_params);
  if (!node) return node;
  auto network = open_fabric(pair.substr(plus + 1), params);
  if (!network) return network;
  return make_router(std::make_unique<half_of_node>(std::move(*node), params.rank), std::move(*network),
                     {params.rank, params.rank % 2});
}

}  // namespace

result<std::unique_ptr<transport>> open_fabric(std::string_view name, const open_params& params) {
  if (const auto pair = inside(name, "router"); !pair.empty()) return open_router(pair, params);
  if (const auto below = inside(name, "checked"); !below.empty()) {
    auto net = open_fabric(below, params);
    if (!net) return net;
    return make_checked(std::move(*net));
  }
  if (const auto below = inside(name, "faulty"); !below.empty()) {
    auto net = open_fabric(below, params);
    if (!net) return net;
    fault_plan plan;
    plan.seed = std::hash<std::string_view>{}(params.job_id) + params.rank;
    plan.refuse = plan.idle = 0.3;
    return std::unique_ptr<transport>{std::make_unique<fault_transport>(std::move(*net), plan)};
  }
  if (unsigned number = 0; name.starts_with("failing")) {
    const auto digits = name.substr(7, name.find('(') - 7);
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    auto net = open_fabric(inside(name, name.substr(0, 7 + digits.size())), params);
    if (!net || params.rank != 1) return net;
    return std::unique_ptr<transport>{std::make_unique<fault_transport>(std::move(*net), fault_plan{.fail_operation = number})};
  }
  if (const auto below = inside(name, "apart"); !below.empty()) {
    auto net = open_fabric(below, params);
    if (!net) return net;
    return std::unique_ptr<transport>{std::make_unique<atomics_apart>(std::move(*net))};
  }
  if (const auto below = inside(name, "far"); !below.empty()) {
    auto net = open_fabric(below, params);
    if (!net) return net;
    return std::unique_ptr<transport>{std::make_unique<without_map>(std::move(*net))};
  }
  if (const auto below = inside(name, "driven"); !below.empty()) {
    open_params two_threads = params;
    two_threads.progress_thread = true;
    auto net = open_fabric(below, two_threads);
    if (!net) return net;
    transport* all = net->get();
    return make_driven(std::move(*net), {all});
  }
  const auto choice = find_provider(name);
  if (!choice) return choice.error();
  open_params own = params;
  own.device = choice->device;
  return choice->impl->open(own);
}

std::vector<fabric_spec> composed_fabrics(const std::vector<fabric_spec>& plain) {
  const auto there = [&](std::string_view name) {
    return std::any_of(plain.begin(), plain.end(), [&](const fabric_spec& f) { return f.name == name; });
  };
  std::vector<fabric_spec> all;
  if (!there("shm")) return all;
  for (const char* made : {"checked(shm)", "faulty(shm)", "router(shm+shm)", "router(shm+apart(shm))"}) all.push_back({made});
  for (const char* network : {"ucx:tcp", "ofi:tcp", "verbs"})
    if (there(network)) all.push_back({"router(shm+" + std::string{network} + ")"});
  if (there("ucx:tcp")) all.push_back({"driven(ucx:tcp)"});
  return all;
}

}  // namespace tutti::test

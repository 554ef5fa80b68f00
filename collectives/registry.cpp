// All algorithms, a name each. What stands earlier wins a tie.
#include <array>

#include "collectives/algorithm.h"
#include "core/base/listing.h"

namespace tutti {
namespace barriers {
extern const algorithm dissemination, pairwise, nway, tree, flat, counter, multicast, hierarchical, offloaded;
}
namespace broadcasts {
extern const algorithm multicast, binomial, chain;
}
namespace {

constexpr const algorithm* of_barrier[] = {
    &barriers::dissemination, &barriers::pairwise,  &barriers::nway,         &barriers::tree,     &barriers::flat,
    &barriers::counter,       &barriers::multicast, &barriers::hierarchical, &barriers::offloaded};
constexpr const algorithm* of_broadcast[] = {&broadcasts::multicast, &broadcasts::binomial, &broadcasts::chain};

struct family {
  std::string_view name;
  std::span<const algorithm* const> rows;
};
constexpr family families[collectives] = {{"barrier", of_barrier}, {"broadcast", of_broadcast}};

const family& family_of(collective c) noexcept { return families[static_cast<unsigned>(c)]; }

}  // namespace

std::string_view name_of(collective c) noexcept { return family_of(c).name; }

algorithm_list algorithms(collective c) noexcept { return algorithm_list(family_of(c).rows); }

const algorithm* find_algorithm(collective c, std::string_view name) noexcept {
  if (name.empty()) return nullptr;
  for (const algorithm& a : algorithms(c))
    if (a.name == name || a.alias == name) return &a;
  return nullptr;
}

std::string known_algorithms(collective c, bool (*keep)(const algorithm&)) {
  std::string out;
  for (const algorithm& a : algorithms(c))
    if (!keep || keep(a)) add_to_list(out, a.name);
  return out;
}

}  // namespace tutti

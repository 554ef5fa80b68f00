#include "core/job/network_choice.h"

#include <algorithm>

#include "core/base/listing.h"

namespace tutti {
namespace {

std::string spec_of(const provider_entry& e, const network_device& d) {
  return d.name.empty() ? std::string(e.name) : std::string(e.name) + ":" + d.name;
}

std::vector<network_device> ask(const provider& p, bool all, std::string& why_not) {
  if (p.between_nodes) return p.between_nodes(all, why_not);
  std::vector<network_device> out;
  if (!all) return out;
  for (const std::string& name : p.probe(why_not)) out.push_back({name, false});
  return out;
}

std::string in_words(const networks& n) {
  if (n.empty()) return "none";
  std::string out;
  for (const std::string& spec : n) add_to_list(out, spec);
  return out;
}

// Rank 0's, and those of the first other rank that has not the same, or of the last one.
status nothing_in_common(std::span<const networks> of_ranks, const std::string& why_not) {
  const networks& first = of_ranks[0];
  std::size_t other = 1;
  while (other + 1 < of_ranks.size() && of_ranks[other] == first) ++other;
  const bool alone = of_ranks.size() == 1;  // who asks for other ranks than are here
  return {errc::unavailable, worded("the job spans several nodes, and no network can be used by all ranks: rank 0 has ",
                                    in_words(first),
                                    (alone ? "" : ", rank " + std::to_string(other) + " has " + in_words(of_ranks[other])),
                                    (why_not.empty() ? "" : " (here: " + why_not + ")"),
                                    "; `tutti info` on each of the nodes says what is missing"),
          alone ? no_rank : static_cast<rank_t>(other)};
}

}  // namespace

networks usable_networks(bool all, std::string& why_not) {
  networks one_sided, others;
  for (const provider_entry& e : providers()) {
    if (e.impl && !e.impl->is_network) continue;
    std::string reason = e.why_not;
    std::vector<network_device> devices;
    if (e.impl) devices = ask(*e.impl, all, reason);
    for (const network_device& d : devices) (d.one_sided ? one_sided : others).push_back(spec_of(e, d));
    if (!reason.empty()) add_to_list(why_not, std::string(e.name) + ": " + reason, "; ");
  }
  one_sided.insert(one_sided.end(), others.begin(), others.end());
  return one_sided;
}

std::string common_network(std::span<const networks> of_ranks) {
  for (const std::string& wanted : of_ranks[0])
    if (std::all_of(of_ranks.begin(), of_ranks.end(),
                    [&](const networks& n) { return std::find(n.begin(), n.end(), wanted) != n.end(); }))
      return wanted;
  return {};
}

// Most ranks are alike, and to ask a library of what it finds costs time; so a first round leaves out what would hardly be
// taken, and a second one is held where nothing was common to all, which each sees alike.
result<std::string> agree_on_network(bootstrap& boot, time_point deadline, const ask_for_networks& usable) {
  std::string why_not;
  for (const bool all : {false, true}) {
    why_not.clear();
    std::string mine;
    for (const std::string& spec : usable(all, why_not)) mine += spec + '\n';
    const auto blobs = boot.allgather(std::as_bytes(std::span(mine.data(), mine.size())), deadline);
    if (!blobs) return blobs.error().during("choosing a network");
    std::vector<networks> of_ranks((*blobs)->size());
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
      const auto blob = (**blobs)[rank];
      std::string_view text(reinterpret_cast<const char*>(blob.data()), blob.size());
      for (std::size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1))
        of_ranks[rank].emplace_back(text.substr(0, end));
    }
    if (std::string found = common_network(of_ranks); !found.empty()) return found;
    if (all) return nothing_in_common(of_ranks, why_not);
  }
  return std::string{};
}

}  // namespace tutti

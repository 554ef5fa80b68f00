#include "tools/perf/messages.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "tools/options.h"
#include "tools/perf/topic.h"
#include "tools/process.h"

namespace tutti::tools {
namespace {

constexpr std::uint64_t kib = 1 << 10, mib = 1 << 20, most_bytes = 64 * mib;

std::vector<contest_cell> cells_with(const char* part, std::initializer_list<std::uint64_t> sizes) {
  std::vector<contest_cell> out;
  for (const std::uint64_t bytes : sizes) out.push_back({part, bytes});
  return out;
}
std::vector<contest_cell> joined(std::initializer_list<std::vector<contest_cell>> all) {
  std::vector<contest_cell> out;
  for (const auto& some : all) out.insert(out.end(), some.begin(), some.end());
  return out;
}

std::vector<contest_cell> usual_cells() {
  return joined({cells_with("latency", {8, kib, 8 * kib, 64 * kib, mib}),
                 cells_with("bandwidth", {64, 256, kib, 4 * kib, 16 * kib, 64 * kib, 256 * kib, mib, 4 * mib}), cells_with("rate", {8}),
                 cells_with("active", {8})});
}
std::vector<contest_cell> cells_of_designs() {
  const std::initializer_list<std::uint64_t> many = {64, kib, 4 * kib, 16 * kib, 64 * kib, 256 * kib, mib};
  return joined({cells_with("bandwidth", many), cells_with("latency", {8, 64, 256, kib}),
                 cells_with("put", {8, 256, 4 * kib, 64 * kib}), cells_with("mixed", many)});
}

// "latency:64k"
contest_cell cell_of(const std::string& word) {
  const auto colon = word.find(':');
  contest_cell cell{word.substr(0, colon), 0};
  if (colon != word.npos) cell.bytes = size_in_bytes(word.substr(colon + 1)).value_or(0);
  if (std::ranges::find(message_parts, cell.name) == std::end(message_parts) || cell.bytes == 0 || cell.bytes > most_bytes)
    throw std::runtime_error("--cells " + word + ": write a part, of latency, bandwidth, rate, active, put, mixed and rings, and its "
                             "bytes, to 64M: latency:8");
  return cell;
}

struct choices {
  perf_topic topic;
  std::vector<std::string> words;
  std::vector<contest_cell> cells;
  std::vector<std::uint64_t> ranks;
  std::vector<std::string> providers;
  std::string json;
  bool peers = false, designs = false, rings = false, by_messages = false;
};

int compare(choices& c) {
  if (c.peers + c.designs + c.rings > 1) throw std::runtime_error("--peers, --designs and --rings are three comparisons; ask for one");
  messages_plan plan{.self = own_path(), .providers = c.providers, .cells = c.cells, .ranks = {}, .sorts = c.cells.empty(),
                     .seconds = c.topic.seconds, .json = c.json};
  if (plan.providers.empty()) plan.providers = {"shm", "ucx:tcp"};
  plan.ranks.assign(c.ranks.begin(), c.ranks.end());
  if (plan.ranks.empty()) plan.ranks = c.rings ? std::vector{4, 8} : std::vector{2};
  if (plan.cells.empty()) plan.cells = c.peers ? usual_cells() : c.designs ? cells_of_designs() : cells_with("rings", {8});
  if (plan.seconds == 0) plan.seconds = c.peers ? 240 : 180;
  for (const contest_cell& cell : plan.cells)
    if ((cell.name == "rings") != c.rings) throw std::runtime_error("the part rings, and no other, is compared by --rings");
  return c.peers ? compare_messages_with_peers(plan) : c.designs ? compare_message_designs(plan) : compare_message_rings(plan);
}

int measure(choices& c) {
  if (c.ranks.size() > 1 || !c.json.empty() || !c.providers.empty())
    throw std::runtime_error("several numbers of ranks, --providers and --json are for --peers, --designs and --rings; TUTTI_PROVIDER "
                             "names one job's");
  if (c.cells.empty()) c.cells = usual_cells();
  c.topic.ranks = c.ranks.empty() ? 2 : static_cast<int>(c.ranks[0]);
  if (c.topic.seconds == 0) c.topic.seconds = 0.2;
  std::string words = words_of(c.cells);
  std::ranges::replace(words, ' ', ',');
  c.topic.arguments = {"--cells", words};
  if (c.by_messages) c.topic.arguments.emplace_back("--one-sided-by-messages");
  c.topic.take_part = [&c] { measure_messages(c.cells, c.topic.seconds, c.by_messages); };
  return run_topic(c.topic);
}

}  // namespace

std::string words_of(const std::vector<contest_cell>& cells) {
  std::string out;
  for (const contest_cell& c : cells) out += (out.empty() ? "" : " ") + c.name + ":" + std::to_string(c.bytes);
  return out;
}

contestant our_messages(const messages_plan& plan, const std::string& provider, std::string name, const std::string& design) {
  std::string words = words_of(plan.cells);
  std::ranges::replace(words, ' ', ',');
  const std::string before =
      "env TUTTI_PROVIDER=" + provider + (design.empty() ? "" : " TUTTI_MESSAGING=" + design) + " '" + plan.self + "' run -n ";
  const std::string after = " '" + plan.self + "' perf messages --cells " + words +
                            (design == "channel" || design == "packet" ? " --one-sided-by-messages" : "") + " --seconds ";
  return {std::move(name), {}, [=](int ranks, double seconds) { return before + std::to_string(ranks) + after + std::to_string(seconds); }};
}

std::function<int()> declare_messages(options perf) {
  auto c = std::make_shared<choices>();
  c->topic = {.name = "messages", .seconds = 0};
  options app = perf.subcommand("messages", "latency, bandwidth and rate of messages between two ranks; beside other libraries', in three "
                                "designs, in rings");
  app.add("-n,--ranks", c->ranks, "ranks to start, when not inside a job already (default 2; with --rings each of 4,8)").by_commas();
  app.add("--cells", c->words, "what to measure: a part and its bytes, as latency:8,bandwidth:64k; parts: latency, bandwidth and rate (a "
          "window of 64), active (a request and its reply), put (with synchronisation), mixed (16 puts and 16 gets), rings").by_commas();
  app.add("--peers", c->peers, "beside Open MPI, MPICH, ucx_perftest and bare copies, by whole jobs in turn: ratios, geometric means");
  app.add("--designs", c->designs, "TUTTI_MESSAGING=channel, packet and full side by side: figures 5 to 8 of Huang et al. 2005, and 10 without --cells");
  app.add("--rings", c->rings, "the designs and MPI libraries in ping-pongs of all pairs and rings of all ranks: figure 9");
  app.add("--providers,--provider", c->providers, "with these three: as TUTTI_PROVIDER names them (default shm,ucx:tcp)").by_commas();
  app.add("--one-sided-by-messages", c->by_messages, "put and mixed are made of messages, as in the designs channel and packet of the paper");
  app.add("--seconds", c->topic.seconds, "how long to measure each cell (default 0.2); with the comparisons, everything (default 240, 180)")
      .between(0.001, 36000.0);
  app.add("--json", c->json, "with the comparisons: write the numbers with their provenance to this file");
  return [c] {
    for (const std::uint64_t n : c->ranks)
      if (n < 2 || n > 1024) throw std::runtime_error("-n " + std::to_string(n) + ": write numbers from 2 to 1024");
    for (const std::string& word : c->words) c->cells.push_back(cell_of(word));
    return c->peers || c->designs || c->rings ? compare(*c) : measure(*c);
  };
}

}  // namespace tutti::tools

#include "tools/bsp_report/analysis.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>

#include "core/base/listing.h"
#include "tools/perf/words.h"

namespace tutti::tools {

void superstep_cost::add(const superstep_cost& c) {
  measured += c.measured, predicted += c.predicted, work += c.work, waiting += c.waiting, volume += c.volume, latency += c.latency;
  beyond += c.beyond, h += c.h, calls += c.calls, bytes += c.bytes;
}

double l_of(const ledger_file& file) {
  std::vector<double> beside;
  for (const superstep_record& r : file.supersteps) {
    const superstep_cost c = cost_of(file, 0, r);
    beside.push_back(c.measured - c.work);
  }
  const auto tenth = beside.begin() + static_cast<std::ptrdiff_t>(beside.size() / 10);
  std::nth_element(beside.begin(), tenth, beside.end());
  return std::min(file.l_ns, *tenth);
}

superstep_cost cost_of(const ledger_file& file, double l_ns, const superstep_record& r) {
  superstep_cost c;
  for (std::uint32_t i = 0; i < file.processes; ++i) {
    c.measured = std::max(c.measured, r.work[i] + r.sync[i]);
    c.work = std::max(c.work, r.work[i]);
    c.h = std::max({c.h, r.sent[i], r.received[i]});
    c.calls += r.calls[i], c.bytes += r.sent[i];
  }
  c.waiting = c.work - std::accumulate(r.work.begin(), r.work.end(), 0.0) / file.processes;
  c.predicted = c.work + file.g_ns_per_byte * c.h + l_ns;
  c.latency = std::min(l_ns, c.measured - c.work);
  c.volume = std::min(file.g_ns_per_byte * c.h, c.measured - c.work - c.latency);
  c.beyond = c.measured - c.work - c.latency - c.volume;
  return c;
}

namespace {

// Of each site, the first one in the same line of source that ends supersteps as this does, or moves data by the same function: a line that
// a compiler put into several places, or split, is one sync.
std::vector<std::uint32_t> lines_of(const ledger_file& file) {
  std::vector<std::string> by(file.sites.size());
  for (const site_traffic& c : file.calls) by[c.site] = file.sites[c.site].call;
  std::map<std::pair<std::string, std::string>, std::uint32_t> first;
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < file.sites.size(); ++i)
    out.push_back(file.sites[i].line.empty() ? i : first.try_emplace({file.sites[i].line, by[i]}, i).first->second);
  return out;
}

std::vector<call_summary> calls_of(const ledger_file& file, const std::vector<std::uint32_t>& lines) {
  std::map<std::uint32_t, call_summary> by_line;
  for (const site_traffic& c : file.calls) {
    call_summary& s = by_line[lines[c.site]];
    s.name = file.sites[c.site].name, s.call = file.sites[c.site].call;
    s.calls += c.calls, s.bytes += c.bytes;
  }
  std::vector<call_summary> out;
  for (auto& [line, s] : by_line) out.push_back(std::move(s));
  std::ranges::sort(out, std::ranges::greater{}, &call_summary::bytes);
  return out;
}

site_summary site_at(const ledger_file& file, const std::vector<std::uint32_t>& where) {
  constexpr std::size_t most_named = 4;
  site_summary s;
  s.by_way.resize(file.ways.size());
  s.call = file.sites[where[0]].call;
  for (std::size_t i = 0; i < std::min(where.size(), most_named); ++i) {
    const call_site& one = file.sites[where[i]];
    add_to_list(s.name, one.call == "bsp_sync" ? one.name : one.name + " (" + one.call + ")");
    if (one.call != s.call) s.call = "bsp_sync";
  }
  if (where.size() > most_named) add_to_list(s.name, "and " + std::to_string(where.size() - most_named) + " more");
  return s;
}

}  // namespace

bsp_analysis analyse(const ledger_file& file) {
  bsp_analysis out;
  out.l_ns = l_of(file);
  out.by_way.resize(file.ways.size());
  const std::vector<std::uint32_t> lines = lines_of(file);
  std::map<std::vector<std::uint32_t>, std::size_t> places;  // by the lines in which processes were
  std::vector<std::vector<std::uint64_t>> longest;
  for (const superstep_record& r : file.supersteps) {
    const superstep_cost c = cost_of(file, out.l_ns, r);
    out.supersteps.push_back(c);
    out.total.add(c);
    std::vector<std::uint32_t> where;
    for (const std::uint32_t site : r.sites)
      if (std::ranges::find(where, lines[site]) == where.end()) where.push_back(lines[site]);
    std::ranges::sort(where);
    const auto [place, fresh] = places.try_emplace(where, out.sites.size());
    if (fresh) {
      out.sites.push_back(site_at(file, where));
      longest.emplace_back(file.processes);
    }
    site_summary& s = out.sites[place->second];
    s.total.add(c);
    ++s.supersteps;
    ++out.by_way[r.way], ++s.by_way[r.way];
    ++longest[place->second][static_cast<std::size_t>(std::max_element(r.work.begin(), r.work.end()) - r.work.begin())];
  }
  for (std::uint32_t i = 0; i < out.sites.size(); ++i) {
    site_summary& s = out.sites[i];
    const auto most = std::max_element(longest[i].begin(), longest[i].end());
    s.slowest = static_cast<std::uint32_t>(most - longest[i].begin());
    s.slowest_share = s.supersteps ? static_cast<double>(*most) / static_cast<double>(s.supersteps) : 0;
    const std::pair<loss, double> losses[] = {{loss::imbalance, s.total.waiting}, {loss::volume, s.total.volume},
                                              {loss::latency, s.total.latency}, {loss::beyond, s.total.beyond}};
    for (const auto& [kind, ns] : losses)
      if (ns > s.gain) s.worst = kind, s.gain = ns;
  }
  std::sort(out.sites.begin(), out.sites.end(),
            [](const auto& a, const auto& b) { return a.total.measured > b.total.measured; });
  out.calls = calls_of(file, lines);
  out.to_mend = out.sites;
  std::sort(out.to_mend.begin(), out.to_mend.end(), [](const auto& a, const auto& b) { return a.gain > b.gain; });
  if (out.to_mend.size() > 3) out.to_mend.resize(3);
  return out;
}

std::string ways_taken(const ledger_file& file, const std::vector<std::uint64_t>& by_way) {
  std::vector<std::size_t> ways;
  for (std::size_t i = 0; i < by_way.size(); ++i)
    if (by_way[i]) ways.push_back(i);
  if (ways.size() == 1) return file.ways[ways[0]];
  std::stable_sort(ways.begin(), ways.end(), [&](std::size_t a, std::size_t b) { return by_way[a] > by_way[b]; });
  std::string out;
  for (const std::size_t i : ways) add_to_list(out, file.ways[i] + " " + std::to_string(by_way[i]));
  return out;
}

std::string advice(const ledger_file& file, const site_summary& s) {
  const auto n = static_cast<double>(s.supersteps);
  const bool sync = s.call == "bsp_sync";
  switch (s.worst) {
    case loss::imbalance:
      return "Processes wait " + short_time(s.gain) + " for the one that computes longest; in " +
             percent(s.slowest_share) + " of these supersteps that is process " + std::to_string(s.slowest) +
             ". Divide the work more evenly.";
    case loss::volume:
      if (!sync)
        return "The data of " + s.call + " cost " + short_time(s.gain) + ": " + short_bytes(s.total.h / n) +
               " a call by the process with most.";
      return "The data cost " + short_time(s.gain) + ": " + short_bytes(s.total.h / n) +
             " a superstep by the process with most. Send less, or let all processes send and receive alike (the mean is " +
             short_bytes(s.total.bytes / n / file.processes) + ").";
    case loss::latency:
      if (!sync)
        return s.call + " is a superstep each time: " + std::to_string(s.supersteps) + " cost " + short_time(s.gain) +
               ", more than their data. Bring several values by one call, or call it less often.";
      return "Synchronising alone costs " + short_time(s.gain) + " in " + std::to_string(s.supersteps) +
             " supersteps, more than their data. Do more in each, so that fewer are needed.";
    case loss::beyond: {
      const double each = s.total.calls > 0 ? s.total.bytes / s.total.calls : 0;
      if (sync && each > 0 && each < 64)
        return "It took " + short_time(s.gain) + " more than w + g h + l. Its calls move " + short_bytes(each) +
               " each; g is for long blocks. Put neighbours in memory by one call.";
      return "It took " + short_time(s.gain) +
             " more than w + g h + l, which calls do not explain: the processes may share cores with others, or memory is "
             "touched for the first time.";
    }
  }
  return {};
}

}  // namespace tutti::tools

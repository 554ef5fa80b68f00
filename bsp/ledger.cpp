#include "bsp/ledger.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "bsp/engine.h"
#include "core/base/own_program.h"

namespace tutti::bsp {
namespace {

std::uint64_t ns(time_point::duration d) noexcept { return static_cast<std::uint64_t>(d.count()); }

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + '"';
}

std::string program_name() {
  const std::string known = own_program();
  return known.empty() ? "?" : known;
}

// A call's place: the module's file, and the offset in it of the return address.
struct place {
  std::string module = "?", function;
  std::uint64_t offset = 0;
};
place place_of(const void* address) {
  place p;
  Dl_info found{};
  if (!address || !dladdr(address, &found)) return p;
  if (found.dli_fname) p.module = found.dli_fname;
  if (p.module.find('/') == p.module.npos || p.module[0] != '/') p.module = program_name();
  if (found.dli_sname) p.function = found.dli_sname;
  p.offset = static_cast<std::uint64_t>(static_cast<const char*>(address) - static_cast<const char*>(found.dli_fbase));
  return p;
}

template <class T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void append_text(std::string& out, const std::string& text) {
  append(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

// Reads what append() wrote; a part that is cut short reads as zeros.
class reader {
 public:
  explicit reader(const std::string& from) : from_(from) {}
  template <class T>
  T take() {
    T value{};
    if (from_.size() - at_ >= sizeof value) std::memcpy(&value, from_.data() + at_, sizeof value), at_ += sizeof value;
    return value;
  }
  std::string text() {
    const auto n = std::min<std::size_t>(take<std::uint32_t>(), from_.size() - at_);
    return from_.substr(std::exchange(at_, at_ + n), n);
  }

 private:
  const std::string& from_;
  std::size_t at_ = 0;
};

constexpr std::uint32_t most_in_traffic = 512;  // processes of a part whose traffic is told: of every pair

// Everyone's part to process 0, in supersteps of bounded size.
bool gather(engine& e, const std::string& mine, std::vector<std::string>& parts) {
  constexpr std::uint64_t piece = std::uint64_t{1} << 20;
  std::uint64_t before, most = 0;
  if (!e.set_tagsize(0, before) || !e.sync()) return false;
  const std::uint64_t bytes = mine.size();
  for (std::uint32_t i = 0; i < e.nprocs(); ++i)
    if (!e.send(i, nullptr, &bytes, sizeof bytes)) return false;
  if (!e.sync()) return false;
  for (; const message* m = e.queue().front(); e.queue().pop()) {
    std::uint64_t theirs;
    std::memcpy(&theirs, m->payload, sizeof theirs);
    most = std::max(most, theirs);
  }
  parts.assign(e.nprocs(), {});
  for (std::uint64_t at = 0; at < most; at += piece) {
    // Who it is from, then a piece.
    if (at < bytes) {
      std::string text;
      append(text, e.pid());
      text.append(mine, at, piece);
      if (!e.send(0, nullptr, text.data(), text.size())) return false;
    }
    if (!e.sync()) return false;
    for (; const message* m = e.queue().front(); e.queue().pop()) {
      std::uint32_t from;
      std::memcpy(&from, m->payload, sizeof from);
      parts[from].append(reinterpret_cast<const char*>(m->payload) + sizeof from, m->bytes - sizeof from);
    }
  }
  return true;
}

void list(std::FILE* f, const std::vector<std::uint64_t>& values) {
  std::fputc('[', f);
  for (std::size_t i = 0; i < values.size(); ++i)
    std::fprintf(f, "%s%llu", i ? "," : "", static_cast<unsigned long long>(values[i]));
  std::fputc(']', f);
}

}  // namespace

bool measure_machine(engine& e, machine& m) {
  constexpr int rounds = 41;
  constexpr std::uint64_t block = 65536;
  const std::uint32_t p = e.nprocs();
  std::vector<std::byte> from(block), to(block * p);
  std::vector<double> empty, full;
  if (!e.push_reg(to.data(), to.size()) || !e.sync()) return false;
  for (int i = 0; i < rounds; ++i) {
    auto start = e.net().now();
    if (!e.sync()) return false;
    empty.push_back(static_cast<double>(ns(e.net().now() - start)));
    start = e.net().now();
    for (std::uint32_t k = 1; k < p; ++k)
      if (!e.put((e.pid() + k) % p, from.data(), to.data(), e.pid() * block, block)) return false;
    if (!e.sync()) return false;
    full.push_back(static_cast<double>(ns(e.net().now() - start)));
  }
  if (!e.pop_reg(to.data()) || !e.sync()) return false;
  m.l_ns = median(empty);
  m.g_ns_per_byte = p > 1 ? std::max(0.0, median(full) - m.l_ns) / static_cast<double>(block * (p - 1)) : 0;
  return true;
}

ledger::ledger(std::uint32_t processes, const machine& m, const transport& clock)
    : machine_(m), clock_(clock), with_(processes), left_(clock.now()) {}

void ledger::enter(const void* site, std::string_view call, metadata_way way) noexcept {
  site_ = site;
  call_ = call;
  way_ = way;
  entered_ = clock_.now();
}

void ledger::leave() {
  const auto now = clock_.now();
  if (supersteps_.size() < most_supersteps) {
    const auto [at, fresh] = site_numbers_.try_emplace(site_, static_cast<std::uint32_t>(sites_.size()));
    if (fresh) sites_.push_back({site_, std::string(call_)});
    supersteps_.push_back({ns(entered_ - left_), ns(now - entered_), at->second, static_cast<std::uint32_t>(busy_.size())});
    ways_.push_back(way_);
    for (const std::uint32_t pid : busy_) {
      const traffic& t = with_[pid];
      flows_.push_back({pid, static_cast<std::uint32_t>(t.calls), t.out, t.in});
    }
  } else {
    ++dropped_;
  }
  for (const std::uint32_t pid : busy_) with_[pid] = {};
  busy_.clear();
  left_ = clock_.now();
}

std::string ledger::own_part() const {
  std::string out;
  const auto append_site = [&](const void* from, const std::string& call) {
    const place p = place_of(from);
    append_text(out, p.module);
    append_text(out, p.function);
    append_text(out, call);
    append(out, p.offset);
  };
  append(out, static_cast<std::uint32_t>(sites_.size()));
  for (const sync_site& s : sites_) append_site(s.from, s.call);
  append(out, static_cast<std::uint32_t>(moved_.size()));
  for (const auto& [from, m] : moved_) append_site(from, std::string(m.call)), append(out, m.calls), append(out, m.bytes);
  append(out, static_cast<std::uint32_t>(supersteps_.size()));
  std::size_t next = 0;
  for (const superstep& s : supersteps_) {
    append(out, s);
    for (std::uint32_t k = 0; k < s.flows; ++k) append(out, flows_[next++]);
  }
  return out;
}

bool ledger::write(engine& e, const std::string& file, const std::string& provider, status& why) {
  std::vector<std::string> parts;
  if (!gather(e, own_part(), parts)) return false;
  if (e.pid() != 0) return true;
  std::FILE* const f = std::fopen(file.c_str(), "w");
  if (!f) {
    why = {errc::invalid, worded("TUTTI_BSP_PROFILE: ", file, " cannot be written: ", std::strerror(errno))};
    return true;
  }
  const std::uint32_t p = e.nprocs();
  std::fprintf(f, "{\"tutti_bsp_profile\":3,\"program\":%s,\"provider\":%s,\"processes\":%u,\"g_ns_per_byte\":%.6g,"
                  "\"l_ns\":%.6g,\"dropped\":%llu,\n\"sites\":[",
               quoted(program_name()).c_str(), quoted(provider).c_str(), p, machine_.g_ns_per_byte, machine_.l_ns,
               static_cast<unsigned long long>(dropped_));
  std::vector<reader> from;
  for (const std::string& part : parts) from.emplace_back(part);
  std::uint32_t count = 0;
  std::map<std::pair<std::string, std::uint64_t>, std::uint32_t> known;  // the module and the offset there: the site
  std::vector<std::vector<std::uint32_t>> numbers(p);                     // of each process's own sites
  const auto next_site = [&](reader& r) {
    const std::string module = r.text(), function = r.text(), call = r.text();
    const auto offset = r.take<std::uint64_t>();
    const auto [at, fresh] = known.try_emplace({module, offset}, static_cast<std::uint32_t>(known.size()));
    if (fresh)
      std::fprintf(f, "%s{\"module\":%s,\"function\":%s,\"offset\":%llu,\"call\":%s}", at->second ? "," : "", quoted(module).c_str(),
                   quoted(function).c_str(), static_cast<unsigned long long>(offset), quoted(call).c_str());
    return at->second;
  };
  std::map<std::uint32_t, moved> moved_from;  // by site
  for (std::uint32_t i = 0; i < p; ++i) {
    const auto sites = from[i].take<std::uint32_t>();
    for (std::uint32_t k = 0; k < sites; ++k) numbers[i].push_back(next_site(from[i]));
    const auto moving = from[i].take<std::uint32_t>();
    for (std::uint32_t k = 0; k < moving; ++k) {
      moved& m = moved_from[next_site(from[i])];
      m.calls += from[i].take<std::uint64_t>(), m.bytes += from[i].take<std::uint64_t>();
    }
    const auto n = from[i].take<std::uint32_t>();
    count = i == 0 ? n : std::min(count, n);
  }
  std::fputs("],\n\"ways\":[\"words\",\"dissemination\",\"multicast\"],\n\"supersteps\":[", f);  // as metadata_way
  std::vector<std::uint64_t> work(p), sync(p), sent(p), received(p), calls(p), site(p);
  std::map<std::pair<std::uint32_t, std::uint32_t>, traffic> between;
  for (std::uint32_t s = 0; s < count; ++s) {
    std::fill(sent.begin(), sent.end(), 0), std::fill(received.begin(), received.end(), 0);
    for (std::uint32_t i = 0; i < p; ++i) {
      const auto own = from[i].take<superstep>();
      site[i] = own.site < numbers[i].size() ? numbers[i][own.site] : 0;
      work[i] = own.work_ns, sync[i] = own.sync_ns, calls[i] = 0;
      for (std::uint32_t k = 0; k < own.flows; ++k) {
        const auto flowed = from[i].take<flow>();
        if (flowed.pid == i || flowed.pid >= p) continue;
        calls[i] += flowed.calls;
        sent[i] += flowed.out, received[i] += flowed.in;
        received[flowed.pid] += flowed.out, sent[flowed.pid] += flowed.in;
        if (p > most_in_traffic) continue;
        traffic &there = between[{i, flowed.pid}], &back = between[{flowed.pid, i}];
        there.out += flowed.out, back.out += flowed.in, there.calls += flowed.calls;
      }
    }
    std::fputs(s ? ",\n[" : "\n[", f);
    if (std::ranges::all_of(site, [&](std::uint64_t one) { return one == site[0]; }))
      std::fprintf(f, "%u", static_cast<unsigned>(site[0]));
    else
      list(f, site);
    std::fputc(',', f);
    const std::vector<std::uint64_t>* const columns[] = {&work, &sync, &sent, &received, &calls};
    for (const auto* column : columns) {
      if (column != columns[0]) std::fputc(',', f);
      list(f, *column);
    }
    std::fprintf(f, ",%u]", static_cast<unsigned>(ways_[s]));
  }
  std::fputs("],\n\"traffic\":[", f);
  const char* before = "";
  for (const auto& [pair, t] : between) {
    std::fprintf(f, "%s[%u,%u,%llu,%llu]", before, pair.first, pair.second, static_cast<unsigned long long>(t.out),
                 static_cast<unsigned long long>(t.calls));
    before = ",";
  }
  std::fputs("],\n\"calls\":[", f);
  before = "";
  for (const auto& [at, m] : moved_from) {
    std::fprintf(f, "%s[%u,%llu,%llu]", before, at, static_cast<unsigned long long>(m.calls), static_cast<unsigned long long>(m.bytes));
    before = ",";
  }
  std::fputs("]}\n", f);
  const bool full = std::ferror(f) != 0;
  if (std::fclose(f) != 0 || full) why = {errc::invalid, worded("TUTTI_BSP_PROFILE: ", file, " could not be written in full")};
  return true;
}

}  // namespace tutti::bsp

#include "tests/harness/fabrics.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "core/base/hash.h"
#include "core/transport/provider.h"
#include "tests/harness/composed.h"
#include "tests/harness/sim_fabric.h"

namespace tutti::test {
namespace {

// probe() runs in a child: a vendor's library that was used before a fork may not like to be used after it.
struct probed {
  std::vector<std::string> devices;
  std::string why_not;
};

probed probe(const provider& p) {
  int ends[2];
  if (pipe(ends) != 0) return {{}, "pipe failed"};
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    std::string why, text;
    const auto devices = p.probe(why);
    for (const auto& d : devices) text += "+" + d + "\n";
    if (devices.empty()) text += "-" + why + "\n";
    [[maybe_unused]] const auto n = write(ends[1], text.data(), text.size());
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  if (pid > 0) waitpid(pid, &status, 0);
  if (pid < 0 || status != 0) throw std::runtime_error(std::string{p.name} + ": its probe crashed, status " + std::to_string(status));
  probed found;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    const std::string line = text.substr(at + 1, end - at - 1);
    if (text[at] == '+') found.devices.push_back(line);
    else found.why_not = line;
    at = end + 1;
  }
  return found;
}

// A vendor's library looks around at its first use, which takes libfabric a tenth of a second. Ranks inherit what it
// found; nothing is open after this. But for libfabric where there are RDMA devices: its connections over them cannot be
// made in a process that was forked from one that has looked.
void look_around(const std::string& fabric) {
  static std::vector<std::string_view> done;
  for (const std::string_view vendor : {"ucx", "ofi", "verbs"}) {
    if (fabric.find(vendor) == fabric.npos || std::find(done.begin(), done.end(), vendor) != done.end()) continue;
    done.push_back(vendor);
    std::error_code none;
    const std::filesystem::directory_iterator adapters{"/sys/class/infiniband", none};
    if (vendor == "ofi" && !none && adapters != std::filesystem::directory_iterator{}) continue;
    open_params nothing;
    nothing.device = "no-such-device";
    if (const auto choice = find_provider(vendor)) (void)choice->impl->open(nothing).ok();
  }
}

void one_rank(const fabric_spec& fabric, meeting& m, rank_t rank, const run_options& o, const rank_body& body) {
  rank_env env(m, rank, o.seed, std::chrono::duration_cast<std::chrono::nanoseconds>(o.timeout) * 9 / 10);
  env.own_process = !o.threads;
  open_params params;
  params.job_id = m.name(), params.rank = rank, params.size = m.size();
  params.key = {hash::text(m.name()), 0x6861726e657373};
  {
    const waiting_for w(m, rank, "open() of " + fabric.name);
    env.open(take(open_fabric(fabric.name, params), "open"));
  }
  try {
    body(env);
    env.barrier();
  } catch (const failure& f) {
    m.finish(rank, rank_state::failed, f.text);  // now: what is still in flight may spoil the way out
    throw;
  }
  const waiting_for w(m, rank, "its transport's destruction");
  env.close();
}

}  // namespace

std::vector<fabric_spec> fabrics(std::vector<std::string>* missing) {
  std::vector<fabric_spec> all;
  for (const provider_entry& entry : providers()) {
    const std::string name{entry.name};
    if (name == "sim") continue;  // as a provider it is a world of one; sim_fabric.h has the larger ones
    const probed found = entry.impl ? probe(*entry.impl) : probed{{}, entry.why_not};
    for (const auto& device : found.devices) all.push_back({device.empty() ? name : name + ":" + device});
    if (missing && found.devices.empty()) missing->push_back(name + ": " + found.why_not);
  }
  return all;
}

run_report try_ranks(const fabric_spec& fabric, std::uint32_t n, const rank_body& body, const run_options& o) {
  if (fabric.simulated()) return try_ranks_simulated(sim_parameters(fabric, n, o.seed), body, o);
  look_around(fabric.name);
  return run_processes(n, o.threads, o, [&](meeting& m, rank_t first, std::uint32_t count) {
    if (count == 1) return one_rank(fabric, m, first, o, body);
    std::vector<std::thread> threads;
    for (rank_t r = first; r < first + count; ++r)
      threads.emplace_back([&, r] { run_one(m, r, [&] { one_rank(fabric, m, r, o, body); }); });
    for (auto& t : threads) t.join();
  });
}

}  // namespace tutti::test

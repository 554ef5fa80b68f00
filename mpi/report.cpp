#include "mpi/report.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "mpi/world.h"

namespace tutti::mpi {
namespace {

constexpr const char* names[] = {
#define TUTTI_MPI_X(name) "MPI_" #name,
    TUTTI_MPI_REPORTED(TUTTI_MPI_X)
#undef TUTTI_MPI_X
};
constexpr const char* reasons[] = {"", "set so", "communicator", "MPI_PROC_NULL", "arguments", "type", "program's operation", "MPI's request", "no request",
                                   "MPI's window", "shortage"};
constexpr std::size_t functions = std::size(names), whys = std::size(reasons);
static_assert(functions == static_cast<std::size_t>(function::count_) && whys == static_cast<std::size_t>(reason::count_));

// Of one function. Summed over ranks as numbers of eight bytes.
struct line {
  std::uint64_t calls[whys], bytes, taken_ns, passed_ns;  // calls by reason; of the first kind tutti took
};
line lines[functions];
static_assert(sizeof lines % 8 == 0);

}  // namespace

std::uint64_t call::now() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

const char* call::name() const noexcept { return names[static_cast<std::size_t>(function_)]; }

void call::note() noexcept {
  line& l = lines[static_cast<std::size_t>(function_)];
  const std::uint64_t took = now() - began_;
  const auto add = [](std::uint64_t& to, std::uint64_t n) { __atomic_fetch_add(&to, n, __ATOMIC_RELAXED); };  // threads may call at once
  add(l.calls[static_cast<std::size_t>(why_)], 1);
  add(l.bytes, bytes_);
  add(why_ == reason::none ? l.taken_ns : l.passed_ns, took);
}

// What tutti takes among all ranks for calls of this mean size; for messages, nothing.
const char* algorithm(std::size_t f, std::uint64_t bytes) {
  std::string of = names[f] + std::strlen("MPI_");
  if (of[0] == 'I') of.erase(0, 1);
  of[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(of[0])));
  if (of == "bcast") of = "broadcast";
  else if (of == "reduce_scatter_block") of = "reduce_scatter";
  else if (of == "alltoallw" || of.starts_with("neighbor")) of = "alltoallv";
  else if (of != "alltoallv" && of.ends_with("v")) of.pop_back();
  const held h;
  const char* const name = tutti_team_algorithm(tutti_world(the_world().ctx), of.c_str(), bytes);
  return name ? name : "";
}

void print_report(const char* fabric) {
  line sum[functions] = {};
  int rank = 0, size = 1;
  real.Comm_rank(MPI_COMM_WORLD, &rank);
  real.Comm_size(MPI_COMM_WORLD, &size);
  if (real.Reduce(lines, sum, sizeof lines / 8, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD) != MPI_SUCCESS || rank != 0) return;
  std::vector<std::size_t> order;
  for (std::size_t f = 0; f < functions; ++f)
    if (std::ranges::any_of(sum[f].calls, [](std::uint64_t n) { return n > 0; })) order.push_back(f);
  std::ranges::sort(order, std::greater{}, [&](std::size_t f) { return sum[f].taken_ns + sum[f].passed_ns; });
  std::fprintf(stderr, "tutti: MPI calls of %d ranks, by time; by tutti over %s\n", size, fabric);
  std::fprintf(stderr, "%-26s %10s %14s %10s  %-20s %10s %10s  %s\n", "function", "by tutti", "bytes", "seconds", "algorithm", "by MPI", "seconds",
               "why by MPI");
  for (const std::size_t f : order) {
    const line& l = sum[f];
    std::uint64_t passed = 0;
    std::string why;
    for (std::size_t w = 1; w < whys; ++w)
      if (l.calls[w] > 0) {
        passed += l.calls[w];
        why += (why.empty() ? "" : ", ") + std::string(reasons[w]) + " " + std::to_string(l.calls[w]);
      }
    std::fprintf(stderr, "%-26s %10llu %14llu %10.4f  %-20s %10llu %10.4f  %s\n", names[f], static_cast<unsigned long long>(l.calls[0]),
                 static_cast<unsigned long long>(l.bytes), static_cast<double>(l.taken_ns) / 1e9,
                 l.calls[0] ? algorithm(f, l.bytes / l.calls[0]) : "", static_cast<unsigned long long>(passed),
                 static_cast<double>(l.passed_ns) / 1e9, why.c_str());
  }
}

}  // namespace tutti::mpi

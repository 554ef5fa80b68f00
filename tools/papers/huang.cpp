// Huang, Santhanaraman, Jin, Panda (2005): MPI-2 at three levels of MPICH2. Their RDMA channel, CH3 and ADI3 are tutti's designs channel,
// packet and full; what a message takes of a processor at each level is the machine's. The channel of tutti is a stream of copies, in which
// a long message follows the one before at once. Theirs moves long messages without a copy and waits for each: "one at a time" is that, the
// design packet with sends that wait.
#include <algorithm>

#include "tools/papers/figure.h"
#include "tools/papers/message_ranks.h"

namespace tutti::tools::papers {
namespace {

constexpr const char* designs[] = {"channel", "packet", "full"};
constexpr std::uint64_t mib = 1 << 20;

machine of_design(lab& here, const char* cluster, const std::string& design) {
  machine m = here.at(std::string(cluster) + ", " + design);
  m.fabric.queue_depth = 4096;
  return m;
}

void add_picture(measured& m, const char* title, const char* x, const char* y, bool log_y = false) {
  picture p{title, x, y, {}, true, log_y};
  for (const char* d : designs) p.keys.emplace_back(d);
  if (y[0] == 'M') p.keys.emplace_back("one at a time");
  m.pictures.push_back(std::move(p));
}

// A cell of each design and size, between two ranks. `cell` gives the y of the picture, in rank 0.
void sweep(lab& here, measured& m, std::initializer_list<std::uint64_t> sizes,
           const std::function<double(message_rank&, const std::string& design, std::uint64_t bytes)>& cell, bool one_at_a_time = false) {
  const auto add = [&](const char* machine, const char* design, const char* key, bool waits) {
    for (const std::uint64_t bytes : sizes)
      run_message_ranks(of_design(here, "cluster A", machine), 2, design, std::max<std::uint64_t>(bytes, 4096), [&](message_rank& r) {
        const double y = cell(r, design, bytes);
        if (r.me() == 0) m.add(key, key, static_cast<double>(bytes), y);
      }, waits);
  };
  for (const char* d : designs) add(d, d, d, false);
  if (one_at_a_time) add("channel", "packet", "one at a time", true);
}

// MB/s one way: windows of 64.
void bandwidth(lab& here, measured& m) {
  add_picture(m, "Bandwidth, a window of 64", "bytes", "MB/s");
  sweep(here, m, {1024, 4096, 16 << 10, 64 << 10, 256 << 10, mib}, [](message_rank& r, const std::string&, std::uint64_t bytes) {
    constexpr int window = 64;
    const double us = r.time(2, [&] {
      for (int i = 0; i < window; ++i) r.me() ? r.start_receive(0, 2, bytes) : r.start_send(1, 2, bytes);
      r.complete();
      r.me() ? r.send(0, 3, 4) : r.receive(1, 3, 4);
    });
    return window * static_cast<double>(bytes) / us;
  }, true);
}

void latency(lab& here, measured& m) {
  add_picture(m, "Latency", "bytes", "us");
  sweep(here, m, {1, 16, 64, 256, 1024, 4096}, [](message_rank& r, const std::string&, std::uint64_t bytes) {
    return r.time(10, [&] {
      if (r.me() == 0) r.send(1, 1, bytes), r.receive(1, 1, bytes);
      else r.receive(0, 1, bytes), r.send(0, 1, bytes);
    }) / 2;
  });
}

// A put and its end there, and one back.
void put(lab& here, measured& m) {
  add_picture(m, "Put and synchronisation, half a round trip", "bytes", "us");
  sweep(here, m, {1, 16, 64, 256, 1024, 4096}, [](message_rank& r, const std::string& design, std::uint64_t bytes) {
    const std::vector<one_sided_op> one{{false, bytes}};
    const bool direct = design == "full";
    const auto give = [&] { direct ? r.perform_directly(one) : r.perform_by_messages(one); };
    const auto take = [&] { direct ? r.await_direct() : r.serve_by_messages(); };
    return r.time(10, [&] { r.me() == 0 ? (give(), take()) : (take(), give()); }) / 2;
  });
}

// MB/s of 16 puts and 16 gets, out and in together.
void mixed(lab& here, measured& m) {
  add_picture(m, "Throughput of 16 puts and 16 gets", "bytes", "MB/s");
  sweep(here, m, {1024, 4096, 16 << 10, 64 << 10, 256 << 10, mib}, [](message_rank& r, const std::string& design, std::uint64_t bytes) {
    std::vector<one_sided_op> all;
    for (int i = 0; i < 32; ++i) all.push_back({design == "full" ? i % 2 != 0 : i >= 16, bytes});  // full: in turn, both ways at once
    const double us = r.time(2, [&] {
      if (design == "full") r.me() == 0 ? r.perform_directly(all) : r.await_direct();
      else r.me() == 0 ? r.perform_by_messages(all) : r.serve_by_messages();
    });
    return 32 * static_cast<double>(bytes) / us;
  }, true);
}

// Latency of 8 bytes among 16 ranks (HPC Challenge): pairs alone, and rings in which all send to both sides.
void rings(lab& here, measured& m) {
  m.pictures.push_back({"8 bytes among 16 ranks", "1: pairs, 2: rings", "us", {"channel", "packet", "full"}});
  constexpr std::uint32_t ranks = 16;
  for (const char* d : designs)
    run_message_ranks(of_design(here, "cluster B", d), ranks, d, 4096, [&](message_rank& r) {
      const double pair = r.time(10, [&] {
        if (r.me() == 0) r.send(1, 1, 8), r.receive(1, 1, 8);
        else if (r.me() == 1) r.receive(0, 1, 8), r.send(0, 1, 8);
      }) / 2;
      const std::uint32_t left = (r.me() + ranks - 1) % ranks, right = (r.me() + 1) % ranks;
      const double ring = r.time(10, [&] { r.exchange(right, left, 8), r.exchange(left, right, 8); }) / 2;
      if (r.me() == 0) m.add(d, d, 1, pair), m.add(d, d, 2, ring);
    });
}

// An iteration of an integer sort: each rank counts and ranks its keys, and sends each other rank its part.
void sorts(lab& here, measured& m) {
  m.pictures.push_back({"An iteration of IS, class B", "nodes", "ms", {"channel", "packet", "full"}});
  for (const char* d : designs)
    for (const std::uint32_t ranks : {8u, 16u}) {
      const machine one = of_design(here, "cluster B", d);
      const double keys = double(1 << 25) / ranks, compute = keys * one.number("sort_ns_per_key") / 1000;
      const auto part = static_cast<std::uint64_t>(4 * keys / ranks);
      run_message_ranks(one, ranks, d, part, [&](message_rank& r) {
        const double us = r.time(1, [&] {
          r.compute(compute);
          for (std::uint32_t i = 1; i < ranks; ++i) r.start_receive((r.me() + ranks - i) % ranks, 7, part);
          for (std::uint32_t i = 1; i < ranks; ++i) r.start_send((r.me() + i) % ranks, 7, part);
          r.complete();
        });
        if (r.me() == 0) m.add(d, d, ranks, us / 1000);
      });
    }
}

constexpr const char* live = "tutti perf messages --designs";

}  // namespace

const std::vector<figure> huang_figures = {
    {"huang-5", "huang", bandwidth, false, live}, {"huang-6", "huang", latency, false, live},
    {"huang-7", "huang", put, false, live},       {"huang-8", "huang", mixed, false, live},
    {"huang-9", "huang", rings, false, "tutti perf messages --rings"}, {"huang-10", "huang", sorts, false, live},
};

}  // namespace tutti::tools::papers

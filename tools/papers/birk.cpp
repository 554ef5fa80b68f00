// Birk, Davidson, Ganor, Liss, Schuster (2006): BSP on InfiniBand. BSP-IB-B, -H, -M, -R and -no-scatter are tutti's schemes B, H, M, R and N
// (bsp/scheme.h).
//
// What the processors do takes no virtual time by itself: each put, each word that is copied and each flop is charged to its process, at what
// the machine's file says of them. R places nothing by processor at the target, and prepares descriptors instead of headers.
#include <bit>
#include <cmath>
#include <string_view>

#include "bsp/engine.h"
#include "collectives/communicator.h"
#include "tools/papers/figure.h"
#include "tools/perf/bsp_bench.h"
#include "tools/sim/joined.h"

namespace tutti::tools::papers {
namespace {

constexpr std::uint64_t word = 8, largest_put = std::uint64_t{2} << 20;  // bytes

class process {
 public:
  process(sim::world& w, rank_t r, const machine& m, std::string_view scheme, std::uint64_t memory)
      : w_(w), rank_(r), m_(m), reads_(scheme == "R" || scheme == "N"), job_(join_simulated(w, r, lines())), area_(memory), from_(largest_put, std::byte{1}) {
    engine_ = need(bsp::engine::open(job_->world(), {.how = need(bsp::parse_scheme(scheme)), .memory = std::uint64_t{1} << 30}));
    ok(engine_->push_reg(area_.data(), area_.size()));
    ok(engine_->sync());
  }
  std::uint32_t me() const noexcept { return engine_->pid(); }
  std::uint32_t all() const noexcept { return engine_->nprocs(); }

  void flops(double n) { spend(n / m_.number("mflops")); }
  // To the place of that word in the area.
  void put(std::uint32_t to, std::uint64_t at, std::uint64_t words) {
    ok(engine_->put(to, from_.data(), area_.data(), at % (area_.size() / word - words + 1) * word, words * word));
    const double copy = m_.number("copy_us_per_word") * static_cast<double>(words);
    charged_ += m_.number("put_us") + copy + (reads_ ? 0 : m_.number("place_us") + copy);
  }
  void sync() {
    spend(std::exchange(charged_, 0));
    ok(engine_->sync());
  }
  // Microseconds of one of `times` steps, after some that make the buffers, until the last process is through.
  double time(int times, const std::function<void()>& step, int before = 2) {
    for (int i = 0; i < before; ++i) step();
    const time_point start = latest_clock(w_, rank_) + std::chrono::milliseconds(1);
    spend(std::chrono::duration<double, std::micro>(start - w_.clock(rank_)).count());
    for (int i = 0; i < times; ++i) step();
    return std::chrono::duration<double, std::micro>(latest_clock(w_, rank_) - start).count() / times;
  }
  void leave() { ok(engine_->leave()); }

 private:
  static job_options lines() {
    job_options o;
    o.world_lines = communicator::world_lines;
    return o;
  }
  void ok(bool fine) {
    if (!fine) throw std::runtime_error(engine_->error().text());
  }
  void spend(double us) { w_.compute(rank_, us); }

  sim::world& w_;
  const rank_t rank_;
  const machine& m_;
  const bool reads_;
  std::unique_ptr<job> job_;
  std::vector<std::byte> area_, from_;
  std::unique_ptr<bsp::engine> engine_;
  double charged_ = 0;
};

void run(const machine& m, std::uint32_t processes, std::string_view scheme, std::uint64_t memory, const std::function<void(process&)>& body) {
  sim::parameters p = m.fabric;
  p.ranks = processes;
  sim::world w(p);
  need(run_ranks(w, [&](rank_t r) {
    process one(w, r, m, scheme, memory);
    body(one);
    one.leave();
  }));
}

// h words, `each` a put: dealt out to all others, or all to the next. No two puts meet in a place, and none begins where the last one to that
// process ended.
void relation(process& p, std::uint64_t h, bool full, std::uint64_t each = 1) {
  std::uint32_t to = p.me();
  std::vector<std::uint64_t> puts(p.all());
  for (std::uint64_t i = 0; i < h; i += each) {
    if (full || p.all() == 1) {
      to = (to + 1) % p.all();
      if (to == p.me() && p.all() > 1) to = (to + 1) % p.all();
    } else {
      to = (p.me() + 1) % p.all();
    }
    const std::uint64_t place = full ? puts[to] * p.all() + p.me() : puts[to];
    ++puts[to];
    p.put(to, 2 * place * each, each);
  }
  p.sync();
}

// g and l by the line through relations of these h, in us.
bsp_line line_of(const machine& m, std::uint32_t processes, std::string_view scheme, bool full, const std::vector<std::uint64_t>& hs,
                 std::uint64_t each = 1) {
  std::vector<std::pair<double, double>> points;
  run(m, processes, scheme, 4 * (hs.back() + 2048) * word, [&](process& p) {
    for (const std::uint64_t h : hs) {
      const bool large = hs.back() > 10000;
      const double us = p.time(large ? 1 : 3, [&] { relation(p, h, full, each); }, large ? 1 : 2);
      if (p.me() == 0) points.emplace_back(static_cast<double>(h), us);
    }
  });
  return fit(points);
}

const std::vector<std::uint64_t> usual{0, 64, 512, 1024, 2048, 4096};

void table_1(lab& here, measured& m) {
  m.pictures.push_back({"g and l, 8 processes", "1: B, 2: H, 3: M, 4: R", "flops a word; thousand flops", {"g", "l"}});
  const machine& one = here.at("cluster");
  const double r = one.number("mflops");
  const char* schemes[] = {"B", "H", "M", "R"};
  for (int i = 0; i < 4; ++i) {
    const bsp_line line = line_of(one, 8, schemes[i], true, usual);
    m.add("g", "g, flops a word", i + 1, line.g * r);
    m.add("l", "l, thousand flops", i + 1, line.l * r / 1000);
  }
  constexpr std::uint64_t most = 1 << 20, bulk = most / 7;  // words; of a put to each of the other 7
  for (const char* s : {"B", "R"}) {
    m.add("large", "g of relations up to 1M", s[0] == 'B' ? 1 : 4, line_of(one, 8, s, true, {0, most}).g * r);
    run(one, 8, s, 2 * most * word, [&](process& p) {
      const double us = p.time(1, [&] { relation(p, 7 * bulk, true, bulk); }, 1);
      if (p.me() == 0) m.add("bulk", "g of one put for each process", s[0] == 'B' ? 1 : 4, us / (7.0 * bulk) * r);
    });
  }
}

void multicast(lab& here, measured& m) {
  const machine& one = here.at("cluster");
  for (const bool full : {true, false}) {
    const std::string key = full ? "full " : "sparse ";
    m.pictures.push_back({full ? "l, full relations" : "l, sparse relations", "processes", "us", {key + "B", key + "M"}});
    for (std::uint32_t p = 2; p <= 16; p *= 2)
      for (const char* s : {"B", "M"}) m.add(key + s, std::string("BSP-IB") + (s[0] == 'M' ? "-M" : ""), p, line_of(one, p, s, full, usual).l);
  }
}

void grain(lab& here, measured& m) {
  m.pictures.push_back({"g by the words of a put, 8 processes", "words of a put", "flops a word", {"B", "R", "N"}, true, true});
  const machine& one = here.at("cluster");
  const char* names[] = {"BSP-IB", "BSP-IB-R", "BSP-IB-no-scatter"};
  const char* schemes[] = {"B", "R", "N"};
  for (int i = 0; i < 3; ++i)
    for (const std::uint64_t each : {1, 2, 4, 8, 32, 128, 512, 2048})
      m.add(schemes[i], names[i], static_cast<double>(each), line_of(one, 8, schemes[i], true, {0, 32768}, each).g * one.number("mflops"));
}

// The time of a program's steps on p processes; flops alone on one.
void speedup(lab& here, measured& m, const char* key, const char* name, double flops_alone, std::uint64_t memory,
             const std::function<double(process&)>& us) {
  const machine& one = here.at("cluster");
  for (const std::uint32_t p : {1u, 2u, 4u, 8u, 16u}) {
    double took = 0;
    run(one, p, "B", memory, [&](process& q) {
      const double mine = us(q);
      if (q.me() == 0) took = mine;
    });
    m.add(key, name, p, flops_alone / one.number("mflops") / took);
  }
}

void inner_product(lab& here, measured& m) {
  m.pictures.push_back({"Inner product", "processes", "speed-up", {"1e5", "1e6"}});
  for (const double n : {1e5, 1e6})
    speedup(here, m, n == 1e5 ? "1e5" : "1e6", n == 1e5 ? "100,000 numbers" : "1,000,000 numbers", 2 * n, 1 << 16, [n](process& p) {
      return p.time(3, [&] {
        p.flops(2 * n / p.all());
        for (std::uint32_t to = 0; to < p.all(); ++to) p.put(to, p.me(), 1);
        p.sync();
        p.flops(p.all());
      });
    });
}

// Columns of a matrix of n x n on a grid of processes; every 100th of them, as all cost alike but for what is left to update.
void lu(lab& here, measured& m) {
  m.pictures.push_back({"LU decomposition", "processes", "speed-up", {"1000", "4000"}});
  constexpr int every = 100;
  for (const int n : {1000, 4000})
    speedup(here, m, std::to_string(n).c_str(), (std::to_string(n) + " x " + std::to_string(n)).c_str(), 2.0 * n * n * n / 3, 1 << 20, [n](process& p) {
      const auto rows = static_cast<std::uint32_t>(1) << (std::bit_width(p.all()) - 1) / 2, columns = p.all() / rows;
      const std::uint32_t s = p.me() / columns, t = p.me() % columns;
      double total = 0;
      for (int k = every / 2; k < n; k += every)
        total += every * p.time(1, [&] {
          const double left = n - k;
          const bool has_row = k % static_cast<int>(rows) == static_cast<int>(s), has_column = k % static_cast<int>(columns) == static_cast<int>(t);
          const auto below = static_cast<std::uint64_t>(left / rows) + 1, beside = static_cast<std::uint64_t>(left / columns) + 1;
          if (has_column) {  // the pivot
            p.flops(static_cast<double>(below));
            for (std::uint32_t to = 0; to < rows; ++to) p.put(to * columns + t, 2 * s, 2);
          }
          p.sync();
          if (has_column)
            for (std::uint32_t to = 0; to < columns; ++to) p.put(s * columns + to, 64, 2);
          p.sync();
          if (has_row && rows > 1) p.put((s + 1) % rows * columns + t, 1024, beside);  // rows are swapped
          p.sync();
          if (has_column) {
            p.flops(static_cast<double>(below));
            for (std::uint32_t to = 0; to < columns; ++to) p.put(s * columns + to, 8192, below);
          }
          if (has_row)
            for (std::uint32_t to = 0; to < rows; ++to) p.put(to * columns + t, 16384, beside);
          p.sync();
          p.flops(2 * left * left / p.all());
        });
      return total;
    });
}

// By one transposition: each process sends each other a block of its rows (examples/bsp/fft.c).
void fft(lab& here, measured& m) {
  m.pictures.push_back({"FFT", "processes", "speed-up", {"2^16", "2^18"}});
  for (const int e : {16, 18}) {
    const double n = std::pow(2, e);
    speedup(here, m, e == 16 ? "2^16" : "2^18", e == 16 ? "65,536 numbers" : "262,144 numbers", 5 * n * e, static_cast<std::uint64_t>(2 * n) * word, [n, e](process& p) {
      const auto rows = static_cast<std::uint64_t>(1) << e / 2;
      return p.time(1, [&] {
        p.flops(5 * n * e / p.all());
        for (std::uint64_t r = 0; r < rows; ++r)
          p.put(static_cast<std::uint32_t>(r * p.all() / rows), 2 * r * (static_cast<std::uint64_t>(n) / rows / p.all()), 2 * static_cast<std::uint64_t>(n) / rows / p.all());
        p.sync();
      });
    });
  }
}

constexpr const char* live = "tutti perf bsp --schemes B,H,M,R,N";

}  // namespace

const std::vector<figure> birk_figures = {
    {"birk-table-1", "birk", table_1, false, live}, {"birk-2", "birk", multicast, false, live}, {"birk-3", "birk", grain, false, live},
    {"birk-4", "birk", inner_product}, {"birk-5", "birk", lu}, {"birk-6", "birk", fft},
};

}  // namespace tutti::tools::papers

// The cells of `tutti perf messages`, measured. Chunks of some milliseconds behind a barrier take as long as they take the slowest rank;
// the median of many is what counts. tests/bench/mpi_messages.c does the same by MPI.
#include <tutti.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "tools/perf/messages.h"
#include "tools/perf/one_sided_by_messages.h"

namespace tutti::tools {
namespace {

constexpr double chunk_seconds = 4e-3;
constexpr int most_iterations = 100000, orders = 10;
constexpr std::size_t window = 64;
constexpr std::uint32_t of_each_kind = 16;  // puts, gets of an epoch
constexpr std::uint64_t line = 64;          // bytes before the data of a window: word 0, the operations' end; word 1, the epoch's beginning

class messages_bench {
 public:
  messages_bench(const std::vector<contest_cell>& cells, double seconds, bool by_messages) : seconds_(seconds), by_messages_(by_messages) {
    if (tutti_init(nullptr, &ctx_) != TUTTI_OK) throw std::runtime_error(tutti_error_text(nullptr));
    world_ = tutti_world(ctx_), me_ = tutti_rank(ctx_), ranks_ = tutti_size(ctx_);
    if (ranks_ < 2) throw std::runtime_error("messages are measured between ranks; start 2 or more");
    std::uint64_t most = 64;
    for (const auto& c : cells) most = std::max(most, c.bytes);
    out_.assign(2 * most, std::byte{1}), in_.resize(2 * most);
    if (std::ranges::any_of(cells, [](const auto& c) { return c.name == "put" || c.name == "mixed"; }))
      require(tutti_window_create(world_, me_ < 2 ? line + most : 0, &exposed_, &window_));
  }
  ~messages_bench() {
    if (ctx_) tutti_abandon(&ctx_);
  }
  messages_bench(const messages_bench&) = delete;
  messages_bench& operator=(const messages_bench&) = delete;

  void leave() {
    if (tutti_finalize(&ctx_) != TUTTI_OK) throw std::runtime_error(tutti_error_text(nullptr));
  }

  void measure(const contest_cell& cell) {
    bytes_ = cell.bytes;
    first_ = 0, second_ = 1;
    if (cell.name == "latency") print("latency", median([this] { ping_pong(); }, seconds_) / 2);
    else if (cell.name == "bandwidth" || cell.name == "rate") print(cell.name, median([this] { flight(); }, seconds_) / window);
    else if (cell.name == "active") active();
    else if (cell.name == "put")
      one_sided("put", 2, [this](one_sided_by_messages& m) { put_by_messages(m); }, [this] { put_direct(); });
    else if (cell.name == "mixed")
      one_sided("mixed", 2 * of_each_kind, [this](one_sided_by_messages& m) { mixed_by_messages(m); }, [this] { mixed_direct(); });
    else if (cell.name == "rings") rings();
  }

 private:
  void require(tutti_status_t s) const {
    if (s != TUTTI_OK) [[unlikely]] throw std::runtime_error(tutti_error_text(ctx_));
  }
  void print(const std::string& name, double us) const {
    if (me_ == 0) std::printf("%s %llu %.4f\n", name.c_str(), static_cast<unsigned long long>(bytes_), us), std::fflush(stdout);
  }

  // --- timing

  double largest(double mine) {
    double most = 0;
    require(tutti_allreduce(world_, &mine, &most, 1, TUTTI_FLOAT64, TUTTI_MAX));
    return most;
  }
  // Seconds until the last rank is through, the same in all ranks.
  template <class Call>
  double chunk(Call& call, int iterations) {
    require(tutti_barrier(world_));
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < iterations; ++i) call();
    const double took = seconds_since(start);
    if (window_ && me_ < 2) require(tutti_flush(window_, 1 - me_, -1));
    return largest(took);
  }
  // Of one call, in microseconds.
  template <class Call>
  double median(Call call, double seconds) {
    chunk(call, 1);
    const int iterations = times_for(chunk_seconds, 1, most_iterations, [&](int times) { return chunk(call, times); });
    series all;
    for (double past = 0; all.count() < 3 || past < seconds;) {
      const double took = chunk(call, iterations);
      all.add(took / iterations * 1e6);
      past += took;
    }
    return all.median();
  }

  // --- messages

  void send(std::uint32_t to, std::uint64_t tag, std::size_t bytes) { require(tutti_send(world_, to, tag, out_.data(), bytes)); }
  void receive(std::uint32_t from, std::uint64_t tag, std::size_t bytes) {
    require(tutti_recv(world_, from, tag, TUTTI_WHOLE_TAG, in_.data(), bytes, nullptr));
  }
  void ping_pong() {
    if (me_ == first_) send(second_, 1, bytes_), receive(second_, 1, bytes_);
    else if (me_ == second_) receive(first_, 1, bytes_), send(first_, 1, bytes_);
  }
  // A window of messages one way, and an answer.
  void flight() {
    if (me_ > 1) return;
    for (tutti_request_t& r : requests_)
      if (me_ == 0) require(tutti_isend(world_, 1, 2, out_.data(), bytes_, &r));
      else require(tutti_irecv(world_, 0, 2, TUTTI_WHOLE_TAG, in_.data(), bytes_, nullptr, &r));
    require(tutti_wait_all(requests_.data(), window, -1));
    if (me_ == 0) receive(1, 3, 4);
    else send(0, 3, 4);
  }

  // --- active messages

  // A request of rank 0, whose handler replies with the same payload.
  void active() {
    const std::size_t most = tutti_am_max_medium(ctx_);
    if (bytes_ > most)
      throw std::runtime_error("active:" + std::to_string(bytes_) + ": a payload has " + std::to_string(most) + " bytes at most here");
    const auto answer = [](tutti_am_t m, const std::uint64_t* arguments, std::size_t count, void* payload, std::size_t bytes, void* self) {
      ++static_cast<messages_bench*>(self)->handled_;
      (void)tutti_am_reply(m, 2, arguments, count, payload, bytes);
    };
    const auto note = [](tutti_am_t, const std::uint64_t*, std::size_t, void*, std::size_t, void* self) {
      ++static_cast<messages_bench*>(self)->handled_;
    };
    require(tutti_am_register(ctx_, 1, answer, this));
    require(tutti_am_register(ctx_, 2, note, this));
    handled_ = turns_ = 0;
    print("active", median([this] { active_ping_pong(); }, seconds_) / 2);
    for (const std::uint32_t number : {1u, 2u}) require(tutti_am_register(ctx_, number, nullptr, nullptr));
  }
  void active_ping_pong() {
    if (me_ > 1) return;
    ++turns_;
    if (me_ == 0) require(tutti_am_request(ctx_, 1, 1, &turns_, 1, out_.data(), bytes_));
    while (handled_ < turns_) require(tutti_progress(ctx_));
  }

  // --- one-sided operations, between ranks 0 and 1

  template <class ByMessages, class Direct>
  void one_sided(const char* name, std::uint32_t operations, ByMessages by_messages, Direct direct) {
    if (!by_messages_) return print(name, median(direct, seconds_) / operations);
    one_sided_by_messages m(ctx_, 1 - std::min(me_, 1u), {static_cast<std::byte*>(exposed_) + line, me_ < 2 ? in_.size() / 2 : 0});
    print(name, median([&] { if (me_ < 2) by_messages(m); }, seconds_) / operations);
  }
  void put_direct() {
    if (me_ > 1) return;
    const std::uint64_t turn = ++turns_;
    const auto put = [&] {
      require(tutti_put_signal(window_, 1 - me_, line, out_.data(), bytes_, window_, 0, turn, TUTTI_SET, nullptr));
    };
    if (me_ == 0) put();
    require(tutti_wait_signal(window_, 0, TUTTI_REACHED, turn, 1 - me_, -1));
    if (me_ == 1) put();
  }
  void put_by_messages(one_sided_by_messages& m) {
    const one_sided_operation put{false, 0, out_.data(), bytes_};
    if (me_ == 0) m.perform({&put, 1}), m.serve();
    else m.serve(), m.perform({&put, 1});
  }
  // The target opens an epoch; the origin works and ends it.
  void mixed_direct() {
    if (me_ > 1) return;
    const std::uint64_t turn = ++turns_;
    if (me_ == 1) {
      require(tutti_signal(window_, 0, 8, turn, TUTTI_SET));
      return require(tutti_wait_signal(window_, 0, TUTTI_REACHED, turn, 0, -1));
    }
    require(tutti_wait_signal(window_, 8, TUTTI_REACHED, turn, 1, -1));
    for (std::uint32_t i = 0; i < of_each_kind; ++i) require(tutti_put(window_, 1, line, out_.data(), bytes_, nullptr));
    for (std::uint32_t i = 0; i < of_each_kind; ++i) require(tutti_get(window_, 1, line, in_.data(), bytes_, nullptr));
    require(tutti_flush(window_, 1, -1));
    require(tutti_signal(window_, 1, 0, turn, TUTTI_SET));
  }
  void mixed_by_messages(one_sided_by_messages& m) {
    if (me_ == 1) return send(0, 4, 0), m.serve();
    std::array<one_sided_operation, 2 * of_each_kind> all;
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = {i >= of_each_kind, 0, i < of_each_kind ? out_.data() : in_.data(), bytes_};
    receive(1, 4, 0);
    m.perform(all);
  }

  // --- all ranks

  void exchange(std::uint32_t to, std::uint32_t from, std::uint64_t tag) {
    require(tutti_sendrecv(world_, to, tag, out_.data(), bytes_, from, tag, TUTTI_WHOLE_TAG, in_.data(), bytes_, nullptr));
  }
  void ring_nonblocking(std::uint32_t left, std::uint32_t right) {
    tutti_request_t* const r = requests_.data();
    require(tutti_irecv(world_, left, 5, TUTTI_WHOLE_TAG, in_.data(), bytes_, nullptr, &r[0]));
    require(tutti_irecv(world_, right, 6, TUTTI_WHOLE_TAG, in_.data() + bytes_, bytes_, nullptr, &r[1]));
    require(tutti_isend(world_, right, 5, out_.data(), bytes_, &r[2]));
    require(tutti_isend(world_, left, 6, out_.data(), bytes_, &r[3]));
    require(tutti_wait_all(r, 4, -1));
  }
  double ring(const std::vector<std::uint32_t>& order, double seconds) {
    const auto place = static_cast<std::size_t>(std::ranges::find(order, me_) - order.begin());
    const std::uint32_t left = order[(place + ranks_ - 1) % ranks_], right = order[(place + 1) % ranks_];
    const double by_sendrecv = median([&] { exchange(right, left, 5), exchange(left, right, 6); }, seconds / 2);
    const double nonblocking = median([&] { ring_nonblocking(left, right); }, seconds / 2);
    return std::min(by_sendrecv, nonblocking) / 2;
  }
  // A pseudo-random order, the same in all ranks.
  std::vector<std::uint32_t> shuffled(std::uint64_t seed) const {
    std::vector<std::uint32_t> order(ranks_);
    std::iota(order.begin(), order.end(), 0u);
    for (std::uint32_t i = ranks_ - 1; i > 0; --i) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      std::swap(order[i], order[(seed >> 33) % (i + 1)]);
    }
    return order;
  }
  void rings() {
    std::vector<double> pairs;
    const double each = seconds_ / (ranks_ * (ranks_ - 1) / 2.0);
    for (first_ = 0; first_ < ranks_; ++first_)
      for (second_ = first_ + 1; second_ < ranks_; ++second_) pairs.push_back(median([this] { ping_pong(); }, each) / 2);
    print("pairs-min", *std::ranges::min_element(pairs));
    print("pairs-avg", std::accumulate(pairs.begin(), pairs.end(), 0.0) / static_cast<double>(pairs.size()));
    print("pairs-max", *std::ranges::max_element(pairs));
    std::vector<std::uint32_t> natural(ranks_);
    std::iota(natural.begin(), natural.end(), 0u);
    print("ring-natural", ring(natural, seconds_));
    std::vector<double> random;
    for (std::uint64_t seed = 1; seed <= orders; ++seed) random.push_back(ring(shuffled(seed), seconds_ / orders));
    print("ring-random", geometric_mean(random));
  }

  const double seconds_;
  const bool by_messages_;
  tutti_t ctx_ = nullptr;
  tutti_team_t world_ = nullptr;
  std::uint32_t me_ = 0, ranks_ = 0, first_ = 0, second_ = 1;  // first_, second_: who plays ping-pong
  std::uint64_t bytes_ = 0, turns_ = 0, handled_ = 0;  // handled_: active messages
  std::vector<std::byte> out_, in_;
  std::array<tutti_request_t, window> requests_{};
  void* exposed_ = nullptr;
  tutti_window_t window_ = nullptr;
};

}  // namespace

void measure_messages(const std::vector<contest_cell>& cells, double seconds, bool by_messages) {
  messages_bench bench(cells, seconds, by_messages);
  for (const contest_cell& cell : cells) bench.measure(cell);
  bench.leave();
}

}  // namespace tutti::tools

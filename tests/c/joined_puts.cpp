// Short puts that follow one another at the target leave as one (api/joined_puts.h): counted, and against a model.
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <random>

#include "core/transport/forwarding_transport.h"
#include "tests/c/context_of_rank.h"
#include "tests/harness/fabric_lists.h"

namespace {

using namespace tutti;
using namespace tutti::test;

// Notes what is taken, in order: p a put, s a signal, g a get.
class counting final : public forwarding_transport {
 public:
  counting(std::unique_ptr<transport> inner, std::string& into) : forwarding_transport(std::move(inner)), log_(into) {}
  std::size_t submit(std::span<const rma_op> ops) noexcept override {
    const std::size_t n = forwarding_transport::submit(ops);
    for (const rma_op& op : ops.first(n)) log_ += op.kind == op_kind::put ? 'p' : op.kind == op_kind::get ? 'g' : 's';
    return n;
  }

 private:
  std::string& log_;
};

struct window_here {
  tutti_window_t window;
  std::byte* base;
};

window_here open_window(tutti_context& ctx, std::size_t bytes) {
  window_here w{};
  void* base = nullptr;
  expect(ctx, tutti_window_create(api::handle_of(ctx.world.get()), bytes, &base, &w.window), TUTTI_OK);
  w.base = static_cast<std::byte*>(base);
  return w;
}

std::byte value(std::uint64_t epoch, std::uint64_t at) noexcept { return static_cast<std::byte>(epoch * 31 + at * 7 + (at >> 8) + 1); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_series_leaves_as_one_and_a_put_alone_at_once) {
  run_ranks({"sim"}, 2, [](rank_env& env) {
    std::string log;
    log.reserve(1000);
    env.wrap([&](auto inner) { return std::make_unique<counting>(std::move(inner), log); });
    const auto ctx = make_context(env);
    ctx->peers_need_progress = false;  // which operations make now and then
    const window_here w = open_window(*ctx, 64 * 1024);
    std::vector<std::byte> source(64 * 1024);
    const auto put = [&](std::uint64_t at, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) source[at + i] = value(0, at + i);
      expect(*ctx, tutti_put(w.window, 1, at, source.data() + at, n, nullptr), TUTTI_OK);
    };
    const auto logged = [&](std::string_view what, std::string_view why) {
      if (log != what) fail(std::string(why) + ": \"" + log + "\"");
      log.clear();
    };
    env.barrier();
    log.clear();
    if (env.rank == 0) {
      put(0, 64);
      logged("p", "a put alone goes at once");
      for (std::uint64_t i = 1; i < 16; ++i) put(i * 64, 64);
      logged("", "those that follow it are held");
      expect(*ctx, tutti_flush(w.window, 1, -1), TUTTI_OK);
      logged("p", "and leave as one");
      put(2000, 8), put(2008, 8), put(3000, 8), put(3008, 8), put(3016, 8);
      logged("ppp", "what goes elsewhere lets the held ones go first");
      expect(*ctx, tutti_progress(api::handle_of(ctx.get())), TUTTI_OK);
      logged("p", "and so does progress");
      put(4000, 8), put(4008, 8);
      expect(*ctx, tutti_signal(w.window, 1, 8, 1, TUTTI_SET | TUTTI_AFTER_ALL), TUTTI_OK);
      logged("pps", "a signal comes after what is held");
      put(5000, 8), put(5008, 8);
      std::uint64_t got = 0;
      expect(*ctx, tutti_get(w.window, 1, 0, &got, 8, nullptr), TUTTI_OK);
      logged("pg", "a get has no order towards puts");
      for (std::uint64_t at = 20'000; at < 38'000; at += 300) put(at, 300);
      logged("ppp", "more than 16 KiB do not wait");
      put(50'000, 8000), put(58'000, 1000);
      logged("pp", "long puts go by themselves");
      tutti_request_t r;
      put(62'000, 8);
      expect(*ctx, tutti_put(w.window, 1, 62'008, source.data(), 8, &r), TUTTI_OK);
      logged("ppp", "a short one elsewhere lets the held ones go, and one with a request goes by itself");
      expect(*ctx, tutti_wait(&r, -1), TUTTI_OK);
      expect(*ctx, tutti_quiet(api::handle_of(ctx.get()), -1), TUTTI_OK);
    }
    env.barrier();
    if (env.rank == 1)
      for (const auto& [from, to] : {std::pair{64, 1024}, {2000, 2016}, {3000, 3024}, {4000, 4016}, {5000, 5016}, {20'000, 38'000}, {50'000, 59'000}})
        for (auto i = static_cast<std::uint64_t>(from); i < static_cast<std::uint64_t>(to); ++i)
          if (w.base[i] != value(0, i)) fail("byte " + std::to_string(i));
    env.barrier();
  });
}

// Epochs of puts that go to places of their own, in runs and apart, with whatever else between them.
BOOST_AUTO_TEST_CASE(random_epochs_against_a_model) {
  constexpr std::size_t bytes = 96 * 1024;
  for (const fabric_spec& fabric : some_fabrics({"sim", "sim:wild", "sim:tcp", "sim:node", "shm", "ucx:tcp", "ofi:tcp"}))
    run_ranks(fabric, 3, [](rank_env& env) {
      const auto ctx = make_context(env);
      const window_here first = open_window(*ctx, bytes), second = open_window(*ctx, bytes);
      std::vector<std::byte> source(bytes), got(64);
      for (std::uint64_t epoch = 1; epoch <= 8; ++epoch) {
        std::mt19937_64 draws(epoch * 977 + env.seed);
        std::memset(first.base, 0, bytes), std::memset(second.base, 0, bytes);
        env.barrier();
        std::vector<std::pair<int, std::uint64_t>> written[2];  // of each window: where, and how many
        for (std::uint64_t at = 64; at < 60'000;) {
          const std::size_t longest[] = {16, 100, 1500, 9000};
          const std::size_t n = 1 + draws() % longest[draws() % std::size(longest)];
          if (draws() % 4 == 0) at += draws() % 50;
          const std::uint64_t which = draws() % 12 == 0, kind = draws() % 10;
          written[which].emplace_back(static_cast<int>(at), n);
          if (env.rank == 0) {
            const tutti_window_t w = which ? second.window : first.window;
            for (std::size_t i = 0; i < n; ++i) source[at + i] = value(epoch, at + i);
            if (kind == 0) {
              tutti_request_t r;
              expect(*ctx, tutti_put(w, 1, at, source.data() + at, n, &r), TUTTI_OK);
              expect(*ctx, tutti_wait(&r, -1), TUTTI_OK);
            } else if (kind == 1) {
              const tutti_layout_t all{.kind = TUTTI_CONTIGUOUS, .block_bytes = n};
              expect(*ctx, tutti_put_layout(w, 1, at, &all, source.data() + at, &all, nullptr), TUTTI_OK);
            } else {
              expect(*ctx, tutti_put(w, 1, at, source.data() + at, n, nullptr), TUTTI_OK);
            }
            if (kind == 2) expect(*ctx, tutti_get(w, 2, 0, got.data(), 64, nullptr), TUTTI_OK);
            if (kind == 3) expect(*ctx, tutti_put(w, 2, at, source.data() + at, n, nullptr), TUTTI_OK);
            if (kind == 4) expect(*ctx, tutti_progress(api::handle_of(ctx.get())), TUTTI_OK);
          }
          at += n;
        }
        if (env.rank == 0) {  // by a flush of each window, by one, or by a signal
          if (epoch % 3 == 0) expect(*ctx, tutti_flush(first.window, 1, -1), TUTTI_OK), expect(*ctx, tutti_flush(second.window, TUTTI_ALL, -1), TUTTI_OK);
          if (epoch % 3 == 1) expect(*ctx, tutti_quiet(api::handle_of(ctx.get()), -1), TUTTI_OK);
          if (epoch % 3 == 2) expect(*ctx, tutti_signal(first.window, 1, 0, epoch, TUTTI_SET | TUTTI_AFTER_ALL), TUTTI_OK);
        }
        if (env.rank == 1 && epoch % 3 == 2) expect(*ctx, tutti_wait_signal(first.window, 0, TUTTI_REACHED, epoch, 0, -1), TUTTI_OK);
        if (epoch % 3 != 2) env.barrier();
        if (env.rank == 1)
          for (const std::uint64_t which : {0, 1})
            for (const auto& [at, n] : written[which])
              for (std::size_t i = 0; i < n; ++i) {
                const std::uint64_t p = static_cast<std::uint64_t>(at) + i;
                if ((which ? second : first).base[p] != value(epoch, p)) fail("byte " + std::to_string(p) + " of epoch " + std::to_string(epoch));
              }
        env.barrier();
        expect(*ctx, tutti_quiet(api::handle_of(ctx.get()), -1), TUTTI_OK);
        env.barrier();
      }
    });
}

BOOST_AUTO_TEST_CASE(a_dead_target_is_told_by_the_flush) {
  run_ranks({"sim:tcp"}, 2, [](rank_env& env) {
    const auto ctx = make_context(env);
    const window_here w = open_window(*ctx, 4096);
    env.barrier();
    if (env.rank == 1) env.die();
    const std::uint64_t word = 5;
    for (std::uint64_t i = 0; i < 8; ++i) expect(*ctx, tutti_put(w.window, 1, 8 * i, &word, 8, nullptr), TUTTI_OK);
    expect(*ctx, tutti_flush(w.window, 1, -1), TUTTI_PEER_DEAD);
    for (std::uint64_t i = 0; i < 8; ++i) expect(*ctx, tutti_put(w.window, 1, 8 * i, &word, 8, nullptr), TUTTI_OK);
    expect(*ctx, tutti_window_free(const_cast<tutti_window_t*>(&w.window)), TUTTI_PEER_DEAD);
  }, {.to_die = {1}});
}

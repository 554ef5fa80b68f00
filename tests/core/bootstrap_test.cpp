#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "core/job/bootstrap_callbacks.h"
#include "tests/doubles/bootstrap_threads.h"

using namespace tutti;
using namespace std::chrono_literals;

namespace {

time_point in(std::chrono::nanoseconds d) { return std::chrono::steady_clock::now() + d; }

// What rank r gives in round k: a length that differs, sometimes 0, and bytes that tell both.
std::vector<std::byte> blob_of(rank_t r, unsigned k) {
  std::vector<std::byte> b((r * 37 + k * 101) % 300);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<std::byte>(r * 7 + k * 13 + i);
  return b;
}

bool right(const blob_table& all, std::uint32_t size, unsigned k) {
  if (all.size() != size) return false;
  for (rank_t r = 0; r < size; ++r) {
    const auto expected = blob_of(r, k);
    if (!std::equal(all[r].begin(), all[r].end(), expected.begin(), expected.end())) return false;
  }
  return true;
}

template <class F>
void on_threads(std::uint32_t n, F f) {
  std::vector<std::thread> threads;
  for (rank_t r = 0; r < n; ++r) threads.emplace_back(f, r);
  for (auto& t : threads) t.join();
}

}  // namespace

BOOST_AUTO_TEST_CASE(threads_exchange_blobs_of_different_lengths_many_times) {
  for (const std::uint32_t n : {1u, 2u, 3u, 8u, 17u}) {
    auto ranks = make_thread_bootstraps(n);
    std::atomic<unsigned> wrong{0};
    on_threads(n, [&](rank_t r) {
      for (unsigned k = 0; k < 200; ++k) {
        const auto all = ranks[r]->allgather(blob_of(r, k), in(60s));
        if (!all || !right(**all, n, k)) ++wrong;
      }
    });
    BOOST_TEST(wrong == 0u, n << " ranks: " << wrong << " wrong results");
    for (rank_t r = 0; r < n; ++r) {
      BOOST_TEST(ranks[r]->rank() == r);
      BOOST_TEST(ranks[r]->size() == n);
      BOOST_TEST(ranks[r]->job_id() == ranks[0]->job_id());
    }
  }
}

BOOST_AUTO_TEST_CASE(two_jobs_of_threads_have_different_ids) {
  BOOST_TEST(make_thread_bootstraps(1)[0]->job_id() != make_thread_bootstraps(1)[0]->job_id());
}

BOOST_AUTO_TEST_CASE(a_thread_that_waits_in_vain_times_out_and_may_try_again) {
  auto ranks = make_thread_bootstraps(2);
  const auto missed = ranks[0]->allgather({}, in(20ms));
  BOOST_REQUIRE(!missed);
  BOOST_TEST((missed.error().code() == errc::timed_out));
  std::atomic<unsigned> wrong{0};
  on_threads(2, [&](rank_t r) {
    const auto all = ranks[r]->allgather(blob_of(r, 5), in(60s));
    if (!all || !right(**all, 2, 5)) ++wrong;
  });
  BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_CASE(a_thread_that_leaves_ends_the_wait_of_the_others_and_is_named) {
  auto ranks = make_thread_bootstraps(3);
  status seen[2];
  on_threads(3, [&](rank_t r) {
    if (r == 2) {
      std::this_thread::sleep_for(20ms);
      ranks[2].reset();
    } else {
      seen[r] = ranks[r]->allgather({}, in(60s)).error();
    }
  });
  for (const status& s : seen) {
    BOOST_TEST((s.code() == errc::peer_dead));
    BOOST_TEST(s.peer() == 2u);
  }
}

BOOST_AUTO_TEST_CASE(threads_can_claim_to_live_on_several_hosts) {
  const auto ranks = make_thread_bootstraps(5, 2);
  for (rank_t a = 0; a < 5; ++a)
    for (rank_t b = 0; b < 5; ++b) BOOST_TEST((ranks[a]->host() == ranks[b]->host()) == (a / 2 == b / 2));
  BOOST_TEST((make_thread_bootstraps(2)[1]->host() == this_host()));
}

BOOST_AUTO_TEST_CASE(this_host_is_the_same_each_time_and_not_nothing) {
  BOOST_TEST((this_host() == this_host()));
  BOOST_TEST((this_host() != host_id{}));
}

// --- callbacks: the user's allgather is played by the threads' one -------------------------------------------------

namespace {

struct runtime {
  bootstrap* below = nullptr;
  int code = 0;
  unsigned gathers = 0, fences = 0;
  static int allgather(void* context, const void* mine, std::size_t bytes, void* all, double timeout_s) {
    auto& self = *static_cast<runtime*>(context);
    ++self.gathers;
    if (self.code) return self.code;
    const auto got = self.below->allgather({static_cast<const std::byte*>(mine), bytes},
                                           in(std::chrono::nanoseconds(static_cast<std::int64_t>(timeout_s * 1e9))));
    if (!got) return EIO;
    for (rank_t r = 0; r < self.below->size(); ++r)
      std::memcpy(static_cast<char*>(all) + r * bytes, (**got)[r].data(), bytes);
    return 0;
  }
  static int fence(void* context, double) {
    ++static_cast<runtime*>(context)->fences;
    return 0;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(callbacks_carry_blobs_of_different_lengths) {
  constexpr std::uint32_t n = 4;
  auto below = make_thread_bootstraps(n);
  std::atomic<unsigned> wrong{0};
  std::vector<runtime> runtimes(n);
  on_threads(n, [&](rank_t r) {
    runtimes[r].below = below[r].get();
    const auto fence = r % 2 ? runtime::fence : nullptr;
    auto b = make_callback_bootstrap({&runtimes[r], r, n, "job7", runtime::allgather, fence});
    if (!b || (*b)->rank() != r || (*b)->size() != n || (*b)->job_id() != "job7") {
      ++wrong;
      return;
    }
    for (unsigned k = 0; k < 50; ++k) {
      const auto all = (*b)->allgather(blob_of(r, k), in(60s));
      if (!all || !right(**all, n, k)) ++wrong;
    }
    const auto nothing = (*b)->allgather({}, in(60s));
    if (!nothing || (*nothing)->size() != n || !(**nothing)[n - 1].empty()) ++wrong;
  });
  BOOST_TEST(wrong == 0u);
  BOOST_TEST(runtimes[0].fences == 0u);
  BOOST_TEST(runtimes[1].fences == runtimes[1].gathers);
}

BOOST_AUTO_TEST_CASE(errors_of_callbacks_are_translated) {
  const std::pair<int, errc> expected[] = {
      {ETIMEDOUT, errc::timed_out}, {EOWNERDEAD, errc::peer_dead}, {-7, errc::fabric}};
  for (const auto& [code, meaning] : expected) {
    runtime r;
    r.code = code;
    const auto b = make_callback_bootstrap({&r, 0, 2, "j", runtime::allgather, nullptr});
    BOOST_REQUIRE(b.ok());
    const auto all = (*b)->allgather({}, in(1s));
    BOOST_REQUIRE(!all);
    BOOST_TEST((all.error().code() == meaning));
    BOOST_TEST(all.error().native() == code);
  }
}

BOOST_AUTO_TEST_CASE(senseless_callbacks_are_refused_before_anything_is_called) {
  runtime r;
  const bootstrap_callbacks bad[] = {{&r, 0, 0, "j", runtime::allgather, nullptr},
                                     {&r, 2, 2, "j", runtime::allgather, nullptr},
                                     {&r, 0, 2, nullptr, runtime::allgather, nullptr},
                                     {&r, 0, 2, "", runtime::allgather, nullptr},
                                     {&r, 0, 2, "j", nullptr, nullptr}};
  for (const auto& b : bad) {
    const auto made = make_callback_bootstrap(b);
    BOOST_REQUIRE(!made);
    BOOST_TEST((made.error().code() == errc::invalid));
  }
  BOOST_TEST(r.gathers == 0u);
}

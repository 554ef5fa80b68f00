// The rendezvous: each rank leaves its blob in the current round; the last to come turns them into the round's table,
// which every waiter takes a share of, and opens the next round. A rank may already be in the next round while a slow
// one still has to wake from this one: that one holds its round by its own pointer, so nothing is overwritten under it.
#include "tests/doubles/bootstrap_threads.h"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace tutti {
namespace {

struct round {
  explicit round(std::uint32_t size) : given(size) {}
  std::vector<std::optional<std::vector<std::byte>>> given;
  std::uint32_t arrived = 0;
  shared_blobs table;  // set when all arrived
};

struct rendezvous {
  explicit rendezvous(std::uint32_t n) : size(n), left(n, false), current(std::make_shared<round>(n)) {}
  const std::uint32_t size;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<bool> left;
  std::shared_ptr<round> current;
};

class thread_bootstrap final : public bootstrap {
 public:
  thread_bootstrap(std::shared_ptr<rendezvous> all, rank_t rank, std::string id, host_id host)
      : all_(std::move(all)), rank_(rank), id_(std::move(id)), host_(host) {}
  ~thread_bootstrap() override {
    const std::lock_guard lock{all_->mutex};
    all_->left[rank_] = true;
    all_->changed.notify_all();
  }
  rank_t rank() const noexcept override { return rank_; }
  std::uint32_t size() const noexcept override { return all_->size; }
  const std::string& job_id() const noexcept override { return id_; }
  host_id host() const noexcept override { return host_; }

  result<shared_blobs> allgather(std::span<const std::byte> mine, time_point deadline) override {
    std::unique_lock lock{all_->mutex};
    const std::shared_ptr<round> now = all_->current;
    now->given[rank_].emplace(mine.begin(), mine.end());
    if (++now->arrived == all_->size) {
      auto blobs = std::make_shared<blob_table>();
      for (const auto& blob : now->given) blobs->push_back(*blob);
      now->table = std::move(blobs);
      all_->current = std::make_shared<round>(all_->size);
      all_->changed.notify_all();
    }
    rank_t gone = no_rank;
    const bool ended = all_->changed.wait_until(lock, deadline, [&] {
      gone = missing(*now);
      return now->table || gone != no_rank;
    });
    if (now->table) return now->table;
    --now->arrived;  // what this rank gave is taken back, so that it may try again
    now->given[rank_].reset();
    if (ended)
      return status{errc::peer_dead, "rank " + std::to_string(gone) + " left before the exchange", gone};
    return status{errc::timed_out, "the exchange with the other ranks did not end in time"};
  }

 private:
  // A rank that left without having given its blob to this round: the round will never be complete.
  rank_t missing(const round& r) const {
    for (rank_t i = 0; i < all_->size; ++i)
      if (all_->left[i] && !r.given[i]) return i;
    return no_rank;
  }

  const std::shared_ptr<rendezvous> all_;
  const rank_t rank_;
  const std::string id_;
  const host_id host_;
};

}  // namespace

std::vector<std::unique_ptr<bootstrap>> make_thread_bootstraps(std::uint32_t size, std::uint32_t ranks_per_host) {
  static std::atomic<unsigned> made{0};
  const std::string id = "threads." + std::to_string(getpid()) + "." + std::to_string(made.fetch_add(1));
  auto all = std::make_shared<rendezvous>(size);
  std::vector<std::unique_ptr<bootstrap>> ranks;
  for (rank_t r = 0; r < size; ++r) {
    host_id host = this_host();
    if (ranks_per_host > 0) {
      const std::uint32_t index = r / ranks_per_host;
      for (std::size_t i = 0; i < sizeof index; ++i) host[i] ^= static_cast<std::byte>(index >> (8 * i));
    }
    ranks.push_back(std::make_unique<thread_bootstrap>(all, r, id, host));
  }
  return ranks;
}

}  // namespace tutti

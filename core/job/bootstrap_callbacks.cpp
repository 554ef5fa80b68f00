#include "core/job/bootstrap_callbacks.h"

#include <algorithm>
#include <cerrno>
#include <numeric>

namespace tutti {
namespace {

class callback_bootstrap final : public bootstrap {
 public:
  explicit callback_bootstrap(const bootstrap_callbacks& user) : user_(user), id_(user.job_id) {
    user_.job_id = nullptr;  // it need not outlive the call that gave it
  }
  rank_t rank() const noexcept override { return user_.rank; }
  std::uint32_t size() const noexcept override { return user_.size; }
  const std::string& job_id() const noexcept override { return id_; }

  // The callback moves equal lengths: first all lengths, then all blobs padded to the longest.
  result<shared_blobs> allgather(std::span<const std::byte> mine, time_point deadline) override {
    const std::uint64_t length = mine.size();
    std::vector<std::uint64_t> lengths(user_.size);
    if (status s = exchange(&length, sizeof length, lengths.data(), deadline); s.failed()) return s;
    if (lengths[user_.rank] != length)
      return status{errc::protocol, "the embedding runtime's allgather did not return this rank's own data"};

    const auto longest = *std::ranges::max_element(lengths);
    if (longest > most_bytes) {
      const auto who = static_cast<rank_t>(std::ranges::find(lengths, longest) - lengths.begin());
      return status{errc::protocol, worded("the embedding runtime's allgather brings ", longest, " for the bytes that rank ", who,
                                           " says of itself"), who};
    }
    std::vector<std::byte> padded(longest), all(longest * user_.size);
    std::copy(mine.begin(), mine.end(), padded.begin());
    if (longest > 0)
      if (status s = exchange(padded.data(), longest, all.data(), deadline); s.failed()) return s;
    auto blobs = std::make_shared<blob_table>();
    for (std::size_t r = 0; r < lengths.size(); ++r) blobs->push_back({all.data() + r * longest, lengths[r]});
    return shared_blobs{std::move(blobs)};
  }

 private:
  static constexpr std::uint64_t most_bytes = 1 << 24;  // an address and a key have some thousand

  static double seconds_until(time_point deadline) {
    const std::chrono::duration<double> left = deadline - std::chrono::steady_clock::now();
    return std::max(left.count(), 0.0);
  }

  status exchange(const void* mine, std::size_t bytes, void* all, time_point deadline) {
    if (int code = user_.allgather(user_.context, mine, bytes, all, seconds_until(deadline)); code != 0)
      return failed("allgather", code);
    if (user_.fence)
      if (int code = user_.fence(user_.context, seconds_until(deadline)); code != 0) return failed("fence", code);
    return {};
  }

  static status failed(const char* which, int code) {
    const std::string text = std::string{"the embedding runtime's "} + which;
    if (code == ETIMEDOUT) return {errc::timed_out, worded(text, " timed out"), no_rank, code};
    if (code == EOWNERDEAD) return {errc::peer_dead, worded(text, " says that a rank died"), no_rank, code};
    return {errc::fabric, worded(text, " returned ", code), no_rank, code};
  }

  bootstrap_callbacks user_;
  std::string id_;
};

}  // namespace

result<std::unique_ptr<bootstrap>> make_callback_bootstrap(const bootstrap_callbacks& user) {
  if (user.size == 0) return status{errc::invalid, "bootstrap callbacks: size is 0; a job has at least 1 rank"};
  if (user.rank >= user.size)
    return status{errc::invalid, worded("bootstrap callbacks: rank ", user.rank, " is not below size ", user.size)};
  if (!user.job_id || !*user.job_id)
    return status{errc::invalid, "bootstrap callbacks: job_id is missing; give all ranks the same text, unique on "
                                 "their hosts"};
  if (!user.allgather) return status{errc::invalid, "bootstrap callbacks: allgather is null"};
  return std::unique_ptr<bootstrap>{std::make_unique<callback_bootstrap>(user)};
}

}  // namespace tutti

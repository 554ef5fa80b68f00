#include "core/job/bootstrap_alone.h"

#include <unistd.h>

#include <atomic>
#include <random>

namespace tutti {
namespace {

class alone_bootstrap final : public bootstrap {
 public:
  alone_bootstrap() {
    // A pid means something in its namespace only, and recurs: chance makes the name unique.
    static std::atomic<unsigned> made{0};
    std::random_device dice;
    id_ = "alone." + std::to_string(getpid()) + "." + std::to_string(made.fetch_add(1)) + "." + std::to_string(dice());
  }
  rank_t rank() const noexcept override { return 0; }
  std::uint32_t size() const noexcept override { return 1; }
  const std::string& job_id() const noexcept override { return id_; }
  result<shared_blobs> allgather(std::span<const std::byte> mine, time_point) override {
    auto blobs = std::make_shared<blob_table>();
    blobs->push_back(mine);
    return shared_blobs{std::move(blobs)};
  }

 private:
  std::string id_;
};

}  // namespace

std::unique_ptr<bootstrap> make_alone_bootstrap() { return std::make_unique<alone_bootstrap>(); }

}  // namespace tutti

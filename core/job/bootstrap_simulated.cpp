#include "core/job/bootstrap_simulated.h"

#include <cstring>
#include <vector>

namespace tutti {
namespace {

class simulated_bootstrap final : public bootstrap {
 public:
  explicit simulated_bootstrap(simulated::line& l) : line_(l), job_(l.job()) {}
  rank_t rank() const noexcept override { return line_.rank(); }
  std::uint32_t size() const noexcept override { return line_.size(); }
  const std::string& job_id() const noexcept override { return job_; }
  host_id host() const noexcept override { return simulated_host(line_.node()); }

  result<shared_blobs> allgather(std::span<const std::byte> mine, time_point deadline) override {
    if (const status s = line_.ask(simulated::call::gather, simulated::address_of(mine.data()), mine.size(), deadline.time_since_epoch().count()); s.failed())
      return s;
    std::vector<std::byte> all(line_.result_of());
    if (const status s = line_.ask(simulated::call::fetch, simulated::address_of(all.data())); s.failed()) return s;
    auto table = std::make_shared<blob_table>();
    const std::size_t lengths = sizeof(std::uint64_t) * size();
    std::size_t at = lengths;
    for (rank_t r = 0; r < size() && all.size() >= lengths; ++r) {
      std::uint64_t bytes;
      std::memcpy(&bytes, all.data() + sizeof bytes * r, sizeof bytes);
      if (bytes > all.size() - at) break;
      table->push_back(std::span(all).subspan(at, bytes));
      at += bytes;
    }
    if (table->size() != size()) return status(errc::protocol, "the simulated world gave a table of other lengths than it said");
    return shared_blobs{std::move(table)};
  }

 private:
  simulated::line& line_;
  std::string job_;
};

}  // namespace

std::unique_ptr<bootstrap> make_simulated_bootstrap(simulated::line& l) { return std::make_unique<simulated_bootstrap>(l); }

host_id simulated_host(std::uint32_t node) noexcept {
  const std::uint64_t id[2] = {0x74757474692d7369u, node};
  host_id out;
  static_assert(sizeof id == sizeof out);
  std::memcpy(out.data(), id, sizeof id);
  return out;
}

}  // namespace tutti

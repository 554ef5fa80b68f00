// The addresses that the ranks of a job have told each other. Each begins with a Head of its provider's, which names the host.
#pragma once
#include <cstring>
#include <string>
#include <utility>

#include "core/base/host.h"
#include "core/base/listing.h"
#include "core/transport/transport.h"

namespace tutti {

template <class Head>
class address_book {
 public:
  // sound(rank, blob) of each; the first error is the answer, and then nothing is kept. `provider`: for its text.
  template <class Sound>
  status open(shared_blobs all, std::uint32_t ranks, const host_id& here, const char* provider, Sound&& sound) {
    if (!all || all->size() != ranks)
      return {errc::invalid, worded("connect() needs the addresses of all ", ranks, " ranks")};
    for (rank_t r = 0; r < ranks; ++r)
      if (!sound((*all)[r]))
        return {errc::protocol, worded("rank ", r, " runs another version of the ", provider, " provider"), r};
    all_ = std::move(all), here_ = here;
    return {};
  }
  explicit operator bool() const noexcept { return all_ != nullptr; }  // they are known

  std::span<const std::byte> blob(rank_t r) const noexcept { return (*all_)[r]; }
  Head head(rank_t r) const noexcept {
    Head h;
    std::memcpy(&h, blob(r).data(), sizeof h);  // lengths were checked by open()
    return h;
  }
  bool same_host(rank_t r) const noexcept { return all_ && head(r).host == here_; }
  // For a sentence on a death: the ranks of its host, which may be gone with it; "" on this host.
  std::string and_its_host(rank_t r) const {
    if (same_host(r)) return {};
    return tutti::and_its_host(static_cast<std::uint32_t>(all_->size()),
                               [&, there = head(r).host](rank_t other) { return head(other).host == there; });
  }

 private:
  shared_blobs all_;
  host_id here_{};
};

}  // namespace tutti

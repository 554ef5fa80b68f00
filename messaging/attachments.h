// Peers' memory that stays registered there, attached here: kept while its key stays the same, since to map a window anew for each message
// would cost more than the message. At most `most` are kept; the one that was not used for the longest time goes first, and none in use.
// One whose owner has dropped it is harmless: its key does not come again.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "core/transport/transport.h"

namespace tutti::messaging {

class attachments {
 public:
  static constexpr std::size_t most = 64;
  struct entry {
    rank_t peer;
    segment_id segment;
    std::uint32_t uses = 0;
    std::vector<std::byte> key;
  };

  entry* acquire(transport& net, rank_t peer, std::span<const std::byte> key) noexcept {  // null: it cannot be reached
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      entry& e = *kept_[i];
      if (e.peer != peer || !std::ranges::equal(e.key, key)) continue;
      if (i > 0) std::swap(kept_[i], kept_[i - 1]);  // what is used often comes to the front
      ++e.uses;
      return &e;
    }
    try {
      for (std::size_t i = kept_.size(); kept_.size() >= most && i-- > 0;)
        if (kept_[i]->uses == 0) net.drop(kept_[i]->segment), kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
      kept_.reserve(kept_.size() + 1);
      auto made = std::make_unique<entry>();
      made->peer = peer, made->key.assign(key.begin(), key.end()), made->uses = 1;
      auto keys = std::make_shared<blob_table>();
      keys->push_back(key);
      auto segment = net.attach(rank_map::strided(peer, 1), std::move(keys));
      if (!segment) return nullptr;
      made->segment = *segment;
      kept_.push_back(std::move(made));
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    return kept_.back().get();
  }
  static void release(entry& e) noexcept { --e.uses; }
  void drop_all(transport& net) noexcept {
    for (auto& e : kept_) net.drop(e->segment);
    kept_.clear();
  }

 private:
  std::vector<std::unique_ptr<entry>> kept_;
};

}  // namespace tutti::messaging

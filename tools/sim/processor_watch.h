// What virtual ranks copy and add up takes their processors' time (sim::copy_parameters), while this is there, on the thread that runs
// the world.
#pragma once
#include "core/engine/move_watch.h"
#include "providers/sim/sim.h"

namespace tutti::tools {

class processor_watch final : public move_watch {
 public:
  explicit processor_watch(sim::world& w) noexcept : w_(w) {
    if (w.params().copies.bytes_per_ns > 0 || w.params().copies.added_bytes_per_ns > 0) watching_moves = this;
  }
  ~processor_watch() { watching_moves = nullptr; }
  processor_watch(const processor_watch&) = delete;
  processor_watch& operator=(const processor_watch&) = delete;

  void moved(std::uint64_t bytes, bool added) noexcept override {
    const double rate = added ? w_.params().copies.added_bytes_per_ns : w_.params().copies.bytes_per_ns;
    if (rate > 0) w_.work(w_.running(), static_cast<double>(bytes) / rate / 1000);
  }

 private:
  sim::world& w_;
};

}  // namespace tutti::tools

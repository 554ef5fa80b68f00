// The broadcasts: each algorithm at some sizes, from rank 0 to all.
#include "tools/perf/measured_provider.h"

namespace tutti::tools {
namespace {

struct size_row {
  std::uint32_t bytes;
  const char* name;
  bool always;  // false: of `tutti perf broadcast` alone
};
constexpr size_row sizes[] = {{8, "8 B", true},           {1 << 10, "1 KiB", false}, {16 << 10, "16 KiB", false},
                              {128 << 10, "128 KiB", false}, {mebibyte, "1 MiB", true}, {8 * mebibyte, "8 MiB", false}};

}  // namespace

void measured_provider::add_broadcasts(std::vector<row>& rows, bool all_sizes, std::vector<text_pair>& left_out) {
  if (job_->size() < 2) return;
  payload_.resize(all_sizes ? sizes[std::size(sizes) - 1].bytes : mebibyte);
  const bool agreed = world_->data().agree_on_facts().ok();
  for (const algorithm& a : algorithms(collective::broadcast)) {
    if (a.needs.multicast && !job_->net().mcast()) continue;
    communicator_options options;
    options.bcast = a.name;
    auto team = world_->split(0, 0, options);
    status trouble = team ? (*team)->broadcast(0, std::span(payload_).first(8)) : team.error();
    if (trouble.failed()) {
      left_out.emplace_back(name_ + " broadcast " + std::string(a.name), trouble.text());
      continue;
    }
    communicator* const c = teams_.emplace_back(std::move(*team)).get();
    for (const size_row& s : sizes) {
      if (!s.always && !all_sizes) continue;
      const bool bandwidth = s.bytes >= mebibyte;
      row& r = add(rows, bandwidth ? "broadcast bandwidth" : "broadcast", std::string(a.name) + " " + s.name,
                   [this, c, bytes = s.bytes](int iterations) {
                     const auto payload = std::span(payload_).first(bytes);
                     for (int i = 0; i < iterations; ++i)
                       if (status failed = c->broadcast(0, payload); failed.failed()) require(failed);
                   });
      r.what.chosen = agreed && &world_->data().algorithm_for(collective::broadcast, s.bytes) == &a;
      if (!bandwidth) continue;
      r.what.in = unit::gigabytes_per_s;
      r.work = s.bytes;
    }
  }
}

}  // namespace tutti::tools

// Puts, gets, signals and atomics of rank 0 upon rank 1.
#include <algorithm>

#include "core/transport/ops.h"
#include "tools/perf/measured_provider.h"

namespace tutti::tools {
namespace {

constexpr std::uint32_t in_flight = 4 << 20; // bytes at once, for bandwidth
constexpr int most_in_flight = 16;           // operations

}  // namespace

std::vector<std::uint32_t> curve_sizes(std::uint32_t most) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t b = 8; b < most; b *= 4) out.push_back(b);
  out.push_back(most);
  return out;
}

// Operations longer than the fabric's longest go in pieces.
void measured_provider::move_to(rank_t peer, op_kind kind, std::uint32_t bytes, int depth, int times) {
  completion done;
  const std::uint64_t piece = std::min<std::uint64_t>(bytes, job_->net().caps().max_bytes);
  for (int i = 0; i < times; i += depth) {
    for (int k = 0; k < depth; ++k)
      for (std::uint64_t at = 0; at < bytes; at += piece)
        submit(move_op(kind, region_, data + at, peer, segment_, data + at,
                       static_cast<std::uint32_t>(std::min<std::uint64_t>(piece, bytes - at)), &done));
    if (kind == op_kind::put) flush(peer);
    require(job_->wait(done, "one-sided"));
  }
}

void measured_provider::add_one_sided(std::vector<row>& rows) {
  if (job_->size() < 2) return;
  const rank_t me = job_->rank();
  auto moving = [this, me](op_kind kind, std::uint32_t bytes) {
    return [=, this](int iterations) {
      if (me == 0) move(kind, bytes, 1, iterations);
    };
  };
  add(rows, "one-sided", "put 8 B + flush", moving(op_kind::put, 8));
  add(rows, "one-sided", "put 8 B + signal", [this, me](int iterations) {
    if (me > 1) return;
    rma_op op = with_signal(move_op(op_kind::put, region_, 0, 1 - me, segment_, line_offset(1), 8, nullptr), segment_,
                            line_offset(0), 0);
    for (int i = 0; i < iterations; ++i) {
      op.operand = ++ping_;
      if (me == 0) submit(op);
      wait_word(0, ping_, 1 - me);
      if (me == 1) submit(op);
    }
  }).halves = 2;
  add(rows, "one-sided", "get 8 B", moving(op_kind::get, 8));
  add(rows, "one-sided", "fetch-add", [this, me](int iterations) {
    if (me != 0) return;
    completion done;
    const rma_op op = atomic_op(op_kind::fetch_add, region_, line_offset(2), {1, segment_, line_offset(3)}, 1, &done);
    for (int i = 0; i < iterations; ++i) {
      submit(op);
      require(job_->wait(done, "one-sided"));
    }
  });
  for (auto [name, kind] : {std::pair{"put 1 MiB", op_kind::put}, std::pair{"get 1 MiB", op_kind::get}}) {
    row& r = add(rows, "bandwidth", name, moving(kind, mebibyte));
    r.what.in = unit::gigabytes_per_s;
    r.work = mebibyte;
  }
}

void measured_provider::add_by_size(std::vector<row>& rows) {
  if (job_->size() < 2) return;
  const rank_t me = job_->rank();
  for (auto [name, kind] : {std::pair{"put", op_kind::put}, std::pair{"get", op_kind::get}})
    for (const std::uint32_t bytes : curve_sizes(bytes_)) {
      auto at = [&, this, kind = kind](std::string group, int depth) -> row& {
        row& r = add(rows, std::move(group), {}, [=, this](int iterations) {
          if (me == 0) move(kind, bytes, depth, iterations * depth);
        });
        r.what.bytes = bytes;
        return r;
      };
      at(std::string(name) + " latency by size", 1);
      const int depth = std::clamp(static_cast<int>(in_flight / bytes), 1, most_in_flight);
      row& r = at(std::string(name) + " bandwidth by size", depth);
      r.what.in = unit::gigabytes_per_s;
      r.work = static_cast<double>(bytes) * depth;
    }
}

}  // namespace tutti::tools

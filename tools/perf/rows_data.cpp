// The collectives that move data: each algorithm at some sizes; broadcasts and reduces with root 0, sums of doubles.
#include "tools/perf/measured_provider.h"

namespace tutti::tools {
namespace {

struct size_row {
  std::uint32_t bytes;
  const char* name;
  bool always;  // false: of `tutti perf broadcast` and the like
};
constexpr size_row sizes[] = {{8, "8 B", true},           {1 << 10, "1 KiB", false}, {16 << 10, "16 KiB", false},
                              {128 << 10, "128 KiB", false}, {mebibyte, "1 MiB", true}, {8 * mebibyte, "8 MiB", false}};

}  // namespace

std::uint64_t measured_provider::room_for(collective of, std::uint64_t bytes) const noexcept {
  return has_block_each(of) ? bytes * job_->size() : bytes;
}

void measured_provider::make_room(std::uint64_t bytes) {
  if (bytes <= payload_.size()) return;
  payload_.resize(bytes), result_.resize(bytes);
}

collective_call measured_provider::call_of(collective of, std::uint64_t bytes) {
  return {.of = of, .bytes = bytes, .in = payload_.data(), .out = of == collective::broadcast ? payload_.data() : result_.data(),
          .op = *find_reduction(datatype::float64, operation::sum)};
}

void measured_provider::add_data(std::vector<row>& rows, collective of, bool all_sizes, std::vector<text_pair>& left_out) {
  if (job_->size() < 2) return;
  const std::string what(name_of(of));
  constexpr std::uint64_t most_room = 64 * mebibyte;  // blocks for all members are long together
  const auto wanted = [&](const size_row& s) { return (s.always || all_sizes) && room_for(of, s.bytes) <= most_room; };
  for (const size_row& s : sizes)
    if (wanted(s)) make_room(room_for(of, s.bytes));
  const bool agreed = world_->data().choices().agree_on_facts().ok();
  for (const algorithm& a : algorithms(of)) {
    if (a.needs.multicast && !job_->net().mcast()) continue;
    communicator_options options;
    options.wanted(of) = a.name;
    auto team = world_->split(0, 0, options);
    status trouble = team ? (*team)->run(call_of(of, 8)) : team.error();
    if (trouble.failed()) {
      if (team) (void)(*team)->group().settle();  // others may be in its last exchange still
      left_out.emplace_back(name_ + " " + what + " " + std::string(a.name), trouble.text());
      continue;
    }
    communicator* const c = teams_.emplace_back(std::move(*team)).get();
    for (const size_row& s : sizes) {
      if (!wanted(s)) continue;
      const bool bandwidth = s.bytes >= mebibyte;
      row& r = add(rows, bandwidth ? what + " bandwidth" : what, std::string(a.name) + " " + s.name,
                   [c, one = call_of(of, s.bytes)](int iterations) {
                     for (int i = 0; i < iterations; ++i)
                       if (status failed = c->run(one); failed.failed()) require(failed);
                   });
      r.what.chosen = agreed && &world_->data().choices().algorithm_for(of, s.bytes) == &a;
      if (!bandwidth) continue;
      r.what.in = unit::gigabytes_per_s;
      r.work = s.bytes;
    }
  }
}

}  // namespace tutti::tools

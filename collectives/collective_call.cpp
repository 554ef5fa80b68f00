#include "collectives/collective_call.h"

namespace tutti {

std::uint64_t checksum(std::span<const std::uint64_t> list) noexcept {
  std::uint64_t sum = list.size();
  for (const std::uint64_t v : list) sum = (sum ^ v) * 0x9e3779b97f4a7c15u, sum ^= sum >> 29;
  return sum;
}

call_record::what collective_call::recorded() const noexcept {
  const std::uint64_t told = of == collective::alltoallv ? 0 : !lists ? bytes : checksum(of == collective::allgather ? lists->out_lengths : lists->in_lengths);
  return {told, has_root(of) || of == collective::alltoallv ? root : 0, as == call_kind::none ? kind_of(of) : as,
          static_cast<std::uint8_t>(op.built_in ? op.type : datatype::bytes),
          static_cast<std::uint8_t>(op.built_in ? op.op : operation::user)};
}

}  // namespace tutti

#include "providers/verbs/packet_buffers.h"

#include <cerrno>
#include <cstdlib>
#include <new>

#include "providers/verbs/error.h"

namespace tutti::verbs {

status packet_buffers::open(ibv_pd* pd, const adapter& device, std::uint32_t most) noexcept {
  pd_ = pd, device_ = &device, most_ = most;
  table_.reset(new (std::nothrow) slab[most / slab_buffers]);
  return table_ ? status{} : status{errc::no_resource, "no memory for a table of buffers"};
}

status packet_buffers::grow() noexcept {
  if (count() == most_) return {errc::no_resource, "no more buffers"};
  constexpr std::size_t bytes = std::size_t{slab_buffers} * packet_bytes;
  slab made;
  made.base = static_cast<std::byte*>(std::aligned_alloc(4096, bytes));
  made.mr = made.base ? ibv_reg_mr(pd_, made.base, bytes, IBV_ACCESS_LOCAL_WRITE) : nullptr;
  if (made.mr) {
    table_[slabs_++] = made;
    return {};
  }
  const int error = errno;
  std::free(made.base);
  return os_error(worded("registering ", bytes, " bytes of buffers with ", device_->where.device), error);
}

void packet_buffers::close() noexcept {
  for (; slabs_; --slabs_) {
    ibv_dereg_mr(table_[slabs_ - 1].mr);
    std::free(table_[slabs_ - 1].base);
  }
}

}  // namespace tutti::verbs

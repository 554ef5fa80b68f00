#include "tools/perf/one_sided_by_messages.h"

#include <cstring>
#include <stdexcept>

namespace tutti::tools {
namespace {

constexpr std::uint64_t header_tag = 16, put_tag = 1 << 16, get_tag = 2 << 16;

}  // namespace

one_sided_by_messages::one_sided_by_messages(tutti_t ctx, std::uint32_t other, std::span<std::byte> memory)
    : ctx_(ctx), world_(tutti_world(ctx)), other_(other), memory_(memory), packed_(sizeof(header) + most_together), requests_(64) {}

void one_sided_by_messages::require(tutti_status_t s) const {
  if (s != TUTTI_OK) throw std::runtime_error(tutti_error_text(ctx_));
}

tutti_request_t* one_sided_by_messages::next_request() {
  if (used_ == requests_.size()) wait_for_all();
  return &requests_[used_++];
}

void one_sided_by_messages::wait_for_all() {
  require(tutti_wait_all(requests_.data(), used_, -1));
  used_ = 0;
}

void one_sided_by_messages::perform(std::span<const one_sided_operation> all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const one_sided_operation& o = all[i];
    const auto number = static_cast<std::uint32_t>(i);
    const header h{o.get, i + 1 == all.size(), number, 0, o.offset, o.bytes};
    const bool together = !o.get && o.bytes <= most_together;
    std::memcpy(packed_.data(), &h, sizeof h);
    if (together) std::memcpy(packed_.data() + sizeof h, o.memory, o.bytes);
    if (o.get) require(tutti_irecv(world_, other_, get_tag + number, TUTTI_WHOLE_TAG, o.memory, o.bytes, nullptr, next_request()));
    require(tutti_send(world_, other_, header_tag, packed_.data(), sizeof h + (together ? o.bytes : 0)));
    if (!o.get && !together) require(tutti_isend(world_, other_, put_tag + number, o.memory, o.bytes, next_request()));
  }
  wait_for_all();
}

void one_sided_by_messages::serve() {
  header h{};
  do {
    require(tutti_recv(world_, other_, header_tag, TUTTI_WHOLE_TAG, packed_.data(), packed_.size(), nullptr));
    std::memcpy(&h, packed_.data(), sizeof h);
    if (h.offset > memory_.size() || h.bytes > memory_.size() - h.offset) throw std::runtime_error("an operation beyond the memory");
    std::byte* const here = memory_.data() + h.offset;
    if (h.get) require(tutti_isend(world_, other_, get_tag + h.number, here, h.bytes, next_request()));
    else if (h.bytes <= most_together) std::memcpy(here, packed_.data() + sizeof h, h.bytes);
    else require(tutti_irecv(world_, other_, put_tag + h.number, TUTTI_WHOLE_TAG, here, h.bytes, nullptr, next_request()));
  } while (!h.last);
  wait_for_all();
}

}  // namespace tutti::tools

#include "core/status.h"

#include <new>

namespace tutti {

std::string_view errc_name(errc c) noexcept {
  switch (c) {
    case errc::ok: return "success";
    case errc::invalid: return "invalid argument";
    case errc::no_resource: return "out of resources";
    case errc::unsupported: return "not supported";
    case errc::unavailable: return "not available";
    case errc::timed_out: return "timed out";
    case errc::peer_dead: return "peer dead";
    case errc::fabric: return "fabric error";
    case errc::protocol: return "incompatible peer";
  }
  return "unknown error";
}

status::status(errc code, std::string text, rank_t peer, std::int64_t native) noexcept {
  if (code == errc::ok) return;
  d_ = new (std::nothrow) detail{{1}, code, peer, native, std::move(text)};
  if (!d_) {  // the error must not be lost with the memory: one static detail that is never freed
    static detail no_memory{{1}, errc::no_resource, no_rank, 0, {}};
    no_memory.refs.fetch_add(1, std::memory_order_relaxed);
    d_ = &no_memory;
  }
}

status status::during(std::string_view what) const noexcept {
  if (ok()) return {};
  try {
    std::string text{what};
    text += ": ";
    text += d_->text;
    return {d_->code, std::move(text), d_->peer, d_->native};
  } catch (...) {
    return *this;
  }
}

void status::destroy(detail* d) noexcept { delete d; }

}  // namespace tutti

// Errors are values. A status is one pointer: null is success, else a shared, immutable detail that says what was
// attempted, on which rank, and in the vendor's words why it failed. Whoever first decides an error gives it its
// text; a caller that knows more (rank, operation) adds it once with `during`.
//
// Where memory is short, an error keeps its code and its rank, in the pointer itself, and its text is a fixed one that names the code.
// So nothing here throws, and neither does worded() (core/base/text.h), by which functions that may not throw put their texts together.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/base/text.h"

namespace tutti {

using rank_t = std::uint32_t;                     // dense index into the job
inline constexpr rank_t no_rank = ~rank_t{0};

// Grouped by what they mean for the caller. The values are part of the C ABI (tutti.h).
enum class errc : std::int32_t {
  ok = 0,
  invalid = 1,      // the call is wrong; nothing was changed; the text names the value and the remedy
  no_resource = 2,  // memory, descriptors, /dev/shm, memlock: nothing was changed; may succeed later
  unsupported = 3,  // this provider or build cannot do it, ever; its capabilities say so
  unavailable = 4,  // a library, device, launcher or permission that is needed is not here
  timed_out = 5,    // the caller's deadline passed; what was waited for may still happen
  peer_dead = 6,    // a rank that the call depends on died or left; `peer()` names it; will not succeed later
  fabric = 7,       // the vendor's library failed; `native()` is its code
  protocol = 8,     // ranks differ in version, in configuration or in their collective calls
  truncated = 9,    // a message is longer than the receive; what fits was written
  cancelled = 10,   // the operation was ended by a call of this rank, such as freeing its team, before anything matched it
};

std::string_view errc_name(errc) noexcept;

class status {
 public:
  status() noexcept = default;
  status(errc code, const text_parts& text, rank_t peer = no_rank, std::int64_t native = 0) noexcept;
  status(const status& o) noexcept : d_(o.d_) { if (const detail* d = o.kept()) d->refs.fetch_add(1, std::memory_order_relaxed); }
  status(status&& o) noexcept : d_(std::exchange(o.d_, 0)) {}
  status& operator=(status o) noexcept { std::swap(d_, o.d_); return *this; }
  ~status() {
    const detail* const d = kept();
    if (d && d->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(d);
  }

  bool ok() const noexcept { return d_ == 0; }
  bool failed() const noexcept { return d_ != 0; }
  errc code() const noexcept { return ok() ? errc::ok : is_bare() ? static_cast<errc>(d_ >> 1 & 0xff) : kept()->code; }
  rank_t peer() const noexcept {  // the rank that caused it, or no_rank
    return ok() ? no_rank : is_bare() ? static_cast<rank_t>(d_ >> 32) : kept()->peer;
  }
  std::int64_t native() const noexcept {  // errno or the vendor's code, or 0
    const detail* const d = kept();
    return d ? d->native : 0;
  }
  const char* text() const noexcept;  // one line; lives as long as a copy

  // The same error with `what` put before its text: "barrier on team 3: rank 2 died (signal 9)".
  status during(const text_parts& what) const noexcept;

 private:
  struct detail {          // the text follows it, and a 0
    mutable std::atomic<std::uint32_t> refs;
    errc code;
    rank_t peer;
    std::int64_t native;
  };
  // 0: success. An odd number is an error without a detail, for want of memory: the code from bit 1 on, the rank from bit 32 on.
  bool is_bare() const noexcept { return d_ & 1; }
  const detail* kept() const noexcept { return d_ == 0 || is_bare() ? nullptr : reinterpret_cast<const detail*>(d_); }
  static void destroy(const detail*) noexcept;
  std::uint64_t d_ = 0;
};

// A value, or the status that says why there is none.
template <class T>
class [[nodiscard]] result {
 public:
  result(T value) : value_(std::move(value)) {}
  result(status error) noexcept(std::is_nothrow_default_constructible_v<T>) : error_(std::move(error)) {}  // error must not be ok
  bool ok() const noexcept { return error_.ok(); }
  explicit operator bool() const noexcept { return ok(); }
  T& operator*() & noexcept { return value_; }
  const T& operator*() const& noexcept { return value_; }
  T&& operator*() && noexcept { return std::move(value_); }
  T* operator->() noexcept { return &value_; }
  const T* operator->() const noexcept { return &value_; }
  const status& error() const noexcept { return error_; }

 private:
  T value_{};
  status error_;
};

}  // namespace tutti

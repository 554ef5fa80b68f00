// Whether a write arrives with nobody's help at the target, or else before a message that follows it. What libfabric says of
// a provider does not tell: progress may be manual and an adapter moves the data, or be called automatic and nothing moves
// without a call. So it is tried, once, at open, on the endpoint itself: a word is written and read back, then another is
// written and looked for without calling libfabric. In the other case as many bytes as no message has are written, and are there
// when the message is.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "providers/ofi/remote_memory.h"
#include "providers/ofi/trial_time.h"

namespace tutti::ofi {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto longest_flight = 300ms;

struct target {
  alignas(4096) std::uint64_t words[512] = {};
};

// Memory that a trial reaches, until it ends.
struct exposure {
  exposure(remote_memory& by, std::span<std::byte> memory) : of(by), made(by.register_region(memory, key)) {}
  ~exposure() {
    if (made) of.deregister_region(*made);
  }
  exposure(const exposure&) = delete;
  exposure& operator=(const exposure&) = delete;
  remote_key there() const noexcept { return *messages::head_of<remote_key>(key); }

  remote_memory& of;
  std::vector<std::byte> key;
  result<void*> made;
};

std::uint64_t look(const std::uint64_t& word) noexcept {
  return std::atomic_ref<const std::uint64_t>{word}.load(std::memory_order_acquire);
}

}  // namespace

status remote_memory::try_alone(fi_addr_t self) {
  const auto memory = std::make_shared<target>();
  tried_ = memory;
  const exposure registered{*this, std::as_writable_bytes(std::span{memory->words})};
  if (!registered.made) return registered.made.error();
  const remote_key there = registered.there();

  const trial_time time;
  connection line;
  line.address = self;
  transfer& t = *free_;
  status outcome;
  const auto one_turn = [&] {  // true: the transfer has come back
    fi_cq_msg_entry done{};
    const ssize_t n = fi_cq_read(ofi_.completions.get(), &done, 1);
    if (n == 1) return done.op_context == &t.context;
    fi_cq_err_entry wrong{};
    if (n == -FI_EAVAIL && fi_cq_readerr(ofi_.completions.get(), &wrong, 0) == 1) {
      outcome = vendor_error(wrong.err, "reaching its own memory");
      return true;
    }
    ::sched_yield();
    return false;
  };
  const auto hand_over = [&](transfer::kind how, std::uint64_t word, std::uint64_t value) {
    t.how = how, t.line = &line, t.key = there.key, t.there = there.base + word * sizeof value;
    t.here = t.landing, t.descriptor = t.landing_descriptor;
    t.left = sizeof value, t.ordered = in_order(sizeof value);
    std::memcpy(t.landing, &value, sizeof value);
    ssize_t e = 0;
    while ((e = post(t)) == -FI_EAGAIN && outcome.ok() && !time.over()) one_turn();
    if (e != 0 && outcome.ok()) outcome = vendor_error(e, "reaching its own memory");
  };
  const auto comes_back = [&] {
    while (outcome.ok() && !one_turn())
      if (time.over()) outcome = {errc::unsupported, "what reaches its own memory does not complete"};
  };

  hand_over(transfer::kind::write, 0, 1);  // connects, however long that takes
  comes_back();
  hand_over(transfer::kind::read, 0, 0);
  comes_back();
  std::uint64_t read = 0;
  std::memcpy(&read, t.landing, sizeof read);
  if (outcome.ok() && (read != 1 || look(memory->words[0]) != 1)) outcome = {errc::unsupported, "it writes or reads another value"};
  hand_over(transfer::kind::write, 1, 2);
  bool seen = false;
  for (const auto end = clock::now() + longest_flight; outcome.ok() && !seen && clock::now() < end; ::usleep(20))
    seen = look(memory->words[1]) == 2;
  comes_back();
  if (outcome.ok() && !seen) outcome = {errc::unsupported, "a write does not arrive until the target calls libfabric"};
  t.posted = false;
  if (outcome.ok()) tried_.reset();
  alone_ = outcome.ok();
  return outcome.ok() ? outcome : status{errc::unsupported, outcome.text()};
}

status remote_memory::try_before(fi_addr_t self, const std::function<status()>& message) {
  const auto memory = std::make_shared<std::array<target, 16>>();  // a half of it is written to the other
  tried_ = memory;
  const std::span<std::byte> all = std::as_writable_bytes(std::span{*memory}), from = all.first(all.size() / 2), to = all.last(all.size() / 2);
  std::memset(from.data(), 1, from.size());
  const exposure registered{*this, to};
  if (!registered.made) return registered.made.error();
  const remote_key there = registered.there();

  const trial_time time;
  connection line;
  line.address = self;
  transfer& t = *free_;
  t.how = transfer::kind::write, t.line = &line, t.key = there.key, t.there = there.base;
  t.here = from.data(), t.left = static_cast<std::uint32_t>(from.size()), t.ordered = true;
  status outcome = make_known(t);
  while (outcome.ok() && !t.posted) {
    const ssize_t e = post(t);
    if (e == -FI_EAGAIN) outcome = message();  // drives libfabric
    else if (e != 0) outcome = vendor_error(e, "reaching its own memory");
    if (time.over()) outcome = {errc::unsupported, "what reaches its own memory is not taken"};
  }
  if (outcome.ok()) outcome = message();
  if (outcome.ok() && !std::equal(from.begin(), from.end(), to.begin())) outcome = {errc::unsupported, "a message overtakes a write"};
  while (outcome.ok() && t.posted) {
    outcome = message();
    if (time.over()) outcome = {errc::unsupported, "what reaches its own memory does not complete"};
  }
  t.registered.reset();
  if (t.posted || outcome.failed()) return status{errc::unsupported, outcome.text()};  // it may still be read and written
  tried_.reset();
  return {};
}

}  // namespace tutti::ofi

// What comes to a rank from a wire, and the blobs that its peers give it. The first byte of an input says which:
//
//   0, 1  messages, to a rank whose link reorders or does not. Each begins with a byte: bits 0 and 1 its origin, bit 2 whether
//         it has the right proof, bit 3 whether it has the next number, bit 4 whether the rank then takes the two-sided messages
//         that it has; then a byte for the length of its payload, then header and payload. A region of 1 stands for one that
//         exists, since ids are random. Requests of the rank's own are under way towards rank 1, so that answers find them
//   2     a length of two bytes, then the address of rank 1 and a key of its memory, which the rank is to use
//
// Rank 3 is never spoken for: whatever the others do, what it sends is taken.
#include <array>
#include <cstdlib>
#include <cstring>

#include "core/transport/two_sided.h"
#include "tests/messages/fake_link.h"

using namespace tutti;
using namespace tutti::test;
using messages::message;
using messages::message_kind;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

std::span<const std::byte> take(std::span<const std::byte>& rest, std::size_t n) {
  const auto taken = rest.first(std::min(n, rest.size()));
  rest = rest.subspan(taken.size());
  return taken;
}

std::size_t number(std::span<const std::byte>& rest, std::size_t bytes) {
  std::size_t n = 0;
  for (const std::byte b : take(rest, bytes)) n = n << 8 | static_cast<std::size_t>(b);
  return n;
}

void messages_come(bool reorders, std::span<const std::byte> rest) {
  auto t = fake_traits();
  t.reorders = reorders;
  lone_rank r{t};
  // Exactly so long: a sanitizer sees one byte beside them.
  const auto whole = std::make_unique<std::byte[]>(64);
  const std::unique_ptr<std::byte[]> parts[2] = {std::make_unique<std::byte[]>(5), std::make_unique<std::byte[]>(11)};
  const slice slices[2] = {{unregistered_memory, 5, reinterpret_cast<std::uint64_t>(parts[0].get())},
                           {unregistered_memory, 11, reinterpret_cast<std::uint64_t>(parts[1].get())}};
  const auto old = std::make_unique<std::uint64_t>();
  completion done;
  rma_op ops[3] = {{.kind = op_kind::get}, {.kind = op_kind::get_scatter}, {.kind = op_kind::fetch_add}};
  for (rma_op& op : ops) op.rank = 1, op.remote = r.segment, op.done = &done;
  ops[0].bytes = 64, ops[0].local_offset = reinterpret_cast<std::uint64_t>(whole.get());
  ops[1].slices = 2, ops[1].scatter = slices;
  ops[2].local_offset = reinterpret_cast<std::uint64_t>(old.get());
  require(r.net->submit(ops) == 3);

  while (!rest.empty()) {
    const std::size_t how = number(rest, 1), length = number(rest, 1);
    message m;
    const auto header = take(rest, sizeof m);
    if (!header.empty()) std::memcpy(&m, header.data(), header.size());
    const auto payload = take(rest, length);
    const rank_t origin = how & 3;
    if (origin == 3 && (how & 12)) continue;
    if (m.region == 1) m.region = r.region;
    if (m.signal_region == 1) m.signal_region = r.region;
    if (how & 8) m.sequence = r.next[origin]++;
    if (how & 4) m.origin = origin, m.check = check_of(m, {}, messages::key_between(r.key, origin, 0));
    const std::unique_ptr<std::byte[]> copy{new std::byte[payload.size()]};  // of the payload's own length
    if (!payload.empty()) std::memcpy(copy.get(), payload.data(), payload.size());
    r.messages().receive(std::as_bytes(std::span{&m, 1}).first(header.size()), {copy.get(), payload.size()});
    r.messages().progress();
    for (two_sided::message got; how & 16 && r.net->sendrecv()->receive(got);) {
      std::size_t sum = 0;  // each byte is there
      for (const auto part : {got.header, got.payload})
        for (const std::byte b : part) sum += static_cast<std::size_t>(b);
      require(got.from < r.size && sum <= 255 * (got.header.size() + got.payload.size()));
    }
    r.line->sent.clear();
  }

  message last;
  last.kind = message_kind::put, last.region = r.region, last.offset = 8, last.bytes = 8;
  const std::uint64_t value = 0x746865206c617374;
  r.tell(3, last, std::as_bytes(std::span{&value, 1}));
  require(r.word(1) == value && r.net->health(3).ok());
  r.net.reset();
  require(done.idle());
}

void blobs_come(std::span<const std::byte> rest) {
  const auto address = take(rest, number(rest, 2));
  lone_rank r;
  auto all = std::make_shared<blob_table>(), keys = std::make_shared<blob_table>();
  for (rank_t i = 0; i < r.size; ++i) {
    if (i == 1) all->push_back(address), keys->push_back(rest);
    else all->push_back(*r.net->address()), keys->push_back(*r.net->key(region_id{r.region}));
  }
  (void)r.net->connect(all, {}).failed();
  const auto segment = r.net->attach(rank_map::strided(0, r.size), keys);
  if (!segment) return;
  rma_op put{.kind = op_kind::put};
  const std::uint64_t value = 1;
  put.rank = 1, put.remote = *segment, put.bytes = 8, put.local_offset = reinterpret_cast<std::uint64_t>(&value);
  (void)!r.net->submit({&put, 1});
  r.net->progress();
  (void)r.net->map(*segment, 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto rest = std::as_bytes(std::span{data, size}).subspan(1);
  data[0] % 3 == 2 ? blobs_come(rest) : messages_come(data[0] % 3 == 0, rest);
  return 0;
}

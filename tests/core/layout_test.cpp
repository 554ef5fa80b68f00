// Layouts against a model that lists every byte: random ones, and what is refused.
#include <boost/test/unit_test.hpp>

#include <cstring>
#include <numeric>
#include <random>

#include "core/base/layout.h"

namespace {

using namespace tutti;

// A description as a caller gives it, and where each byte of its data lies.
struct described {
  std::size_t block = 0;
  std::vector<std::size_t> counts, lengths;
  std::vector<std::ptrdiff_t> strides, offsets;
  block_layout layout;
  std::vector<std::ptrdiff_t> place;  // of each byte of the data

  void list(std::ptrdiff_t at, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) place.push_back(at + static_cast<std::ptrdiff_t>(i));
  }
  void list_strided(std::size_t d, std::ptrdiff_t at) {
    if (d == counts.size()) return list(at, block);
    for (std::size_t i = 0; i < counts[d]; ++i) list_strided(d + 1, at + static_cast<std::ptrdiff_t>(i) * strides[d]);
  }
};

template <class T>
T taken(result<T> r) {
  if (!r) BOOST_FAIL(r.error().text());
  return std::move(*r);
}

std::size_t below(std::mt19937_64& random, std::size_t n) { return random() % n; }

// Overlaps are allowed where layouts are only read, and make no difference to what is walked.
std::unique_ptr<described> random_strided(std::mt19937_64& random) {
  auto out = std::make_unique<described>();
  const std::size_t dimensions = below(random, 9);
  out->block = 1 + below(random, 9);
  std::ptrdiff_t dense = static_cast<std::ptrdiff_t>(out->block);
  out->counts.resize(dimensions), out->strides.resize(dimensions);
  for (std::size_t d = dimensions; d-- > 0;) {
    out->counts[d] = below(random, 40) == 0 ? 0 : 1 + below(random, dimensions > 4 ? 2 : 5);
    const std::ptrdiff_t ways[] = {dense, dense, dense + static_cast<std::ptrdiff_t>(below(random, 8)), -dense,
                                   static_cast<std::ptrdiff_t>(below(random, 40)) - 20};
    out->strides[d] = ways[below(random, 5)];
    dense = std::max<std::ptrdiff_t>(1, std::abs(out->strides[d])) * static_cast<std::ptrdiff_t>(out->counts[d]);
  }
  out->layout = taken(block_layout::strided(out->block, dimensions, out->counts.data(), out->strides.data()));
  out->list_strided(0, 0);
  return out;
}

std::unique_ptr<described> random_indexed(std::mt19937_64& random) {
  auto out = std::make_unique<described>();
  const bool unlike = below(random, 2);
  out->block = below(random, 9);
  std::ptrdiff_t at = static_cast<std::ptrdiff_t>(below(random, 100)) - 50;
  for (std::size_t i = 0, n = below(random, 12); i < n; ++i) {
    const std::size_t length = unlike ? below(random, 4) * below(random, 9) : out->block;
    if (below(random, 2)) at += static_cast<std::ptrdiff_t>(below(random, 40)) - 20;
    out->offsets.push_back(at);
    out->lengths.push_back(length);
    out->list(at, length);
    at += static_cast<std::ptrdiff_t>(length);
  }
  out->layout = taken(block_layout::indexed(out->offsets.size(), out->offsets.data(), unlike ? out->lengths.data() : nullptr, out->block));
  return out;
}

// Of any layouts, some of them several times, with and without gaps between.
std::unique_ptr<described> random_nested(std::mt19937_64& random, unsigned deep) {
  auto out = std::make_unique<described>();
  std::vector<std::unique_ptr<described>> all;
  layout_nest nest;
  for (std::size_t i = 0, n = below(random, 5); i < n; ++i) {
    if (all.empty() || below(random, 3))
      all.push_back(deep > 0 && below(random, 2) ? random_nested(random, deep - 1) : below(random, 2) ? random_strided(random) : random_indexed(random));
    const described& inner = *all.back();
    const std::size_t bytes = inner.place.size(), count = below(random, 6);
    if (bytes * count > 2000) continue;
    const std::ptrdiff_t strides[] = {static_cast<std::ptrdiff_t>(bytes), inner.layout.high() - inner.layout.low(), static_cast<std::ptrdiff_t>(below(random, 90)) - 45};
    const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(below(random, 200)) - 100, stride = strides[below(random, 3)];
    const status s = nest.add(offset, count, stride, inner.layout);
    BOOST_REQUIRE(s.ok());
    for (std::size_t c = 0; c < count; ++c)
      for (const std::ptrdiff_t p : inner.place) out->place.push_back(offset + static_cast<std::ptrdiff_t>(c) * stride + p);
  }
  out->layout = taken(nest.finish());
  return out;
}

std::unique_ptr<described> random_layout(std::mt19937_64& random) {
  const std::size_t kind = below(random, 4);
  return kind == 0 ? random_strided(random) : kind == 1 ? random_indexed(random) : random_nested(random, static_cast<unsigned>(below(random, 4)));
}

// The number of bytes from p on that follow each other.
std::size_t follows(const std::vector<std::ptrdiff_t>& place, std::size_t p) {
  std::size_t n = 1;
  while (p + n < place.size() && place[p + n] == place[p] + static_cast<std::ptrdiff_t>(n)) ++n;
  return n;
}

void check_runs(const described& d) {
  layout_cursor c(d.layout);
  for (std::size_t p = 0; p < d.place.size();) {
    const auto r = c.take();
    BOOST_REQUIRE_EQUAL(r.offset, d.place[p]);
    BOOST_REQUIRE_EQUAL(r.bytes, follows(d.place, p));
    p += r.bytes;
    BOOST_REQUIRE_EQUAL(c.position(), p);
  }
  BOOST_REQUIRE_EQUAL(c.take().bytes, 0u);
}

void check_ranges(const described& d, std::mt19937_64& random) {
  const std::size_t all = d.place.size();
  const std::ptrdiff_t low = d.layout.low();
  std::vector<std::byte> memory(static_cast<std::size_t>(d.layout.high() - low) + 1), data(all), packed(all + 1), back(memory.size());
  for (auto& b : memory) b = static_cast<std::byte>(random());
  for (std::size_t p = 0; p < all; ++p) data[p] = memory[static_cast<std::size_t>(d.place[p] - low)];
  std::byte* const base = at_distance(memory.data(), -low);
  layout_cursor c(d.layout);
  for (int i = 0; i < 8; ++i) {  // any range, whatever came before
    const std::size_t from = below(random, all + 1), n = below(random, all - from + 1);
    c.seek(from);
    packed[n] = std::byte{0x5A};
    pack(base, c, {packed.data(), n});
    BOOST_REQUIRE(std::equal(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(n), data.begin() + static_cast<std::ptrdiff_t>(from)));
    BOOST_REQUIRE(packed[n] == std::byte{0x5A});
    BOOST_REQUIRE_EQUAL(c.position(), from + n);
  }
  c.seek(0);
  for (std::size_t p = 0; p < all;) {  // in pieces, one after the other
    const std::size_t n = 1 + below(random, all - p);
    unpack(at_distance(back.data(), -low), c, std::span(data).subspan(p, n));
    p += n;
  }
  for (std::size_t p = 0; p < all; ++p) BOOST_REQUIRE(back[static_cast<std::size_t>(d.place[p] - low)] == data[p]);
  std::vector<bool> listed(back.size());
  for (const auto at : d.place) listed[static_cast<std::size_t>(at - low)] = true;
  for (std::size_t i = 0; i < back.size(); ++i) BOOST_REQUIRE(listed[i] || back[i] == std::byte{0});
}

void check_joint(const described& a, const described& b) {
  joint_walk walk(a.layout, b.layout);
  joint_walk::run r;
  for (std::size_t p = 0; p < a.place.size();) {
    BOOST_REQUIRE(walk.next(r));
    BOOST_REQUIRE_EQUAL(r.here, a.place[p]);
    BOOST_REQUIRE_EQUAL(r.there, b.place[p]);
    BOOST_REQUIRE_EQUAL(r.bytes, std::min(follows(a.place, p), follows(b.place, p)));
    p += r.bytes;
  }
  BOOST_REQUIRE(!walk.next(r));
}

// An indexed layout of the same number of bytes as another.
std::unique_ptr<described> as_long_as(const described& other, std::mt19937_64& random) {
  auto out = std::make_unique<described>();
  std::ptrdiff_t at = 0;
  for (std::size_t left = other.place.size(); left > 0;) {
    const std::size_t n = 1 + below(random, left);
    at += static_cast<std::ptrdiff_t>(below(random, 3));
    out->offsets.push_back(at), out->lengths.push_back(n);
    out->list(at, n);
    at += static_cast<std::ptrdiff_t>(n), left -= n;
  }
  out->layout = taken(block_layout::indexed(out->offsets.size(), out->offsets.data(), out->lengths.data(), 0));
  return out;
}

void refused(const result<block_layout>& r, const char* word) {
  BOOST_REQUIRE(!r);
  BOOST_TEST((r.error().code() == errc::invalid));
  BOOST_TEST(std::string(r.error().text()).find(word) != std::string::npos, r.error().text() << " does not name " << word);
}

}  // namespace

BOOST_AUTO_TEST_CASE(random_layouts_are_as_listed) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::mt19937_64 random(seed);
      const auto d = random_layout(random);
      BOOST_REQUIRE_EQUAL(d->layout.bytes(), d->place.size());
      if (!d->place.empty()) {
        const auto [low, high] = std::minmax_element(d->place.begin(), d->place.end());
        BOOST_REQUIRE_EQUAL(d->layout.low(), *low);
        BOOST_REQUIRE_EQUAL(d->layout.high(), *high + 1);
      } else {
        BOOST_REQUIRE(d->layout.low() == 0 && d->layout.high() == 0);
      }
      check_runs(*d);
      check_ranges(*d, random);
      check_joint(*d, *as_long_as(*d, random));
    }
  }
}

BOOST_AUTO_TEST_CASE(dense_arrays_are_one_piece) {
  const std::size_t counts[] = {3, 1, 4, 5};
  const std::ptrdiff_t strides[] = {160, 12345, 40, 8};
  auto l = taken(block_layout::strided(8, 4, counts, strides));
  BOOST_TEST(l.in_one_piece());
  BOOST_TEST(layout_cursor(l).take().bytes == 480u);
  BOOST_TEST(taken(block_layout::strided(8, 0, nullptr, nullptr)).bytes() == 8u);
  BOOST_TEST(taken(block_layout::contiguous(7)).in_one_piece());
  BOOST_TEST(block_layout().in_one_piece());
}

// Of strides around strides there is no tree, wherever they begin; and an array of records takes the memory of one.
BOOST_AUTO_TEST_CASE(nested_strides_are_strides) {
  const std::size_t counts[] = {3, 4};
  const std::ptrdiff_t strides[] = {100, 8};
  layout_nest nest;
  BOOST_REQUIRE(nest.add(40, 5, 300, taken(block_layout::strided(8, 2, counts, strides))).ok());
  const auto l = taken(nest.finish());
  BOOST_TEST((l.blocks() == 15u && l.bytes() == 480u && l.low() == 40 && l.high() == 40 + 4 * 300 + 2 * 100 + 32));
  layout_nest dense;
  BOOST_REQUIRE(dense.add(-16, 5, 8, taken(block_layout::contiguous(8))).ok());
  const auto piece = taken(dense.finish());
  BOOST_TEST((piece.in_one_piece() && piece.low() == -16 && layout_cursor(piece).take().offset == -16));
  layout_nest many;
  const std::ptrdiff_t offsets[] = {0, 9};
  const std::size_t lengths[] = {1, 2};
  BOOST_REQUIRE(many.add(0, std::size_t{1} << 40, 16, taken(block_layout::indexed(2, offsets, lengths, 0))).ok());
  const auto far = taken(many.finish());
  layout_cursor c(far);
  c.seek((std::size_t{3} << 39) + 1);
  const auto r = c.take();
  BOOST_TEST((far.blocks() == std::size_t{2} << 40 && r.offset == (std::ptrdiff_t{16} << 39) + 9 && r.bytes == 2u));
}

// What it keeps is its own.
BOOST_AUTO_TEST_CASE(a_kept_layout_needs_no_lists) {
  auto offsets = std::vector<std::ptrdiff_t>{10, 0, 30};
  auto lengths = std::vector<std::size_t>{2, 3, 4};
  kept_layout kept;
  for (const bool unlike : {true, false}) {
    kept.keep(taken(block_layout::indexed(3, offsets.data(), unlike ? lengths.data() : nullptr, 5)));
    auto gone = std::exchange(offsets, std::vector<std::ptrdiff_t>{10, 0, 30});
    std::fill(gone.begin(), gone.end(), 99), std::fill(lengths.begin(), lengths.end(), 77);
    layout_cursor c(kept.get());
    std::size_t sum = 0;
    for (std::ptrdiff_t at : {10, 0, 30}) {
      const auto r = c.take();
      BOOST_TEST(r.offset == at);
      sum += r.bytes;
    }
    BOOST_TEST(sum == (unlike ? 9u : 15u));
    lengths = {2, 3, 4};
  }
}

BOOST_AUTO_TEST_CASE(what_no_memory_holds_is_refused) {
  constexpr std::size_t most = PTRDIFF_MAX, huge = SIZE_MAX;
  const std::size_t ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  const std::ptrdiff_t zeros[9] = {};
  refused(block_layout::contiguous(most + 1), "more than");
  BOOST_TEST(block_layout::contiguous(most).ok());
  refused(block_layout::strided(8, 9, ones, zeros), "9 dimensions");
  BOOST_TEST(block_layout::strided(8, 8, ones, zeros).ok());
  refused(block_layout::strided(8, 1, nullptr, zeros), "counts");
  refused(block_layout::strided(8, 1, ones, nullptr), "strides");
  refused(block_layout::indexed(1, nullptr, ones, 8), "offsets");
  BOOST_TEST(block_layout::indexed(0, nullptr, nullptr, huge).ok());
  const std::size_t product[] = {std::size_t{1} << 32, std::size_t{1} << 31};
  refused(block_layout::strided(1, 2, product, zeros), "more than");
  refused(block_layout::strided(huge, 0, nullptr, nullptr), "more than");
  const std::size_t with_none[] = {huge, 0, huge};
  BOOST_TEST(taken(block_layout::strided(huge, 3, with_none, zeros)).bytes() == 0u);
  const std::size_t two[] = {2, 2};
  const std::ptrdiff_t far[] = {PTRDIFF_MAX, 1}, twice[] = {PTRDIFF_MAX - 1, 2}, apart[] = {PTRDIFF_MAX - 7, -8}, three_far[] = {PTRDIFF_MAX / 2 + 1};
  const std::size_t three[] = {3};
  refused(block_layout::strided(1, 1, two, far), "stride 9223372036854775807");
  refused(block_layout::strided(1, 2, two, twice), "count 2");
  refused(block_layout::strided(1, 2, two, apart), "sum of strides");
  refused(block_layout::strided(1, 1, three, three_far), "count 3");
  const std::ptrdiff_t ends[] = {0, PTRDIFF_MAX}, both[] = {PTRDIFF_MIN, 1};
  refused(block_layout::indexed(2, ends, nullptr, 8), "block 1 of 8 bytes");
  refused(block_layout::indexed(2, both, nullptr, 8), "list of offsets");
  const std::size_t sum[] = {most, most}, one_huge[] = {1, huge};
  refused(block_layout::indexed(2, zeros, sum, 0), "more than");
  refused(block_layout::indexed(2, zeros, one_huge, 0), "more than");
  const auto eight = taken(block_layout::contiguous(8));
  const auto refused_part = [&](std::ptrdiff_t offset, std::size_t count, std::ptrdiff_t stride, const char* word) {
    layout_nest nest;
    refused(nest.add(offset, count, stride, eight), word);
  };
  refused_part(0, most, 8, "more than");
  refused_part(0, huge, 0, "more than");
  refused_part(PTRDIFF_MAX - 7, 1, 0, "offset 9223372036854775800");
  refused_part(0, 3, PTRDIFF_MAX / 2 + 1, "count 3");
  refused_part(PTRDIFF_MIN, 2, PTRDIFF_MAX, "list of offsets");
}

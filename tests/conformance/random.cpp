// Random programs against a sequential model. Every rank draws the same plan from the seed, performs its own part in
// pieces and with pauses of its own, and knows from the plan what its memory must hold in the end.
//
// A round writes one of two data areas and gets from the other, which the round before has filled; within a round no
// byte is written twice. Each rank has a word at every other for its signals, whose order the contract promises, and
// every rank has a counter for everyone's atomics, which commute. So each outcome is determined, however it is delivered.
#include <array>

#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"

namespace tutti::test {
namespace {

constexpr std::uint32_t data_bytes = 1 << 17, round_count = 5, line = 64;

struct planned {
  op_kind kind;
  rank_t origin, target;
  std::uint32_t offset, bytes;
  std::uint64_t value;  // of a signal or an add; seed of a payload
  signal_how how;
  not_before order;
};

using data_model = std::vector<std::vector<std::byte>>;  // by rank

struct model {
  data_model data[2];
  std::vector<std::uint64_t> words;     // [target * size + origin]
  std::vector<std::uint64_t> counters;  // [target]
};

std::vector<planned> draw(std::mt19937_64& random, std::uint32_t size) {
  std::vector<planned> plan;
  std::vector<std::uint32_t> used(size, 0);
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
  const std::uint32_t count = 5 + below(60);
  for (std::uint32_t i = 0; i < count; ++i) {
    static constexpr op_kind kinds[] = {op_kind::put, op_kind::put, op_kind::put_signal, op_kind::put_signal,
                                        op_kind::get, op_kind::signal, op_kind::fetch_add};
    planned p{kinds[below(std::size(kinds))], below(size), below(size), 0, 0, random() >> 8, signal_how::set,
              not_before::payload};
    const std::uint32_t scale = below(17);
    p.bytes = below((std::uint64_t{1} << scale) + 1);
    if (p.kind == op_kind::get) {
      p.offset = below(data_bytes - p.bytes);
    } else if (p.kind == op_kind::put || p.kind == op_kind::put_signal) {
      p.offset = used[p.target] + below(20);
      if (p.offset + p.bytes > data_bytes) continue;
      used[p.target] = p.offset + p.bytes;
    }
    p.how = below(2) ? signal_how::add : signal_how::set;
    p.order = below(4) ? not_before::payload : not_before::everything;
    plan.push_back(p);
  }
  return plan;
}

void apply(model& m, const std::vector<planned>& plan, std::uint32_t size, std::uint32_t side) {
  for (const planned& p : plan) {
    if (p.kind == op_kind::put || p.kind == op_kind::put_signal)
      fill(std::span{m.data[side][p.target]}.subspan(p.offset, p.bytes), p.value);
    if (p.kind == op_kind::signal || p.kind == op_kind::put_signal) {
      std::uint64_t& w = m.words[p.target * size + p.origin];
      w = p.how == signal_how::add ? w + p.value : p.value;
    }
    if (p.kind == op_kind::fetch_add) m.counters[p.target] += p.value;
  }
}

struct places {
  area data[2], words, out, in, olds;
};

rma_op operation(const rank_env& e, const places& at, const planned& p, std::uint32_t side, std::uint32_t buffer,
                 std::uint32_t index, completion* done) {
  rma_op op;
  switch (p.kind) {
    case op_kind::put:
    case op_kind::put_signal:
      op = put(at.out.mine(buffer), at.data[side].at(p.target, p.offset), p.bytes, done);
      break;
    case op_kind::get: op = get(at.in.mine(buffer), at.data[1 - side].at(p.target, p.offset), p.bytes, done); break;
    case op_kind::fetch_add:
      op = fetch_add(at.olds.mine(index * 8), at.words.at(p.target, e.size * line), p.value, done);
      break;
    default: op = signal({}, 0, p.how, p.order, done); break;
  }
  if (p.kind == op_kind::put_signal || p.kind == op_kind::signal) {
    op.kind = p.kind, op.rank = p.target, op.signal = at.words.segment, op.signal_offset = e.rank * line;
    op.operand = p.value, op.how = p.how, op.order = p.order;
  }
  return op;
}

// My part of the plan, in pieces, with whatever else a program does in between.
void perform(rank_env& e, const places& at, const model& before, const std::vector<planned>& plan, std::uint32_t side) {
  std::vector<rma_op> ops;
  std::vector<std::pair<const planned*, std::uint32_t>> gets;
  completion done;
  std::uint32_t out = 0, in = 0;
  for (const planned& p : plan) {
    if (p.origin != e.rank) continue;
    std::uint32_t& buffer = p.kind == op_kind::get ? in : out;
    if (p.kind == op_kind::put || p.kind == op_kind::put_signal) fill(at.out.memory.subspan(buffer, p.bytes), p.value);
    if (p.kind == op_kind::get) gets.emplace_back(&p, buffer);
    ops.push_back(operation(e, at, p, side, buffer, static_cast<std::uint32_t>(ops.size()), &done));
    if (p.kind == op_kind::put || p.kind == op_kind::put_signal || p.kind == op_kind::get) buffer += p.bytes + 3;
  }
  for (std::size_t i = 0; i < ops.size();) {
    const std::size_t n = std::min<std::size_t>(1 + e.random() % 9, ops.size() - i);
    e.submit(std::span{ops}.subspan(i, n));
    i += n;
    if (e.random() % 4 == 0) e.progress_for_a_moment();
    if (e.random() % 8 == 0) e.flush(e.random() % 2 ? no_rank : static_cast<rank_t>(e.random() % e.size));
  }
  e.wait(done);
  for (const auto& [p, buffer] : gets)
    require(p->bytes == 0 || std::memcmp(at.in.memory.data() + buffer, before.data[1 - side][p->target].data() + p->offset,
                                         p->bytes) == 0,
            "a get of " + std::to_string(p->bytes));
}

// Once an origin's last signal is here, so is what none of its signals may overtake; nobody has flushed yet.
void check_signalled(rank_env& e, const places& at, const model& after, const std::vector<planned>& plan,
                     std::uint32_t side) {
  for (rank_t origin = 0; origin < e.size; ++origin) {
    const std::uint64_t last = after.words[e.rank * e.size + origin];
    const std::uint64_t* word = at.words.word(origin * line);
    const std::string what = "the last signal of rank " + std::to_string(origin) + ", " + std::to_string(last);
    e.until(what, [&] { return load(word) == last; });
    std::size_t everything = 0;  // plan[0, everything) of this origin is visible here
    for (std::size_t i = 0; i < plan.size(); ++i)
      if (const planned& p = plan[i]; p.origin == origin && p.target == e.rank && p.order == not_before::everything &&
                                      (p.kind == op_kind::signal || p.kind == op_kind::put_signal))
        everything = i;
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const planned& p = plan[i];
      if (p.origin != origin || p.target != e.rank) continue;
      if (p.kind == op_kind::put_signal || (p.kind == op_kind::put && i < everything))
        check(at.data[side].memory.subspan(p.offset, p.bytes), p.value, "a payload that its signal overtook");
    }
  }
}

void program(rank_env& e, const places& at, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  model m;
  for (auto& side : m.data) side.assign(e.size, std::vector<std::byte>(data_bytes));
  m.words.assign(e.size * e.size, 0);
  m.counters.assign(e.size, 0);
  for (const area& d : at.data) paint(d.memory, 0);
  paint(at.words.memory, 0);
  e.barrier();
  for (std::uint32_t round = 0; round < round_count; ++round) {
    const std::uint32_t side = round % 2;
    const auto plan = draw(random, e.size);
    model after = m;
    apply(after, plan, e.size, side);
    perform(e, at, m, plan, side);
    check_signalled(e, at, after, plan, side);
    e.flush();
    e.barrier();
    m = std::move(after);
    require(std::memcmp(at.data[side].memory.data(), m.data[side][e.rank].data(), data_bytes) == 0,
            "the data at the end of round " + std::to_string(round));
    require_equal(load(at.words.word(e.size * line)), m.counters[e.rank], "the counter");
    for (rank_t r = 0; r < e.size; ++r)
      require_equal(load(at.words.word(r * line)), m.words[e.rank * e.size + r], "the word of a rank");
    e.barrier();
  }
}

void programs(rank_env& e, unsigned count, bool user_memory) {
  std::vector<std::uint64_t> own[2];
  places at;
  for (int i = 0; i < 2; ++i) {
    if (user_memory) own[i].resize(data_bytes / 8);
    at.data[i] = user_memory ? e.add(std::as_writable_bytes(std::span{own[i]})) : e.allocate(data_bytes);
  }
  at.words = e.allocate((e.size + 1) * line);
  constexpr std::size_t most = 66 * ((1 << 16) + 8);  // operations of a round by their largest size
  at.out = e.allocate(most), at.in = e.allocate(most), at.olds = e.allocate(8 * 80);
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t seed = e.seed * 1000 + i;
    try {
      program(e, at, seed);
    } catch (const failure& f) {
      throw failure{"program " + std::to_string(seed) + ": " + f.text};
    }
  }
  e.barrier();
  for (area& d : at.data) e.drop(d);
}

unsigned program_count(rank_env& e) { return e.net().caps().virtual_clock ? 120 : 12; }

void of_two(rank_env& e) { programs(e, program_count(e), false); }
void of_four(rank_env& e) { programs(e, program_count(e), false); }
void of_five_upon_user_memory(rank_env& e) { programs(e, program_count(e), true); }

constexpr std::array cases{
    conformance_case{"of_two", 2, of_two},
    conformance_case{"of_four", 4, of_four},
    conformance_case{"of_five_upon_user_memory", 5, of_five_upon_user_memory},
};

}  // namespace

clause random_clause() { return {"random", cases}; }

}  // namespace tutti::test
